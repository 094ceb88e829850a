// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inverts index maps over the integers: the algebra behind reverse mode. Knows
// nothing of tensors or IR beyond affine expressions.

#ifndef NEOFLOW_INDEX_READINVERSE_H
#define NEOFLOW_INDEX_READINVERSE_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace neoflow::index {

/// All integer solutions v of `map(v) = z`, as a function of z and of fresh
/// free indices t. Expressions and sets below are over the dimensions
/// (z_0, ..., z_{rank-1}, t_0, ..., t_{free-1}) and no symbols.
struct ReadInverse {
  /// Extents of the free indices; t_j runs over [0, freeExtents[j]).
  llvm::SmallVector<int64_t> freeExtents;
  /// For each variable of the forward domain, its value at (z, t).
  llvm::SmallVector<mlir::AffineExpr> variables;
  /// Where (z, t) stands for a point of the forward domain: a union of disjoint
  /// sets. Empty means everywhere. Holds no constraint that the boxes of z and
  /// t already imply. Over the points admitted here, (z, t) -> v is a bijection
  /// onto the forward points whose subscripts lie inside the tensor.
  llvm::SmallVector<mlir::IntegerSet> where;
  /// No point of the forward domain reads the tensor: the gradient is zero.
  bool empty = false;
};

/// Solves `map(v) = z` for v in the box [0, extents) intersected with the union
/// `domain` (empty: the whole box), for z in the box [0, shape). Out-of-range
/// subscripts (reads with an `else` value) are excluded. Returns nothing and
/// says why in `reason` when the map lies outside the class (it then needs a
/// scatter).
std::optional<ReadInverse> invertRead(mlir::AffineMap map,
                                      llvm::ArrayRef<int64_t> extents,
                                      llvm::ArrayRef<mlir::IntegerSet> domain,
                                      llvm::ArrayRef<int64_t> shape,
                                      std::string &reason);

} // namespace neoflow::index

#endif // NEOFLOW_INDEX_READINVERSE_H
