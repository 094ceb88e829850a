// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions with lanes along the right positions: panels of both factors, a
// register tile of outer products.

#include "Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace neoflow;
using namespace neoflow::loops;

namespace {

class OuterProduct : public ContractionLowering {
public:
  OuterProduct(const KernelNest &nest, const Schedule &schedule,
               const Contraction &contraction)
      : ContractionLowering(nest, schedule, contraction) {
    if (right.dims.size() > 1 && !readsAreJoint(right))
      setPaddedRun(right, paddedRun(right.extents.back(), right.width));
  }

private:
  int64_t packedElements(int64_t tile) const override { return tile * kMax; }

  /// Reads in the factor of `side` that may be contiguous over its panels.
  SmallVector<ReadOp> contiguousCandidates(const Side &side) const {
    SmallVector<ReadOp> candidates;
    llvm::SmallPtrSet<Operation *, 8> seen;
    SmallVector<Value> worklist{side.factor};
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val().getDefiningOp();
      if (!op || !seen.insert(op).second)
        continue;
      llvm::append_range(worklist, op->getOperands());
      auto read = dyn_cast<ReadOp>(op);
      if (!read)
        continue;
      const Access &access = nest.accesses.find(read)->second;
      if (access.symbols.empty() &&
          getCoefficient(access.address, side.dims.back()) == 1)
        candidates.push_back(read);
    }
    return candidates;
  }

  /// Whether runs go on across the dimensions of `side` in memory, as in a
  /// convolution that keeps the size of its image.
  bool readsAreJoint(const Side &side) const {
    for (ReadOp read : contiguousCandidates(side)) {
      AffineExpr address = nest.accesses.find(read)->second.address;
      for (unsigned i = 0; i + 1 < side.dims.size(); ++i) {
        std::optional<int64_t> outer = getCoefficient(address, side.dims[i]);
        std::optional<int64_t> inner =
            getCoefficient(address, side.dims[i + 1]);
        if (!outer || !inner || *outer != *inner * side.extents[i + 1])
          return false;
      }
    }
    return true;
  }

