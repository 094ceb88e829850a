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

def NeoFlow_ScanOp : NeoFlow_Op<"scan", [NoMemoryEffect, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a loop over time";
  let description = [{
    Calls a function once for every step, on the carries, one slice of each
    stacked operand, and the invariant operands, in this order. The function
    returns the new carries, then its outputs. The results of the scan are the
    last carries, then the outputs of all steps, stacked.

    A slice either lacks the leading dimension of its stack, whose extent is the
    number of steps, or keeps it, divided by the number of steps. Without
    `steps` the leading extent of the first stacked operand counts. With
    `reverse` the steps run from the last slice to the first.

    The derivative saves the carries before every step, and runs each step once
    more on the way back; with `checkpoint k` it saves every k-th carry only, and
    runs each step twice more.

    ```mlir
    %last, %states = neoflow.scan @cell steps 512 checkpoint 32
        carry(%h0) stacked(%xs) invariant(%w)
        : (tensor<8x4xf32>, tensor<512x8x3xf32>, tensor<7x4xf32>)
        -> (tensor<8x4xf32>, tensor<512x8x4xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, OptionalAttr<I64Attr>:$given_steps,
                       UnitAttr:$reverse, OptionalAttr<I64Attr>:$checkpoint,
                       Variadic<AnyRankedTensor>:$carries,
                       Variadic<AnyRankedTensor>:$stacked,
                       Variadic<AnyType>:$invariants);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee (`steps` $given_steps^)? (`reverse` $reverse^)?
    (`checkpoint` $checkpoint^)? (`carry` `(` $carries^ `)`)?
    (`stacked` `(` $stacked^ `)`)? (`invariant` `(` $invariants^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// ShapedType::kDynamic while it depends on a dynamic extent.
    int64_t getSteps();
    unsigned getNumCarries() { return getCarries().size(); }
    ::mlir::ResultRange getLastCarries() { return getResults().take_front(getNumCarries()); }
    ::mlir::ResultRange getOutputs() { return getResults().drop_front(getNumCarries()); }
    /// The slice of `rank` dimensions of a stack of `steps` slices; null when
    /// there is none.
    static ::mlir::RankedTensorType getSliceType(::mlir::RankedTensorType stack,
                                                 int64_t rank, int64_t steps);
    /// The inverse: the stack of `rank` dimensions of `steps` slices.
    static ::mlir::RankedTensorType getStackType(::mlir::RankedTensorType slice,
                                                 int64_t rank, int64_t steps);
  }];
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
