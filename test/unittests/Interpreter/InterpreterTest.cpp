// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter on small programs with results worked out by hand.

#include "Interpreter.h"

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace neoflow;
using namespace neoflow::test;

namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

class InterpreterTest : public testing::Test {
protected:
  InterpreterTest() {
    context.loadDialect<NeoFlowDialect, affine::AffineDialect,
                        arith::ArithDialect, func::FuncDialect,
                        math::MathDialect, tensor::TensorDialect>();
  }

  Tensor floats(std::vector<int64_t> shape, std::vector<double> values) {
    return {
        std::move(shape), Float32Type::get(&context), std::move(values), {}};
  }
  Tensor integers(std::vector<int64_t> shape, std::vector<int64_t> values,
                  unsigned width) {
    return {std::move(shape),
            IntegerType::get(&context, width),
            {},
            std::move(values)};
  }

  /// Runs @main; diagnostics go to `messages`.
  std::vector<Tensor> run(StringRef text, ArrayRef<Tensor> inputs = {}) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return success();
    });
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return {};
    FailureOr<std::vector<Tensor>> results =
        interpret(module->lookupSymbol<func::FuncOp>("main"), inputs);
    return succeeded(results) ? *results : std::vector<Tensor>();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string messages;
};

TEST_F(InterpreterTest, Convolution) {
  auto results = run(R"(
    func.func @main(%x: tensor<4xf32>, %w: tensor<3xf32>) -> tensor<2xf32> {
      %y = neoflow.compute (%i) sum (%r = 3) from (%x: tensor<4xf32>, %w: tensor<3xf32>) -> tensor<2xf32> {
        %a = neoflow.read %x[%i * 2 + %r - 1] else 10.0 : tensor<4xf32>
        %b = neoflow.read %w[%r] : tensor<3xf32>
        %c = arith.mulf %a, %b : f32
        neoflow.yield %c : f32
      }
      return %y : tensor<2xf32>
    })",
                     {floats({4}, {1, 2, 3, 4}), floats({3}, {1, 10, 100})});
  ASSERT_EQ(results.size(), 1u) << messages;
  EXPECT_EQ(results[0].shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(results[0].floats, (std::vector<double>{220, 432}));
}

TEST_F(InterpreterTest, EveryKind) {
  auto results = run(R"(
    func.func @main(%x: tensor<2x3xf32>, %k: tensor<2x3xi32>, %b: tensor<2x3xi1>)
        -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi1>, tensor<2xi1>) {
      %y:8 = neoflow.compute (%i) [sum, prod, max, min, umax, umin, and, or] (%j = 3)
          from (%x: tensor<2x3xf32>, %k: tensor<2x3xi32>, %b: tensor<2x3xi1>)
          -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi1>, tensor<2xi1>) {
        %a = neoflow.read %x[%i, %j] : tensor<2x3xf32>
        %c = neoflow.read %k[%i, %j] : tensor<2x3xi32>
        %d = neoflow.read %b[%i, %j] : tensor<2x3xi1>
        neoflow.yield %a, %a, %a, %a, %c, %c, %d, %d : f32, f32, f32, f32, i32, i32, i1, i1
      }
      return %y#0, %y#1, %y#2, %y#3, %y#4, %y#5, %y#6, %y#7
          : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi1>, tensor<2xi1>
    })",
                     {floats({2, 3}, {1, -2, 4, 0.5, NAN, 3}),
                      integers({2, 3}, {1, -1, 5, 7, 8, 9}, 32),
                      integers({2, 3}, {1, 0, 1, 1, 1, 1}, 1)});
  ASSERT_EQ(results.size(), 8u) << messages;
  EXPECT_EQ(results[0].floats[0], 3);
  EXPECT_EQ(results[1].floats[0], -8);
  EXPECT_EQ(results[2].floats[0], 4);
  EXPECT_EQ(results[3].floats[0], -2);
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(std::isnan(results[i].floats[1]));
  EXPECT_EQ(results[4].integers, (std::vector<int64_t>{-1, 9}));
  EXPECT_EQ(results[5].integers, (std::vector<int64_t>{1, 7}));
  EXPECT_EQ(results[6].integers, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(results[7].integers, (std::vector<int64_t>{1, 1}));
}

