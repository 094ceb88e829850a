// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The comprehension, the scatter, and what may stand in their bodies.

#ifndef NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWOPS_TD
#define NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWOPS_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "neoflow/Dialect/NeoFlow/IR/NeoFlowAttrs.td"

def NeoFlow_ComputeOp : NeoFlow_Op<"compute", [
    IsolatedFromAbove, AttrSizedOperandSegments, NoMemoryEffect,
    RecursivelySpeculatable, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getAsmResultNames"]>]> {
  let summary = "a tensor comprehension";
  let description = [{
    For every point of the parallel indices, evaluates the body at every point
    of the reduction indices and combines the yielded values by the kind of the
    result. Without reduction indices the kind is `none` and the body gives the
    element itself.

    Parallel indices come first, one for each dimension of the results, which
    all have the same shape; reduction indices follow with their extents. A
    dynamic extent is an `index` operand. Operands (tensors, scalars, index
    symbols) are bound to block arguments of the same name.

    `where` restricts the domain to a union of disjoint integer sets. Points
    outside contribute the identity of the reduction; without a reduction the
    elements outside get the `else` value. `init` tensors start the
    accumulation. `acc` gives the accumulator types (default: f32 for f16 and
    bf16, otherwise the element type); the body yields values of that type.
    `combine` reduces all results at once by a region over (accumulators,
    values), starting from `identity` values. `ties` says what the derivative of
    max and min does when several points attain the extremum.

    An empty reduction gives the identity. Float max and min propagate NaN.
    Reading out of range without `else` is rejected by the verifier; a
    data-dependent subscript out of range is undefined behaviour.

    ```mlir
    %y = neoflow.compute (%n, %k, %p, %q) sum (%c = 16, %r = 3, %s = 3)
        from (%x: tensor<8x16x32x32xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<8x32x16x16xf32> {
      %a = neoflow.read %x[%n, %c, %p * 2 + %r - 1, %q * 2 + %s - 1] else 0.0 : tensor<8x16x32x32xf32>
      %b = neoflow.read %w[%k, %c, %r, %s] : tensor<32x16x3x3xf32>
      %m = arith.mulf %a, %b : f32
      neoflow.yield %m : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs,
                       Variadic<AnyRankedTensor>:$inits,
                       Variadic<Index>:$extents,
                       DenseI64ArrayAttr:$reduction_extents,
                       NeoFlow_ReductionKindArrayAttr:$kinds,
                       OptionalAttr<TypeArrayAttr>:$acc,
                       OptionalAttr<ArrayAttr>:$where,
                       OptionalAttr<ArrayAttr>:$otherwise,
                       OptionalAttr<ArrayAttr>:$identity,
                       DefaultValuedAttr<NeoFlow_TiesAttr, "::neoflow::Ties::share">:$ties,
                       OptionalAttr<StrArrayAttr>:$index_names);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body, AnyRegion:$combiner);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The number of parallel indices: the rank of the results.
    unsigned getNumParallel() {
      return ::llvm::cast<::mlir::RankedTensorType>(getResult(0).getType()).getRank();
    }
    unsigned getNumReduction() { return getReductionExtents().size(); }
    unsigned getNumIndices() { return getNumParallel() + getNumReduction(); }
    /// Block arguments: all indices, parallel first; then the inputs.
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    ::llvm::ArrayRef<::mlir::BlockArgument> getIndexArguments() {
      return getBodyBlock()->getArguments().take_front(getNumIndices());
    }
    ::llvm::ArrayRef<::mlir::BlockArgument> getInputArguments() {
      return getBodyBlock()->getArguments().drop_front(getNumIndices());
    }
    /// The operand bound to an input block argument.
    ::mlir::Value getBoundOperand(::mlir::BlockArgument argument) {
      return getInputs()[argument.getArgNumber() - getNumIndices()];
    }
    /// Extents of all indices; ShapedType::kDynamic where dynamic.
    ::llvm::SmallVector<int64_t> getStaticExtents();
    bool hasStaticExtents() {
      return !::mlir::ShapedType::isDynamicShape(getStaticExtents());
    }
    /// The sets of `where`; empty when the domain is the whole box.
    ::llvm::SmallVector<::mlir::IntegerSet> getDomainSets();
    ::neoflow::ReductionKind getKind(unsigned result = 0) {
      return ::llvm::cast<::neoflow::ReductionKindAttr>(getKinds()[result]).getValue();
    }
    /// The type in which result `result` is accumulated and yielded.
    ::mlir::Type getAccumulatorType(unsigned result = 0);
    ::neoflow::YieldOp getYield();
    /// The name of index `position`, for printing.
    ::std::string getIndexName(unsigned position);
  }];
  let builders = [
    /// A compute of one result over static extents, with an empty body block
    /// whose arguments are in place. `domain` may be empty.
    OpBuilder<(ins "::mlir::RankedTensorType":$type, "::mlir::ValueRange":$inputs,
                   "::neoflow::ReductionKind":$kind,
                   "::llvm::ArrayRef<int64_t>":$reductionExtents,
                   "::llvm::ArrayRef<::std::string>":$indexNames,
                   CArg<"::llvm::ArrayRef<::mlir::IntegerSet>", "{}">:$domain,
                   CArg<"::mlir::TypedAttr", "{}">:$otherwise)>
  ];
}

def NeoFlow_ScatterOp : NeoFlow_Op<"scatter", [
    IsolatedFromAbove, NoMemoryEffect, RecursivelySpeculatable,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "accumulates values into computed positions of a tensor";
  let description = [{
    Starts from the destination tensor and, for every point of the indices,
    combines the yielded value into the element that the subscripts of the yield
    name. Points whose subscripts lie outside the destination contribute
    nothing. The result does not depend on the schedule or the number of
    threads.

    ```mlir
    %dx = neoflow.scatter sum (%n = 4, %d = 2)
        from (%dy: tensor<4x2xf32>, %idx: tensor<4xi64>) into (%zero: tensor<5x2xf32>) {
      %i = neoflow.read %idx[%n] : tensor<4xi64>
      %row = arith.index_cast %i : i64 to index
      %v = neoflow.read %dy[%n, %d] : tensor<4x2xf32>
      neoflow.yield %v at [%row, %d] : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, AnyRankedTensor:$destination,
                       DenseI64ArrayAttr:$index_extents, NeoFlow_ReductionKindAttr:$kind,
                       OptionalAttr<ArrayAttr>:$where,
                       OptionalAttr<StrArrayAttr>:$index_names);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumIndices() { return getIndexExtents().size(); }
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    ::llvm::ArrayRef<::mlir::BlockArgument> getIndexArguments() {
      return getBodyBlock()->getArguments().take_front(getNumIndices());
    }
    ::llvm::ArrayRef<::mlir::BlockArgument> getInputArguments() {
      return getBodyBlock()->getArguments().drop_front(getNumIndices());
    }
    ::mlir::Value getBoundOperand(::mlir::BlockArgument argument) {
      return getInputs()[argument.getArgNumber() - getNumIndices()];
    }
    ::llvm::SmallVector<::mlir::IntegerSet> getDomainSets();
    ::neoflow::YieldOp getYield();
    ::std::string getIndexName(unsigned position);
  }];
}

