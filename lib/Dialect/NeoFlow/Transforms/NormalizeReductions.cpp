// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites reductions into forms that have a rule of differentiation: one
// result, no initial value, and max, min and prod over nothing but a read.
//
// What an extremum is compared with later must have the bits that were compared
// when it was found. Its elements are therefore written to memory first, in the
// type that they are reduced in, and read from there by everyone.

#include "Comprehensions.h"
#include "Differentiate.h"
#include "FloatBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;
using namespace neoflow::autodiff;

/// Tensors have no more dimensions.
static constexpr unsigned kMaxRank = 8;

static bool isSelective(ReductionKind kind) {
  return kind == ReductionKind::max || kind == ReductionKind::min ||
         kind == ReductionKind::prod;
}

/// The names of all indices of `compute`.
static std::vector<std::string> namesOf(ComputeOp compute) {
  SmallVector<std::string> names = Comprehension(compute).getIndexNames();
  return {names.begin(), names.end()};
}

/// Sets `acc` where it is not what the element type gives.
static void setAccumulator(ComputeOp compute, Type type) {
  if (compute.getAccumulatorType() != type)
    compute.setAccAttr(
        ArrayAttr::get(compute.getContext(), TypeAttr::get(type)));
}

/// Result `i` of `compute` alone.
static ComputeOp extractResult(OpBuilder &builder, ComputeOp compute,
                               unsigned i) {
  TypedAttr otherwise;
  if (ArrayAttr values = compute.getOtherwiseAttr())
    otherwise = cast<TypedAttr>(values[i]);
  auto type = cast<RankedTensorType>(compute.getResult(i).getType());
  auto single =
      ComputeOp::create(builder, compute.getLoc(), type, compute.getInputs(),
                        compute.getKind(i), compute.getReductionExtents(),
                        namesOf(compute), compute.getDomainSets(), otherwise);
  setAccumulator(single, compute.getAccumulatorType(i));
  single.setTies(compute.getTies());
  if (!compute.getInits().empty())
    single.getInitsMutable().assign(compute.getInits()[i]);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(single.getBodyBlock());
  IRMapping mapping;
  mapping.map(compute.getBodyBlock()->getArguments(),
              single.getBodyBlock()->getArguments());
  for (Operation &op : compute.getBodyBlock()->without_terminator())
    builder.clone(op, mapping);
  YieldOp::create(builder, compute.getLoc(),
                  mapping.lookup(compute.getYield().getValues()[i]));
  return single;
}

/// Writes the elements that `compute` reduces to memory, and replaces its body
/// by a read of them. The reduction indices become one when the tensor would
/// have too many dimensions.
static FailureOr<ComputeOp> materializeElements(OpBuilder &builder,
                                                ComputeOp compute) {
  Location loc = compute.getLoc();
  MLIRContext *context = builder.getContext();
  Comprehension forward(compute);
  unsigned numParallel = compute.getNumParallel();
  SmallVector<int64_t> extents = forward.extents;
  std::vector<std::string> names = namesOf(compute);
  SmallVector<AffineExpr> variables;
  for (unsigned i = 0; i < forward.numIndices; ++i)
    variables.push_back(getAffineDimExpr(i, context));
  if (extents.size() > kMaxRank) {
    if (numParallel >= kMaxRank) {
      compute.emitError("cannot differentiate a reduction of ")
          << stringifyReductionKind(compute.getKind()) << " with "
          << numParallel << " result dimensions: its elements need a tensor of "
          << "one more, and " << kMaxRank << " is the most";
      return failure();
    }
    AffineExpr rest = getAffineDimExpr(numParallel, context);
    int64_t points = 1;
    for (unsigned i = forward.numIndices; i-- > numParallel;) {
      variables[i] = i == numParallel ? rest.floorDiv(points)
                                      : rest.floorDiv(points) % extents[i];
      points *= extents[i];
    }
    extents.resize(numParallel);
    extents.push_back(points);
    names.resize(numParallel + 1);
  }
  SmallVector<IntegerSet> domain;
  for (IntegerSet set : forward.domain) {
    SmallVector<AffineExpr> constraints;
    for (AffineExpr constraint : set.getConstraints())
      constraints.push_back(constraint.replaceDims(variables));
    domain.push_back(
        IntegerSet::get(extents.size(), 0, constraints, set.getEqFlags()));
  }
  Type acc = compute.getAccumulatorType();
  auto type = RankedTensorType::get(extents, acc);
  TypedAttr outside;
  if (!domain.empty())
    outside = builder.getFloatAttr(acc, 0.0);
  auto elements =
      ComputeOp::create(builder, loc, type, compute.getInputs(),
                        ReductionKind::none, {}, names, domain, outside);
  elements->setAttr(attr::kMaterialize, builder.getUnitAttr());
  auto result = cast<RankedTensorType>(compute.getResult(0).getType());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(elements.getBodyBlock());
  {
    IRMapping mapping;
    mapping.map(compute.getInputArguments(), elements.getInputArguments());
    BodyCloner(builder, forward, variables,
               ValueRange(elements.getIndexArguments()), extents, mapping)
        .clone();
    Value element = compute.getYield().getValues().front();
    YieldOp::create(builder, loc, mapping.lookupOrDefault(element));
  }
  builder.setInsertionPointAfter(elements);
  auto reduced = ComputeOp::create(
      builder, loc, result.clone(acc), elements.getResult(0), compute.getKind(),
      ArrayRef(extents).drop_front(numParallel), names, domain);
  reduced.setTies(compute.getTies());
  builder.setInsertionPointToEnd(reduced.getBodyBlock());
  Value element = ReadOp::create(builder, loc, reduced.getInputArguments()[0],
                                 builder.getMultiDimIdentityMap(extents.size()),
                                 ValueRange(reduced.getIndexArguments()));
  YieldOp::create(builder, loc, element);
  return reduced;
}