// An empty reduction gives the identity.
TEST_F(InterpreterTest, Identities) {
  auto results = run(R"(
    func.func @main() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>) {
      %y:8 = neoflow.compute () [sum, prod, max, min, max, min, umax, umin] (%j = 0)
          -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>) {
        %a = arith.constant 5.0 : f32
        %b = arith.constant 5 : i8
        neoflow.yield %a, %a, %a, %a, %b, %b, %b, %b : f32, f32, f32, f32, i8, i8, i8, i8
      }
      return %y#0, %y#1, %y#2, %y#3, %y#4, %y#5, %y#6, %y#7
          : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>
    })");
  ASSERT_EQ(results.size(), 8u) << messages;
  EXPECT_EQ(results[0].floats[0], 0);
  EXPECT_EQ(results[1].floats[0], 1);
  EXPECT_EQ(results[2].floats[0], -kInfinity);
  EXPECT_EQ(results[3].floats[0], kInfinity);
  EXPECT_EQ(results[4].integers[0], -128);
  EXPECT_EQ(results[5].integers[0], 127);
  EXPECT_EQ(results[6].integers[0], 0);
  EXPECT_EQ(results[7].integers[0], -1); // All bits set.
}

TEST_F(InterpreterTest, DomainsAndElse) {
  auto results = run(R"(
    func.func @main(%x: tensor<6xf32>, %k: index) -> (tensor<6xf32>, tensor<6xf32>) {
      %y = neoflow.compute (%i) from (%x: tensor<6xf32>, %k: index)
          where (%i mod 3 == 0, %i >= 1) or (%i + 5 == symbol(%k)) else -1.0 -> tensor<6xf32> {
        %a = neoflow.read %x[%i] : tensor<6xf32>
        neoflow.yield %a : f32
      }
      %z = neoflow.compute (%i) sum (%j = 6) from (%x: tensor<6xf32>) init (%x : tensor<6xf32>) where (%j <= %i - 4) -> tensor<6xf32> {
        %a = neoflow.read %x[%j] : tensor<6xf32>
        neoflow.yield %a : f32
      }
      return %y, %z : tensor<6xf32>, tensor<6xf32>
    })",
                     {floats({6}, {1, 2, 3, 4, 5, 6}),
                      {{}, IndexType::get(&context), {}, {7}}});
  ASSERT_EQ(results.size(), 2u) << messages;
  EXPECT_EQ(results[0].floats, (std::vector<double>{-1, -1, 3, 4, -1, -1}));
  EXPECT_EQ(results[1].floats, (std::vector<double>{1, 2, 3, 4, 6, 9}));
}

TEST_F(InterpreterTest, ArgmaxByCombine) {
  auto results = run(R"(
    func.func @main(%x: tensor<2x4xf32>) -> (tensor<2xf32>, tensor<2xi64>) {
      %y:2 = neoflow.compute (%i) combine (%j = 4) from (%x: tensor<2x4xf32>) identity (-inf, -1) -> (tensor<2xf32>, tensor<2xi64>) {
        %a = neoflow.read %x[%i, %j] : tensor<2x4xf32>
        %k = arith.index_cast %j : index to i64
        neoflow.yield %a, %k : f32, i64
      } combine (%va: f32, %ka: i64, %vb: f32, %kb: i64) {
        %more = arith.cmpf ogt, %vb, %va : f32
        %v = arith.select %more, %vb, %va : f32
        %k = arith.select %more, %kb, %ka : i64
        neoflow.yield %v, %k : f32, i64
      }
      return %y#0, %y#1 : tensor<2xf32>, tensor<2xi64>
    })",
                     {floats({2, 4}, {1, 7, 7, 2, -3, -4, -5, -1})});
  ASSERT_EQ(results.size(), 2u) << messages;
  EXPECT_EQ(results[0].floats, (std::vector<double>{7, -1}));
  EXPECT_EQ(results[1].integers, (std::vector<int64_t>{1, 3}));
}

