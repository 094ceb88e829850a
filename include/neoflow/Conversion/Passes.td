// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that leave the neoflow dialect.

#ifndef NEOFLOW_CONVERSION_PASSES_TD
#define NEOFLOW_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNeoFlowToLoopsPass : Pass<"convert-neoflow-to-loops", "::mlir::ModuleOp"> {
  let summary = "turn scheduled kernels into loops and vectors";
  let description = [{
    Applies the schedule of every kernel: it becomes a `func.func` of the ABI in
    `include/neoflow/Runtime/ABI.h`, made of scf loops, vector operations and
    loads and stores on flat buffers. The function carries
    `neoflow.phases`, an array of `{symbol = "…", workgroups = N}`, and
    `neoflow.workspace = BYTES`.

    On entry: every kernel has a legal schedule (`neoflow-verify-schedule`). On
    exit: no kernel is left.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ExpandMathPass : Pass<"neoflow-expand-math", "::mlir::func::FuncOp"> {
  let summary = "expand f32 math functions into polynomials";
  let description = [{
    Replaces exp, log, tanh, erf and the like on f32, scalar or vector, by
    MLIR's polynomial approximations, so that they need no library and have the
    same bits in every lane. f64 functions stay calls of the C library.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif // NEOFLOW_CONVERSION_PASSES_TD
