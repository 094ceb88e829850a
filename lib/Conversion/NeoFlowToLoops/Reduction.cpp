// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions: vectors along the innermost result dimension, each lane with its
// own accumulator, or along the innermost reduction index.

#include "Families.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;
using namespace neoflow::loops;

namespace {

class Reduction : public FamilyLowering {
public:
  Reduction(const KernelNest &nest, const Schedule &schedule)
      : FamilyLowering(nest, schedule),
        alongReduction(schedule.get("vector_axis") == 1),
        lanes(schedule.get("lanes")),
        distribution(nest, schedule.get("chunk"), alongReduction ? 1 : lanes) {}

  int64_t getWorkgroups() const override {
    return distribution.getWorkgroups();
  }

  void emit(OpBuilder &builder, Location loc,
            const KernelFunction &function) const override {
    distribution.emit(builder, loc, function, [&](LaneEmitter &point) {
      SmallVector<Value> sums = alongReduction && lanes > 1
                                    ? emitAlongReduction(point, function)
                                    : emitAlongParallel(point);
      point.reset();
      ComputeOp root = nest.root();
      if (!root.getInits().empty()) {
        // The initial value of the element, read like any other.
        SmallVector<Value> starts;
        for (auto [i, init] : llvm::enumerate(root.getInits()))
          starts.push_back(point.broadcast(
              toAccumulator(point, i,
                            point.emitLoad(function.buffers.lookup(init),
                                           point.evaluate(nest.resultAddress),
                                           {}, {}, false))));
        sums = combineAll(point, starts, sums);
      }
      SmallVector<LaneValue> results;
      for (Value sum : sums)
        results.push_back({sum, point.width > 1});
      emitEpilogue(point, nest, function, results);
    });
  }

private:
  ArrayRef<int64_t> reductionExtents() const {
    return ArrayRef(nest.extents).drop_front(nest.numParallel);
  }

  /// A loaded element of initial value `i` in its accumulator type.
  LaneValue toAccumulator(LaneEmitter &point, unsigned i,
                          LaneValue value) const {
    ComputeOp root = nest.root();
    Type acc = root.getAccumulatorType(i);
    Type element = getElementTypeOrSelf(root.getResult(i).getType());
    Type type = value.isVector ? laneVector(acc, point.width) : acc;
    if (element == acc && !element.isInteger(1))
      return value;
    if (element.isInteger(1))
      value.value = arith::TruncIOp::create(
          point.builder, point.loc,
          value.isVector ? laneVector(element, point.width) : element,
          value.value);
    if (element == acc)
      return value;
    if (isa<FloatType>(acc))
      value.value =
          arith::ExtFOp::create(point.builder, point.loc, type, value.value);
    else
      value.value =
          arith::ExtSIOp::create(point.builder, point.loc, type, value.value);
    return value;
  }

  /// Combines two sets of accumulators, one value for each result, over the
  /// lanes of `point`.
  SmallVector<Value> combineAll(LaneEmitter &point, ValueRange a,
                                ValueRange b) const {
    ComputeOp root = nest.root();
    if (root.getKind() == ReductionKind::combine)
      return point.emitCombiner(root, a, b);
    SmallVector<Value> results;
    for (unsigned i = 0; i < a.size(); ++i)
      results.push_back(
          combine(point.builder, point.loc, root.getKind(i), a[i], b[i]));
    return results;
  }

  /// The contributions of the current point: the identities outside the domain.
  SmallVector<Value> emitContributions(LaneEmitter &point) const {
    ComputeOp root = nest.root();
    LaneValue domain = point.emitDomain(root);
    SmallVector<Value> results;
    for (auto [i, yielded] : llvm::enumerate(root.getYield().getValues())) {
      LaneValue value = point.emit(yielded, root);
      if (domain.value)
        value = point.select(domain, value, identity(point, i));
      results.push_back(point.broadcast(value));
    }
    return results;
  }

  LaneValue identity(LaneEmitter &point, unsigned i) const {
    ComputeOp root = nest.root();
    TypedAttr value =
        root.getKind() == ReductionKind::combine
            ? cast<TypedAttr>((*root.getIdentity())[i])
            : getIdentity(root.getKind(i), root.getAccumulatorType(i));
    return {arith::ConstantOp::create(point.builder, point.loc, value), false};
  }

