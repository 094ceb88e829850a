// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops, distribution over workgroups, and epilogues, for all families.

#include "Families.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;
using namespace neoflow::loops;

scf::ForOp
loops::emitFor(OpBuilder &builder, Location loc, Value lower, Value upper,
               int64_t step, ValueRange carried,
               function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  Value by = arith::ConstantIndexOp::create(builder, loc, step);
  return scf::ForOp::create(
      builder, loc, lower, upper, by, carried,
      [&](OpBuilder &nested, Location nestedLoc, Value iv, ValueRange values) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(nested.getInsertionBlock(),
                                  nested.getInsertionPoint());
        SmallVector<Value> next = body(iv, values);
        scf::YieldOp::create(builder, nestedLoc, next);
      });
}

SmallVector<Value> loops::emitBox(
    OpBuilder &builder, Location loc, ArrayRef<int64_t> extents,
    ValueRange carried,
    function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)> body) {
  SmallVector<Value> ivs;
  std::function<SmallVector<Value>(unsigned, ValueRange)> emitDim =
      [&](unsigned dim, ValueRange values) -> SmallVector<Value> {
    if (dim == extents.size())
      return body(ivs, values);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    if (extents[dim] == 1) {
      ivs.push_back(zero);
      SmallVector<Value> result = emitDim(dim + 1, values);
      ivs.pop_back();
      return result;
    }
    Value upper = arith::ConstantIndexOp::create(builder, loc, extents[dim]);
    scf::ForOp loop = emitFor(
        builder, loc, zero, upper, 1, values, [&](Value iv, ValueRange inner) {
          ivs.push_back(iv);
          SmallVector<Value> result = emitDim(dim + 1, inner);
          ivs.pop_back();
          return result;
        });
    return SmallVector<Value>(loop.getResults());
  };
  return emitDim(0, carried);
}

SmallVector<Value> loops::delinearize(OpBuilder &builder, Location loc,
                                      Value position,
                                      ArrayRef<int64_t> extents) {
  SmallVector<Value> coordinates(extents.size());
  for (int i = extents.size() - 1; i >= 0; --i) {
    if (i == 0) {
      coordinates[0] = position;
      break;
    }
    Value extent = arith::ConstantIndexOp::create(builder, loc, extents[i]);
    coordinates[i] = arith::RemUIOp::create(builder, loc, position, extent);
    position = arith::DivUIOp::create(builder, loc, position, extent);
  }
  return coordinates;
}

//===----------------------------------------------------------------------===//
// RowDistribution
//===----------------------------------------------------------------------===//

RowDistribution::RowDistribution(const KernelNest &nest, int64_t chunk,
                                 int64_t width)
    : nest(nest), width(width) {
  inner = nest.extents[nest.numParallel - 1];
  outer = nest.points(0, nest.numParallel - 1);
  // Parts of a row hold whole vectors.
  innerChunk = std::max<int64_t>(1, (chunk + width - 1) / width) * width;
  rows = 1;
  if (innerChunk >= inner) {
    rows = std::max<int64_t>(1, chunk / std::max<int64_t>(inner, 1));
    innerChunk = std::max<int64_t>(inner, 1);
  }
}

int64_t RowDistribution::getWorkgroups() const {
  if (inner == 0 || outer == 0)
    return 0;
  if (innerChunk < inner)
    return outer * ((inner + innerChunk - 1) / innerChunk);
  return (outer + rows - 1) / rows;
}

void RowDistribution::emitRow(OpBuilder &builder, Location loc,
                              const KernelFunction &function,
                              ArrayRef<Value> outerCoordinates, Value lower,
                              Value upper,
                              function_ref<void(LaneEmitter &)> body) const {
  auto emitBlock = [&](Value iv, int64_t lanes) {
    LaneEmitter emitter(builder, loc, nest, function.buffers, lanes);
    emitter.coordinates.resize(nest.getNumDims());
    for (auto [i, coordinate] : llvm::enumerate(outerCoordinates))
      emitter.coordinates[i] = {coordinate, 0, {}};
    emitter.coordinates[nest.numParallel - 1] = {iv, lanes == 1 ? 0 : 1, {}};
    body(emitter);
  };
  Value main = lower;
  if (width > 1) {
    // The last whole vector ends here.
    Value lanes = arith::ConstantIndexOp::create(builder, loc, width);
    Value length = arith::SubIOp::create(builder, loc, upper, lower);
    Value rest = arith::RemUIOp::create(builder, loc, length, lanes);
    main = arith::SubIOp::create(builder, loc, upper, rest);
    emitFor(builder, loc, lower, main, width, {}, [&](Value iv, ValueRange) {
      emitBlock(iv, width);
      return SmallVector<Value>();
    });
    if (inner % width == 0)
      return;
  }
  emitFor(builder, loc, main, upper, 1, {}, [&](Value iv, ValueRange) {
    emitBlock(iv, 1);
    return SmallVector<Value>();
  });
}

