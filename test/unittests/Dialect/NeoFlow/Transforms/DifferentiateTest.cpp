// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients against known answers, against a scatter reference, and against the
// adjoint identity, exactly on integers.

#include "Gradient.h"

#include "mlir/IR/AffineExpr.h"

#include <random>

using namespace neoflow;
using namespace neoflow::test;

namespace {

using Values = std::vector<double>;

struct DifferentiateTest : testing::Test {
  MLIRContext context;
  DifferentiateTest() { loadDialects(context); }
  Tensor t(std::vector<int64_t> shape, Values values) {
    return floats(context, std::move(shape), std::move(values));
  }
  std::vector<Tensor> run(StringRef source, ArrayRef<int64_t> wrt,
                          std::vector<Tensor> inputs, Tensor dy) {
    return runVjp(context, source, wrt, std::move(inputs), {std::move(dy)});
  }
};

Values iota(int n, double from = 1) {
  Values values(n);
  for (int i = 0; i < n; ++i)
    values[i] = from + i;
  return values;
}

TEST_F(DifferentiateTest, MaxOverOverlappingWindows) {
  const char *source = R"(
    func.func @f(%x: tensor<5xf64>) -> tensor<4xf64> {
      %y = neoflow.compute (%o) max (%k = 2) from (%x: tensor<5xf64>) -> tensor<4xf64> {
        %a = neoflow.read %x[%o + %k] : tensor<5xf64>
        neoflow.yield %a : f64
      }
      return %y : tensor<4xf64>
    })";
  auto out = run(source, {0}, {t({5}, {5, 3, 1, 2, 5})}, t({4}, {1, 2, 3, 4}));
  EXPECT_EQ(out[0].floats, (Values{5, 3, 2, 5}));
  EXPECT_EQ(out[1].floats, (Values{1, 2, 0, 3, 4}));
}

TEST_F(DifferentiateTest, MaxPoolingPadsWithMinusInfinity) {
  const char *source = R"(
    func.func @f(%x: tensor<4x6xf64>) -> tensor<2x3xf64> {
      %y = neoflow.compute (%h, %w) max (%r = 3, %s = 3) from (%x: tensor<4x6xf64>) -> tensor<2x3xf64> {
        %a = neoflow.read %x[%h * 2 + %r - 1, %w * 2 + %s - 1] else -inf : tensor<4x6xf64>
        neoflow.yield %a : f64
      }
      return %y : tensor<2x3xf64>
    })";
  Values x = iota(24);
  x[7] = 88;
  for (double &value : x)
    value -= 100;
  auto out = run(source, {0}, {t({4, 6}, x)}, t({2, 3}, Values(6, 1)));
  EXPECT_EQ(out[0].floats, (Values{-12, -12, -88, -12, -12, -76}));
  Values expected(24, 0);
  expected[7] = 4;
  expected[11] = 1;
  expected[23] = 1;
  EXPECT_EQ(out[1].floats, expected);
}

TEST_F(DifferentiateTest, TiesShareTheCotangent) {
  const char *source = R"(
    func.func @f(%x: tensor<2x4xf64>) -> tensor<2xf64> {
      %y = neoflow.compute (%i) min (%k = 4) from (%x: tensor<2x4xf64>) -> tensor<2xf64> {
        %a = neoflow.read %x[%i, %k] : tensor<2x4xf64>
        neoflow.yield %a : f64
      }
      return %y : tensor<2xf64>
    })";
  auto out =
      run(source, {0}, {t({2, 4}, {1, 1, 2, 1, 7, 5, 6, 5})}, t({2}, {6, 8}));
  EXPECT_EQ(out[1].floats, (Values{2, 2, 0, 2, 0, 4, 0, 4}));
}

