// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every scalar rule against central differences, and the corners against the
// documented values.

#include "Gradient.h"

#include <cmath>

using namespace neoflow;
using namespace neoflow::test;

namespace {

struct ScalarDerivativesTest : testing::Test {
  MLIRContext context;
  ScalarDerivativesTest() { loadDialects(context); }

  /// A function of `count` tensors of three elements each, elementwise.
  std::string program(const std::string &body, unsigned count) {
    std::string arguments, from, reads;
    for (unsigned i = 0; i < count; ++i) {
      std::string name = "%x" + std::to_string(i);
      arguments += (i ? ", " : "") + name + ": tensor<3xf64>";
      reads += "%a" + std::to_string(i) + " = neoflow.read " + name +
               "[%i] : tensor<3xf64>\n";
    }
    return "func.func @f(" + arguments +
           ") -> tensor<3xf64> {\n%y = neoflow.compute (%i) from (" +
           arguments + ") -> tensor<3xf64> {\n" + reads + body +
           "\nneoflow.yield %r : f64 }\nreturn %y : tensor<3xf64> }\n";
  }

  std::vector<Tensor> run(const std::string &source,
                          const std::vector<std::vector<double>> &x) {
    std::vector<Tensor> inputs;
    SmallVector<int64_t> wrt;
    for (size_t i = 0; i < x.size(); ++i) {
      inputs.push_back(floats(context, {3}, x[i]));
      wrt.push_back(i);
    }
    return runVjp(context, source, wrt, inputs,
                  {floats(context, {3}, {1, 1, 1})});
  }
};

TEST_F(ScalarDerivativesTest, MatchCentralDifferences) {
  struct Case {
    const char *body;
    std::vector<std::vector<double>> points;
  };
  const std::vector<double> real = {-1.3, 0.4, 2.1}, positive = {0.3, 1.7, 5.2},
                            unit = {-0.7, 0.1, 0.6}, other = {0.9, -2.2, 1.4},
                            large = {1.2, 2.5, 7.1};
  const Case cases[] = {
      {"%r = arith.addf %a0, %a1 : f64", {real, other}},
      {"%r = arith.subf %a0, %a1 : f64", {real, other}},
      {"%r = arith.mulf %a0, %a1 : f64", {real, other}},
      {"%r = arith.divf %a0, %a1 : f64", {real, other}},
      {"%r = arith.remf %a0, %a1 : f64", {{5.3, 7.7, 2.9}, {2.1, 1.3, 0.8}}},
      {"%r = arith.negf %a0 : f64", {real}},
      {"%r = arith.maximumf %a0, %a1 : f64", {real, other}},
      {"%r = arith.minimumf %a0, %a1 : f64", {real, other}},
      {"%r = arith.maxnumf %a0, %a1 : f64", {real, other}},
      {"%r = arith.minnumf %a0, %a1 : f64", {real, other}},
      {"%r = math.exp %a0 : f64", {real}},
      {"%r = math.exp2 %a0 : f64", {real}},
      {"%r = math.expm1 %a0 : f64", {real}},
      {"%r = math.log %a0 : f64", {positive}},
      {"%r = math.log2 %a0 : f64", {positive}},
      {"%r = math.log10 %a0 : f64", {positive}},
      {"%r = math.log1p %a0 : f64", {positive}},
      {"%r = math.sqrt %a0 : f64", {positive}},
      {"%r = math.rsqrt %a0 : f64", {positive}},
      {"%r = math.cbrt %a0 : f64", {positive}},
      {"%r = math.powf %a0, %a1 : f64", {positive, other}},
      {"%n = arith.constant 3 : i32\n%r = math.fpowi %a0, %n : f64, i32",
       {real}},
      {"%r = math.fma %a0, %a1, %a2 : f64", {real, other, positive}},
      {"%r = math.sin %a0 : f64", {real}},
      {"%r = math.cos %a0 : f64", {real}},
      {"%r = math.tan %a0 : f64", {unit}},
      {"%r = math.asin %a0 : f64", {unit}},
      {"%r = math.acos %a0 : f64", {unit}},
      {"%r = math.atan %a0 : f64", {real}},
      {"%r = math.atan2 %a0, %a1 : f64", {real, other}},
      {"%r = math.sinh %a0 : f64", {real}},
      {"%r = math.cosh %a0 : f64", {real}},
      {"%r = math.tanh %a0 : f64", {real}},
      {"%r = math.asinh %a0 : f64", {real}},
      {"%r = math.acosh %a0 : f64", {large}},
      {"%r = math.atanh %a0 : f64", {unit}},
      {"%r = math.erf %a0 : f64", {real}},
      {"%r = math.erfc %a0 : f64", {real}},
      {"%r = math.absf %a0 : f64", {real}},
      {"%r = math.copysign %a0, %a1 : f64", {real, other}},
      {"%r = math.floor %a0 : f64", {real}},
      {"%r = math.ceil %a0 : f64", {real}},
      {"%r = math.round %a0 : f64", {real}},
      {"%r = math.roundeven %a0 : f64", {real}},
      {"%r = math.trunc %a0 : f64", {real}},
      {"%c = arith.cmpf olt, %a0, %a1 : f64\n"
       "%s = math.sin %a0 : f64\n"
       "%r = arith.select %c, %s, %a1 : f64",
       {real, other}},
      {"%t = arith.truncf %a0 : f64 to f32\n%r = arith.extf %t : f32 to f64",
       {real}},
      {"%e = math.exp %a0 : f64\n%p = arith.mulf %e, %a1 : f64\n"
       "%q = arith.addf %p, %a0 : f64\n%r = math.tanh %q : f64",
       {unit, other}},
  };
  for (const Case &c : cases) {
    std::string source = program(c.body, c.points.size());
    std::vector<Tensor> out = run(source, c.points);
    ASSERT_EQ(out.size(), 1 + c.points.size()) << c.body;
    // A wide step where the function itself rounds to f32; it is evaluated in
    // double precision all the same.
    double step = 1e-6;
    for (size_t k = 0; k < c.points.size(); ++k) {
      std::vector<std::vector<double>> above = c.points, below = c.points;
      for (int i = 0; i < 3; ++i) {
        above[k][i] += step;
        below[k][i] -= step;
      }
      std::vector<double> high = run(source, above)[0].floats;
      std::vector<double> low = run(source, below)[0].floats;
      for (int i = 0; i < 3; ++i) {
        double expected = (high[i] - low[i]) / (2 * step);
        EXPECT_NEAR(out[1 + k].floats[i], expected,
                    1e-7 * std::max(1.0, std::abs(expected)))
            << c.body << " with respect to operand " << k << " at point " << i;
      }
    }
  }
}

TEST_F(ScalarDerivativesTest, Corners) {
  struct Case {
    const char *body;
    std::vector<std::vector<double>> points;
    std::vector<std::vector<double>> expected;
  };
  const Case cases[] = {
      // x^0 is constant, x^1 has slope 1 at zero, and the exponent does not
      // matter at zero.
      {"%r = math.powf %a0, %a1 : f64", {{0, 0, 0}, {0, 1, 2}}, {{0, 1, 0}}},
      {"%r = math.absf %a0 : f64", {{0, -2, 2}}, {{0, -1, 1}}},
      {"%r = arith.maximumf %a0, %a1 : f64",
       {{1, 1, 2}, {1, 2, 1}},
       {{0.5, 0, 1}, {0.5, 1, 0}}},
      {"%r = arith.minimumf %a0, %a1 : f64",
       {{1, 1, 2}, {1, 2, 1}},
       {{0.5, 1, 0}, {0.5, 0, 1}}},
      {"%z = arith.constant 0.0 : f64\n"
       "%c = arith.cmpf ogt, %a0, %z : f64\n"
       "%r = arith.select %c, %a0, %z : f64",
       {{0, -1, 1}},
       {{0, 0, 1}}},
      {"%r = math.floor %a0 : f64", {{0, 1, 2.5}}, {{0, 0, 0}}},
      {"%c = arith.cmpf olt, %a0, %a1 : f64\n"
       "%r = arith.uitofp %c : i1 to f64",
       {{0, 1, 2}, {1, 1, 1}},
       {{0, 0, 0}, {0, 0, 0}}},
      {"%r = math.tanh %a0 : f64", {{-800, 0, 800}}, {{0, 1, 0}}},
  };
  for (const Case &c : cases) {
    std::vector<Tensor> out = run(program(c.body, c.points.size()), c.points);
    for (size_t k = 0; k < c.expected.size(); ++k)
      EXPECT_EQ(out[1 + k].floats, c.expected[k]) << c.body << " operand " << k;
  }
}

} // namespace