/// `reduced`, combined with the initial values, in `type`.
static Value createFinish(OpBuilder &builder, ReductionKind kind, Value reduced,
                          Value init, RankedTensorType type) {
  Location loc = reduced.getLoc();
  SmallVector<Value> inputs{reduced};
  if (init)
    inputs.push_back(init);
  std::vector<std::string> names;
  for (int64_t i = 0; i < type.getRank(); ++i)
    names.push_back("i" + std::to_string(i));
  auto finish = ComputeOp::create(builder, loc, type, inputs,
                                  ReductionKind::none, {}, names);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(finish.getBodyBlock());
  auto readInput = [&](unsigned i) -> Value {
    return ReadOp::create(builder, loc, finish.getInputArguments()[i],
                          builder.getMultiDimIdentityMap(type.getRank()),
                          ValueRange(finish.getIndexArguments()));
  };
  Value value = readInput(0);
  FloatBuilder wide{builder, loc, value.getType()};
  if (init) {
    Value start = wide.convert(readInput(1));
    switch (kind) {
    case ReductionKind::sum:
      value = wide.add(start, value);
      break;
    case ReductionKind::prod:
      value = wide.mul(start, value);
      break;
    case ReductionKind::max:
      value = wide.call<arith::MaximumFOp>(start, value);
      break;
    default:
      value = wide.call<arith::MinimumFOp>(start, value);
      break;
    }
  }
  FloatBuilder narrow{builder, loc, getComputeType(type.getElementType())};
  YieldOp::create(builder, loc, narrow.convert(value));
  return finish.getResult(0);
}

/// One result: its value in normal form.
static FailureOr<Value> normalizeResult(OpBuilder &builder, ComputeOp compute) {
  auto type = cast<RankedTensorType>(compute.getResult(0).getType());
  ReductionKind kind = compute.getKind();
  Value init = compute.getInits().empty() ? Value() : compute.getInits()[0];
  Type acc = compute.getAccumulatorType();
  auto read = compute.getYield().getValues().front().getDefiningOp<ReadOp>();
  bool readsOnly =
      read && getSubscriptsOverIndices(read) &&
      (kind != ReductionKind::prod || compute.getNumIndices() <= kMaxRank);
  if (isSelective(kind) && !readsOnly) {
    FailureOr<ComputeOp> reduced = materializeElements(builder, compute);
    if (failed(reduced))
      return failure();
    compute = *reduced;
  } else if (init) {
    compute.getInitsMutable().clear();
    compute.getResult(0).setType(type.clone(acc));
  }
  Value value = compute.getResult(0);
  if (!init && value.getType() == type)
    return value;
  builder.setInsertionPointAfter(compute);
  return createFinish(builder, kind, value, init, type);
}

LogicalResult autodiff::normalizeReductions(ComputeOp compute) {
  if (!isa<FloatType>(getElementTypeOrSelf(compute.getResult(0).getType())) &&
      compute.getNumResults() == 1)
    return success();
  bool isNormal = compute.getInits().empty();
  for (unsigned i = 0; i < compute.getNumResults(); ++i) {
    if (!isSelective(compute.getKind(i)))
      continue;
    auto read = compute.getYield().getValues()[i].getDefiningOp<ReadOp>();
    isNormal &= compute.getNumResults() == 1 && read &&
                getSubscriptsOverIndices(read) &&
                (compute.getKind(i) != ReductionKind::prod ||
                 compute.getNumIndices() <= kMaxRank);
  }
  if (isNormal || compute.getKind() == ReductionKind::combine)
    return success();
  OpBuilder builder(compute);
  for (auto [i, result] : llvm::enumerate(compute.getResults())) {
    builder.setInsertionPoint(compute);
    ComputeOp single = extractResult(builder, compute, i);
    if (isa<FloatType>(getElementTypeOrSelf(result.getType()))) {
      builder.setInsertionPoint(compute);
      FailureOr<Value> value = normalizeResult(builder, single);
      if (failed(value))
        return failure();
      result.replaceAllUsesWith(*value);
    } else {
      result.replaceAllUsesWith(single.getResult(0));
    }
    if (single->use_empty())
      single.erase();
  }
  compute.erase();
  return success();
}