void RowDistribution::emit(OpBuilder &builder, Location loc,
                           const KernelFunction &function,
                           function_ref<void(LaneEmitter &)> body) const {
  if (getWorkgroups() == 0)
    return;
  ArrayRef<int64_t> outerExtents =
      ArrayRef(nest.extents).take_front(nest.numParallel - 1);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  emitFor(
      builder, loc, function.begin, function.end, 1, {},
      [&](Value workgroup, ValueRange) {
        if (innerChunk < inner) {
          Value parts = constant((inner + innerChunk - 1) / innerChunk);
          Value row = arith::DivUIOp::create(builder, loc, workgroup, parts);
          Value part = arith::RemUIOp::create(builder, loc, workgroup, parts);
          Value lower =
              arith::MulIOp::create(builder, loc, part, constant(innerChunk));
          Value upper =
              arith::AddIOp::create(builder, loc, lower, constant(innerChunk));
          upper = arith::MinUIOp::create(builder, loc, upper, constant(inner));
          emitRow(builder, loc, function,
                  delinearize(builder, loc, row, outerExtents), lower, upper,
                  body);
          return SmallVector<Value>();
        }
        Value first =
            arith::MulIOp::create(builder, loc, workgroup, constant(rows));
        Value last = arith::AddIOp::create(builder, loc, first, constant(rows));
        last = arith::MinUIOp::create(builder, loc, last, constant(outer));
        emitFor(builder, loc, first, last, 1, {}, [&](Value row, ValueRange) {
          emitRow(builder, loc, function,
                  delinearize(builder, loc, row, outerExtents), constant(0),
                  constant(inner), body);
          return SmallVector<Value>();
        });
        return SmallVector<Value>();
      });
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// Rounds a value of the accumulator type to the element type.
static LaneValue toElement(LaneEmitter &lanes, LaneValue value, Type element) {
  Type have = getElementTypeOrSelf(value.value.getType());
  if (have == element)
    return value;
  Type type = value.isVector ? laneVector(element, lanes.width) : element;
  if (isa<FloatType>(element))
    return {
        arith::TruncFOp::create(lanes.builder, lanes.loc, type, value.value),
        value.isVector};
  return {arith::TruncIOp::create(lanes.builder, lanes.loc, type, value.value),
          value.isVector};
}

/// The value that a read of the stored element gives.
static LaneValue toRead(LaneEmitter &lanes, LaneValue element) {
  Type have = getElementTypeOrSelf(element.value.getType());
  Type want = getComputeType(have);
  if (have == want)
    return element;
  return {arith::ExtFOp::create(lanes.builder, lanes.loc,
                                element.isVector ? laneVector(want, lanes.width)
                                                 : want,
                                element.value),
          element.isVector};
}

void loops::emitEpilogue(LaneEmitter &lanes, const KernelNest &nest,
                         const KernelFunction &function,
                         ArrayRef<LaneValue> root, Value valid) {
  llvm::DenseMap<Value, LaneValue> elements;
  auto addResult = [&](Value result, LaneValue value) {
    elements[result] =
        toElement(lanes, value, getElementTypeOrSelf(result.getType()));
    lanes.results[result] = toRead(lanes, elements[result]);
  };
  for (ComputeOp compute : nest.computes) {
    if (compute != nest.root()) {
      addResult(compute.getResult(0), lanes.emitElement(compute));
      continue;
    }
    for (auto [result, value] : llvm::zip(compute.getResults(), root))
      addResult(result, value);
  }
  KernelOp kernel = nest.kernel;
  for (auto [value, buffer] :
       llvm::zip(kernel.getYield().getValues(), function.results))
    lanes.store(elements.lookup(value), buffer, nest.resultAddress, valid);
}