TEST_F(DifferentiateTest, DiagonalReads) {
  auto source = [](StringRef shape, StringRef subscripts) {
    return ("func.func @f(%x: tensor<" + shape +
            "xf64>) -> tensor<4xf64> {\n"
            "%y = neoflow.compute (%i) from (%x: tensor<" +
            shape +
            "xf64>) -> tensor<4xf64> {\n"
            "%a = neoflow.read %x[" +
            subscripts + "] : tensor<" + shape +
            "xf64>\n"
            "neoflow.yield %a : f64 }\n"
            "return %y : tensor<4xf64> }")
        .str();
  };
  Tensor dy = t({4}, {2, 3, 5, 7});
  auto out = run(source("4x4", "%i, %i"), {0}, {t({4, 4}, iota(16))}, dy);
  Values expected(16, 0);
  for (int i = 0; i < 4; ++i)
    expected[5 * i] = dy.floats[i];
  EXPECT_EQ(out[1].floats, expected);
  out = run(source("4x4", "%i, 3 - %i"), {0}, {t({4, 4}, iota(16))}, dy);
  expected.assign(16, 0);
  for (int i = 0; i < 4; ++i)
    expected[4 * i + 3 - i] = dy.floats[i];
  EXPECT_EQ(out[1].floats, expected);
  out = run(source("8x4", "%i * 2, %i"), {0}, {t({8, 4}, iota(32))}, dy);
  expected.assign(32, 0);
  for (int i = 0; i < 4; ++i)
    expected[8 * i + i] = dy.floats[i];
  EXPECT_EQ(out[1].floats, expected);
}

TEST_F(DifferentiateTest, StridedDilatedPaddedConvolution) {
  const char *source = R"(
    func.func @f(%a: tensor<2x2xf64>, %b: tensor<2x2xf64>) -> tensor<2x2xf64> {
      %y = neoflow.compute (%n, %c) sum (%k = 2) from (%a: tensor<2x2xf64>, %b: tensor<2x2xf64>) -> tensor<2x2xf64> {
        %x = neoflow.read %a[%n, %k * 2 - 1] else 0.0 : tensor<2x2xf64>
        %w = neoflow.read %b[%c, %k] : tensor<2x2xf64>
        %m = arith.mulf %x, %w : f64
        neoflow.yield %m : f64
      }
      return %y : tensor<2x2xf64>
    })";
  auto out =
      run(source, {0, 1}, {t({2, 2}, {7, 3, 3, 2}), t({2, 2}, {3, 6, 4, 2})},
          t({2, 2}, Values(4, 1)));
  EXPECT_EQ(out[0].floats, (Values{18, 6, 12, 4}));
  EXPECT_EQ(out[1].floats, (Values{0, 8, 0, 8}));
  EXPECT_EQ(out[2].floats, (Values{0, 5, 0, 5}));
}

TEST_F(DifferentiateTest, ElementsThatNobodyReadsGetZero) {
  const char *source = R"(
    func.func @f(%x: tensor<6xf64>, %w: tensor<3xf64>) -> tensor<2xf64> {
      %y = neoflow.compute (%o) sum (%k = 3) from (%x: tensor<6xf64>, %w: tensor<3xf64>) -> tensor<2xf64> {
        %a = neoflow.read %x[%o * 2 + %k] : tensor<6xf64>
        %b = neoflow.read %w[%k] : tensor<3xf64>
        %m = arith.mulf %a, %b : f64
        neoflow.yield %m : f64
      }
      return %y : tensor<2xf64>
    })";
  auto out = run(source, {0, 1}, {t({6}, iota(6)), t({3}, {1, 10, 100})},
                 t({2}, {1, 1}));
  EXPECT_EQ(out[0].floats, (Values{321, 543}));
  EXPECT_EQ(out[1].floats, (Values{1, 10, 101, 10, 100, 0}));
  EXPECT_EQ(out[2].floats, (Values{4, 6, 8}));
}

TEST_F(DifferentiateTest, GroupedConvolutionByFloordiv) {
  const char *source = R"(
    func.func @f(%x: tensor<4x2xf64>, %w: tensor<4x2xf64>) -> tensor<4x2xf64> {
      %y = neoflow.compute (%o, %p) sum (%c = 2) from (%x: tensor<4x2xf64>, %w: tensor<4x2xf64>) -> tensor<4x2xf64> {
        %a = neoflow.read %x[(%o floordiv 2) * 2 + %c, %p] : tensor<4x2xf64>
        %b = neoflow.read %w[%o, %c] : tensor<4x2xf64>
        %m = arith.mulf %a, %b : f64
        neoflow.yield %m : f64
      }
      return %y : tensor<4x2xf64>
    })";
  auto out = run(source, {0, 1}, {t({4, 2}, iota(8)), t({4, 2}, iota(8))},
                 t({4, 2}, iota(8)));
  EXPECT_EQ(out[0].floats, (Values{7, 10, 15, 22, 67, 78, 91, 106}));
  EXPECT_EQ(out[1].floats, (Values{10, 14, 14, 20, 74, 86, 86, 100}));
  EXPECT_EQ(out[2].floats, (Values{5, 11, 11, 25, 61, 83, 83, 113}));
}

