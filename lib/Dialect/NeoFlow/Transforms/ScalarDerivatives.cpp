// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives of the scalar operations of arith and math. Corners follow
// docs/Autodiff.md: the subgradient 0 at kinks of abs and rounding, halves
// where maximum and minimum meet, x^0 constant everywhere.

#include "Differentiate.h"
#include "FloatBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <functional>

using namespace neoflow;
using namespace neoflow::autodiff;

namespace {

/// The partial derivative of the result with respect to one operand. Null means
/// zero.
using Rule = std::function<Value(const FloatBuilder &, Operation *)>;

/// One for each operand.
using Rules = SmallVector<Rule>;

} // namespace

static Value x(Operation *op) { return op->getOperand(0); }
static Value x2(Operation *op) { return op->getOperand(1); }
static Value y(Operation *op) { return op->getResult(0); }

/// The share of one side of a maximum or minimum: all, half where both meet, or
/// nothing.
static Rules extremumRules(bool isMaximum) {
  auto side = [isMaximum](bool first) -> Rule {
    return [=](const FloatBuilder &f, Operation *op) {
      Value mine = first ? x(op) : x2(op), other = first ? x2(op) : x(op);
      Value wins = isMaximum ? f.greater(mine, other) : f.greater(other, mine);
      return f.select(wins, f.c(1),
                      f.select(f.equal(mine, other), f.c(0.5), f.c(0)));
    };
  };
  return {side(true), side(false)};
}

static const llvm::StringMap<Rules> &getRules() {
  using F = const FloatBuilder &;
  using O = Operation *;
  static const llvm::StringMap<Rules> rules = [] {
    llvm::StringMap<Rules> r;
    Rule zero = [](F, O) { return Value(); };
    Rule one = [](F f, O) { return f.c(1); };
    // arith
    r["arith.addf"] = {one, one};
    r["arith.subf"] = {one, [](F f, O) { return f.c(-1); }};
    r["arith.negf"] = {[](F f, O) { return f.c(-1); }};
    r["arith.mulf"] = {[](F, O o) { return x2(o); },
                       [](F, O o) { return x(o); }};
    r["arith.divf"] = {[](F f, O o) { return f.div(f.c(1), x2(o)); },
                       [](F f, O o) { return f.neg(f.div(y(o), x2(o))); }};
    r["arith.remf"] = {one, [](F f, O o) {
                         return f.neg(
                             f.call<math::TruncOp>(f.div(x(o), x2(o))));
                       }};
    r["arith.maximumf"] = r["arith.maxnumf"] = extremumRules(true);
    r["arith.minimumf"] = r["arith.minnumf"] = extremumRules(false);
    // math: exponentials and logarithms
    r["math.exp"] = {[](F, O o) { return y(o); }};
    r["math.exp2"] = {[](F f, O o) { return f.mul(y(o), f.c(std::log(2.0))); }};
    r["math.expm1"] = {[](F f, O o) { return f.add(y(o), f.c(1)); }};
    r["math.log"] = {[](F f, O o) { return f.div(f.c(1), x(o)); }};
    r["math.log2"] = {
        [](F f, O o) { return f.div(f.c(1 / std::log(2.0)), x(o)); }};
    r["math.log10"] = {
        [](F f, O o) { return f.div(f.c(1 / std::log(10.0)), x(o)); }};
    r["math.log1p"] = {
        [](F f, O o) { return f.div(f.c(1), f.add(f.c(1), x(o))); }};
    // roots and powers
    r["math.sqrt"] = {[](F f, O o) { return f.div(f.c(0.5), y(o)); }};
    r["math.rsqrt"] = {
        [](F f, O o) { return f.mul(f.c(-0.5), f.div(y(o), x(o))); }};
    r["math.cbrt"] = {
        [](F f, O o) { return f.div(f.c(1.0 / 3.0), f.mul(y(o), y(o))); }};
    r["math.powf"] = {
        [](F f, O o) {
          Value lower = f.call<math::PowFOp>(x(o), f.sub(x2(o), f.c(1)));
          return f.select(f.equal(x2(o), f.c(0)), f.c(0), f.mul(x2(o), lower));
        },
        [](F f, O o) {
          Value atZero =
              arith::AndIOp::create(f.builder, f.loc, f.equal(x(o), f.c(0)),
                                    f.greater(x2(o), f.c(0)));
          return f.select(atZero, f.c(0),
                          f.mul(y(o), f.call<math::LogOp>(x(o))));
        }};
    r["math.fpowi"] = {
        [](F f, O o) {
          Value n = x2(o);
          Value unit = arith::ConstantOp::create(
              f.builder, f.loc, f.builder.getIntegerAttr(n.getType(), 1));
          Value nil = arith::ConstantOp::create(
              f.builder, f.loc, f.builder.getIntegerAttr(n.getType(), 0));
          Value lower = f.call<math::FPowIOp>(
              x(o),
              arith::SubIOp::create(f.builder, f.loc, n, unit).getResult());
          Value factor = arith::SIToFPOp::create(f.builder, f.loc, f.type, n);
          Value isNil = arith::CmpIOp::create(f.builder, f.loc,
                                              arith::CmpIPredicate::eq, n, nil);
          return f.select(isNil, f.c(0), f.mul(factor, lower));
        },
        zero};
    r["math.fma"] = {[](F, O o) { return x2(o); }, [](F, O o) { return x(o); },
                     one};
    // trigonometric and hyperbolic functions
    r["math.sin"] = {[](F f, O o) { return f.call<math::CosOp>(x(o)); }};
    r["math.cos"] = {[](F f, O o) { return f.neg(f.call<math::SinOp>(x(o))); }};
    r["math.tan"] = {[](F f, O o) { return f.add(f.c(1), f.mul(y(o), y(o))); }};
    auto arc = [](double factor) -> Rule {
      return [factor](F f, O o) {
        return f.div(f.c(factor),
                     f.call<math::SqrtOp>(f.sub(f.c(1), f.mul(x(o), x(o)))));
      };
    };
    r["math.asin"] = {arc(1)};
    r["math.acos"] = {arc(-1)};
    r["math.atan"] = {[](F f, O o) {
      return f.div(f.c(1), f.add(f.c(1), f.mul(x(o), x(o))));
    }};
    auto norm = [](F f, O o) {
      return f.add(f.mul(x(o), x(o)), f.mul(x2(o), x2(o)));
    };
    r["math.atan2"] = {
        [norm](F f, O o) { return f.div(x2(o), norm(f, o)); },
        [norm](F f, O o) { return f.neg(f.div(x(o), norm(f, o))); }};
    r["math.sinh"] = {[](F f, O o) { return f.call<math::CoshOp>(x(o)); }};
    r["math.cosh"] = {[](F f, O o) { return f.call<math::SinhOp>(x(o)); }};
    r["math.tanh"] = {
        [](F f, O o) { return f.sub(f.c(1), f.mul(y(o), y(o))); }};
    auto area = [](double offset) -> Rule {
      return [offset](F f, O o) {
        return f.div(f.c(1), f.call<math::SqrtOp>(
                                 f.add(f.mul(x(o), x(o)), f.c(offset))));
      };
    };
    r["math.asinh"] = {area(1)};
    r["math.acosh"] = {area(-1)};
    r["math.atanh"] = {[](F f, O o) {
      return f.div(f.c(1), f.sub(f.c(1), f.mul(x(o), x(o))));
    }};
    auto bell = [](double factor) -> Rule {
      return [factor](F f, O o) {
        return f.mul(f.c(factor * 2 / std::sqrt(M_PI)),
                     f.call<math::ExpOp>(f.neg(f.mul(x(o), x(o)))));
      };
    };
    r["math.erf"] = {bell(1)};
    r["math.erfc"] = {bell(-1)};
    // kinks and steps
    r["math.absf"] = {[](F f, O o) { return f.sign(x(o)); }};
    r["math.copysign"] = {
        [](F f, O o) {
          return f.mul(f.sign(x(o)), f.call<math::CopySignOp>(f.c(1), x2(o)));
        },
        zero};
    for (const char *step : {"math.floor", "math.ceil", "math.round",
                             "math.roundeven", "math.trunc"})
      r[step] = {zero};
    // Conversions from integers and comparisons have no derivative.
    for (const char *stop :
         {"arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui"})
      r[stop] = {zero};
    r["arith.cmpf"] = {zero, zero};
    return r;
  }();
  return rules;
}

