// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of bodies at other indices.

#include "Comprehensions.h"

#include "neoflow/Index/Domain.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;

Comprehension::Comprehension(ComputeOp compute)
    : op(compute), block(compute.getBodyBlock()),
      numIndices(compute.getNumIndices()), extents(compute.getStaticExtents()),
      domain(compute.getDomainSets()) {}

Comprehension::Comprehension(ScatterOp scatter)
    : op(scatter), block(scatter.getBodyBlock()),
      numIndices(scatter.getNumIndices()), extents(scatter.getIndexExtents()),
      domain(scatter.getDomainSets()) {}

std::string Comprehension::getIndexName(unsigned position) const {
  if (auto compute = dyn_cast<ComputeOp>(op))
    return compute.getIndexName(position);
  return cast<ScatterOp>(op).getIndexName(position);
}

SmallVector<std::string> Comprehension::getIndexNames() const {
  SmallVector<std::string> names;
  for (unsigned i = 0; i < numIndices; ++i)
    names.push_back(getIndexName(i));
  return names;
}

bool neoflow::isUsedAsValue(BlockArgument index) {
  return llvm::any_of(index.getUsers(), [&](Operation *user) {
    if (auto yield = dyn_cast<YieldOp>(user))
      return llvm::is_contained(yield.getValues(), index);
    return !isa<ReadOp, RandomOp>(user);
  });
}

ComputeOp neoflow::createLike(OpBuilder &builder, Location loc, ComputeOp like,
                              TypeRange types, ValueRange inputs,
                              ArrayRef<int64_t> reductionExtents,
                              ArrayAttr kinds, ArrayRef<IntegerSet> domain,
                              ArrayRef<std::string> names) {
  bool reduces = !reductionExtents.empty();
  SmallVector<Attribute> sets, outside, accumulators;
  bool isDefault = true;
  for (IntegerSet set : domain)
    sets.push_back(IntegerSetAttr::get(set));
  for (auto [i, type] : llvm::enumerate(types)) {
    outside.push_back(builder.getZeroAttr(getElementTypeOrSelf(type)));
    Type acc = like.getAccumulatorType(i);
    accumulators.push_back(TypeAttr::get(acc));
    isDefault &= acc == getComputeType(getElementTypeOrSelf(type));
  }
  ArrayAttr where = sets.empty() ? ArrayAttr() : builder.getArrayAttr(sets);
  auto compute = ComputeOp::create(
      builder, loc, types, inputs, ValueRange(), ValueRange(),
      builder.getDenseI64ArrayAttr(reductionExtents), kinds,
      isDefault ? ArrayAttr() : builder.getArrayAttr(accumulators), where,
      where && !reduces ? builder.getArrayAttr(outside) : ArrayAttr(),
      reduces ? like.getIdentityAttr() : ArrayAttr(),
      TiesAttr::get(builder.getContext(),
                    reduces ? like.getTies() : Ties::share),
      builder.getStrArrayAttr(
          SmallVector<StringRef>(names.begin(), names.end())));
  Block &block = compute.getBody().emplaceBlock();
  for (size_t i = 0; i < names.size(); ++i)
    block.addArgument(builder.getIndexType(), loc);
  for (Value input : inputs)
    block.addArgument(input.getType(), loc);
  if (reduces && !like.getCombiner().empty()) {
    IRMapping mapping;
    like.getCombiner().cloneInto(&compute.getCombiner(), mapping);
  }
  return compute;
}

AffineMap BodyCloner::substitute(AffineMap map, ValueRange mapOperands,
                                 SmallVectorImpl<Value> &newOperands) {
  SmallVector<Value> all(operands);
  SmallVector<AffineExpr> dims;
  for (Value operand : mapOperands) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (argument && argument.getOwner() == source.block &&
        argument.getArgNumber() < source.numIndices) {
      dims.push_back(variables[argument.getArgNumber()]);
      continue;
    }
    dims.push_back(builder.getAffineDimExpr(all.size()));
    all.push_back(mapping.lookup(operand));
  }
  bool dataDependent = all.size() != operands.size();
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults()) {
    expr = expr.replaceDims(dims);
    results.push_back(dataDependent || extents.empty()
                          ? expr
                          : index::simplifyOver(expr, extents));
  }
  SmallVector<AffineExpr> kept(all.size(), builder.getAffineConstantExpr(0));
  for (unsigned i = 0; i < all.size(); ++i) {
    if (llvm::none_of(results,
                      [&](AffineExpr expr) { return expr.isFunctionOfDim(i); }))
      continue;
    kept[i] = builder.getAffineDimExpr(newOperands.size());
    newOperands.push_back(all[i]);
  }
  for (AffineExpr &expr : results)
    expr = expr.replaceDims(kept);
  return AffineMap::get(newOperands.size(), 0, results, builder.getContext());
}

void BodyCloner::clone() {
  for (BlockArgument index : source.getIndices()) {
    if (!isUsedAsValue(index))
      continue;
    SmallVector<Value> used;
    AffineMap map =
        substitute(AffineMap::getMultiDimIdentityMap(1, builder.getContext()),
                   ValueRange(index), used);
    bool isOperand = isa<AffineDimExpr>(map.getResult(0));
    mapping.map(index, isOperand ? used.front()
                                 : affine::AffineApplyOp::create(
                                       builder, locate(source.op), map, used)
                                       .getResult());
  }
  for (Operation &op : source.block->without_terminator()) {
    SmallVector<Value> used;
    if (auto read = dyn_cast<ReadOp>(op)) {
      AffineMap map = substitute(read.getMap(), read.getIndices(), used);
      mapping.map(read.getResult(),
                  ReadOp::create(builder, locate(&op),
                                 mapping.lookup(read.getTensor()), map, used,
                                 getOtherwise(read))
                      .getResult());
    } else if (auto random = dyn_cast<RandomOp>(op)) {
      AffineMap map = substitute(random.getMap(), random.getIndices(), used);
      mapping.map(random.getResult(),
                  RandomOp::create(
                      builder, locate(&op), random.getResult().getType(),
                      random.getDistributionAttr(),
                      mapping.lookup(random.getSeed()),
                      mapping.lookup(random.getStep()), random.getStreamAttr(),
                      used, AffineMapAttr::get(map), random.getShapeAttr())
                      .getResult());
    } else {
      Operation *copy = builder.clone(op, mapping);
      copy->setLoc(locate(&op));
    }
  }
}
