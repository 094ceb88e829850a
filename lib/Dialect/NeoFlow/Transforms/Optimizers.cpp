// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of the optimisers.

#include "Optimizers.h"

#include "FloatBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace neoflow;

Value neoflow::createMap(
    const OptimizerContext &context, RankedTensorType type, ValueRange inputs,
    function_ref<Value(const FloatBuilder &, ArrayRef<Value>)> emit) {
  OpBuilder &builder = context.builder;
  std::vector<std::string> names;
  for (int64_t i = 0; i < type.getRank(); ++i)
    names.push_back("i" + std::to_string(i));
  auto compute =
      ComputeOp::create(builder, context.loc, type, inputs, ReductionKind::none,
                        ArrayRef<int64_t>(), names);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(compute.getBodyBlock());
  SmallVector<Value> values;
  for (BlockArgument input : compute.getInputArguments()) {
    auto tensor = dyn_cast<RankedTensorType>(input.getType());
    if (!tensor) {
      values.push_back(input);
      continue;
    }
    bool isPoint = tensor.getRank() == 0;
    AffineMap map = isPoint ? AffineMap::get(builder.getContext())
                            : builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<Value> indices;
    if (!isPoint)
      llvm::append_range(indices, compute.getIndexArguments());
    values.push_back(ReadOp::create(builder, context.loc, input, map, indices));
  }
  FloatBuilder scalars{builder, context.loc,
                       getComputeType(type.getElementType())};
  YieldOp::create(builder, context.loc, emit(scalars, values));
  return compute.getResult(0);
}

namespace {

RankedTensorType typeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

/// The gradient with the decay of the parameter, as the formulas write it.
Value withDecay(const FloatBuilder &s, Value gradient, Value parameter,
                double decay) {
  return decay == 0 ? gradient : s.add(gradient, s.mul(s.c(decay), parameter));
}

class Sgd : public Optimizer {
public:
  explicit Sgd(const OptimizerOptions &options) : options(options) {}
  ArrayRef<StringRef> getStateNames() const override { return {}; }
  std::unique_ptr<OptimizerStep>
  begin(const OptimizerContext &context) const override {
    struct Step : OptimizerStep {
      OptimizerContext context;
      OptimizerOptions options;
      Step(const OptimizerContext &c, const OptimizerOptions &o)
          : context(c), options(o) {}
      SmallVector<Value> apply(Value parameter, Value gradient,
                               ArrayRef<Value>) override {
        return {createMap(context, typeOf(parameter),
                          {parameter, gradient, context.learningRate},
                          [&](const FloatBuilder &s, ArrayRef<Value> v) {
                            Value g =
                                withDecay(s, v[1], v[0], options.weightDecay);
                            return s.sub(v[0], s.mul(s.convert(v[2]), g));
                          })};
      }
    };
    return std::make_unique<Step>(context, options);
  }

private:
  OptimizerOptions options;
};

class Momentum : public Optimizer {
public:
  explicit Momentum(const OptimizerOptions &options) : options(options) {}
  ArrayRef<StringRef> getStateNames() const override {
    static const StringRef names[] = {"momentum"};
    return names;
  }
  std::unique_ptr<OptimizerStep>
  begin(const OptimizerContext &context) const override {
    struct Step : OptimizerStep {
      OptimizerContext context;
      OptimizerOptions options;
      Step(const OptimizerContext &c, const OptimizerOptions &o)
          : context(c), options(o) {}
      SmallVector<Value> apply(Value parameter, Value gradient,
                               ArrayRef<Value> states) override {
        Value m = createMap(
            context, typeOf(parameter), {parameter, gradient, states[0]},
            [&](const FloatBuilder &s, ArrayRef<Value> v) {
              Value g = withDecay(s, v[1], v[0], options.weightDecay);
              return s.add(s.mul(s.c(options.momentum), v[2]), g);
            });
        Value p = createMap(context, typeOf(parameter),
                            {parameter, m, context.learningRate},
                            [&](const FloatBuilder &s, ArrayRef<Value> v) {
                              return s.sub(v[0], s.mul(s.convert(v[2]), v[1]));
                            });
        return {p, m};
      }
    };
    return std::make_unique<Step>(context, options);
  }

private:
  OptimizerOptions options;
};

class Adam : public Optimizer {
public:
  Adam(const OptimizerOptions &options, bool decoupled)
      : options(options), decoupled(decoupled) {}
  ArrayRef<StringRef> getStateNames() const override {
    static const StringRef names[] = {"adam_m", "adam_v"};
    return names;
  }
  bool usesStep() const override { return true; }
  std::unique_ptr<OptimizerStep>
  begin(const OptimizerContext &context) const override;

private:
  OptimizerOptions options;
  bool decoupled;
};

struct AdamStep : OptimizerStep {
  OptimizerContext context;
  OptimizerOptions options;
  bool decoupled;
  /// 1 - beta^t, once for all parameters.
  Value correction1, correction2;

