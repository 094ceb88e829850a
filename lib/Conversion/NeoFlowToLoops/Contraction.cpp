// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions: panels of both factors are evaluated into packed buffers, which
// absorbs strides, padding, domains, gathers and cheap producers; one
// micro-kernel of outer products works on the panels, whatever the operator.
//
// Left, right and reduction indices are linear positions m, n and k in the
// boxes of their dimensions. A workgroup computes a tile of m_tile x n_tile
// elements.

#include "Families.h"

#include "neoflow/Index/Domain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;
using namespace neoflow::loops;

namespace {

/// One side of the product: the dimensions of its positions, and its factor.
struct Side {
  SmallVector<unsigned> dims;
  SmallVector<int64_t> extents;
  int64_t points = 1;
  /// Points of a panel: the register tile's rows or columns.
  int64_t width = 1;
  /// Extents as panels see them: the innermost one may be padded, so that no
  /// panel leaves a run along it.
  SmallVector<int64_t> paddedExtents;
  int64_t positions = 1;

  /// Whether the lanes of every panel are consecutive along the innermost
  /// dimension.
  bool panelsAreRuns() const {
    return dims.size() == 1 || paddedExtents.back() % width == 0;
  }
  /// Whether every panel is full of points.
  bool panelsAreWhole() const { return extents.back() % width == 0; }
  Value factor;
  bool maskedByLeft = false;
};

class ContractionLowering : public FamilyLowering {
public:
  ContractionLowering(const KernelNest &nest, const Schedule &schedule,
                      const Contraction &contraction)
      : FamilyLowering(nest, schedule), contraction(contraction) {
    left.factor = contraction.left;
    right.factor = contraction.right;
    left.maskedByLeft = true;
    left.width = schedule.get("mr");
    right.width = schedule.get("nr");
    for (auto [i, role] : llvm::enumerate(nest.roles)) {
      int64_t extent = nest.extents[i];
      if (role == ContractionRole::left || role == ContractionRole::right) {
        Side &side = role == ContractionRole::left ? left : right;
        side.dims.push_back(i);
        side.extents.push_back(extent);
        side.points *= extent;
      } else if (role == ContractionRole::batch) {
        batchDims.push_back(i);
        batchExtents.push_back(extent);
        batch *= extent;
      } else {
        kDims.push_back(i);
        kExtents.push_back(extent);
      }
    }
    // Rows of the tile are found by their position: they are never padded.
    left.paddedExtents = left.extents;
    left.positions = left.points;
    right.paddedExtents = right.extents;
    if (right.dims.size() > 1 && !readsAreJoint(right))
      right.paddedExtents.back() = paddedRun(right.extents.back(), right.width);
    right.positions = 1;
    for (int64_t extent : right.paddedExtents)
      right.positions *= extent;
    // The tile of k is a box: whole inner dimensions, a run of one, and single
    // points of the outer ones.
    int64_t limit = schedule.get("k_tile");
    splitDim = kDims.size() - 1;
    kInner = 1;
    while (splitDim > 0 && kInner * kExtents[splitDim] <= limit) {
      kInner *= kExtents[splitDim];
      --splitDim;
    }
    kRun = std::clamp<int64_t>(limit / kInner, 1, kExtents[splitDim]);
    kMax = kRun * kInner;
    kOuter = 1;
    for (unsigned i = 0; i < splitDim; ++i)
      kOuter *= kExtents[i];
    kRuns = ceilDiv(kExtents[splitDim], kRun);
    mTile = schedule.get("m_tile");
    nTile = schedule.get("n_tile");
    mTiles = ceilDiv(left.positions, mTile);
    nTiles = ceilDiv(right.positions, nTile);
    element = nest.root().getAccumulatorType();
  }

  int64_t getWorkgroups() const override { return batch * mTiles * nTiles; }

  int64_t getWorkspaceBytes() const override {
    return (leftElements() + rightElements() + mTile * nTile) * elementBytes();
  }

