// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inlines elementwise computes into the bodies that read them.

#include "Comprehensions.h"

#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"

#include "mlir/IR/TypeUtilities.h"

namespace neoflow {
#define GEN_PASS_DEF_FUSEPRODUCERSPASS
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;

/// A division or a math function; everything else costs next to nothing.
static bool isExpensive(Operation &op) {
  return isa<math::MathDialect>(op.getDialect())
             ? !isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::FmaOp,
                    math::CopySignOp>(op)
             : isa<arith::DivFOp, arith::RemFOp, RandomOp>(op);
}

/// Float operations of a body; a large number when one is expensive.
static unsigned costOf(ComputeOp compute) {
  unsigned cost = 0;
  for (Operation &op : *compute.getBodyBlock()) {
    if (isa<ReadOp, YieldOp, arith::ConstantOp>(op))
      continue;
    cost += isExpensive(op) ? 100 : 1;
  }
  return cost;
}

static int64_t pointsOf(ComputeOp compute) {
  int64_t points = 1;
  for (int64_t extent : compute.getStaticExtents())
    points *= extent;
  return points;
}

/// The reads of `value` in `consumer`.
static SmallVector<ReadOp> readsOf(ComputeOp consumer, Value value) {
  SmallVector<ReadOp> reads;
  for (ReadOp read : consumer.getBody().getOps<ReadOp>())
    if (consumer.getBoundOperand(cast<BlockArgument>(read.getTensor())) ==
        value)
      reads.push_back(read);
  return reads;
}

/// Whether `compute` can be the epilogue of a kernel that it reads from.
static bool canBeEpilogue(ComputeOp compute) {
  for (ReadOp read : compute.getBody().getOps<ReadOp>()) {
    Value source =
        compute.getBoundOperand(cast<BlockArgument>(read.getTensor()));
    auto producer = source.getDefiningOp<ComputeOp>();
    if (!producer ||
        cast<RankedTensorType>(source.getType()).getShape() !=
            cast<RankedTensorType>(compute.getResult(0).getType()).getShape())
      continue;
    std::optional<AffineMap> map = getSubscriptsOverIndices(read);
    if (map && map->isIdentity())
      return true;
  }
  return false;
}

/// Whether every read of `producer` in `consumer` may become its body.
static bool shouldFuse(ComputeOp producer, ComputeOp consumer,
                       bool onlyConsumer) {
  unsigned cost = costOf(producer);
  if (!onlyConsumer && cost > 0)
    return false;
  bool reindexes = false;
  SmallVector<ReadOp> reads = readsOf(consumer, producer.getResult(0));
  for (ReadOp read : reads) {
    std::optional<AffineMap> map = getSubscriptsOverIndices(read);
    if (!map || read.getOtherwiseAttr())
      return false;
    reindexes |= !map->isIdentity();
  }
  if (cost == 0)
    return true;
  // Elementwise computes of one domain meet in a kernel anyway.
  bool reduces = consumer.getNumReduction() > 0;
  if (!reduces && !reindexes)
    return false;
  if (canBeEpilogue(producer))
    return false;
  int64_t evaluations = pointsOf(consumer) * reads.size();
  return evaluations <= 2 * pointsOf(producer) || cost <= 4;
}

/// Replaces the reads of `producer` in `consumer` by its body.
static void fuse(ComputeOp producer, ComputeOp consumer) {
  Block *body = consumer.getBodyBlock();
  for (ReadOp read : readsOf(consumer, producer.getResult(0))) {
    OpBuilder builder(read);
    IRMapping mapping;
    for (auto [argument, operand] :
         llvm::zip(producer.getInputArguments(), producer.getInputs())) {
      consumer.getInputsMutable().append(operand);
      mapping.map(argument,
                  body->addArgument(operand.getType(), producer.getLoc()));
    }
    BodyCloner(builder, producer, read.getMap().getResults(), read.getIndices(),
               /*extents=*/{}, mapping)
        .clone();
    read.replaceAllUsesWith(
        mapping.lookup(producer.getYield().getValues().front()));
    read.erase();
  }
}

/// Inputs that are no longer read, and those bound twice, go.
static void pruneInputs(ComputeOp compute) {
  Block *body = compute.getBodyBlock();
  unsigned numIndices = compute.getNumIndices();
  llvm::SmallDenseMap<Value, BlockArgument> first;
  for (unsigned i = 0; i < compute.getInputs().size();) {
    BlockArgument argument = body->getArgument(numIndices + i);
    auto [it, inserted] = first.try_emplace(compute.getInputs()[i], argument);
    if (!inserted)
      argument.replaceAllUsesWith(it->second);
    if (!argument.use_empty()) {
      ++i;
      continue;
    }
    if (inserted)
      first.erase(it);
    compute.getInputsMutable().erase(i);
    body->eraseArgument(numIndices + i);
  }
}

namespace {
struct FuseProducersPass
    : neoflow::impl::FuseProducersPassBase<FuseProducersPass> {
  void runOnOperation() override {
    SmallVector<ComputeOp> computes;
    getOperation()->walk([&](ComputeOp op) { computes.push_back(op); });
    for (ComputeOp producer : computes) {
      if (producer->hasAttr(attr::kMaterialize) ||
          producer.getNumResults() != 1 ||
          producer.getKind() != ReductionKind::none ||
          producer.getWhereAttr() || !producer.hasStaticExtents())
        continue;
      // Inlining skips the rounding of half precision.
      Type element = getElementTypeOrSelf(producer.getResult(0).getType());
      if (element != producer.getAccumulatorType())
        continue;
      llvm::SetVector<Operation *> users(producer->user_begin(),
                                         producer->user_end());
      bool fused = false;
      for (Operation *user : users) {
        auto consumer = dyn_cast<ComputeOp>(user);
        if (!consumer || !consumer.getInits().empty() ||
            !consumer.hasStaticExtents() ||
            !shouldFuse(producer, consumer, users.size() == 1))
          continue;
        fuse(producer, consumer);
        pruneInputs(consumer);
        fused = true;
      }
      if (fused && producer->use_empty())
        producer->erase();
    }
  }
};
} // namespace
