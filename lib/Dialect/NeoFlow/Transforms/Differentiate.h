// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of differentiation: scalar rules, the rule of computes, and the
// walk over functions.

#ifndef NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_DIFFERENTIATE_H
#define NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_DIFFERENTIATE_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

namespace neoflow::autodiff {

/// The derivative of a scalar value with respect to one read. A null value
/// with `isOne` stands for exactly one, without it for zero.
struct Tangent {
  mlir::Value value;
  bool isOne = false;

  static Tangent one() { return {{}, true}; }
  bool isZero() const { return !value && !isOne; }
};

/// The tangent of the only result of `op`, given those of its operands.
/// Branches of a select are differentiated first and selected last, so that a
/// branch not taken leaves no trace. Fails when the operation has no rule;
/// emits nothing.
mlir::FailureOr<Tangent> differentiateScalar(mlir::OpBuilder &builder,
                                             mlir::Operation *op,
                                             llvm::ArrayRef<Tangent> operands);

/// `a` as a value of `type`.
mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                        const Tangent &a, mlir::Type type);

/// A gradient: what `dy` of a compute contributes to the tensor that `operand`
/// is.
struct Term {
  mlir::Value tensor;
  mlir::Value gradient;
};

/// One term for every read of `compute` whose tensor `isActive`, given the
/// cotangents of its results (null: zero). New operations go to the insertion
/// point of `builder`. Emits what cannot be differentiated, at the forward
/// operation.
mlir::FailureOr<llvm::SmallVector<Term>>
differentiateCompute(mlir::OpBuilder &builder, ComputeOp compute,
                     llvm::ArrayRef<mlir::Value> cotangents,
                     llvm::function_ref<bool(mlir::Value)> isActive);

/// The same for a scatter and the cotangent of its result.
mlir::FailureOr<llvm::SmallVector<Term>>
differentiateScatter(mlir::OpBuilder &builder, ScatterOp scatter,
                     mlir::Value cotangent,
                     llvm::function_ref<bool(mlir::Value)> isActive);

/// Replaces `compute` by computes that have rules, where it has none as it
/// stands: one result each, no initial values, and max, min and prod over reads
/// of elements that are in memory. Emits what stands in the way.
mlir::LogicalResult normalizeReductions(ComputeOp compute);

/// `value` in `type`, which differs in the element type only; itself when it
/// does not.
mlir::Value createConversion(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value value, mlir::RankedTensorType type);

/// A tensor of zeros.
mlir::Value createZeros(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::RankedTensorType type);

/// The sum of `terms`, in one compute.
mlir::Value createSum(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::ArrayRef<mlir::Value> terms);

} // namespace neoflow::autodiff

#endif // NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_DIFFERENTIATE_H
