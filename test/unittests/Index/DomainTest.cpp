// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges and simplification against enumeration.

#include "neoflow/Index/Domain.h"

#include "Points.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;
using namespace neoflow;
using namespace neoflow::test;

namespace {

struct DomainTest : testing::Test {
  MLIRContext context;
  std::mt19937 random{7};

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  AffineExpr dim(unsigned i) { return getAffineDimExpr(i, &context); }
  AffineExpr expression(unsigned dims, int depth) {
    if (depth == 0)
      return pick(0, 4) == 0 ? getAffineConstantExpr(pick(-5, 5), &context)
                             : dim(pick(0, dims - 1)) * pick(-4, 4);
    AffineExpr inner = expression(dims, depth - 1);
    switch (pick(0, 4)) {
    case 0:
      return inner.floorDiv(pick(2, 7));
    case 1:
      return inner % pick(2, 7);
    case 2:
      return inner.ceilDiv(pick(2, 7));
    default:
      return inner + expression(dims, depth - 1);
    }
  }
  std::string text(AffineExpr expr) {
    std::string result;
    llvm::raw_string_ostream os(result);
    expr.print(os);
    return result;
  }
};

TEST_F(DomainTest, RangesAndSimplificationAgreeWithEnumeration) {
  for (int trial = 0; trial < 2000; ++trial) {
    SmallVector<int64_t> extents;
    for (int i = 0, n = pick(1, 3); i < n; ++i)
      extents.push_back(pick(1, 7));
    AffineExpr expr = expression(extents.size(), pick(1, 3));
    index::Domain domain{extents, {}};
    if (pick(0, 1)) {
      AffineExpr constraint = expression(extents.size(), 1);
      domain.sets.push_back(
          IntegerSet::get(extents.size(), 0, {constraint}, {pick(0, 2) == 0}));
    }
    AffineExpr simple = index::simplifyOver(expr, extents);
    int64_t min = INT64_MAX, max = INT64_MIN;
    forEachPoint(extents, [&](ArrayRef<int64_t> point) {
      ASSERT_EQ(evaluate(expr, point), evaluate(simple, point))
          << "trial " << trial << ": " << text(expr) << " became "
          << text(simple);
      if (!contains(domain.sets, point))
        return;
      min = std::min(min, evaluate(expr, point));
      max = std::max(max, evaluate(expr, point));
    });
    std::optional<index::Range> range = index::rangeOver(expr, domain);
    EXPECT_EQ(index::isEmpty(domain), min > max) << "trial " << trial;
    if (min > max)
      continue;
    ASSERT_TRUE(range) << "trial " << trial;
    EXPECT_LE(range->min, min) << "trial " << trial << ": " << text(expr);
    EXPECT_GE(range->max, max) << "trial " << trial << ": " << text(expr);
    if (range->exact) {
      EXPECT_EQ(range->min, min) << "trial " << trial << ": " << text(expr);
      EXPECT_EQ(range->max, max) << "trial " << trial << ": " << text(expr);
    }
  }
}

TEST_F(DomainTest, SimplifiesToText) {
  AffineExpr d0 = dim(0), d1 = dim(1);
  auto simplified = [&](AffineExpr expr) {
    return text(index::simplifyOver(expr, {8, 4}));
  };
  EXPECT_EQ(simplified((d0.floorDiv(4)) * 4 + d0 % 4), "d0");
  EXPECT_EQ(simplified((d0 * 2).floorDiv(2)), "d0");
  EXPECT_EQ(simplified((d0 * 4 + d1).floorDiv(4)), "d0");
  EXPECT_EQ(simplified((d0 * 4 + d1) % 4), "d1");
  EXPECT_EQ(simplified(d1.floorDiv(4)), "0");
  EXPECT_EQ(simplified(d0 + d1 - d0), "d1");
}

TEST_F(DomainTest, HugeProductsDoNotWrapAround) {
  std::optional<index::Range> range =
      index::boxRange(dim(0) * 4000000000000000000, {9000000000000000000});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->min, 0);
  EXPECT_GT(range->max, int64_t(1) << 60);
}

TEST_F(DomainTest, DisjointSets) {
  AffineExpr d0 = dim(0);
  IntegerSet low = IntegerSet::get(1, 0, {3 - d0}, {false});
  IntegerSet high = IntegerSet::get(1, 0, {d0 - 4}, {false});
  IntegerSet even = IntegerSet::get(1, 0, {d0 % 2}, {true});
  EXPECT_TRUE(index::areDisjoint({{8}, {low, high}}));
  EXPECT_FALSE(index::areDisjoint({{8}, {low, even}}));
}

TEST_F(DomainTest, SetsLoseImpliedConstraints) {
  AffineExpr d0 = dim(0), d1 = dim(1);
  IntegerSet set = IntegerSet::get(2, 0, {d0, 7 - d0, d0 - d1, d0 - d1 + 1},
                                   {false, false, false, false});
  IntegerSet simple = index::simplifyOver(set, {8, 4});
  ASSERT_EQ(simple.getNumConstraints(), 1u);
  EXPECT_EQ(text(simple.getConstraint(0)), "d0 - d1");
}

} // namespace
