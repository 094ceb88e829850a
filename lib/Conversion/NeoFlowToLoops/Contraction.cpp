// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all contractions share: tiles, coordinates, factors and results.

#include "Contraction.h"

#include "neoflow/Index/Domain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;
using namespace neoflow::loops;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Buffers start on cache lines.
static int64_t alignedElements(int64_t elements, int64_t elementBytes) {
  int64_t line = 64 / elementBytes;
  return ceilDiv(elements, line) * line;
}

ContractionLowering::ContractionLowering(const KernelNest &nest,
                                         const Schedule &schedule,
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
  for (Side *side : {&left, &right}) {
    side->paddedExtents = side->extents;
    side->positions = side->points;
  }
  mTile = schedule.get("m_tile");
  nTile = schedule.get("n_tile");
  mTiles = ceilDiv(left.positions, mTile);
  nTiles = ceilDiv(right.positions, nTile);
  element = nest.root().getAccumulatorType();
  setTileOfK(1);
}

void ContractionLowering::setPaddedRun(Side &side, int64_t run) {
  side.paddedExtents.back() = run;
  side.positions = 1;
  for (int64_t extent : side.paddedExtents)
    side.positions *= extent;
  nTiles = ceilDiv(right.positions, nTile);
}

void ContractionLowering::setTileOfK(int64_t multiple) {
  int64_t limit = schedule.get("k_tile");
  splitDim = kDims.size() - 1;
  kInner = 1;
  while (splitDim > 0 && kInner * kExtents[splitDim] <= limit) {
    kInner *= kExtents[splitDim];
    --splitDim;
  }
  kRun = std::clamp<int64_t>(limit / kInner, 1, kExtents[splitDim]);
  if (kInner == 1 && kRun > multiple)
    kRun = kRun / multiple * multiple;
  kMax = kRun * kInner;
  kOuter = 1;
  for (unsigned i = 0; i < splitDim; ++i)
    kOuter *= kExtents[i];
  kRuns = ceilDiv(kExtents[splitDim], kRun);
}

int64_t ContractionLowering::getWorkspaceBytes() const {
  int64_t bytes = elementBytes();
  return (alignedElements(packedElements(mTile), bytes) +
          alignedElements(packedElements(nTile), bytes) + mTile * nTile) *
         bytes;
}

void ContractionLowering::emit(OpBuilder &builder, Location loc,
                               const KernelFunction &function) const {
  IndexBuilder ib{builder, loc};
  int64_t offset = 0;
  auto view = [&](int64_t elements) -> Value {
    Value start = ib.c(offset * elementBytes());
    offset += alignedElements(elements, elementBytes());
    return memref::ViewOp::create(builder, loc,
                                  MemRefType::get({elements}, element),
                                  function.workspace, start, ValueRange());
  };
  State s;
  s.packedLeft = view(packedElements(mTile));
  s.packedRight = view(packedElements(nTile));
  s.tile = view(mTile * nTile);
  s.function = &function;
  emitFor(builder, loc, function.begin, function.end, 1, {},
          [&](Value workgroup, ValueRange) {
            emitWorkgroup(builder, loc, workgroup, s);
            return SmallVector<Value>();
          });
}