  AdamStep(const OptimizerContext &c, const OptimizerOptions &o, bool decoupled)
      : context(c), options(o), decoupled(decoupled) {
    auto correction = [&](double beta) {
      auto type = RankedTensorType::get({}, context.builder.getF32Type());
      return createMap(
          context, type, context.step,
          [&](const FloatBuilder &s, ArrayRef<Value> v) {
            Value one = arith::ConstantOp::create(
                s.builder, s.loc, s.builder.getI64IntegerAttr(1));
            Value t = arith::SIToFPOp::create(
                s.builder, s.loc, s.type,
                arith::AddIOp::create(s.builder, s.loc, v[0], one).getResult());
            // beta^t = exp(t log beta): the logarithm is a constant.
            Value power = math::ExpOp::create(s.builder, s.loc,
                                              s.mul(t, s.c(std::log(beta))));
            return s.sub(s.c(1), power);
          });
    };
    correction1 = correction(options.beta1);
    correction2 = correction(options.beta2);
  }

  SmallVector<Value> apply(Value parameter, Value gradient,
                           ArrayRef<Value> states) override {
    double coupled = decoupled ? 0 : options.weightDecay;
    RankedTensorType type = typeOf(parameter);
    Value m = createMap(context, type, {parameter, gradient, states[0]},
                        [&](const FloatBuilder &s, ArrayRef<Value> v) {
                          Value g = withDecay(s, v[1], v[0], coupled);
                          return s.add(s.mul(s.c(options.beta1), v[2]),
                                       s.mul(s.c(1 - options.beta1), g));
                        });
    Value w =
        createMap(context, type, {parameter, gradient, states[1]},
                  [&](const FloatBuilder &s, ArrayRef<Value> v) {
                    Value g = withDecay(s, v[1], v[0], coupled);
                    return s.add(s.mul(s.c(options.beta2), v[2]),
                                 s.mul(s.c(1 - options.beta2), s.mul(g, g)));
                  });
    Value p = createMap(
        context, type,
        {parameter, m, w, correction1, correction2, context.learningRate},
        [&](const FloatBuilder &s, ArrayRef<Value> v) {
          Value mean = s.div(v[1], s.convert(v[3]));
          Value square = s.div(v[2], s.convert(v[4]));
          Value root = math::SqrtOp::create(s.builder, s.loc, square);
          Value direction = s.div(mean, s.add(root, s.c(options.epsilon)));
          if (decoupled)
            direction = s.add(direction, s.mul(s.c(options.weightDecay), v[0]));
          return s.sub(v[0], s.mul(s.convert(v[5]), direction));
        });
    return {p, m, w};
  }
};

std::unique_ptr<OptimizerStep>
Adam::begin(const OptimizerContext &context) const {
  return std::make_unique<AdamStep>(context, options, decoupled);
}

} // namespace

std::unique_ptr<Optimizer>
neoflow::createOptimizer(StringRef name, const OptimizerOptions &options) {
  if (name == "sgd")
    return std::make_unique<Sgd>(options);
  if (name == "momentum")
    return std::make_unique<Momentum>(options);
  if (name == "adam")
    return std::make_unique<Adam>(options, /*decoupled=*/false);
  if (name == "adamw")
    return std::make_unique<Adam>(options, /*decoupled=*/true);
  return nullptr;
}