TEST_F(DifferentiateTest, TransposedConvolutionByDivMod) {
  const char *source = R"(
    func.func @f(%x: tensor<4xf64>, %w: tensor<1xf64>) -> tensor<6xf64> {
      %y = neoflow.compute (%q) from (%x: tensor<4xf64>, %w: tensor<1xf64>)
          where ((%q + 1) mod 2 == 0, (%q + 1) floordiv 2 <= 3) else 0.0 -> tensor<6xf64> {
        %a = neoflow.read %x[(%q + 1) floordiv 2] : tensor<4xf64>
        %b = neoflow.read %w[0] : tensor<1xf64>
        %m = arith.mulf %a, %b : f64
        neoflow.yield %m : f64
      }
      return %y : tensor<6xf64>
    })";
  auto out =
      run(source, {0, 1}, {t({4}, {1, 2, 3, 4}), t({1}, {5})}, t({6}, iota(6)));
  EXPECT_EQ(out[0].floats, (Values{0, 10, 0, 15, 0, 20}));
  EXPECT_EQ(out[1].floats, (Values{0, 10, 20, 30}));
  EXPECT_EQ(out[2].floats, (Values{40}));
}

TEST_F(DifferentiateTest, TransposedConvolutionOfStrideTwo) {
  // y[q] = sum over k of x[(q - k) / 2] w[k] where q - k is even.
  const char *source = R"(
    func.func @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<7xf64> {
      %y = neoflow.compute (%q) sum (%k = 3) from (%x: tensor<3xf64>, %w: tensor<3xf64>)
          where ((%q - %k) mod 2 == 0) -> tensor<7xf64> {
        %a = neoflow.read %x[(%q - %k) floordiv 2] else 0.0 : tensor<3xf64>
        %b = neoflow.read %w[%k] : tensor<3xf64>
        %m = arith.mulf %a, %b : f64
        neoflow.yield %m : f64
      }
      return %y : tensor<7xf64>
    })";
  auto out = run(source, {0, 1}, {t({3}, {1, 2, 3}), t({3}, {1, 10, 100})},
                 t({7}, iota(7)));
  EXPECT_EQ(out[0].floats, (Values{1, 10, 102, 20, 203, 30, 300}));
  EXPECT_EQ(out[1].floats, (Values{321, 543, 765}));
  EXPECT_EQ(out[2].floats, (Values{22, 28, 34}));
}

TEST_F(DifferentiateTest, CropsByAnOffset) {
  const char *source = R"(
    func.func @f(%x: tensor<5xf64>) -> tensor<3xf64> {
      %y = neoflow.compute (%i) from (%x: tensor<5xf64>) -> tensor<3xf64> {
        %a = neoflow.read %x[%i + 1] : tensor<5xf64>
        neoflow.yield %a : f64
      }
      return %y : tensor<3xf64>
    })";
  auto out = run(source, {0}, {t({5}, iota(5))}, t({3}, {1, 2, 3}));
  EXPECT_EQ(out[1].floats, (Values{0, 1, 2, 3, 0}));
}

TEST_F(DifferentiateTest, ChannelShuffleComesBackAsAPermutation) {
  const char *source = R"(
    func.func @f(%x: tensor<12xf64>) -> tensor<12xf64> {
      %y = neoflow.compute (%c) from (%x: tensor<12xf64>) -> tensor<12xf64> {
        %a = neoflow.read %x[(%c mod 3) * 4 + %c floordiv 3] : tensor<12xf64>
        neoflow.yield %a : f64
      }
      return %y : tensor<12xf64>
    })";
  auto out = run(source, {0}, {t({12}, iota(12))}, t({12}, iota(12)));
  Values expected(12);
  for (int c = 0; c < 12; ++c)
    expected[(c % 3) * 4 + c / 3] = c + 1;
  EXPECT_EQ(out[1].floats, expected);
}

