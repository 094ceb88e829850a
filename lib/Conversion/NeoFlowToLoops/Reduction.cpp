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
      LaneValue sum = alongReduction && lanes > 1
                          ? emitAlongReduction(point, function)
                          : emitAlongParallel(point);
      point.reset();
      ComputeOp root = nest.root();
      if (!root.getInits().empty()) {
        // The initial value of the element, read like any other.
        LaneValue init =
            point.emitLoad(function.buffers.lookup(root.getInits().front()),
                           point.evaluate(nest.resultAddress), {}, {}, false);
        init = toAccumulator(point, init);
        bool isVector = init.isVector || sum.isVector;
        Value a = isVector ? point.broadcast(init) : init.value;
        Value b = isVector ? point.broadcast(sum) : sum.value;
        sum = {combine(builder, loc, root.getKind(), a, b), isVector};
      }
      emitEpilogue(point, nest, function, sum);
    });
  }

private:
  ArrayRef<int64_t> reductionExtents() const {
    return ArrayRef(nest.extents).drop_front(nest.numParallel);
  }

  /// A loaded element in the accumulator type of the root.
  LaneValue toAccumulator(LaneEmitter &point, LaneValue value) const {
    ComputeOp root = nest.root();
    Type acc = root.getAccumulatorType();
    Type element = getElementTypeOrSelf(root.getResult(0).getType());
    Type type = value.isVector ? laneVector(acc, point.width) : acc;
    if (element == acc)
      return value;
    if (element.isInteger(1))
      value.value = arith::TruncIOp::create(
          point.builder, point.loc,
          value.isVector ? laneVector(element, point.width) : element,
          value.value);
    if (isa<FloatType>(acc))
      value.value =
          arith::ExtFOp::create(point.builder, point.loc, type, value.value);
    else
      value.value =
          arith::ExtSIOp::create(point.builder, point.loc, type, value.value);
    return value;
  }

  /// The contribution of the current point: the identity outside the domain.
  Value emitContribution(LaneEmitter &point) const {
    ComputeOp root = nest.root();
    LaneValue value = point.emit(root.getYield().getValues().front(), root);
    LaneValue domain = point.emitDomain(root);
    if (domain.value)
      value = point.select(domain, value, identity(point));
    return point.broadcast(value);
  }

  LaneValue identity(LaneEmitter &point) const {
    ComputeOp root = nest.root();
    return {arith::ConstantOp::create(
                point.builder, point.loc,
                getIdentity(root.getKind(), root.getAccumulatorType())),
            false};
  }

  LaneValue emitAlongParallel(LaneEmitter &point) const {
    OpBuilder &builder = point.builder;
    Location loc = point.loc;
    Value initial = point.broadcast(identity(point));
    SmallVector<Value> sum = emitBox(
        builder, loc, reductionExtents(), initial,
        [&](ArrayRef<Value> ivs, ValueRange carried) -> SmallVector<Value> {
          for (auto [i, iv] : llvm::enumerate(ivs))
            point.coordinates[nest.numParallel + i] = {iv, 0, {}};
          point.reset();
          Value value = emitContribution(point);
          point.reset();
          return {
              combine(builder, loc, nest.root().getKind(), carried[0], value)};
        });
    return {sum.front(), point.width > 1};
  }

  /// `point` has one lane; vectors run along the last reduction dimension.
  LaneValue emitAlongReduction(LaneEmitter &point,
                               const KernelFunction &function) const {
    OpBuilder &builder = point.builder;
    Location loc = point.loc;
    ReductionKind kind = nest.root().getKind();
    LaneEmitter vectors(builder, loc, nest, function.buffers, lanes);
    vectors.coordinates = point.coordinates;
    Value scalarIdentity = identity(point).value;
    Value vectorIdentity = vectors.broadcast(identity(vectors));
    int64_t inner = nest.extents.back();
    unsigned last = nest.getNumDims() - 1;
    SmallVector<Value> sums = emitBox(
        builder, loc, reductionExtents().drop_back(),
        {vectorIdentity, scalarIdentity},
        [&](ArrayRef<Value> ivs, ValueRange carried) -> SmallVector<Value> {
          for (auto [i, iv] : llvm::enumerate(ivs))
            point.coordinates[nest.numParallel + i] =
                vectors.coordinates[nest.numParallel + i] = {iv, 0, {}};
          auto constant = [&](int64_t value) -> Value {
            return arith::ConstantIndexOp::create(builder, loc, value);
          };
          int64_t main = inner / lanes * lanes;
          scf::ForOp whole = emitFor(
              builder, loc, constant(0), constant(main), lanes, carried[0],
              [&](Value iv, ValueRange values) -> SmallVector<Value> {
                vectors.coordinates[last] = {iv, 1, {}};
                vectors.reset();
                Value value = emitContribution(vectors);
                vectors.reset();
                return {combine(builder, loc, kind, values[0], value)};
              });
          Value rest = carried[1];
          if (main != inner)
            rest = emitFor(
                       builder, loc, constant(main), constant(inner), 1,
                       carried[1],
                       [&](Value iv, ValueRange values) -> SmallVector<Value> {
                         point.coordinates[last] = {iv, 0, {}};
                         point.reset();
                         Value value = emitContribution(point);
                         point.reset();
                         return {combine(builder, loc, kind, values[0], value)};
                       })
                       .getResult(0);
          return {whole.getResult(0), rest};
        });
    // The lanes are combined as a tree, then the rest.
    Value vector = sums[0];
    for (int64_t width = lanes / 2; width >= 1; width /= 2) {
      auto slice = [&](int64_t offset) -> Value {
        return vector::ExtractStridedSliceOp::create(
            builder, loc, vector, ArrayRef<int64_t>{offset},
            ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
      };
      vector = combine(builder, loc, kind, slice(0), slice(width));
    }
    Value scalar =
        vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{0});
    return {combine(builder, loc, kind, scalar, sums[1]), false};
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
