// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of affine expressions and enumeration of boxes, by brute force.

#ifndef NEOFLOW_TEST_UNITTESTS_INDEX_POINTS_H
#define NEOFLOW_TEST_UNITTESTS_INDEX_POINTS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/Support/LLVM.h"

#include <functional>

namespace neoflow::test {

inline int64_t floorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b > a ? q - 1 : q;
}

/// The value of `expr` at `point`.
inline int64_t evaluate(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> point) {
  using namespace mlir;
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return point[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t a = evaluate(binary.getLHS(), point);
  int64_t b = evaluate(binary.getRHS(), point);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::Mod:
    return a - b * floorDiv(a, b);
  case AffineExprKind::FloorDiv:
    return floorDiv(a, b);
  case AffineExprKind::CeilDiv:
    return -floorDiv(-a, b);
  default:
    return 0;
  }
}

/// Whether `point` lies in one of `sets`; with no sets, it does.
inline bool contains(llvm::ArrayRef<mlir::IntegerSet> sets,
                     llvm::ArrayRef<int64_t> point) {
  if (sets.empty())
    return true;
  return llvm::any_of(sets, [&](mlir::IntegerSet set) {
    for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
      int64_t value = evaluate(set.getConstraint(i), point);
      if (set.isEq(i) ? value != 0 : value < 0)
        return false;
    }
    return true;
  });
}

/// Calls `visit` with every point of the box.
inline void
forEachPoint(llvm::ArrayRef<int64_t> extents,
             const std::function<void(llvm::ArrayRef<int64_t>)> &visit) {
  for (int64_t extent : extents)
    if (extent <= 0)
      return;
  llvm::SmallVector<int64_t> point(extents.size(), 0);
  while (true) {
    visit(point);
    int i = static_cast<int>(extents.size()) - 1;
    for (; i >= 0; --i) {
      if (++point[i] < extents[i])
        break;
      point[i] = 0;
    }
    if (i < 0)
      return;
  }
}

} // namespace neoflow::test

#endif // NEOFLOW_TEST_UNITTESTS_INDEX_POINTS_H
