// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions with lanes along k: for factors that lie along the reduction in
// memory, and for few results, where panels of positions would be mostly
// padding. Rows of both factors are packed without gaps, whatever the box of k.

#include "Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace neoflow;
using namespace neoflow::loops;

namespace {

class DotProduct : public ContractionLowering {
public:
  DotProduct(const KernelNest &nest, const Schedule &schedule,
             const Contraction &contraction)
      : ContractionLowering(nest, schedule, contraction),
        lanes(schedule.get("lanes")) {
    setTileOfK(lanes);
  }

private:
  /// Elements from one packed row to the next: the last vector of a row may
  /// leave it, and so may the zeros behind it.
  int64_t rowElements() const {
    int64_t line = 64 / elementBytes();
    return (kMax + lanes + line - 1) / line * line;
  }
  int64_t packedElements(int64_t tile) const override {
    return tile * rowElements();
  }
  VectorType vectorType() const { return VectorType::get({lanes}, element); }

  void emitPack(OpBuilder &builder, Location loc, const State &s,
                const Side &side, Value start, Value panels,
                Value packed) const override {
    IndexBuilder ib{builder, loc};
    Value rows =
        ib.min(ib.sub(ib.c(side.points), start), ib.mul(panels, side.width));
    emitFor(builder, loc, ib.c(0), rows, 1, {}, [&](Value row, ValueRange) {
      LaneEmitter point(builder, loc, nest, s.function->buffers, lanes);
      setBatchCoordinates(point, s);
      setUniformCoordinates(point, side, ib.add(start, row));
      for (auto [i, coordinate] : llvm::enumerate(s.kCoordinates))
        point.coordinates[kDims[i]] = {coordinate, 0, {}};
      Value base = ib.mul(row, rowElements());
      emitRow(point, s, side, base, packed);
      Value zeros = arith::ConstantOp::create(
          builder, loc, builder.getZeroAttr(vectorType()));
      vector::StoreOp::create(builder, loc, zeros, packed,
                              ib.add(base, s.kCount));
      return SmallVector<Value>();
    });
  }

  /// One row: the points of the tile of k in order, densely from `base`.
  void emitRow(LaneEmitter &point, const State &s, const Side &side, Value base,
               Value packed) const {
    OpBuilder &builder = point.builder;
    Location loc = point.loc;
    IndexBuilder ib{builder, loc};
    if (splitDim + 1 == kDims.size()) {
      emitRun(point, s, side, s.kLower, s.kUpper, base, packed,
              kExtents.back() % lanes == 0 && kRun % lanes == 0);
      return;
    }
    ArrayRef<int64_t> inner = ArrayRef(kExtents).drop_front(splitDim + 1);
    emitFor(
        builder, loc, s.kLower, s.kUpper, 1, {}, [&](Value run, ValueRange) {
          point.coordinates[kDims[splitDim]] = {run, 0, {}};
          Value runBase = ib.add(base, ib.mul(ib.sub(run, s.kLower), kInner));
          emitBox(builder, loc, inner.drop_back(), {},
                  [&](ArrayRef<Value> ivs, ValueRange) {
                    Value offset = ib.c(0);
                    for (auto [i, iv] : llvm::enumerate(ivs)) {
                      point.coordinates[kDims[splitDim + 1 + i]] = {iv, 0, {}};
                      offset = ib.add(ib.mul(offset, inner[i]), iv);
                    }
                    emitRun(point, s, side, ib.c(0), ib.c(inner.back()),
                            ib.add(runBase, ib.mul(offset, inner.back())),
                            packed, inner.back() % lanes == 0);
                    return SmallVector<Value>();
                  });
          return SmallVector<Value>();
        });
  }

  /// Points [lower, upper) of the innermost dimension of k, stored from `base`.
  void emitRun(LaneEmitter &point, const State &s, const Side &side,
               Value lower, Value upper, Value base, Value packed,
               bool isWhole) const {
    OpBuilder &builder = point.builder;
    Location loc = point.loc;
    IndexBuilder ib{builder, loc};
    auto emitVector = [&](LaneEmitter &at, Value k) {
      at.coordinates[kDims.back()] = {k, 1, {}};
      at.reset();
      Value value = emitFactor(at, side);
      vector::StoreOp::create(builder, loc, value, packed,
                              ib.add(base, ib.sub(k, lower)));
      at.reset();
    };
    Value length = ib.sub(upper, lower);
    Value rest = ib.rem(length, lanes);
    Value main = ib.sub(upper, rest);
    emitFor(builder, loc, lower, main, lanes, {}, [&](Value k, ValueRange) {
      emitVector(point, k);
      return SmallVector<Value>();
    });
    if (isWhole)
      return;
    // Lanes past the end are overwritten by what follows in the row.
    emitFor(builder, loc, main, upper, lanes, {}, [&](Value k, ValueRange) {
      LaneEmitter tail(builder, loc, nest, s.function->buffers, lanes);
      tail.coordinates = point.coordinates;
      tail.active = emitFirstLanes(tail, rest);
      emitVector(tail, k);
      return SmallVector<Value>();
    });
  }

