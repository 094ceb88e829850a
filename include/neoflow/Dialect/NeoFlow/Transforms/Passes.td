// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that work on the neoflow dialect.

#ifndef NEOFLOW_DIALECT_NEOFLOW_TRANSFORMS_PASSES_TD
#define NEOFLOW_DIALECT_NEOFLOW_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SpecializePass : Pass<"neoflow-specialize", "::mlir::ModuleOp"> {
  let summary = "give named dimensions their sizes";
  let description = [{
    Replaces every dimension that `neoflow.dims` names by its size: from the
    `sizes` option, else from the module's `neoflow.default_dims`. Static shapes
    are then propagated through functions, calls and computes.

    On entry: any module. On exit: no dynamic shape is left in functions whose
    arguments name all their dynamic dimensions; `neoflow.dims` stays as a
    record of which dimensions were named. A named dimension without a size is
    an error that names it.
  }];
  let options = [
    ListOption<"sizes", "sizes", "std::string",
               "sizes of dimensions, as in batch=64">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SelectSchedulePass : Pass<"neoflow-select-schedule", "::neoflow::KernelOp"> {
  let summary = "attach the default schedule to a kernel";
  let description = [{
    Attaches a `#neoflow.schedule` to the kernel for its target. A kernel that
    carries a schedule keeps it, so that a person, a record or the tuner can
    decide otherwise.

    On entry: the kernel has a target and satisfies the contract of code
    generation (one result for each compute, static extents, identity reads of
    values of the kernel). On exit: it has a schedule. Nothing else changes.
  }];
}

def VerifySchedulePass : Pass<"neoflow-verify-schedule", "::neoflow::KernelOp"> {
  let summary = "refuse an illegal schedule, with the reason";
  let description = [{
    On exit: the schedule of the kernel is legal for its computes and target.
    Nothing changes.
  }];
}

def DifferentiatePass : Pass<"neoflow-differentiate", "::mlir::ModuleOp"> {
  let summary = "expand neoflow.vjp into functions of ordinary computes";
  let description = [{
    Every `neoflow.vjp` becomes a call of a generated function that returns the
    results of the callee, then the gradients. A gradient is one gather for each
    read (docs/Autodiff.md).

    On entry: static shapes. On exit: no `neoflow.vjp` is left. Forward
    functions do not change.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::math::MathDialect"
  ];
}

#endif // NEOFLOW_DIALECT_NEOFLOW_TRANSFORMS_PASSES_TD