  void emitPack(OpBuilder &builder, Location loc, const State &s,
                const Side &side, Value start, Value panels,
                Value packed) const override {
    IndexBuilder ib{builder, loc};
    emitFor(builder, loc, ib.c(0), panels, 1, {}, [&](Value panel, ValueRange) {
      Value position = ib.add(start, ib.mul(panel, side.width));
      LaneEmitter lanes(builder, loc, nest, s.function->buffers, side.width);
      setBatchCoordinates(lanes, s);
      auto emitClamped = [&] {
        setClampedCoordinates(lanes, side, position);
        SmallVector<ReadOp> candidates = contiguousCandidates(side);
        if (candidates.empty() || side.width == 1) {
          emitPanel(lanes, s, side, panel, packed);
          return;
        }
        // Where k does not matter to contiguity, it is decided once a panel.
        for (unsigned dim : kDims)
          lanes.coordinates[dim] = lanes.constant(0);
        Value all;
        for (ReadOp read : candidates) {
          Value is = lanes.emitIsContiguous(read);
          all = all ? arith::AndIOp::create(builder, loc, all, is).getResult()
                    : is;
        }
        emitIf(builder, loc, all, [&](bool isContiguous) {
          LaneEmitter branch(builder, loc, nest, s.function->buffers,
                             side.width);
          branch.coordinates = lanes.coordinates;
          if (isContiguous)
            branch.contiguous.insert(candidates.begin(), candidates.end());
          emitPanel(branch, s, side, panel, packed);
        });
      };
      if (!side.panelsAreRuns()) {
        emitClamped();
        return SmallVector<Value>();
      }
      Value count = setRunCoordinates(lanes, side, position);
      if (side.panelsAreWhole()) {
        emitPanel(lanes, s, side, panel, packed);
        return SmallVector<Value>();
      }
      Value whole = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, count, ib.c(side.width));
      emitIf(builder, loc, whole, [&](bool isWhole) {
        LaneEmitter branch(builder, loc, nest, s.function->buffers, side.width);
        branch.coordinates = lanes.coordinates;
        if (!isWhole)
          branch.active = emitFirstLanes(branch, count);
        emitPanel(branch, s, side, panel, packed);
      });
      return SmallVector<Value>();
    });
  }

  /// Evaluates the factor at every point of the tile of k.
  void emitPanel(LaneEmitter &lanes, const State &s, const Side &side,
                 Value panel, Value packed) const {
    OpBuilder &builder = lanes.builder;
    Location loc = lanes.loc;
    IndexBuilder ib{builder, loc};
    for (auto [i, coordinate] : llvm::enumerate(s.kCoordinates))
      lanes.coordinates[kDims[i]] = {coordinate, 0, {}};
    Value base = ib.mul(panel, kMax * side.width);
    emitFor(
        builder, loc, s.kLower, s.kUpper, 1, {}, [&](Value run, ValueRange) {
          lanes.coordinates[kDims[splitDim]] = {run, 0, {}};
          Value runBase =
              ib.add(base, ib.mul(ib.sub(run, s.kLower), kInner * side.width));
          ArrayRef<int64_t> inner = ArrayRef(kExtents).drop_front(splitDim + 1);
          emitBox(builder, loc, inner, {},
                  [&](ArrayRef<Value> ivs, ValueRange) {
                    Value offset = ib.c(0);
                    for (auto [i, iv] : llvm::enumerate(ivs)) {
                      lanes.coordinates[kDims[splitDim + 1 + i]] = {iv, 0, {}};
                      offset = ib.add(ib.mul(offset, inner[i]), iv);
                    }
                    lanes.reset();
                    Value value = emitFactor(lanes, side);
                    Value at = ib.add(runBase, ib.mul(offset, side.width));
                    if (side.width == 1)
                      memref::StoreOp::create(builder, loc, value, packed, at);
                    else
                      vector::StoreOp::create(builder, loc, value, packed, at);
                    lanes.reset();
                    return SmallVector<Value>();
                  });
          return SmallVector<Value>();
        });
  }

  void emitMicroKernels(OpBuilder &builder, Location loc, const State &s,
                        Value first) const override {
    IndexBuilder ib{builder, loc};
    auto vectorType = VectorType::get({right.width}, element);
    int64_t mr = left.width, nr = right.width;
    emitFor(
        builder, loc, ib.c(0), s.nPanels, 1, {}, [&](Value nPanel, ValueRange) {
          emitFor(
              builder, loc, ib.c(0), s.mPanels, 1, {},
              [&](Value mPanel, ValueRange) {
                Value leftBase = ib.mul(mPanel, kMax * mr);
                Value rightBase = ib.mul(nPanel, kMax * nr);
                SmallVector<Type> types(mr, vectorType);
                auto initial = scf::IfOp::create(builder, loc, types, first,
                                                 /*withElseRegion=*/true);
                {
                  OpBuilder::InsertionGuard guard(builder);
                  builder.setInsertionPointToStart(initial.thenBlock());
                  Value zero = arith::ConstantOp::create(
                      builder, loc, builder.getZeroAttr(vectorType));
                  scf::YieldOp::create(builder, loc,
                                       SmallVector<Value>(mr, zero));
                  builder.setInsertionPointToStart(initial.elseBlock());
                  SmallVector<Value> rows;
                  for (int64_t row = 0; row < mr; ++row)
                    rows.push_back(vector::LoadOp::create(
                        builder, loc, vectorType, s.tile,
                        tileRow(ib, mPanel, nPanel, ib.c(row))));
                  scf::YieldOp::create(builder, loc, rows);
                }
                scf::ForOp loop = emitFor(
                    builder, loc, ib.c(0), s.kCount, 1, initial.getResults(),
                    [&](Value k, ValueRange accumulators) {
                      Value r = vector::LoadOp::create(
                          builder, loc, vectorType, s.packedRight,
                          ib.add(rightBase, ib.mul(k, nr)));
                      Value leftAt = ib.add(leftBase, ib.mul(k, mr));
                      SmallVector<Value> next;
                      for (int64_t row = 0; row < mr; ++row) {
                        Value l =
                            memref::LoadOp::create(builder, loc, s.packedLeft,
                                                   ib.add(leftAt, ib.c(row)));
                        l = vector::BroadcastOp::create(builder, loc,
                                                        vectorType, l);
                        next.push_back(vector::FMAOp::create(
                            builder, loc, l, r, accumulators[row]));
                      }
                      return next;
                    });
                for (int64_t row = 0; row < mr; ++row)
                  vector::StoreOp::create(
                      builder, loc, loop.getResult(row), s.tile,
                      tileRow(ib, mPanel, nPanel, ib.c(row)));
                return SmallVector<Value>();
              });
          return SmallVector<Value>();
        });
  }
};

} // namespace

std::unique_ptr<FamilyLowering>
loops::createOuterProduct(const KernelNest &nest, const Schedule &schedule,
                          const Contraction &contraction) {
  return std::make_unique<OuterProduct>(nest, schedule, contraction);
}