  void emit(OpBuilder &builder, Location loc,
            const KernelFunction &function) const override {
    IndexBuilder ib{builder, loc};
    auto view = [&](int64_t offset, int64_t elements) -> Value {
      return memref::ViewOp::create(
          builder, loc, MemRefType::get({elements}, element),
          function.workspace, ib.c(offset * elementBytes()), ValueRange());
    };
    State s;
    s.packedLeft = view(0, leftElements());
    s.packedRight = view(leftElements(), rightElements());
    s.tile = view(leftElements() + rightElements(), mTile * nTile);
    s.function = &function;
    emitFor(builder, loc, function.begin, function.end, 1, {},
            [&](Value workgroup, ValueRange) {
              emitWorkgroup(builder, loc, workgroup, s);
              return SmallVector<Value>();
            });
  }

private:
  static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
  int64_t elementBytes() const { return element.getIntOrFloatBitWidth() / 8; }
  // Buffers start on cache lines.
  int64_t align(int64_t elements) const {
    int64_t line = 64 / elementBytes();
    return ceilDiv(elements, line) * line;
  }
  int64_t leftElements() const { return align(mTile * kMax); }
  int64_t rightElements() const { return align(nTile * kMax); }

  /// What the parts of one kernel share while it is emitted.
  struct State {
    Value packedLeft, packedRight, tile;
    const KernelFunction *function;
    SmallVector<Value> batchCoordinates;
    /// First positions and numbers of panels of the workgroup's tile.
    Value m0, n0, mPanels, nPanels;
    /// The tile of k: outer coordinates, bounds of the run, number of points.
    SmallVector<Value> kCoordinates;
    Value kLower, kUpper, kCount;
  };

  void emitWorkgroup(OpBuilder &builder, Location loc, Value workgroup,
                     State s) const {
    IndexBuilder ib{builder, loc};
    Value mIndex = ib.rem(workgroup, mTiles);
    Value rest = ib.div(workgroup, mTiles);
    Value nIndex = ib.rem(rest, nTiles);
    s.batchCoordinates =
        delinearize(builder, loc, ib.div(rest, nTiles), batchExtents);
    s.m0 = ib.mul(mIndex, mTile);
    s.n0 = ib.mul(nIndex, nTile);
    auto panels = [&](Value start, const Side &side, int64_t tile) {
      Value length = ib.min(ib.sub(ib.c(side.positions), start), ib.c(tile));
      return ib.div(ib.add(length, ib.c(side.width - 1)), side.width);
    };
    s.mPanels = panels(s.m0, left, mTile);
    s.nPanels = panels(s.n0, right, nTile);
    emitFor(builder, loc, ib.c(0), ib.c(kOuter * kRuns), 1, {},
            [&](Value kTileIndex, ValueRange) {
              Value run = ib.rem(kTileIndex, kRuns);
              s.kCoordinates =
                  delinearize(builder, loc, ib.div(kTileIndex, kRuns),
                              ArrayRef(kExtents).take_front(splitDim));
              s.kLower = ib.mul(run, kRun);
              s.kUpper = ib.min(ib.add(s.kLower, ib.c(kRun)),
                                ib.c(kExtents[splitDim]));
              s.kCount = ib.mul(ib.sub(s.kUpper, s.kLower), kInner);
              emitPack(builder, loc, s, left, s.m0, s.mPanels, s.packedLeft);
              emitPack(builder, loc, s, right, s.n0, s.nPanels, s.packedRight);
              Value first = arith::CmpIOp::create(
                  builder, loc, arith::CmpIPredicate::eq, kTileIndex, ib.c(0));
              emitMicroKernels(builder, loc, s, first);
              return SmallVector<Value>();
            });
    emitResults(builder, loc, s);
  }

  //===--------------------------------------------------------------------===//
  // Coordinates of a panel
  //===--------------------------------------------------------------------===//

  /// Coordinates of a panel that is a run. Returns the number of its points.
  Value setRunCoordinates(LaneEmitter &lanes, const Side &side,
                          Value position) const {
    IndexBuilder ib{lanes.builder, lanes.loc};
    SmallVector<Value> coordinates =
        delinearize(lanes.builder, lanes.loc, position, side.paddedExtents);
    for (auto [dim, coordinate] : llvm::zip(side.dims, coordinates))
      lanes.coordinates[dim] = {coordinate, 0, {}};
    lanes.coordinates[side.dims.back()].stride = side.width == 1 ? 0 : 1;
    return ib.min(ib.sub(ib.c(side.extents.back()), coordinates.back()),
                  ib.c(side.width));
  }