TEST_F(DifferentiateTest, BranchNotTakenLeavesNoTrace) {
  const char *source = R"(
    func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
      %y = neoflow.compute (%i) from (%x: tensor<4xf64>) -> tensor<4xf64> {
        %a = neoflow.read %x[%i] : tensor<4xf64>
        %one = arith.constant 1.0 : f64
        %less = arith.cmpf olt, %a, %one : f64
        %root = math.sqrt %a : f64
        %v = arith.select %less, %a, %root : f64
        neoflow.yield %v : f64
      }
      return %y : tensor<4xf64>
    })";
  auto out = run(source, {0}, {t({4}, {0, 0.25, 1, 4})}, t({4}, {1, 1, 1, 1}));
  EXPECT_EQ(out[1].floats, (Values{1, 1, 0.5, 0.25}));
}

TEST_F(DifferentiateTest, DivisionBehindAMask) {
  const char *source = R"(
    func.func @f(%m: tensor<2xi1>, %a: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2xf64> {
      %y = neoflow.compute (%i) from (%m: tensor<2xi1>, %a: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2xf64> {
        %c = neoflow.read %m[%i] : tensor<2xi1>
        %x = neoflow.read %a[%i] : tensor<2xf64>
        %z = neoflow.read %b[%i] : tensor<2xf64>
        %q = arith.divf %x, %z : f64
        %zero = arith.constant 0.0 : f64
        %v = arith.select %c, %q, %zero : f64
        neoflow.yield %v : f64
      }
      return %y : tensor<2xf64>
    })";
  Tensor mask = integers(context, {2}, {1, 0});
  mask.elementType = IntegerType::get(&context, 1);
  auto out = run(source, {1, 2}, {mask, t({2}, {8, 5}), t({2}, {4, 0})},
                 t({2}, {1, 1}));
  EXPECT_EQ(out[1].floats, (Values{0.25, 0}));
  EXPECT_EQ(out[2].floats, (Values{-0.5, 0}));
}

TEST_F(DifferentiateTest, BroadcastsAreSummedInTheOperandsShape) {
  const char *source = R"(
    func.func @f(%t: tensor<f64>, %s: tensor<1xf64>, %b: tensor<5x4xf64>, %unused: tensor<5xf64>) -> tensor<f64> {
      %y = neoflow.compute () sum (%i = 5, %j = 4)
          from (%t: tensor<f64>, %s: tensor<1xf64>, %b: tensor<5x4xf64>) -> tensor<f64> {
        %u = neoflow.read %t[] : tensor<f64>
        %v = neoflow.read %s[0] : tensor<1xf64>
        %w = neoflow.read %b[%i, %j] : tensor<5x4xf64>
        %m = arith.mulf %u, %w : f64
        %n = arith.mulf %m, %v : f64
        neoflow.yield %n : f64
      }
      return %y : tensor<f64>
    })";
  auto out =
      run(source, {0, 1, 3},
          {t({}, {2}), t({1}, {3}), t({5, 4}, iota(20, 0)), t({5}, iota(5))},
          t({}, {1}));
  EXPECT_EQ(out[1].floats, (Values{570}));
  EXPECT_TRUE(out[1].shape.empty());
  EXPECT_EQ(out[2].floats, (Values{380}));
  EXPECT_EQ(out[2].shape, std::vector<int64_t>{1});
  EXPECT_EQ(out[3].floats, Values(5, 0));
}

TEST_F(DifferentiateTest, SameValueTwiceAddsItsCotangents) {
  const char *source = R"(
    func.func @f(%x: tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) {
      %y = neoflow.compute (%i) from (%x: tensor<2xf64>) -> tensor<2xf64> {
        %a = neoflow.read %x[%i] : tensor<2xf64>
        %b = arith.mulf %a, %a : f64
        neoflow.yield %b : f64
      }
      return %y, %y, %x : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
    })";
  auto out = runVjp(context, source, {0}, {t({2}, {3, 5})},
                    {t({2}, {1, 1}), t({2}, {10, 20}), t({2}, {100, 200})});
  EXPECT_EQ(out[3].floats, (Values{2 * 3 * 11 + 100, 2 * 5 * 21 + 200}));
}

