// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers over lanes: Philox 4x32-10 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", 2011) at the counter that docs/Spec.md defines.

#include "LaneEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <array>
#include <cmath>

using namespace neoflow;
using namespace neoflow::loops;

namespace {

/// Arithmetic on words of 32 bits and on floats, scalar or vector alike.
struct WordBuilder {
  OpBuilder &builder;
  Location loc;
  int64_t width;

  Type of(Type element) const { return laneVector(element, width); }
  Value constant(TypedAttr value) const {
    Type type = of(value.getType());
    if (auto vector = dyn_cast<VectorType>(type))
      value = DenseElementsAttr::get(vector, value);
    return arith::ConstantOp::create(builder, loc, value);
  }
  Value word(uint32_t value) const {
    return constant(builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value real(Type type, double value) const {
    return constant(builder.getFloatAttr(type, value));
  }
  Value exclusiveOr(Value a, Value b) const {
    return arith::XOrIOp::create(builder, loc, a, b);
  }
  Value add(Value a, Value b) const {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value shiftRight(Value a, uint64_t bits) const {
    Type element = getElementTypeOrSelf(a.getType());
    return arith::ShRUIOp::create(
        builder, loc, a, constant(builder.getIntegerAttr(element, bits)));
  }
  /// Low and high words of a 64-bit value.
  std::pair<Value, Value> split(Value wide) const {
    Type i32 = of(builder.getI32Type());
    Value low = arith::TruncIOp::create(builder, loc, i32, wide);
    Value high =
        arith::TruncIOp::create(builder, loc, i32, shiftRight(wide, 32));
    return {low, high};
  }
  Value join(Value high, Value low) const {
    Type i64 = of(builder.getI64Type());
    Value upper = arith::ExtUIOp::create(builder, loc, i64, high);
    upper = arith::ShLIOp::create(builder, loc, upper,
                                  constant(builder.getI64IntegerAttr(32)));
    Value lower = arith::ExtUIOp::create(builder, loc, i64, low);
    return arith::OrIOp::create(builder, loc, upper, lower);
  }

  using Words = std::array<Value, 4>;

  Words philox(Words counter, std::array<Value, 2> key) const {
    for (int round = 0; round < 10; ++round) {
      auto a = arith::MulUIExtendedOp::create(builder, loc, counter[0],
                                              word(0xD2511F53));
      auto b = arith::MulUIExtendedOp::create(builder, loc, counter[2],
                                              word(0xCD9E8D57));
      counter = {exclusiveOr(exclusiveOr(b.getHigh(), counter[1]), key[0]),
                 b.getLow(),
                 exclusiveOr(exclusiveOr(a.getHigh(), counter[3]), key[1]),
                 a.getLow()};
      key = {add(key[0], word(0x9E3779B9)), add(key[1], word(0xBB67AE85))};
    }
    return counter;
  }

  /// In [0, 1): 24 bits of one word, or 53 bits of two.
  Value uniform(Type type, Value first, Value second) const {
    bool isDouble = type.isF64();
    Value bits =
        isDouble ? shiftRight(join(first, second), 11) : shiftRight(first, 8);
    // The bits fit the signed type, whose conversion is one instruction.
    Value number = arith::SIToFPOp::create(builder, loc, of(type), bits);
    return arith::MulFOp::create(
        builder, loc, number,
        real(type, std::ldexp(1.0, isDouble ? -53 : -24)));
  }

  /// Standard normal, by Box and Muller. The radius needs a number in (0, 1].
  Value normal(Type type, const Words &words) const {
    bool isDouble = type.isF64();
    Value radius = uniform(type, words[0], words[1]);
    radius = arith::AddFOp::create(
        builder, loc, radius,
        real(type, std::ldexp(1.0, isDouble ? -53 : -24)));
    Value angle = isDouble ? uniform(type, words[2], words[3])
                           : uniform(type, words[1], words[1]);
    radius = math::LogOp::create(builder, loc, radius);
    radius = arith::MulFOp::create(builder, loc, radius, real(type, -2.0));
    radius = math::SqrtOp::create(builder, loc, radius);
    angle = arith::MulFOp::create(builder, loc, angle,
                                  real(type, 2.0 * 3.14159265358979323846));
    angle = math::CosOp::create(builder, loc, angle);
    return arith::MulFOp::create(builder, loc, radius, angle);
  }
};

} // namespace

LaneValue LaneEmitter::emitRandom(RandomOp random, const Body &body) {
  const Access &access = nest.accesses.find(random)->second;
  LaneIndex position = evaluate(access.address, symbolsOf(access, body));
  bool isVector = !position.isUniform();
  WordBuilder words{builder, loc, isVector ? width : 1};
  Type i64 = words.of(builder.getI64Type());

  Value wide;
  if (!isVector)
    wide = arith::IndexCastOp::create(builder, loc, i64, position.uniform);
  else if (wide = materialize(position); wide.getType() != i64)
    wide = arith::ExtSIOp::create(builder, loc, i64, wide);
  auto scalar = [&](Value value) -> Value {
    LaneValue lane = values.lookup(value);
    return lane.isVector || !isVector ? lane.value : broadcast(lane);
  };
  auto [positionLow, positionHigh] = words.split(wide);
  auto [seedLow, seedHigh] = words.split(scalar(random.getSeed()));
  auto [stepLow, stepHigh] = words.split(scalar(random.getStep()));
  WordBuilder::Words bits = words.philox(
      {positionLow, positionHigh,
       words.word(static_cast<uint32_t>(random.getStream())), stepLow},
      {seedLow, words.exclusiveOr(seedHigh, stepHigh)});
  Type type = random.getResult().getType();
  return {random.getDistribution() == Distribution::uniform
              ? words.uniform(type, bits[0], bits[1])
              : words.normal(type, bits),
          isVector};
}
