// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations on the level of functions: derivatives, kernels, launches.

#ifndef NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWGRAPHOPS_TD
#define NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWGRAPHOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "neoflow/Dialect/NeoFlow/IR/NeoFlowAttrs.td"

def NeoFlow_VjpOp : NeoFlow_Op<"vjp", [NoMemoryEffect, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the results of a function and its vector-Jacobian product";
  let description = [{
    Gives the results of the callee at the arguments, followed by the gradients
    with respect to the arguments listed in `wrt`, for the given cotangents of
    the floating-point results. `neoflow-differentiate` expands it.

    ```mlir
    %y, %dx = neoflow.vjp @f(%x, %w) wrt [0] cotangents(%dy)
        : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$arguments,
                       DenseI64ArrayAttr:$wrt, Variadic<AnyType>:$cotangents);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee `(` $arguments `)` `wrt` $wrt `cotangents` `(` $cotangents `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

def NeoFlow_StopGradientOp : NeoFlow_Op<"stop_gradient", [Pure, SameOperandsAndResultType]> {
  let summary = "the operand itself, with a derivative of zero";
  let description = [{
    ```mlir
    %c = neoflow.stop_gradient %x : tensor<4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def NeoFlow_KernelOp : NeoFlow_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface]> {
  let summary = "computes that are compiled and launched together";
  let description = [{
    A symbol with the fused computes, the canonical key that equal kernels
    share, one target and, later, a schedule. Kernels are never inlined, and
    never canonicalised once they carry a schedule.

    ```mlir
    neoflow.kernel @scale(%x: tensor<4xf32>) -> tensor<4xf32> attributes {key = "…"} {
      %y = neoflow.compute (%i) from (%x: tensor<4xf32>) -> tensor<4xf32> {
        %a = neoflow.read %x[%i] : tensor<4xf32>
        %b = arith.addf %a, %a : f32
        neoflow.yield %b : f32
      }
      neoflow.yield %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$key,
                       OptionalAttr<NeoFlow_TargetAttr>:$target,
                       OptionalAttr<NeoFlow_ScheduleAttr>:$schedule,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>
  ];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::neoflow::YieldOp getYield();
  }];
}

def NeoFlow_LaunchOp : NeoFlow_Op<"launch", [NoMemoryEffect,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    ```mlir
    %y = neoflow.launch @scale(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$operands);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee `(` $operands `)` attr-dict `:` functional-type($operands, results)
  }];
}

#endif // NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWGRAPHOPS_TD
