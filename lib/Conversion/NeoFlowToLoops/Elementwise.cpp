// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise kernels, and scatters.

#include "Families.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;
using namespace neoflow::loops;

namespace {

class Elementwise : public FamilyLowering {
public:
  Elementwise(const KernelNest &nest, const Schedule &schedule)
      : FamilyLowering(nest, schedule),
        distribution(nest, schedule.get("chunk"), schedule.get("lanes")) {}

  int64_t getWorkgroups() const override {
    return distribution.getWorkgroups();
  }

  void emit(OpBuilder &builder, Location loc,
            const KernelFunction &function) const override {
    distribution.emit(builder, loc, function, [&](LaneEmitter &lanes) {
      emitEpilogue(lanes, nest, function, lanes.emitElement(nest.root()));
    });
  }

private:
  RowDistribution distribution;
};

/// One workgroup that visits the points in order: right for every scatter, and
/// independent of the number of threads.
class Scatter : public FamilyLowering {
public:
  using FamilyLowering::FamilyLowering;

  int64_t getWorkgroups() const override { return 1; }

  void emit(OpBuilder &builder, Location loc,
            const KernelFunction &function) const override {
    auto scatter = cast<ScatterOp>(nest.kernel->getRegion(0).front().front());
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value source = function.buffers.lookup(scatter.getDestination());
    Value buffer = function.results.front();
    auto type = cast<MemRefType>(buffer.getType());
    Type element =
        cast<RankedTensorType>(scatter.getResult().getType()).getElementType();
    Value size =
        arith::ConstantIndexOp::create(builder, loc, type.getNumElements());
    emitFor(
        builder, loc, function.begin, function.end, 1, {},
        [&](Value, ValueRange) {
          emitFor(builder, loc, zero, size, 1, {}, [&](Value i, ValueRange) {
            Value value = memref::LoadOp::create(builder, loc, source, i);
            memref::StoreOp::create(builder, loc, value, buffer, i);
            return SmallVector<Value>();
          });
          if (type.getNumElements() == 0)
            return SmallVector<Value>();
          emitBox(builder, loc, nest.extents, {},
                  [&](ArrayRef<Value> ivs, ValueRange) {
                    emitPoint(builder, loc, function, scatter, element, ivs);
                    return SmallVector<Value>();
                  });
          return SmallVector<Value>();
        });
  }

private:
  void emitPoint(OpBuilder &builder, Location loc,
                 const KernelFunction &function, ScatterOp scatter,
                 Type element, ArrayRef<Value> ivs) const {
    LaneEmitter lanes(builder, loc, nest, function.buffers, 1);
    for (Value iv : ivs)
      lanes.coordinates.push_back({iv, 0, {}});
    LaneValue value =
        lanes.emit(scatter.getYield().getValues().front(), scatter);
    SmallVector<LaneIndex> symbols = lanes.symbolsOf(nest.target, scatter);
    LaneValue inside = lanes.emitChecks(nest.target, symbols);
    LaneValue domain = lanes.emitDomain(scatter);
    Value condition = inside.value;
    if (domain.value)
      condition = condition ? arith::AndIOp::create(builder, loc, condition,
                                                    domain.value)
                                  .getResult()
                            : domain.value;
    auto accumulate = [&] {
      Value buffer = function.results.front();
      Value at = lanes.evaluate(nest.target.address, symbols).uniform;
      Value old = memref::LoadOp::create(builder, loc, buffer, at);
      Type computeType = getComputeType(element);
      if (element.isInteger(1))
        old = arith::TruncIOp::create(builder, loc, element, old);
      else if (element != computeType)
        old = arith::ExtFOp::create(builder, loc, computeType, old);
      Value next = combine(builder, loc, scatter.getKind(), old, value.value);
      if (element.isInteger(1))
        next = arith::ExtUIOp::create(
            builder, loc, cast<MemRefType>(buffer.getType()).getElementType(),
            next);
      else if (element != computeType)
        next = arith::TruncFOp::create(builder, loc, element, next);
      memref::StoreOp::create(builder, loc, next, buffer, at);
    };
    if (!condition) {
      accumulate();
      return;
    }
    auto branch = scf::IfOp::create(builder, loc, condition,
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    accumulate();
  }
};

} // namespace

std::unique_ptr<FamilyLowering>
loops::createElementwise(const KernelNest &nest, const Schedule &schedule) {
  return std::make_unique<Elementwise>(nest, schedule);
}

std::unique_ptr<FamilyLowering> loops::createScatter(const KernelNest &nest,
                                                     const Schedule &schedule) {
  return std::make_unique<Scatter>(nest, schedule);
}
