// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradient of one read of a compute or scatter, as a gather over the
// elements of the tensor, or as a scatter over the points that read it.

#ifndef NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_READGRADIENT_H
#define NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_READGRADIENT_H

#include "Comprehensions.h"
#include "Differentiate.h"

#include "neoflow/Index/ReadInverse.h"

namespace neoflow::autodiff {

/// The location of generated code: the forward operation's, and why it is
/// there.
Location gradientLoc(Operation *op);

/// `loc` with a longer name, as in "y_count"; itself when it has none.
Location addSuffix(Location loc, StringRef suffix);

/// The location of a gradient with respect to `tensor` that comes from `loc`:
/// it is named after the tensor, as in "dx".
Location gradientLoc(Value tensor, Location loc);

/// Reads input `input` of `compute` at the result indices themselves.
Value readAtIndices(OpBuilder &builder, Location loc, ComputeOp compute,
                    unsigned input);

class ReadGradient {
public:
  /// `extra` tensors are bound after the forward inputs and the cotangents.
  ReadGradient(OpBuilder &builder, const Comprehension &forward, ReadOp read,
               ArrayRef<Value> cotangents, ValueRange extra = {})
      : builder(builder), forward(forward), read(read),
        loc(gradientLoc(forward.getBoundOperand(read.getTensor()),
                        read.getLoc())) {
    llvm::append_range(inputs, forward.getInputs());
    llvm::append_range(inputs, cotangents);
    llvm::append_range(inputs, extra);
  }

  /// Gives the contribution of a point, in the type of the read.
  using EmitValue = function_ref<FailureOr<Value>(ReadGradient &)>;

  /// A compute over the elements of the tensor, which sums over the points that
  /// read each.
  FailureOr<Value> createGather(const index::ReadInverse &inverse,
                                EmitValue emitValue);
  /// A scatter over the forward points, for subscripts without an inverse.
  FailureOr<Value> createScatter(EmitValue emitValue);

  /// The forward body at the point, after which `mapping` knows every value.
  void cloneBody();
  /// The tangent of every yielded value with respect to the read; the body has
  /// been cloned.
  FailureOr<SmallVector<Tangent>> emitTangents();
  /// Value `i` that the forward body yields; the body has been cloned.
  Value getYielded(unsigned i) {
    return mapping.lookup(forward.getYield().getValues()[i]);
  }
  /// The element of input `position` at the result element of the point.
  Value readAtResult(unsigned position);
  /// The element of input `position` at the point, over all forward indices.
  Value readAtPoint(unsigned position);
  /// The element of the differentiated tensor itself.
  Value readElement();
  /// The row-major position of the point among the reduction points, as i64.
  Value emitReductionPosition(ComputeOp compute);

  /// The inputs before the cotangents.
  unsigned getNumForwardInputs() const {
    return forward.getInputArguments().size();
  }

  OpBuilder &builder;
  const Comprehension &forward;
  ReadOp read;
  Location loc;

private:
  void setTarget(const Comprehension &target);
  BodyCloner getCloner();
  std::vector<std::string> chooseNames(const index::ReadInverse &inverse);

  SmallVector<Value> inputs;
  /// The forward indices over those of the target.
  SmallVector<AffineExpr> variables;
  ArrayRef<BlockArgument> indices, arguments;
  SmallVector<int64_t> extents;
  bool isGather = true;
  IRMapping mapping;
};

} // namespace neoflow::autodiff

#endif // NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_READGRADIENT_H