  /// Coordinates of any panel; lanes past the end repeat the last point.
  void setClampedCoordinates(LaneEmitter &lanes, const Side &side,
                             Value position) const {
    OpBuilder &builder = lanes.builder;
    Location loc = lanes.loc;
    if (side.width == 1) {
      (void)setRunCoordinates(lanes, side, position);
      return;
    }
    LaneIndex linear{position, 1, {}};
    Value value = lanes.materialize(linear);
    auto constant = [&](int64_t c) -> Value {
      auto type = cast<VectorType>(value.getType());
      return arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(type,
                                 builder.getIntegerAttr(lanes.laneType, c)));
    };
    value =
        arith::MinUIOp::create(builder, loc, value, constant(side.points - 1));
    for (int i = side.dims.size() - 1; i >= 0; --i) {
      LaneIndex coordinate = lanes.constant(0);
      coordinate.varying = value;
      if (i > 0) {
        coordinate.varying = arith::RemUIOp::create(builder, loc, value,
                                                    constant(side.extents[i]));
        value = arith::DivUIOp::create(builder, loc, value,
                                       constant(side.extents[i]));
      }
      lanes.coordinates[side.dims[i]] = coordinate;
    }
  }

  void setBatchCoordinates(LaneEmitter &lanes, const State &s) const {
    lanes.coordinates.resize(nest.getNumDims());
    for (auto [dim, coordinate] : llvm::zip(batchDims, s.batchCoordinates))
      lanes.coordinates[dim] = {coordinate, 0, {}};
  }

