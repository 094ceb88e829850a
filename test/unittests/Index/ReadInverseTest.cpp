// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inverses of index maps: bijective onto the forward points that read the
// tensor, tight, and readable.

#include "neoflow/Index/ReadInverse.h"

#include "Points.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <numeric>
#include <random>

using namespace mlir;
using namespace neoflow;
using namespace neoflow::test;

namespace {

struct ReadInverseTest : testing::Test {
  MLIRContext context;

  AffineExpr dim(unsigned i) { return getAffineDimExpr(i, &context); }
  AffineMap map(unsigned dims, ArrayRef<AffineExpr> results) {
    return AffineMap::get(dims, 0, results, &context);
  }
  static std::string text(AffineExpr expr) {
    std::string result;
    llvm::raw_string_ostream os(result);
    expr.print(os);
    return result;
  }

  /// Checks that the inverse maps the points it admits one to one onto the
  /// forward points whose subscripts lie in the tensor. Returns the number of
  /// points a gradient visits, and the number of those forward points.
  std::pair<int64_t, int64_t> check(AffineMap map, ArrayRef<int64_t> extents,
                                    ArrayRef<IntegerSet> domain,
                                    ArrayRef<int64_t> shape,
                                    const index::ReadInverse &inverse,
                                    const std::string &name) {
    std::map<std::vector<int64_t>, int> valid;
    forEachPoint(extents, [&](ArrayRef<int64_t> v) {
      if (!contains(domain, v))
        return;
      for (auto [expr, extent] : llvm::zip(map.getResults(), shape)) {
        int64_t z = evaluate(expr, v);
        if (z < 0 || z >= extent)
          return;
      }
      valid[std::vector<int64_t>(v.begin(), v.end())] = 0;
    });
    SmallVector<int64_t> box(shape);
    llvm::append_range(box, inverse.freeExtents);
    int64_t visited = 0;
    if (!inverse.empty)
      forEachPoint(box, [&](ArrayRef<int64_t> point) {
        if (!contains(inverse.where, point))
          return;
        ++visited;
        std::vector<int64_t> v;
        for (AffineExpr expr : inverse.variables)
          v.push_back(evaluate(expr, point));
        auto it = valid.find(v);
        ASSERT_NE(it, valid.end()) << name << ": leads outside the domain";
        EXPECT_EQ(++it->second, 1) << name << ": visits a point twice";
        for (auto [i, expr] : llvm::enumerate(map.getResults()))
          EXPECT_EQ(evaluate(expr, v), point[i])
              << name << ": leads to another element";
      });
    for (const auto &[v, count] : valid)
      EXPECT_EQ(count, 1) << name << ": misses a point";
    return {visited, valid.size()};
  }
};

/// One random index map, read from a seeded generator.
struct RandomMap {
  SmallVector<int64_t> extents, shape;
  SmallVector<IntegerSet> domain;
  AffineMap map;