  /// The sums over the lanes of each vector, in one vector. Halves are added
  /// until one lane of each is left.
  Value emitSums(OpBuilder &builder, Location loc,
                 SmallVector<Value> vectors) const {
    int64_t parts = lanes;
    /// Adds the first halves of the sums in `a` and `b` to the second ones.
    auto fold = [&](Value a, Value b) -> Value {
      int64_t width = cast<VectorType>(a.getType()).getDimSize(0);
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < (b ? 2 : 1) * width; ++lane)
        (lane % parts < parts / 2 ? low : high).push_back(lane);
      if (!b)
        b = a;
      return arith::AddFOp::create(
          builder, loc, vector::ShuffleOp::create(builder, loc, a, b, low),
          vector::ShuffleOp::create(builder, loc, a, b, high));
    };
    while (vectors.size() > 1) {
      SmallVector<Value> next;
      for (unsigned i = 0; i < vectors.size(); i += 2) {
        if (parts > 1) {
          next.push_back(fold(vectors[i], vectors[i + 1]));
          continue;
        }
        int64_t width = cast<VectorType>(vectors[i].getType()).getDimSize(0);
        next.push_back(vector::ShuffleOp::create(
            builder, loc, vectors[i], vectors[i + 1],
            llvm::to_vector(llvm::seq<int64_t>(2 * width))));
      }
      vectors = next;
      parts = std::max<int64_t>(parts / 2, 1);
    }
    for (; parts > 1; parts /= 2)
      vectors[0] = fold(vectors[0], {});
    return vectors[0];
  }

  void emitMicroKernels(OpBuilder &builder, Location loc, const State &s,
                        Value first) const override {
    IndexBuilder ib{builder, loc};
    emitFor(
        builder, loc, ib.c(0), s.nPanels, 1, {}, [&](Value nPanel, ValueRange) {
          emitFor(builder, loc, ib.c(0), s.mPanels, 1, {},
                  [&](Value mPanel, ValueRange) {
                    emitRegisterTile(builder, loc, s, first, mPanel, nPanel);
                    return SmallVector<Value>();
                  });
          return SmallVector<Value>();
        });
  }

  void emitRegisterTile(OpBuilder &builder, Location loc, const State &s,
                        Value first, Value mPanel, Value nPanel) const {
    IndexBuilder ib{builder, loc};
    int64_t mr = left.width, nr = right.width;
    auto load = [&](Value packed, Value panel, int64_t width, int64_t row,
                    Value k) -> Value {
      Value at = ib.add(ib.mul(panel, width * rowElements()),
                        ib.c(row * rowElements()));
      return vector::LoadOp::create(builder, loc, vectorType(), packed,
                                    ib.add(at, k));
    };
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getZeroAttr(vectorType()));
    scf::ForOp loop =
        emitFor(builder, loc, ib.c(0), s.kCount, lanes,
                SmallVector<Value>(mr * nr, zero),
                [&](Value k, ValueRange accumulators) {
                  SmallVector<Value> rows, next(accumulators);
                  for (int64_t i = 0; i < mr; ++i)
                    rows.push_back(load(s.packedLeft, mPanel, mr, i, k));
                  for (int64_t j = 0; j < nr; ++j) {
                    Value column = load(s.packedRight, nPanel, nr, j, k);
                    for (int64_t i = 0; i < mr; ++i)
                      next[i * nr + j] = vector::FMAOp::create(
                          builder, loc, rows[i], column, next[i * nr + j]);
                  }
                  return next;
                });
    auto rowType = VectorType::get({nr}, element);
    Value none =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(rowType));
    for (int64_t i = 0; i < mr; ++i) {
      Value at = tileRow(ib, mPanel, nPanel, ib.c(i));
      Value sum =
          emitSums(builder, loc,
                   SmallVector<Value>(loop.getResults().slice(i * nr, nr)));
      Value before = vector::LoadOp::create(builder, loc, rowType, s.tile, at);
      before = arith::SelectOp::create(builder, loc, first, none, before);
      sum = arith::AddFOp::create(builder, loc, before, sum);
      vector::StoreOp::create(builder, loc, sum, s.tile, at);
    }
  }

  int64_t lanes;
};

} // namespace

std::unique_ptr<FamilyLowering>
loops::createDotProduct(const KernelNest &nest, const Schedule &schedule,
                        const Contraction &contraction) {
  return std::make_unique<DotProduct>(nest, schedule, contraction);
}