  //===--------------------------------------------------------------------===//
  // Packing
  //===--------------------------------------------------------------------===//

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
                Value packed) const {
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

  /// A mask of the first `count` lanes.
  static LaneValue emitFirstLanes(LaneEmitter &lanes, Value count) {
    auto type = VectorType::get({lanes.width}, lanes.builder.getI1Type());
    return {vector::CreateMaskOp::create(lanes.builder, lanes.loc, type, count),
            lanes.width > 1};
  }

  static void emitIf(OpBuilder &builder, Location loc, Value condition,
                     function_ref<void(bool)> body) {
    auto branch = scf::IfOp::create(builder, loc, condition,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    body(true);
    builder.setInsertionPointToStart(branch.elseBlock());
    body(false);
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

  /// Whether the factor of `side` is a read whose tests already give zero
  /// wherever constraint `i` fails.
  bool isImpliedByTests(const Side &side, const Constraint &constraint) const {
    auto read = side.factor.getDefiningOp<ReadOp>();
    if (!read)
      return false;
    const Access &access = nest.accesses.find(read)->second;
    if (!access.symbols.empty() || access.checks.empty())
      return false;
    auto otherwise = dyn_cast_or_null<FloatAttr>(read.getOtherwiseAttr());
    if (otherwise && !otherwise.getValue().isZero())
      return false;
    SmallVector<AffineExpr> tests;
    for (const BoundsCheck &check : access.checks) {
      tests.push_back(check.expr);
      tests.push_back(check.extent - 1 - check.expr);
    }
    SmallVector<bool> equalities(tests.size(), false);
    index::Domain domain{
        nest.extents,
        {IntegerSet::get(nest.getNumDims(), 0, tests, equalities)}};
    std::optional<index::Range> range =
        index::rangeOver(constraint.expr, domain);
    return !range ||
           (range->min >= 0 && (!constraint.isEquality || range->max <= 0));
  }

  /// The factor, zero outside the part of the domain that this side masks.
  Value emitFactor(LaneEmitter &lanes, const Side &side) const {
    ComputeOp root = nest.root();
    LaneValue value = lanes.emit(side.factor, root);
    LaneValue mask = lanes.emitDomain(root, [&](unsigned i) {
      return contraction.maskLeft[i] == side.maskedByLeft &&
             !isImpliedByTests(side,
                               nest.domains.find(root)->second.front()[i]);
    });
    if (mask.value) {
      LaneValue zero{
          arith::ConstantOp::create(lanes.builder, lanes.loc,
                                    lanes.builder.getFloatAttr(element, 0.0)),
          false};
      value = lanes.select(mask, value, zero);
    }
    return lanes.broadcast(value);
  }

  //===--------------------------------------------------------------------===//
  // Micro-kernel
  //===--------------------------------------------------------------------===//

  /// Position of row `row` of the register tile (mPanel, nPanel) in the tile
  /// buffer. Register tiles lie one after the other.
  Value tileRow(IndexBuilder &ib, Value mPanel, Value nPanel, Value row) const {
    int64_t rowsPerColumn = mTile; // m panels of mr rows each
    Value column = ib.mul(nPanel, rowsPerColumn * right.width);
    Value panel = ib.mul(mPanel, left.width * right.width);
    return ib.add(ib.add(column, panel), ib.mul(row, right.width));
  }

  void emitMicroKernels(OpBuilder &builder, Location loc, const State &s,
                        Value first) const {
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

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  void emitResults(OpBuilder &builder, Location loc, const State &s) const {
    IndexBuilder ib{builder, loc};
    emitFor(
        builder, loc, ib.c(0), s.nPanels, 1, {}, [&](Value nPanel, ValueRange) {
          Value position = ib.add(s.n0, ib.mul(nPanel, right.width));
          LaneEmitter lanes(builder, loc, nest, s.function->buffers,
                            right.width);
          setBatchCoordinates(lanes, s);
          if (!right.panelsAreRuns()) {
            setClampedCoordinates(lanes, right, position);
            emitColumn(lanes, s, nPanel,
                       ib.min(ib.sub(ib.c(right.points), position),
                              ib.c(right.width)));
            return SmallVector<Value>();
          }
          Value count = setRunCoordinates(lanes, right, position);
          if (right.panelsAreWhole()) {
            emitColumn(lanes, s, nPanel, {});
            return SmallVector<Value>();
          }
          Value whole = arith::CmpIOp::create(
              builder, loc, arith::CmpIPredicate::eq, count, ib.c(right.width));
          emitIf(builder, loc, whole, [&](bool isWhole) {
            LaneEmitter branch(builder, loc, nest, s.function->buffers,
                               right.width);
            branch.coordinates = lanes.coordinates;
            if (!isWhole)
              branch.active = emitFirstLanes(branch, count);
            emitColumn(branch, s, nPanel, isWhole ? Value() : count);
          });
          return SmallVector<Value>();
        });
  }

  /// All rows of one panel of columns.
  void emitColumn(LaneEmitter &lanes, const State &s, Value nPanel,
                  Value valid) const {
    OpBuilder &builder = lanes.builder;
    Location loc = lanes.loc;
    IndexBuilder ib{builder, loc};
    auto vectorType = VectorType::get({right.width}, element);
    Value rows = ib.min(ib.sub(ib.c(left.points), s.m0), ib.c(mTile));
    emitFor(builder, loc, ib.c(0), rows, 1, {}, [&](Value row, ValueRange) {
      SmallVector<Value> coordinates =
          delinearize(builder, loc, ib.add(s.m0, row), left.extents);
      for (auto [dim, coordinate] : llvm::zip(left.dims, coordinates))
        lanes.coordinates[dim] = {coordinate, 0, {}};
      lanes.reset();
      lanes.results.clear();
      Value value = vector::LoadOp::create(builder, loc, vectorType, s.tile,
                                           tileRow(ib, ib.c(0), nPanel, row));
      emitEpilogue(lanes, nest, *s.function, {value, true}, valid);
      return SmallVector<Value>();
    });
  }

  const Contraction contraction;
  Side left, right;
  SmallVector<unsigned> batchDims, kDims;
  SmallVector<int64_t> batchExtents, kExtents;
  int64_t batch = 1, mTile, nTile, mTiles, nTiles;
  unsigned splitDim;
  int64_t kInner, kRun, kMax, kOuter, kRuns;
  Type element;
};

} // namespace

std::unique_ptr<FamilyLowering>
loops::createContraction(const KernelNest &nest, const Schedule &schedule,
                         const Contraction &contraction) {
  return std::make_unique<ContractionLowering>(nest, schedule, contraction);
}