def NeoFlow_ReadOp : NeoFlow_Op<"read", [Pure,
    ParentOneOf<["ComputeOp", "ScatterOp"]>]> {
  let summary = "reads an element of a tensor at affine or data-dependent subscripts";
  let description = [{
    Subscripts are affine in indices and index symbols of the enclosing
    operation, with floordiv, ceildiv and mod by positive constants, or
    data-dependent `index` values computed in the body. With `else`, a subscript
    out of range gives that value instead; without it, every affine subscript
    is proved in range over the domain, or rejected. f16 and bf16 elements are
    extended to f32.

    ```mlir
    %a = neoflow.read %x[%n, %p * 2 + %r - 1] else 0.0 : tensor<8x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tensor, Variadic<Index>:$indices,
                       AffineMapAttr:$map, OptionalAttr<TypedAttrInterface>:$otherwise);
  let results = (outs AnyType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Value":$tensor, "::mlir::AffineMap":$map,
                   "::mlir::ValueRange":$indices,
                   CArg<"::mlir::TypedAttr", "{}">:$otherwise)>
  ];
}

def NeoFlow_RandomOp : NeoFlow_Op<"random", [Pure,
    ParentOneOf<["ComputeOp", "ScatterOp"]>]> {
  let summary = "a random number that depends on a counter only";
  let description = [{
    The value of Philox 4x32-10 with key `seed` at the counter made of the row-
    major position of the subscripts in the extents, `stream` and `step`. Equal
    subscripts give equal bits under every schedule. `uniform` lies in [0, 1),
    `normal` has mean 0 and variance 1 (Box-Muller).

    ```mlir
    %u = neoflow.random uniform(%seed, %step) stream 3 [%n, %c] in [8, 16] : f32
    ```
  }];
  let arguments = (ins NeoFlow_DistributionAttr:$distribution, I64:$seed, I64:$step,
                       I64Attr:$stream, Variadic<Index>:$indices, AffineMapAttr:$map,
                       DenseI64ArrayAttr:$shape);
  let results = (outs AnyTypeOf<[F32, F64]>:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def NeoFlow_YieldOp : NeoFlow_Op<"yield", [Pure, Terminator, ReturnLike,
    AttrSizedOperandSegments, ParentOneOf<["ComputeOp", "ScatterOp", "KernelOp"]>]> {
  let summary = "ends the body of a compute, a scatter or a kernel";
  let description = [{
    In a scatter, `at` gives the subscripts of the element that the value is
    combined into.

    ```mlir
    neoflow.yield %v at [%row, %d] : f32
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values, Variadic<Index>:$indices,
                       OptionalAttr<AffineMapAttr>:$map);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    OpBuilder<(ins "::mlir::ValueRange":$values), [{
      build($_builder, $_state, values, ::mlir::ValueRange(), ::mlir::AffineMapAttr());
    }]>
  ];
}

#endif // NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOWOPS_TD
