// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clipping, schedules of the learning rate, and choices by step.

#include "GradientTransforms.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace neoflow;

static RankedTensorType typeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

/// The type of `tensor` with elements as they are computed with.
static RankedTensorType wideType(Value tensor) {
  RankedTensorType type = typeOf(tensor);
  return type.clone(getComputeType(type.getElementType()));
}

std::string RateSchedule::verify() const {
  bool known = kind == "constant" || kind == "linear" || kind == "cosine" ||
               kind == "step" || kind == "inverse-sqrt";
  if (!known)
    return "unknown schedule '" + kind +
           "'; known are constant, linear, cosine, step, inverse-sqrt";
  if (warmup < 0)
    return "expected 'warmup' to be at least 0, but got " +
           std::to_string(warmup);
  if ((kind == "linear" || kind == "cosine") && steps <= warmup)
    return "expected 'schedule-steps' to be more than 'warmup' for the "
           "schedule "
           "'" +
           kind + "', but got " + std::to_string(steps);
  if (kind == "step" && every < 1)
    return "expected 'schedule-every' to be at least 1 for the schedule "
           "'step', "
           "but got " +
           std::to_string(every);
  if (kind == "step" && gamma <= 0)
    return "expected 'schedule-gamma' to be positive";
  return "";
}

Value neoflow::createScheduledRate(const OptimizerContext &context,
                                   const RateSchedule &schedule) {
  auto type = RankedTensorType::get({}, context.builder.getF32Type());
  return createMap(
      context, type, {context.learningRate, context.step},
      [&](const FloatBuilder &f, ArrayRef<Value> v) {
        Value t = arith::SIToFPOp::create(f.builder, f.loc, f.type, v[1]);
        Value rate = f.convert(v[0]);
        if (schedule.warmup > 0)
          rate = f.mul(rate, f.call<arith::MinimumFOp>(
                                 f.c(1), f.mul(f.add(t, f.c(1)),
                                               f.c(1.0 / schedule.warmup))));
        Value u =
            f.call<arith::MaximumFOp>(f.c(0), f.sub(t, f.c(schedule.warmup)));
        auto part = [&] {
          return f.call<arith::MinimumFOp>(
              f.c(1), f.div(u, f.c(schedule.steps - schedule.warmup)));
        };
        if (schedule.kind == "linear")
          return f.mul(rate, f.sub(f.c(1), part()));
        if (schedule.kind == "cosine")
          return f.mul(rate,
                       f.mul(f.c(0.5), f.add(f.c(1), f.call<math::CosOp>(f.mul(
                                                         part(), f.c(M_PI))))));
        if (schedule.kind == "step")
          // gamma^n = exp(n log gamma): the logarithm is a constant.
          return f.mul(rate,
                       f.call<math::ExpOp>(f.mul(
                           f.call<math::FloorOp>(f.div(u, f.c(schedule.every))),
                           f.c(std::log(schedule.gamma)))));
        if (schedule.kind == "inverse-sqrt")
          return f.div(
              rate,
              f.call<math::SqrtOp>(f.call<arith::MaximumFOp>(
                  f.c(1), f.div(f.add(t, f.c(1)),
                                f.c(std::max<int64_t>(1, schedule.warmup))))));
        return rate;
      });
}

Value neoflow::createScaled(const OptimizerContext &context, Value tensor,
                            double factor) {
  return createMap(context, wideType(tensor), tensor,
                   [&](const FloatBuilder &f, ArrayRef<Value> v) {
                     return f.mul(f.convert(v[0]), f.c(factor));
                   });
}

SmallVector<Value> neoflow::clipByValue(const OptimizerContext &context,
                                        ArrayRef<Value> gradients,
                                        double bound) {
  SmallVector<Value> clipped;
  for (Value gradient : gradients)
    clipped.push_back(createMap(context, typeOf(gradient), gradient,
                                [&](const FloatBuilder &f, ArrayRef<Value> v) {
                                  // NaN stays NaN.
                                  return f.call<arith::MinimumFOp>(
                                      f.c(bound), f.call<arith::MaximumFOp>(
                                                      f.c(-bound), v[0]));
                                }));
  return clipped;
}