TEST_F(DifferentiateTest, CallsAndStops) {
  const char *source = R"(
    func.func @square(%x: tensor<2xf64>) -> tensor<2xf64> {
      %y = neoflow.compute (%i) from (%x: tensor<2xf64>) -> tensor<2xf64> {
        %a = neoflow.read %x[%i] : tensor<2xf64>
        %b = arith.mulf %a, %a : f64
        neoflow.yield %b : f64
      }
      return %y : tensor<2xf64>
    }
    func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
      %a = func.call @square(%x) : (tensor<2xf64>) -> tensor<2xf64>
      %b = func.call @square(%a) : (tensor<2xf64>) -> tensor<2xf64>
      %s = neoflow.stop_gradient %a : tensor<2xf64>
      %y = neoflow.compute (%i) from (%b: tensor<2xf64>, %s: tensor<2xf64>) -> tensor<2xf64> {
        %u = neoflow.read %b[%i] : tensor<2xf64>
        %v = neoflow.read %s[%i] : tensor<2xf64>
        %w = arith.mulf %u, %v : f64
        neoflow.yield %w : f64
      }
      return %y : tensor<2xf64>
    })";
  auto out = run(source, {0}, {t({2}, {2, 3})}, t({2}, {1, 1}));
  // y = x^4 * stop(x^2), so that dy/dx = 4 x^3 * x^2.
  EXPECT_EQ(out[0].floats, (Values{64, 729}));
  EXPECT_EQ(out[1].floats, (Values{128, 972}));
}

//===----------------------------------------------------------------------===//
// Random maps
//===----------------------------------------------------------------------===//

/// y[parallel] = sum over the others of x[map]: linear in x.
struct RandomProgram {
  std::vector<int64_t> extents, shape;
  unsigned numParallel;
  std::string text;

