// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers and scatters that are the gradient of one read.

#include "ReadGradient.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

using namespace neoflow;
using namespace neoflow::autodiff;

Location autodiff::gradientLoc(Operation *op) {
  return NameLoc::get(StringAttr::get(op->getContext(), "gradient"),
                      op->getLoc());
}

Location autodiff::gradientLoc(Value tensor, Location loc) {
  StringRef name = getSourceName(tensor.getLoc());
  return NameLoc::get(
      StringAttr::get(loc.getContext(), name.empty() ? "gradient" : "d" + name),
      loc);
}

Location autodiff::addSuffix(Location loc, StringRef suffix) {
  StringRef name = getSourceName(loc);
  return name.empty()
             ? loc
             : Location(NameLoc::get(
                   StringAttr::get(loc.getContext(), name + suffix), loc));
}

Value autodiff::readAtIndices(OpBuilder &builder, Location loc,
                              ComputeOp compute, unsigned input) {
  unsigned rank = compute.getNumParallel();
  return ReadOp::create(
      builder, loc, compute.getInputArguments()[input],
      builder.getMultiDimIdentityMap(rank),
      ValueRange(compute.getIndexArguments().take_front(rank)));
}

//===----------------------------------------------------------------------===//
// Evaluation at a point
//===----------------------------------------------------------------------===//

void ReadGradient::setTarget(const Comprehension &target) {
  indices = target.getIndices();
  arguments = target.getInputArguments();
  extents = target.extents;
  isGather = isa<ComputeOp>(target.op);
}

BodyCloner ReadGradient::getCloner() {
  return BodyCloner(builder, forward, variables, ValueRange(indices), extents,
                    mapping);
}

void ReadGradient::cloneBody() {
  for (auto [argument, input] :
       llvm::zip(forward.getInputArguments(), arguments))
    mapping.map(argument, input);
  BodyCloner cloner = getCloner();
  cloner.locate = [](Operation *op) { return gradientLoc(op); };
  cloner.getOtherwise = [&](ReadOp inner) -> TypedAttr {
    // A gather visits only points at which the differentiated read is in range.
    return inner == read && isGather ? TypedAttr() : inner.getOtherwiseAttr();
  };
  cloner.clone();
}

FailureOr<SmallVector<Tangent>> ReadGradient::emitTangents() {
  llvm::DenseMap<Value, Tangent> tangents;
  tangents[read.getResult()] = Tangent::one();
  for (Operation &op : forward.block->without_terminator()) {
    bool active = llvm::any_of(op.getOperands(), [&](Value operand) {
      return !tangents.lookup(operand).isZero();
    });
    if (!active || isa<ReadOp, RandomOp>(op))
      continue;
    // Differentiate the clone, whose operands are the point's.
    Operation *clone = mapping.lookup(op.getResult(0)).getDefiningOp();
    SmallVector<Tangent> operands;
    for (Value operand : op.getOperands())
      operands.push_back(tangents.lookup(operand));
    FailureOr<Tangent> tangent = differentiateScalar(builder, clone, operands);
    if (failed(tangent)) {
      InFlightDiagnostic diagnostic = op.emitError("cannot differentiate '")
                                      << op.getName() << "'";
      diagnostic.attachNote(read.getLoc())
          << "the gradient with respect to this read needs it; wrap the value "
             "in neoflow.stop_gradient or write it with operations that have a "
             "derivative";
      return failure();
    }
    tangents[op.getResult(0)] = *tangent;
  }
  SmallVector<Tangent> results;
  for (Value value : forward.getYield().getValues())
    results.push_back(tangents.lookup(value));
  return results;
}

Value ReadGradient::readAtResult(unsigned position) {
  SmallVector<Value> used;
  if (auto compute = dyn_cast<ComputeOp>(forward.op)) {
    ArrayRef<BlockArgument> parallel =
        forward.getIndices().take_front(compute.getNumParallel());
    AffineMap map =
        getCloner().substitute(builder.getMultiDimIdentityMap(parallel.size()),
                               ValueRange(parallel), used);
    return ReadOp::create(builder, loc, arguments[position], map, used);
  }
  // Where a scatter's value went; nothing comes back from outside.
  YieldOp yield = forward.getYield();
  AffineMap map =
      getCloner().substitute(*yield.getMap(), yield.getIndices(), used);
  Type type =
      getComputeType(getElementTypeOrSelf(arguments[position].getType()));
  return ReadOp::create(builder, loc, arguments[position], map, used,
                        builder.getFloatAttr(type, 0.0));
}

Value ReadGradient::readAtPoint(unsigned position) {
  SmallVector<Value> used;
  AffineMap map =
      getCloner().substitute(builder.getMultiDimIdentityMap(forward.numIndices),
                             ValueRange(forward.getIndices()), used);
  return ReadOp::create(builder, loc, arguments[position], map, used);
}

Value ReadGradient::readElement() {
  unsigned input =
      cast<BlockArgument>(read.getTensor()).getArgNumber() - forward.numIndices;
  unsigned rank = cast<RankedTensorType>(read.getTensor().getType()).getRank();
  return ReadOp::create(builder, loc, arguments[input],
                        builder.getMultiDimIdentityMap(rank),
                        ValueRange(indices.take_front(rank)));
}

