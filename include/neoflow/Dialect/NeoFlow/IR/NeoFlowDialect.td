// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect and the base class of its operations.

#ifndef NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWDIALECT_TD
#define NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWDIALECT_TD

include "mlir/IR/OpBase.td"

def NeoFlow_Dialect : Dialect {
  let name = "neoflow";
  let summary = "tensor comprehensions with derivatives, schedules and kernels";
  let description = [{
    A value is a builtin ranked tensor. One operation does the work:
    `neoflow.compute`, a tensor comprehension whose body is scalar code. Layers,
    losses, optimisers and gradients are all made of it.

    Function arguments carry a role as a discardable attribute: `neoflow.param`,
    `neoflow.state`, `neoflow.input`, `neoflow.label` (each with a name),
    `neoflow.seed`, `neoflow.step`, `neoflow.learning_rate`. `neoflow.dims`
    names the dynamic dimensions of an argument, `neoflow.no_gradient` stops
    differentiation. Results carry `neoflow.loss`, `neoflow.metric`,
    `neoflow.new_state` and, in `@init`, `neoflow.param` or `neoflow.state`.
  }];
  let cppNamespace = "::neoflow";
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

class NeoFlow_Op<string mnemonic, list<Trait> traits = []>
    : Op<NeoFlow_Dialect, mnemonic, traits>;

#endif // NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWDIALECT_TD