TEST_F(InterpreterTest, GatherAndScatter) {
  auto results =
      run(R"(
    func.func @main(%x: tensor<3x2xf32>, %k: tensor<4xi64>, %z: tensor<3x2xf32>) -> (tensor<4x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
      %y = neoflow.compute (%n, %d) from (%x: tensor<3x2xf32>, %k: tensor<4xi64>) -> tensor<4x2xf32> {
        %i = neoflow.read %k[%n] : tensor<4xi64>
        %row = arith.index_cast %i : i64 to index
        %a = neoflow.read %x[%row, %d] else 0.0 : tensor<3x2xf32>
        neoflow.yield %a : f32
      }
      %s = neoflow.scatter sum (%n = 4, %d = 2) from (%y: tensor<4x2xf32>, %k: tensor<4xi64>) into (%z: tensor<3x2xf32>) {
        %i = neoflow.read %k[%n] : tensor<4xi64>
        %row = arith.index_cast %i : i64 to index
        %a = neoflow.read %y[%n, %d] : tensor<4x2xf32>
        neoflow.yield %a at [%row, %d] : f32
      }
      %m = neoflow.scatter min (%n = 4, %d = 2) from (%y: tensor<4x2xf32>) into (%z: tensor<3x2xf32>) where (%n >= 1) {
        %a = neoflow.read %y[%n, %d] : tensor<4x2xf32>
        neoflow.yield %a at [%n - 1, %d] : f32
      }
      return %y, %s, %m : tensor<4x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
    })",
          {floats({3, 2}, {1, 2, 3, 4, 5, 6}), integers({4}, {2, 0, 2, -1}, 64),
           floats({3, 2}, {100, 100, 100, 100, 100, -100})});
  ASSERT_EQ(results.size(), 3u) << messages;
  EXPECT_EQ(results[0].floats, (std::vector<double>{5, 6, 1, 2, 5, 6, 0, 0}));
  EXPECT_EQ(results[1].floats,
            (std::vector<double>{101, 102, 100, 100, 110, -88}));
  EXPECT_EQ(results[2].floats, (std::vector<double>{1, 2, 5, 6, 0, -100}));
}

TEST_F(InterpreterTest, IntegersWrapAround) {
  auto results = run(
      R"(
    func.func @main(%x: tensor<3xi32>, %k: tensor<2xi8>) -> (tensor<i32>, tensor<i8>, tensor<2xi8>) {
      %y = neoflow.compute () sum (%i = 3) from (%x: tensor<3xi32>) -> tensor<i32> {
        %a = neoflow.read %x[%i] : tensor<3xi32>
        neoflow.yield %a : i32
      }
      %z = neoflow.compute () sum (%i = 2) from (%k: tensor<2xi8>) acc (i32) -> tensor<i8> {
        %a = neoflow.read %k[%i] : tensor<2xi8>
        %b = arith.extsi %a : i8 to i32
        neoflow.yield %b : i32
      }
      %w = neoflow.compute (%i) from (%k: tensor<2xi8>) -> tensor<2xi8> {
        %a = neoflow.read %k[%i] : tensor<2xi8>
        %b = arith.addi %a, %a : i8
        %c = arith.constant 3 : i8
        %d = arith.divui %b, %c : i8
        neoflow.yield %d : i8
      }
      return %y, %z, %w : tensor<i32>, tensor<i8>, tensor<2xi8>
    })",
      {integers({3}, {2147483647, 1, 1}, 32), integers({2}, {127, 100}, 8)});
  ASSERT_EQ(results.size(), 3u) << messages;
  EXPECT_EQ(results[0].integers[0], -2147483647);
  EXPECT_EQ(results[1].integers[0], -29);
  EXPECT_EQ(results[2].integers, (std::vector<int64_t>{254 / 3, 200 / 3}));
}