Value autodiff::materialize(OpBuilder &builder, Location loc, const Tangent &a,
                            Type type) {
  if (a.value)
    return a.value;
  return arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(type, a.isOne ? 1.0 : 0.0));
}

FailureOr<Tangent> autodiff::differentiateScalar(OpBuilder &builder,
                                                 Operation *op,
                                                 ArrayRef<Tangent> operands) {
  Location loc = op->getLoc();
  Type type = op->getResult(0).getType();
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (operands[1].isZero() && operands[2].isZero())
      return Tangent();
    if (operands[1].isOne && operands[2].isOne)
      return Tangent::one();
    Value yes = materialize(builder, loc, operands[1], type);
    Value no = materialize(builder, loc, operands[2], type);
    return Tangent{
        arith::SelectOp::create(builder, loc, select.getCondition(), yes, no),
        false};
  }
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    if (!operands[0].value)
      return operands[0];
    OperationState state(loc, op->getName());
    state.addOperands(operands[0].value);
    state.addTypes(type);
    return Tangent{builder.create(state)->getResult(0), false};
  }
  auto rule = getRules().find(op->getName().getStringRef());
  if (rule == getRules().end())
    return failure();
  FloatBuilder f{builder, loc, type};
  Tangent sum;
  for (auto [i, tangent] : llvm::enumerate(operands)) {
    if (tangent.isZero())
      continue;
    StringRef name = op->getName().getStringRef();
    // Sums pass tangents on as they are.
    bool passes = name == "arith.addf" || (name == "arith.subf" && i == 0);
    Tangent part;
    if (passes) {
      part = tangent;
    } else {
      Value partial = rule->second[i](f, op);
      if (!partial)
        continue;
      part.value = tangent.isOne ? partial : f.mul(tangent.value, partial);
    }
    if (sum.isZero())
      sum = part;
    else
      sum = {f.add(materialize(builder, loc, sum, type),
                   materialize(builder, loc, part, type)),
             false};
  }
  return sum;
}