  explicit RandomProgram(unsigned seed) {
    std::mt19937 random(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    unsigned n = pick(1, 4);
    for (unsigned i = 0; i < n; ++i)
      extents.push_back(pick(1, n > 2 ? 4 : 6));
    numParallel = pick(0, n);
    auto index = [](unsigned i) { return "%i" + std::to_string(i); };
    auto linear = [&] {
      std::string sum = std::to_string(pick(-2, 3));
      for (int terms = pick(1, 2); terms > 0; --terms)
        sum +=
            " + " + index(pick(0, n - 1)) + " * " + std::to_string(pick(-3, 4));
      return "(" + sum + ")";
    };
    std::string subscripts, type;
    for (int rank = pick(1, 3), d = 0; d < rank; ++d) {
      std::string expr = linear();
      std::string c = std::to_string(pick(2, 7));
      switch (pick(0, 5)) {
      case 0:
        expr += " floordiv " + c;
        break;
      case 1:
        expr += " mod " + c;
        break;
      case 2:
        expr = "(" + linear() + " mod " + c + ") * " +
               std::to_string(pick(1, 3)) + " + " + linear() + " floordiv " + c;
        break;
      default:
        break;
      }
      subscripts += (d ? ", " : "") + expr;
      shape.push_back(pick(1, 7));
      type += std::to_string(shape.back()) + "x";
    }
    type = "tensor<" + type + "f64>";
    std::string outer, inner, result;
    for (unsigned i = 0; i < n; ++i) {
      if (i < numParallel) {
        outer += (i ? ", " : "") + index(i);
        result += std::to_string(extents[i]) + "x";
      } else {
        inner += (i > numParallel ? ", " : "") + index(i) + " = " +
                 std::to_string(extents[i]);
      }
    }
    result = "tensor<" + result + "f64>";
    bool reduces = numParallel < n;
    std::string where;
    if (pick(0, 2) == 0) {
      where = " where (" + linear() + (pick(0, 1) ? " >= 0)" : " mod 2 == 0)");
      if (!reduces)
        where += " else 0.0";
    }
    text =
        "func.func @f(%x: " + type + ") -> " + result +
        " {\n  %y = neoflow.compute (" + outer + ")" +
        (reduces ? " sum (" + inner + ")" : std::string()) +
        " from (%x: " + type + ")" + where + " -> " + result +
        " {\n    %a = neoflow.read %x[" + subscripts + "] else 0.0 : " + type +
        "\n    neoflow.yield %a : f64\n  }\n  return %y : " + result + "\n}\n";
  }
};

TEST_F(DifferentiateTest, AdjointIsExactForRandomMaps) {
  const char *campaign = std::getenv("NEOFLOW_CAMPAIGN");
  unsigned count = campaign && std::string(campaign) == "full" ? 10000 : 2000;
  auto product = [](const std::vector<int64_t> &extents, unsigned n) {
    int64_t size = 1;
    for (unsigned i = 0; i < n; ++i)
      size *= extents[i];
    return size;
  };
  for (unsigned seed = 0; seed < count; ++seed) {
    RandomProgram program(seed);
    std::mt19937 random(seed + 1);
    auto fill = [&](int64_t size) {
      Values values(size);
      for (double &value : values)
        value = std::uniform_int_distribution<int>(-9, 9)(random);
      return values;
    };
    Values x = fill(product(program.shape, program.shape.size()));
    Values dy = fill(product(program.extents, program.numParallel));
    std::vector<int64_t> resultShape(
        program.extents.begin(), program.extents.begin() + program.numParallel);
    auto out =
        run(program.text, {0}, {t(program.shape, x)}, t(resultShape, dy));
    ASSERT_EQ(out.size(), 2u) << "seed " << seed << "\n" << program.text;
    double left = 0, right = 0;
    for (size_t i = 0; i < dy.size(); ++i)
      left += dy[i] * out[0].floats[i];
    for (size_t i = 0; i < x.size(); ++i)
      right += out[1].floats[i] * x[i];
    ASSERT_EQ(left, right) << "seed " << seed << "\n" << program.text;
    // Unit vectors tell every element of the gradient: F is linear, so that
    // dx[z] = <dy, F(e_z)>.
    if (seed % 10 != 0)
      continue;
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(program.text, ParserConfig(&context));
    auto function = module->lookupSymbol<func::FuncOp>("f");
    for (size_t z = 0; z < x.size(); ++z) {
      Values unit(x.size(), 0);
      unit[z] = 1;
      auto y = interpret(function, {t(program.shape, unit)});
      ASSERT_TRUE(succeeded(y));
      double expected = 0;
      for (size_t i = 0; i < dy.size(); ++i)
        expected += dy[i] * (*y)[0].floats[i];
      ASSERT_EQ(out[1].floats[z], expected)
          << "element " << z << ", seed " << seed << "\n"
          << program.text;
    }
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// The first error when `source` is differentiated.
std::string getError(MLIRContext &context, StringRef source) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(source, ParserConfig(&context));
  if (!module)
    return "does not parse: " + message;
  PassManager manager(&context);
  manager.addPass(createDifferentiatePass());
  EXPECT_TRUE(failed(manager.run(*module)));
  return message;
}

TEST_F(DifferentiateTest, RefusesByName) {
  auto program = [](StringRef body, StringRef attributes = "") {
    return (attributes + R"(
    func.func @f(%x: tensor<4xf64>, %k: tensor<3xi64>) -> tensor<3xf64> {
      )" + body +
            R"(
      return %y : tensor<3xf64>
    }
    func.func @g(%x: tensor<4xf64>, %k: tensor<3xi64>, %dy: tensor<3xf64>) -> tensor<4xf64> {
      %y, %dx = neoflow.vjp @f(%x, %k) wrt [0] cotangents(%dy) : (tensor<4xf64>, tensor<3xi64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<4xf64>)
      return %dx : tensor<4xf64>
    })")
        .str();
  };
  EXPECT_EQ(getError(context, program(R"(
      %z = arith.constant dense<0.0> : tensor<3xf64>
      %y = neoflow.compute (%i) combine (%j = 2) from (%x: tensor<4xf64>) init (%z: tensor<3xf64>) identity (0.0) -> tensor<3xf64> {
        %a = neoflow.read %x[%i + %j] : tensor<4xf64>
        neoflow.yield %a : f64
      } combine (%p: f64, %q: f64) {
        %s = arith.addf %p, %q : f64
        neoflow.yield %s : f64
      })")),
            "cannot differentiate a combine region with 'init'");
  EXPECT_EQ(getError(context, program(R"(
      %y = neoflow.compute (%i) combine (%j = 2) from (%x: tensor<4xf64>) identity (0.0) -> tensor<3xf64> {
        %a = neoflow.read %x[%i + %j] : tensor<4xf64>
        neoflow.yield %a : f64
      } combine (%p: f64, %q: f64) {
        %b = arith.bitcast %p : f64 to i64
        %c = arith.bitcast %b : i64 to f64
        %s = arith.addf %c, %q : f64
        neoflow.yield %s : f64
      })")),
            "cannot differentiate 'arith.bitcast'");
  EXPECT_EQ(getError(context, program(R"(
      %y = neoflow.compute (%i) from (%x: tensor<4xf64>) -> tensor<3xf64> {
        %a = neoflow.read %x[%i] : tensor<4xf64>
        %b = arith.bitcast %a : f64 to i64
        %c = arith.bitcast %b : i64 to f64
        neoflow.yield %c : f64
      })")),
            "cannot differentiate 'arith.bitcast'");
  EXPECT_EQ(getError(context, program(R"(
      %z = arith.constant dense<0.0> : tensor<3xf64>
      %y = neoflow.scatter max (%i = 4) from (%x: tensor<4xf64>) into (%z: tensor<3xf64>) {
        %a = neoflow.read %x[%i] : tensor<4xf64>
        neoflow.yield %a at [%i] : f64
      })")),
            "cannot differentiate a scatter of 'max'");
  EXPECT_EQ(getError(context, program(R"(
      %e = neoflow.compute (%a, %b, %c, %d, %e, %f, %g, %h) max (%j = 2) from (%x: tensor<4xf64>) -> tensor<1x1x1x1x1x1x1x3xf64> {
        %u = neoflow.read %x[%h + %j] : tensor<4xf64>
        %v = arith.mulf %u, %u : f64
        neoflow.yield %v : f64
      }
      %y = neoflow.compute (%i) from (%e: tensor<1x1x1x1x1x1x1x3xf64>) -> tensor<3xf64> {
        %a = neoflow.read %e[0, 0, 0, 0, 0, 0, 0, %i] : tensor<1x1x1x1x1x1x1x3xf64>
        neoflow.yield %a : f64
      })")),
            "cannot differentiate a reduction of max with 8 result "
            "dimensions: its elements need a tensor of one more, and 8 is the "
            "most");
  auto ruled = [](StringRef rule) {
    return ("func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> attributes "
            "{neoflow.gradient = @rule} { return %x : tensor<2xf64> }\n" +
            rule + R"(
    func.func @g(%x: tensor<2xf64>, %dy: tensor<2xf64>) -> tensor<2xf64> {
      %y, %dx = neoflow.vjp @f(%x) wrt [0] cotangents(%dy) : (tensor<2xf64>, tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>)
      return %dx : tensor<2xf64>
    })")
        .str();
  };
  EXPECT_EQ(getError(context, ruled("")),
            "expected the gradient rule @rule to be a function of the module");
  EXPECT_EQ(getError(context, ruled("func.func private @rule(tensor<2xf64>) -> "
                                    "tensor<2xf64>")),
            "expected the gradient rule of 'f' to take its arguments, its "
            "results and their cotangents, and to give a gradient for each "
            "float argument, '(tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> "
            "tensor<2xf64>', but got '(tensor<2xf64>) -> tensor<2xf64>'");
  EXPECT_EQ(getError(context, R"(
    func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
      %y = func.call @f(%x) : (tensor<2xf64>) -> tensor<2xf64>
      return %y : tensor<2xf64>
    }
    func.func @g(%x: tensor<2xf64>, %dy: tensor<2xf64>) -> tensor<2xf64> {
      %y, %dx = neoflow.vjp @f(%x) wrt [0] cotangents(%dy) : (tensor<2xf64>, tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>)
      return %dx : tensor<2xf64>
    })"),
            "cannot differentiate 'f', which calls itself");
}

} // namespace