  RandomMap(MLIRContext *context, unsigned seed) {
    std::mt19937 random(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    unsigned n = pick(1, 4);
    for (unsigned i = 0; i < n; ++i)
      extents.push_back(pick(1, n > 2 ? 5 : 8));
    auto linear = [&] {
      AffineExpr sum = getAffineConstantExpr(pick(-3, 3), context);
      for (int terms = pick(1, 2); terms > 0; --terms)
        sum = sum + getAffineDimExpr(pick(0, n - 1), context) * pick(-4, 4);
      return sum;
    };
    SmallVector<AffineExpr> results;
    for (int rank = pick(0, 4); rank > 0; --rank) {
      AffineExpr expr = linear();
      switch (pick(0, 7)) {
      case 0:
        expr = expr.floorDiv(pick(2, 7));
        break;
      case 1:
        expr = expr % pick(2, 7);
        break;
      case 2: {
        int64_t c = pick(2, 7);
        AffineExpr inner = linear();
        expr = (inner % c) * pick(1, 4) + inner.floorDiv(c);
        break;
      }
      case 3:
        expr = getAffineConstantExpr(pick(0, 3), context);
        break;
      default:
        break;
      }
      results.push_back(expr);
      shape.push_back(pick(1, 9));
    }
    if (pick(0, 2) == 0) {
      AffineExpr constraint = linear();
      bool equality = pick(0, 3) == 0;
      if (equality)
        constraint = constraint % 2;
      domain.push_back(IntegerSet::get(n, 0, {constraint}, {equality}));
    }
    map = AffineMap::get(n, 0, results, context);
  }

  std::string describe(unsigned seed) const {
    std::string result;
    llvm::raw_string_ostream os(result);
    os << "seed " << seed << ", map " << map << ", extents [";
    llvm::interleaveComma(extents, os);
    os << "], shape [";
    llvm::interleaveComma(shape, os);
    os << "]";
    for (IntegerSet set : domain)
      set.print(os << " where ");
    return result;
  }
};

TEST_F(ReadInverseTest, IsABijectionForRandomMaps) {
  const char *campaign = std::getenv("NEOFLOW_CAMPAIGN");
  unsigned count = campaign && std::string(campaign) == "full" ? 10000 : 2000;
  unsigned inverted = 0, wide = 0;
  for (unsigned seed = 0; seed < count; ++seed) {
    RandomMap random(&context, seed);
    std::string reason;
    std::optional<index::ReadInverse> inverse = index::invertRead(
        random.map, random.extents, random.domain, random.shape, reason);
    ASSERT_TRUE(inverse) << random.describe(seed) << ": " << reason;
    ++inverted;
    auto [visited, valid] =
        check(random.map, random.extents, random.domain, random.shape, *inverse,
              random.describe(seed));
    int64_t elements = 1;
    for (int64_t extent : random.shape)
      elements *= extent;
    wide += visited > 2 * valid + elements;
    if (HasFailure())
      return;
  }
  EXPECT_EQ(inverted, count);
  // What `where` admits is exactly what is valid.
  EXPECT_EQ(wide, 0u);
}

TEST_F(ReadInverseTest, StridedConvolutionVisitsItsTapsOnly) {
  for (int64_t stride = 1; stride <= 4; ++stride)
    for (int64_t kernel = 1; kernel <= 7; ++kernel)
      for (int64_t dilation = 1; dilation <= 3; ++dilation) {
        int64_t size = 40;
        int64_t outputs = (size - dilation * (kernel - 1) - 1) / stride + 1;
        std::string reason;
        std::optional<index::ReadInverse> inverse =
            index::invertRead(map(2, {dim(0) * stride + dim(1) * dilation}),
                              {outputs, kernel}, {}, {size}, reason);
        ASSERT_TRUE(inverse) << reason;
        int64_t step = stride / std::gcd(stride, dilation);
        int64_t taps = 1;
        for (int64_t extent : inverse->freeExtents)
          taps *= extent;
        EXPECT_EQ(taps, (kernel + step - 1) / step)
            << "stride " << stride << " kernel " << kernel << " dilation "
            << dilation;
        check(map(2, {dim(0) * stride + dim(1) * dilation}), {outputs, kernel},
              {}, {size}, *inverse, "convolution");
      }
}

TEST_F(ReadInverseTest, WorkedAnswers) {
  struct Case {
    const char *name;
    AffineMap map;
    SmallVector<int64_t> extents, shape, freeExtents;
    SmallVector<const char *> variables;
  };
  AffineExpr d0 = dim(0), d1 = dim(1), d2 = dim(2), d3 = dim(3);
  const Case cases[] = {
      {"x[i + r]", map(2, {d0 + d1}), {8, 3}, {10}, {3}, {"d0 - d1", "d1"}},
      {"x[i + 2r]",
       map(2, {d0 + d1 * 2}),
       {8, 3},
       {12},
       {3},
       {"d0 - d1 * 2", "d1"}},
      {"x[2o + k]",
       map(2, {d0 * 2 + d1}),
       {2, 3},
       {6},
       {2},
       {"d0 floordiv 2 - d1", "d0 mod 2 + d1 * 2"}},
      {"x[i, i]", map(1, {d0, d0}), {4}, {4, 4}, {}, {"d0"}},
      {"x[2i]", map(1, {d0 * 2}), {4}, {8}, {}, {"d0 floordiv 2"}},
      {"x[3 - i]", map(1, {3 - d0}), {4}, {4}, {}, {"-d0 + 3"}},
      {"channel shuffle",
       map(1, {(d0 % 3) * 4 + d0.floorDiv(3)}),
       {12},
       {12},
       {},
       {"d0 floordiv 4 + (d0 mod 4) * 3"}},
      {"grouped",
       map(3, {d0.floorDiv(2) * 2 + d2, d1}),
       {4, 2, 2},
       {4, 2},
       {2},
       {"(d0 floordiv 2) * 2 + d2", "d1", "d0 mod 2"}},
      {"NCHW, differentiated by x",
       map(4, {d1, d2 + d3}),
       {5, 3, 8, 3},
       {3, 10},
       {5, 3},
       {"d2", "d0", "d1 - d3", "d3"}},
  };
  for (const Case &c : cases) {
    std::string reason;
    std::optional<index::ReadInverse> inverse =
        index::invertRead(c.map, c.extents, {}, c.shape, reason);
    ASSERT_TRUE(inverse) << c.name << ": " << reason;
    EXPECT_EQ(ArrayRef<int64_t>(inverse->freeExtents),
              ArrayRef<int64_t>(c.freeExtents))
        << c.name;
    for (auto [variable, expected] : llvm::zip(inverse->variables, c.variables))
      EXPECT_EQ(text(variable), expected) << c.name;
    check(c.map, c.extents, {}, c.shape, *inverse, c.name);
  }
}

TEST_F(ReadInverseTest, SaysWhyAMapIsOutsideTheClass) {
  std::string reason;
  AffineExpr product =
      getAffineBinaryOpExpr(AffineExprKind::Mul, dim(0), dim(1));
  EXPECT_FALSE(index::invertRead(map(2, {product}), {3, 3}, {}, {9}, reason));
  EXPECT_EQ(reason, "the subscript multiplies or divides by an index");
}

TEST_F(ReadInverseTest, EmptyExtents) {
  std::string reason;
  std::optional<index::ReadInverse> inverse =
      index::invertRead(map(1, {dim(0)}), {0}, {}, {4}, reason);
  ASSERT_TRUE(inverse);
  EXPECT_TRUE(inverse->empty);
}

} // namespace