  SmallVector<Value> identities(LaneEmitter &point) const {
    SmallVector<Value> results;
    for (unsigned i = 0; i < nest.root().getNumResults(); ++i)
      results.push_back(point.broadcast(identity(point, i)));
    return results;
  }

  SmallVector<Value> emitAlongParallel(LaneEmitter &point) const {
    return emitBox(
        point.builder, point.loc, reductionExtents(), identities(point),
        [&](ArrayRef<Value> ivs, ValueRange carried) -> SmallVector<Value> {
          for (auto [i, iv] : llvm::enumerate(ivs))
            point.coordinates[nest.numParallel + i] = {iv, 0, {}};
          point.reset();
          SmallVector<Value> values = emitContributions(point);
          point.reset();
          return combineAll(point, carried, values);
        });
  }

  /// `point` has one lane; vectors run along the last reduction dimension.
  SmallVector<Value> emitAlongReduction(LaneEmitter &point,
                                        const KernelFunction &function) const {
    OpBuilder &builder = point.builder;
    Location loc = point.loc;
    LaneEmitter vectors(builder, loc, nest, function.buffers, lanes);
    vectors.coordinates = point.coordinates;
    unsigned count = nest.root().getNumResults();
    SmallVector<Value> initial = identities(vectors);
    llvm::append_range(initial, identities(point));
    int64_t inner = nest.extents.back();
    unsigned last = nest.getNumDims() - 1;
    SmallVector<Value> sums = emitBox(
        builder, loc, reductionExtents().drop_back(), initial,
        [&](ArrayRef<Value> ivs, ValueRange carried) -> SmallVector<Value> {
          for (auto [i, iv] : llvm::enumerate(ivs))
            point.coordinates[nest.numParallel + i] =
                vectors.coordinates[nest.numParallel + i] = {iv, 0, {}};
          auto constant = [&](int64_t value) -> Value {
            return arith::ConstantIndexOp::create(builder, loc, value);
          };
          auto emitPart = [&](LaneEmitter &emitter, int64_t lower,
                              int64_t upper, int64_t step, ValueRange start) {
            return emitFor(
                builder, loc, constant(lower), constant(upper), step, start,
                [&](Value iv, ValueRange values) -> SmallVector<Value> {
                  emitter.coordinates[last] = {iv, step > 1 ? 1 : 0, {}};
                  emitter.reset();
                  SmallVector<Value> next = emitContributions(emitter);
                  emitter.reset();
                  return combineAll(emitter, values, next);
                });
          };
          int64_t main = inner / lanes * lanes;
          SmallVector<Value> next(
              emitPart(vectors, 0, main, lanes, carried.take_front(count))
                  .getResults());
          if (main != inner)
            llvm::append_range(
                next, emitPart(point, main, inner, 1, carried.drop_front(count))
                          .getResults());
          else
            llvm::append_range(next, carried.drop_front(count));
          return next;
        });
    // The lanes are combined as a tree, then the rest.
    SmallVector<Value> parts(ArrayRef(sums).take_front(count));
    for (int64_t width = lanes / 2; width >= 1; width /= 2) {
      LaneEmitter half(builder, loc, nest, function.buffers, width);
      auto slice = [&](Value vector, int64_t offset) -> Value {
        return vector::ExtractStridedSliceOp::create(
            builder, loc, vector, ArrayRef<int64_t>{offset},
            ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
      };
      SmallVector<Value> low, high;
      for (Value part : parts) {
        low.push_back(slice(part, 0));
        high.push_back(slice(part, width));
      }
      parts = combineAll(half, low, high);
    }
    for (Value &part : parts)
      part =
          vector::ExtractOp::create(builder, loc, part, ArrayRef<int64_t>{0});
    return combineAll(point, parts, ArrayRef(sums).drop_front(count));
  }

  bool alongReduction;
  int64_t lanes;
  RowDistribution distribution;
};

} // namespace

std::unique_ptr<FamilyLowering>
loops::createReduction(const KernelNest &nest, const Schedule &schedule) {
  return std::make_unique<Reduction>(nest, schedule);
}
