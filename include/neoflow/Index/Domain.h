// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about affine expressions over iteration domains: a box, optionally
// restricted by a union of integer sets. Answers are exact or say that they
// are not.

#ifndef NEOFLOW_INDEX_DOMAIN_H
#define NEOFLOW_INDEX_DOMAIN_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace neoflow::index {

/// A box [0, extents) over the dimensions of the expressions, restricted to the
/// union of `sets` (none: the whole box). Sets use the same dimensions and no
/// symbols.
struct Domain {
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<mlir::IntegerSet> sets;
};

/// A closed interval. `exact` says that both ends are attained.
struct Range {
  int64_t min = 0;
  int64_t max = -1;
  bool exact = false;
};

/// The interval of `expr` over the box alone, by interval arithmetic; cheap,
/// never too small. Nothing when the box is empty.
std::optional<Range> boxRange(mlir::AffineExpr expr,
                              llvm::ArrayRef<int64_t> extents);

/// The interval of values `expr` takes over the domain: interval arithmetic
/// first, integer programming where `sets` matter. Never too small. Nothing
/// when the domain is empty.
std::optional<Range> rangeOver(mlir::AffineExpr expr, const Domain &domain);

/// Whether the domain holds no point at all.
bool isEmpty(const Domain &domain);

/// Whether the sets of the domain are pairwise disjoint inside the box.
bool areDisjoint(const Domain &domain);

/// `expr` rewritten using the ranges of its dimensions over the box: `d mod c`
/// and `d floordiv c` disappear where the range allows, like terms are
/// collected.
mlir::AffineExpr simplifyOver(mlir::AffineExpr expr,
                              llvm::ArrayRef<int64_t> extents);

/// `set` without the constraints that the box and the remaining constraints
/// imply.
mlir::IntegerSet simplifyOver(mlir::IntegerSet set,
                              llvm::ArrayRef<int64_t> extents);

} // namespace neoflow::index

#endif // NEOFLOW_INDEX_DOMAIN_H