/// The sum of the squares of the elements, of rank 0.
static Value createSquares(const OptimizerContext &context, Value tensor) {
  OpBuilder &builder = context.builder;
  RankedTensorType type = typeOf(tensor);
  std::vector<std::string> names;
  for (int64_t i = 0; i < type.getRank(); ++i)
    names.push_back("i" + std::to_string(i));
  Type element = getComputeType(type.getElementType());
  auto compute = ComputeOp::create(
      builder, context.loc, RankedTensorType::get({}, element), tensor,
      type.getRank() ? ReductionKind::sum : ReductionKind::none,
      type.getShape(), names);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(compute.getBodyBlock());
  Value value =
      ReadOp::create(builder, context.loc, compute.getInputArguments()[0],
                     builder.getMultiDimIdentityMap(type.getRank()),
                     ValueRange(compute.getIndexArguments()));
  YieldOp::create(
      builder, context.loc,
      arith::MulFOp::create(builder, context.loc, value, value).getResult());
  return compute.getResult(0);
}

SmallVector<Value> neoflow::clipByNorm(const OptimizerContext &context,
                                       ArrayRef<Value> gradients,
                                       double bound) {
  SmallVector<Value> squares;
  Type element = context.builder.getF32Type();
  for (Value gradient : gradients) {
    squares.push_back(createSquares(context, gradient));
    if (typeOf(gradient).getElementType().isF64())
      element = context.builder.getF64Type();
  }
  Value scale =
      createMap(context, RankedTensorType::get({}, element), squares,
                [&](const FloatBuilder &f, ArrayRef<Value> v) {
                  Value sum = f.c(0);
                  for (Value square : v)
                    sum = f.add(sum, f.convert(square));
                  // A norm of zero gives infinity here, and so a scale of one.
                  return f.call<arith::MinimumFOp>(
                      f.c(1), f.div(f.c(bound), f.call<math::SqrtOp>(sum)));
                });
  SmallVector<Value> clipped;
  for (Value gradient : gradients)
    clipped.push_back(createMap(context, typeOf(gradient), {gradient, scale},
                                [&](const FloatBuilder &f, ArrayRef<Value> v) {
                                  return f.mul(v[0], f.convert(v[1]));
                                }));
  return clipped;
}

Value neoflow::createPeriodic(const OptimizerContext &context, int64_t period,
                              Value yes, Value no) {
  return createMap(
      context, typeOf(yes), {yes, no, context.step},
      [&](const FloatBuilder &f, ArrayRef<Value> v) -> Value {
        auto integer = [&](int64_t value) -> Value {
          return arith::ConstantOp::create(f.builder, f.loc,
                                           f.builder.getI64IntegerAttr(value));
        };
        Value phase =
            arith::RemSIOp::create(f.builder, f.loc, v[2], integer(period));
        Value last =
            arith::CmpIOp::create(f.builder, f.loc, arith::CmpIPredicate::eq,
                                  phase, integer(period - 1));
        return f.select(last, f.convert(v[0]), f.convert(v[1]));
      });
}

Value neoflow::createFirstOr(const OptimizerContext &context,
                             RankedTensorType type, Value first, Value later) {
  return createMap(context, type, {first, later, context.step},
                   [&](const FloatBuilder &f, ArrayRef<Value> v) -> Value {
                     Value zero = arith::ConstantOp::create(
                         f.builder, f.loc, f.builder.getI64IntegerAttr(0));
                     Value isFirst = arith::CmpIOp::create(
                         f.builder, f.loc, arith::CmpIPredicate::eq, v[2],
                         zero);
                     return f.select(isFirst, f.convert(v[0]), f.convert(v[1]));
                   });
}
