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
#include "ReadGradient.h"

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

/// Whether value `i` that `compute` yields is a read that can be inverted.
static bool yieldsRead(ComputeOp compute, unsigned i) {
  auto read = compute.getYield().getValues()[i].getDefiningOp<ReadOp>();
  return read && getSubscriptsOverIndices(read);
}

/// Whether the points before and behind a point are reduced to differentiate,
/// which takes tensors over all indices.
static bool isOrdered(ReductionKind kind) {
  return kind == ReductionKind::prod || kind == ReductionKind::combine;
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
/// by reads of them. Floats are reduced to their accumulator type. The
/// reduction indices become one when the tensors would have too many
/// dimensions.
static FailureOr<ComputeOp> materializeElements(OpBuilder &builder,
                                                ComputeOp compute) {
  Location loc = compute.getLoc();
  MLIRContext *context = builder.getContext();
  Comprehension forward(compute);
  unsigned numParallel = compute.getNumParallel();
  SmallVector<int64_t> extents = forward.extents;
  SmallVector<std::string> names = forward.getIndexNames();
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
  SmallVector<Type> elementTypes, resultTypes;
  for (auto [i, result] : llvm::enumerate(compute.getResults())) {
    Type acc = compute.getAccumulatorType(i);
    elementTypes.push_back(RankedTensorType::get(extents, acc));
    auto type = cast<RankedTensorType>(result.getType());
    resultTypes.push_back(isa<FloatType>(acc) ? type.clone(acc) : type);
  }
  SmallVector<Attribute> none(
      elementTypes.size(),
      ReductionKindAttr::get(context, ReductionKind::none));
  ComputeOp elements = createLike(builder, addSuffix(loc, "_elements"), compute,
                                  elementTypes, compute.getInputs(), {},
                                  builder.getArrayAttr(none), domain, names);
  elements->setAttr(attr::kMaterialize, builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(elements.getBodyBlock());
  IRMapping mapping;
  mapping.map(compute.getInputArguments(), elements.getInputArguments());
  BodyCloner(builder, forward, variables,
             ValueRange(elements.getIndexArguments()), extents, mapping)
      .clone();
  SmallVector<Value> yielded;
  for (Value value : compute.getYield().getValues())
    yielded.push_back(mapping.lookupOrDefault(value));
  YieldOp::create(builder, loc, yielded);

  builder.setInsertionPointAfter(elements);
  ComputeOp reduced =
      createLike(builder, loc, compute, resultTypes, elements.getResults(),
                 ArrayRef(extents).drop_front(numParallel), compute.getKinds(),
                 domain, names);
  builder.setInsertionPointToEnd(reduced.getBodyBlock());
  SmallVector<Value> reads;
  for (BlockArgument argument : reduced.getInputArguments())
    reads.push_back(ReadOp::create(
        builder, loc, argument, builder.getMultiDimIdentityMap(extents.size()),
        ValueRange(reduced.getIndexArguments())));
  YieldOp::create(builder, loc, reads);
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
  bool readsOnly = yieldsRead(compute, 0) &&
                   (!isOrdered(kind) || compute.getNumIndices() <= kMaxRank);
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

/// A combine region: all results together, over elements in memory.
static LogicalResult normalizeCombine(OpBuilder &builder, ComputeOp compute) {
  if (!compute.getInits().empty()) {
    InFlightDiagnostic diagnostic =
        compute.emitError("cannot differentiate a combine region with 'init'");
    diagnostic.attachNote()
        << "combine the initial values in a compute of their own";
    return diagnostic;
  }
  bool isNormal = compute.getNumIndices() <= kMaxRank;
  for (auto [i, result] : llvm::enumerate(compute.getResults())) {
    Type element = getElementTypeOrSelf(result.getType());
    isNormal &=
        yieldsRead(compute, i) &&
        (!isa<FloatType>(element) || element == compute.getAccumulatorType(i));
  }
  if (isNormal)
    return success();
  FailureOr<ComputeOp> reduced = materializeElements(builder, compute);
  if (failed(reduced))
    return failure();
  builder.setInsertionPointAfter(*reduced);
  for (auto [before, after] :
       llvm::zip(compute.getResults(), reduced->getResults())) {
    Value value = createConversion(builder, compute.getLoc(), after,
                                   cast<RankedTensorType>(before.getType()));
    before.replaceAllUsesWith(value);
  }
  compute.erase();
  return success();
}

LogicalResult autodiff::normalizeReductions(ComputeOp compute) {
  OpBuilder builder(compute);
  if (compute.getKind() == ReductionKind::combine)
    return normalizeCombine(builder, compute);
  bool isNormal = compute.getInits().empty();
  for (unsigned i = 0; i < compute.getNumResults(); ++i) {
    ReductionKind kind = compute.getKind(i);
    if (isSelective(kind))
      isNormal &= compute.getNumResults() == 1 && yieldsRead(compute, i) &&
                  (!isOrdered(kind) || compute.getNumIndices() <= kMaxRank);
  }
  if (isNormal)
    return success();
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