void ContractionLowering::emitWorkgroup(OpBuilder &builder, Location loc,
                                        Value workgroup, State s) const {
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
            s.kUpper =
                ib.min(ib.add(s.kLower, ib.c(kRun)), ib.c(kExtents[splitDim]));
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

//===----------------------------------------------------------------------===//
// Coordinates of a panel
//===----------------------------------------------------------------------===//

Value ContractionLowering::setRunCoordinates(LaneEmitter &lanes,
                                             const Side &side,
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

void ContractionLowering::setClampedCoordinates(LaneEmitter &lanes,
                                                const Side &side,
                                                Value position) const {
  OpBuilder &builder = lanes.builder;
  Location loc = lanes.loc;
  if (side.width == 1) {
    setUniformCoordinates(lanes, side, position);
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

void ContractionLowering::setUniformCoordinates(LaneEmitter &lanes,
                                                const Side &side,
                                                Value position) const {
  SmallVector<Value> coordinates =
      delinearize(lanes.builder, lanes.loc, position, side.extents);
  for (auto [dim, coordinate] : llvm::zip(side.dims, coordinates))
    lanes.coordinates[dim] = {coordinate, 0, {}};
}

void ContractionLowering::setBatchCoordinates(LaneEmitter &lanes,
                                              const State &s) const {
  lanes.coordinates.resize(nest.getNumDims());
  for (auto [dim, coordinate] : llvm::zip(batchDims, s.batchCoordinates))
    lanes.coordinates[dim] = {coordinate, 0, {}};
}

LaneValue loops::emitFirstLanes(LaneEmitter &lanes, Value count) {
  auto type = VectorType::get({lanes.width}, lanes.builder.getI1Type());
  return {vector::CreateMaskOp::create(lanes.builder, lanes.loc, type, count),
          lanes.width > 1};
}

void loops::emitIf(OpBuilder &builder, Location loc, Value condition,
                   function_ref<void(bool)> body) {
  auto branch = scf::IfOp::create(builder, loc, condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body(true);
  builder.setInsertionPointToStart(branch.elseBlock());
  body(false);
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Whether the factor of `side` is a read whose tests already give zero
/// wherever constraint `i` fails.
bool ContractionLowering::isImpliedByTests(const Side &side,
                                           const Constraint &constraint) const {
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
      nest.extents, {IntegerSet::get(nest.getNumDims(), 0, tests, equalities)}};
  std::optional<index::Range> range = index::rangeOver(constraint.expr, domain);
  return !range ||
         (range->min >= 0 && (!constraint.isEquality || range->max <= 0));
}

Value ContractionLowering::emitFactor(LaneEmitter &lanes,
                                      const Side &side) const {
  ComputeOp root = nest.root();
  LaneValue value = lanes.emit(side.factor, root);
  LaneValue mask = lanes.emitDomain(root, [&](unsigned i) {
    return contraction.maskLeft[i] == side.maskedByLeft &&
           !isImpliedByTests(side, nest.domains.find(root)->second.front()[i]);
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

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Value ContractionLowering::tileRow(IndexBuilder &ib, Value mPanel, Value nPanel,
                                   Value row) const {
  int64_t rowsPerColumn = mTile; // m panels of mr rows each
  Value column = ib.mul(nPanel, rowsPerColumn * right.width);
  Value panel = ib.mul(mPanel, left.width * right.width);
  return ib.add(ib.add(column, panel), ib.mul(row, right.width));
}

void ContractionLowering::emitResults(OpBuilder &builder, Location loc,
                                      const State &s) const {
  IndexBuilder ib{builder, loc};
  emitFor(
      builder, loc, ib.c(0), s.nPanels, 1, {}, [&](Value nPanel, ValueRange) {
        Value position = ib.add(s.n0, ib.mul(nPanel, right.width));
        LaneEmitter lanes(builder, loc, nest, s.function->buffers, right.width);
        setBatchCoordinates(lanes, s);
        if (!right.panelsAreRuns()) {
          setClampedCoordinates(lanes, right, position);
          emitColumn(
              lanes, s, nPanel,
              ib.min(ib.sub(ib.c(right.points), position), ib.c(right.width)));
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
void ContractionLowering::emitColumn(LaneEmitter &lanes, const State &s,
                                     Value nPanel, Value valid) const {
  OpBuilder &builder = lanes.builder;
  Location loc = lanes.loc;
  IndexBuilder ib{builder, loc};
  auto vectorType = VectorType::get({right.width}, element);
  Value rows = ib.min(ib.sub(ib.c(left.points), s.m0), ib.c(mTile));
  emitFor(builder, loc, ib.c(0), rows, 1, {}, [&](Value row, ValueRange) {
    setUniformCoordinates(lanes, left, ib.add(s.m0, row));
    lanes.reset();
    lanes.results.clear();
    Value value = vector::LoadOp::create(builder, loc, vectorType, s.tile,
                                         tileRow(ib, ib.c(0), nPanel, row));
    emitEpilogue(lanes, nest, *s.function, LaneValue{value, true}, valid);
    return SmallVector<Value>();
  });
}

std::unique_ptr<FamilyLowering>
loops::createContraction(const KernelNest &nest, const Schedule &schedule,
                         const Contraction &contraction) {
  return schedule.get("vector_axis") == 1
             ? createDotProduct(nest, schedule, contraction)
             : createOuterProduct(nest, schedule, contraction);
}