Value ReadGradient::emitReductionPosition(ComputeOp compute) {
  AffineExpr position = builder.getAffineConstantExpr(0);
  for (unsigned i = compute.getNumParallel(); i < forward.numIndices; ++i)
    position = position * forward.extents[i] + builder.getAffineDimExpr(i);
  SmallVector<Value> used;
  AffineMap map =
      getCloner().substitute(AffineMap::get(forward.numIndices, 0, position),
                             ValueRange(forward.getIndices()), used);
  Value index = affine::AffineApplyOp::create(builder, loc, map, used);
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
}

//===----------------------------------------------------------------------===//
// Gathers and scatters
//===----------------------------------------------------------------------===//

std::vector<std::string>
ReadGradient::chooseNames(const index::ReadInverse &inverse) {
  unsigned rank = cast<RankedTensorType>(read.getTensor().getType()).getRank();
  unsigned count = rank + inverse.freeExtents.size();
  std::vector<std::string> names(count);
  llvm::StringSet<> taken;
  // An index that is a forward index keeps its name.
  for (auto [i, variable] : llvm::enumerate(inverse.variables)) {
    auto dim = dyn_cast<AffineDimExpr>(variable);
    std::string name = forward.getIndexName(i);
    if (dim && names[dim.getPosition()].empty() && taken.insert(name).second)
      names[dim.getPosition()] = name;
  }
  unsigned next = 0;
  for (unsigned i = 0; i < count; ++i) {
    while (names[i].empty()) {
      std::string name =
          (i < rank ? "z" : "t") + std::to_string(i < rank ? i : next++);
      if (taken.insert(name).second)
        names[i] = name;
      else if (i < rank)
        names[i] = "z" + std::to_string(i) + "_";
    }
  }
  return names;
}

/// Erases operations and inputs of a comprehension that nothing uses.
static void eraseUnused(Comprehension target) {
  for (Operation *op = target.getYield()->getPrevNode(); op;) {
    Operation *previous = op->getPrevNode();
    if (op->use_empty())
      op->erase();
    op = previous;
  }
  for (int i = target.getInputArguments().size() - 1; i >= 0; --i) {
    if (!target.getInputArguments()[i].use_empty())
      continue;
    if (auto compute = dyn_cast<ComputeOp>(target.op))
      compute.getInputsMutable().erase(i);
    else
      cast<ScatterOp>(target.op).getInputsMutable().erase(i);
    target.block->eraseArgument(target.numIndices + i);
  }
}

FailureOr<Value> ReadGradient::createGather(const index::ReadInverse &inverse,
                                            EmitValue emitValue) {
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  bool reduces = !inverse.freeExtents.empty();
  TypedAttr otherwise;
  if (!reduces && !inverse.where.empty())
    otherwise = builder.getFloatAttr(type.getElementType(), 0.0);
  auto gradient = ComputeOp::create(
      builder, loc, type, inputs,
      reduces ? ReductionKind::sum : ReductionKind::none, inverse.freeExtents,
      chooseNames(inverse), inverse.where, otherwise);
  variables = inverse.variables;
  setTarget(gradient);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(gradient.getBodyBlock());
  FailureOr<Value> value = emitValue(*this);
  if (failed(value)) {
    gradient.erase();
    return failure();
  }
  YieldOp::create(builder, loc, *value);
  eraseUnused(gradient);
  return gradient.getResult(0);
}

FailureOr<Value> ReadGradient::createScatter(EmitValue emitValue) {
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  // Half precision is summed in single and rounded once.
  auto wide = type.clone(getComputeType(type.getElementType()));
  Value zeros = createZeros(builder, loc, wide);
  SmallVector<std::string> indexNames = forward.getIndexNames();
  SmallVector<StringRef> names(indexNames.begin(), indexNames.end());
  auto gradient = ScatterOp::create(
      builder, loc, wide, inputs, zeros,
      builder.getDenseI64ArrayAttr(forward.extents),
      ReductionKindAttr::get(builder.getContext(), ReductionKind::sum),
      forward.op->getAttrOfType<ArrayAttr>("where"),
      builder.getStrArrayAttr(names));
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&gradient.getBody());
    for (unsigned i = 0; i < forward.numIndices; ++i)
      block->addArgument(builder.getIndexType(), loc);
    for (Value input : inputs)
      block->addArgument(input.getType(), loc);
    variables.clear();
    for (unsigned i = 0; i < forward.numIndices; ++i)
      variables.push_back(builder.getAffineDimExpr(i));
    setTarget(gradient);
    FailureOr<Value> value = emitValue(*this);
    if (failed(value)) {
      gradient.erase();
      return failure();
    }
    SmallVector<Value> used;
    AffineMap map =
        getCloner().substitute(read.getMap(), read.getIndices(), used);
    YieldOp::create(builder, loc, *value, used, AffineMapAttr::get(map));
    eraseUnused(gradient);
  }
  return createConversion(builder, loc, gradient.getResult(), type);
}