TEST_F(InterpreterTest, CallsKernelsAndDynamicExtents) {
  auto results = run(R"(
    neoflow.kernel @twice(%x: tensor<3xf32>, %s: f32) -> tensor<3xf32> {
      %y = neoflow.compute (%i) from (%x: tensor<3xf32>, %s: f32) -> tensor<3xf32> {
        %a = neoflow.read %x[%i] : tensor<3xf32>
        %b = arith.mulf %a, %s : f32
        neoflow.yield %b : f32
      }
      neoflow.yield %y : tensor<3xf32>
    }
    func.func @reverse(%x: tensor<?xf32>) -> tensor<?xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = tensor.dim %x, %c0 : tensor<?xf32>
      %last = arith.subi %n, %c1 : index
      %y = neoflow.compute (%i = %n) from (%x: tensor<?xf32>, %last: index) -> tensor<?xf32> {
        %a = neoflow.read %x[%last - %i] : tensor<?xf32>
        neoflow.yield %a : f32
      }
      return %y : tensor<?xf32>
    }
    func.func @main(%x: tensor<3xf32>) -> tensor<?xf32> {
      %s = arith.constant 2.0 : f32
      %y = neoflow.launch @twice(%x, %s) : (tensor<3xf32>, f32) -> tensor<3xf32>
      %z = neoflow.stop_gradient %y : tensor<3xf32>
      %d = tensor.cast %z : tensor<3xf32> to tensor<?xf32>
      %r = func.call @reverse(%d) : (tensor<?xf32>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    })",
                     {floats({3}, {1, 2, 3})});
  ASSERT_EQ(results.size(), 1u) << messages;
  EXPECT_EQ(results[0].floats, (std::vector<double>{6, 4, 2}));
}

TEST_F(InterpreterTest, ZeroSizes) {
  auto results = run(R"(
    func.func @main(%x: tensor<0x3xf32>) -> (tensor<0xf32>, tensor<3xf32>) {
      %y = neoflow.compute (%i) sum (%j = 3) from (%x: tensor<0x3xf32>) -> tensor<0xf32> {
        %a = neoflow.read %x[%i, %j] : tensor<0x3xf32>
        neoflow.yield %a : f32
      }
      %z = neoflow.compute (%j) sum (%i = 0) from (%x: tensor<0x3xf32>) -> tensor<3xf32> {
        %a = neoflow.read %x[%i, %j] : tensor<0x3xf32>
        neoflow.yield %a : f32
      }
      return %y, %z : tensor<0xf32>, tensor<3xf32>
    })",
                     {floats({0, 3}, {})});
  ASSERT_EQ(results.size(), 2u) << messages;
  EXPECT_TRUE(results[0].floats.empty());
  EXPECT_EQ(results[1].floats, (std::vector<double>{0, 0, 0}));
}

TEST_F(InterpreterTest, Errors) {
  const char *gather = R"(
    func.func @main(%x: tensor<3xf32>, %k: tensor<1xi64>) -> tensor<1xf32> {
      %y = neoflow.compute (%n) from (%x: tensor<3xf32>, %k: tensor<1xi64>) -> tensor<1xf32> {
        %i = neoflow.read %k[%n] : tensor<1xi64>
        %row = arith.index_cast %i : i64 to index
        %a = neoflow.read %x[%row] : tensor<3xf32>
        neoflow.yield %a : f32
      }
      return %y : tensor<1xf32>
    })";
  EXPECT_TRUE(
      run(gather, {floats({3}, {1, 2, 3}), integers({1}, {3}, 64)}).empty());
  EXPECT_EQ(messages,
            "'neoflow.read' op subscript 0 is 3, but the extent is 3\n");
  messages.clear();
  EXPECT_TRUE(run(gather, {floats({3}, {1, 2, 3})}).empty());
  EXPECT_EQ(messages, "expected 2 inputs, but got 1\n");
  messages.clear();
  EXPECT_TRUE(
      run(gather, {floats({2}, {1, 2}), integers({1}, {0}, 64)}).empty());
  EXPECT_EQ(messages, "expected input 0 to be 'tensor<3xf32>', but got "
                      "'tensor<2xf32>'\n");
  messages.clear();
  EXPECT_TRUE(run(R"(
    func.func @main() -> tensor<1xi32> {
      %y = neoflow.compute (%n) -> tensor<1xi32> {
        %a = arith.constant 1 : i32
        %b = arith.constant 0 : i32
        %c = arith.divsi %a, %b : i32
        neoflow.yield %c : i32
      }
      return %y : tensor<1xi32>
    })")
                  .empty());
  EXPECT_EQ(messages,
            "'arith.divsi' op cannot be evaluated: division by zero\n");
  messages.clear();
  EXPECT_TRUE(run(R"(
    func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
      %y = tensor.empty() : tensor<1xf32>
      return %y : tensor<1xf32>
    })",
                  {floats({1}, {1})})
                  .empty());
  EXPECT_EQ(messages, "the interpreter does not support 'tensor.empty' here\n");
}

} // namespace
