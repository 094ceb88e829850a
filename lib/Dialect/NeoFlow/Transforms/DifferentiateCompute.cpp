// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse mode of one compute or scatter: a term for every read
// (docs/Autodiff.md).

#include "FloatBuilder.h"
#include "ReadGradient.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;
using namespace neoflow::autodiff;

static std::vector<std::string> genericNames(unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i)
    names.push_back("i" + std::to_string(i));
  return names;
}

Value autodiff::createZeros(OpBuilder &builder, Location loc,
                            RankedTensorType type) {
  auto compute =
      ComputeOp::create(builder, loc, type, ValueRange(), ReductionKind::none,
                        ArrayRef<int64_t>(), genericNames(type.getRank()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(compute.getBodyBlock());
  Value zero = arith::ConstantOp::create(
      builder, loc,
      builder.getFloatAttr(getComputeType(type.getElementType()), 0.0));
  YieldOp::create(builder, loc, zero);
  return compute.getResult(0);
}

Value autodiff::createSum(OpBuilder &builder, Location loc,
                          ArrayRef<Value> terms) {
  if (terms.size() == 1)
    return terms.front();
  auto type = cast<RankedTensorType>(terms.front().getType());
  auto compute = ComputeOp::create(builder, loc, type, ValueRange(terms),
                                   ReductionKind::none, ArrayRef<int64_t>(),
                                   genericNames(type.getRank()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(compute.getBodyBlock());
  Value sum;
  for (unsigned i = 0; i < terms.size(); ++i) {
    Value term = readAtIndices(builder, loc, compute, i);
    sum =
        sum ? arith::AddFOp::create(builder, loc, sum, term).getResult() : term;
  }
  YieldOp::create(builder, loc, sum);
  return compute.getResult(0);
}

Value autodiff::createConversion(OpBuilder &builder, Location loc, Value value,
                                 RankedTensorType type) {
  if (value.getType() == type)
    return value;
  auto compute =
      ComputeOp::create(builder, loc, type, value, ReductionKind::none,
                        ArrayRef<int64_t>(), genericNames(type.getRank()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(compute.getBodyBlock());
  Value element = readAtIndices(builder, loc, compute, 0);
  FloatBuilder result{builder, loc, getComputeType(type.getElementType())};
  YieldOp::create(builder, loc, result.convert(element));
  return compute.getResult(0);
}

/// Says that `op` cannot be differentiated.
static LogicalResult refuse(Operation *op, const Twine &what,
                            const Twine &advice) {
  InFlightDiagnostic diagnostic = op->emitError("cannot differentiate ")
                                  << what;
  diagnostic.attachNote() << advice;
  return diagnostic;
}

static LogicalResult checkCompute(ComputeOp compute) {
  if (!compute.hasStaticExtents() ||
      llvm::any_of(compute.getInputs(),
                   [](Value input) { return input.getType().isIndex(); }))
    return compute.emitError("expected static extents to differentiate; run "
                             "neoflow-specialize first");
  return success();
}

//===----------------------------------------------------------------------===//
// Extrema and products
//===----------------------------------------------------------------------===//

/// A compute over the points of `compute`, reduced like it but to `kind`, whose
/// value `emit` makes of the element that was read and the result.
static ComputeOp
createSelection(OpBuilder &builder, ComputeOp compute, ReadOp read,
                ReductionKind kind, Type element, StringRef suffix,
                function_ref<Value(ComputeOp, Value, Value)> emit) {
  Location loc = addSuffix(compute.getLoc(), suffix);
  auto type = cast<RankedTensorType>(compute.getResult(0).getType());
  SmallVector<std::string> indexNames = Comprehension(compute).getIndexNames();
  std::vector<std::string> names(indexNames.begin(), indexNames.end());
  Value source = compute.getBoundOperand(cast<BlockArgument>(read.getTensor()));
  auto selection = ComputeOp::create(builder, loc, type.clone(element),
                                     ValueRange{source, compute.getResult(0)},
                                     kind, compute.getReductionExtents(), names,
                                     compute.getDomainSets());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(selection.getBodyBlock());
  SmallVector<Value> operands;
  for (Value operand : read.getIndices())
    operands.push_back(
        selection
            .getIndexArguments()[cast<BlockArgument>(operand).getArgNumber()]);
  // Padding takes no share: NaN equals nothing.
  TypedAttr otherwise;
  if (read.getOtherwiseAttr())
    otherwise = builder.getFloatAttr(read.getResult().getType(), std::nan(""));
  Value x = ReadOp::create(builder, loc, selection.getInputArguments()[0],
                           read.getMap(), operands, otherwise);
  Value y = readAtIndices(builder, loc, selection, 1);
  YieldOp::create(builder, loc, emit(selection, x, y));
  return selection;
}

/// How many points attain the extremum, for every result element.
static Value createCount(OpBuilder &builder, ComputeOp compute, ReadOp read) {
  auto type = cast<RankedTensorType>(compute.getResult(0).getType());
  // Wider than half precision: it would lose count at 2048.
  Type count = getComputeType(type.getElementType());
  return createSelection(builder, compute, read, ReductionKind::sum, count,
                         "_count",
                         [&](ComputeOp, Value x, Value y) {
                           FloatBuilder f{builder, gradientLoc(compute), count};
                           return f.select(f.equal(x, y), f.c(1), f.c(0));
                         })
      .getResult(0);
}

/// The position of the first point that attains the extremum.
static Value createFirst(OpBuilder &builder, ComputeOp compute, ReadOp read) {
  Location loc = gradientLoc(compute);
  return createSelection(
             builder, compute, read, ReductionKind::min, builder.getI64Type(),
             "_first",
             [&](ComputeOp selection, Value x, Value y) -> Value {
               unsigned numParallel = compute.getNumParallel();
               SmallVector<Value> indices;
               AffineExpr position = builder.getAffineConstantExpr(0);
               for (auto [i, extent] :
                    llvm::enumerate(compute.getReductionExtents())) {
                 position = position * extent + builder.getAffineDimExpr(i);
                 indices.push_back(
                     selection.getIndexArguments()[numParallel + i]);
               }
               Value index = affine::AffineApplyOp::create(
                   builder, loc, AffineMap::get(indices.size(), 0, position),
                   indices);
               Value here = arith::IndexCastOp::create(
                   builder, loc, builder.getI64Type(), index);
               Value never = arith::ConstantOp::create(
                   builder, loc,
                   builder.getI64IntegerAttr(
                       std::numeric_limits<int64_t>::max()));
               Value equal = arith::CmpFOp::create(
                   builder, loc, arith::CmpFPredicate::OEQ, x, y);
               return arith::SelectOp::create(builder, loc, equal, here, never);
             })
      .getResult(0);
}

/// For every point and result, the elements before it (`after`: behind it)
/// reduced in their order.
static ComputeOp createPartialReduction(OpBuilder &builder, ComputeOp compute,
                                        bool after) {
  Location loc = gradientLoc(compute);
  MLIRContext *context = builder.getContext();
  Comprehension forward(compute);
  unsigned numParallel = compute.getNumParallel();
  unsigned numReduction = compute.getNumReduction();
  // Indices: those of the forward compute, then the other reduction point.
  SmallVector<AffineExpr> other;
  SmallVector<std::string> names = forward.getIndexNames();
  AffineExpr distance = getAffineConstantExpr(0, context);
  for (unsigned i = 0; i < forward.numIndices; ++i) {
    AffineExpr here = getAffineDimExpr(i, context);
    other.push_back(
        i < numParallel ? here : getAffineDimExpr(i + numReduction, context));
    if (i < numParallel)
      continue;
    distance = distance * forward.extents[i] +
               (after ? other[i] - here : here - other[i]);
    names.push_back(names[i] + "_other");
  }
  AffineExpr order = distance - 1;
  unsigned numIndices = forward.numIndices + numReduction;
  SmallVector<IntegerSet> domain;
  auto addSet = [&](ArrayRef<AffineExpr> constraints, ArrayRef<bool> flags) {
    SmallVector<AffineExpr> all{order};
    SmallVector<bool> equalities{false};
    for (AffineExpr constraint : constraints)
      all.push_back(constraint.replaceDims(other));
    llvm::append_range(equalities, flags);
    domain.push_back(IntegerSet::get(numIndices, 0, all, equalities));
  };
  for (IntegerSet set : forward.domain)
    addSet(set.getConstraints(), set.getEqFlags());
  if (forward.domain.empty())
    addSet({}, {});
  SmallVector<Type> types;
  for (unsigned i = 0; i < compute.getNumResults(); ++i)
    types.push_back(
        RankedTensorType::get(forward.extents, compute.getAccumulatorType(i)));
  ComputeOp partial = createLike(
      builder, loc, compute, types, compute.getInputs(),
      compute.getReductionExtents(), compute.getKinds(), domain, names);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(partial.getBodyBlock());
  IRMapping mapping;
  mapping.map(compute.getInputArguments(), partial.getInputArguments());
  SmallVector<int64_t> extents = partial.getStaticExtents();
  BodyCloner(builder, forward, other, ValueRange(partial.getIndexArguments()),
             extents, mapping)
      .clone();
  SmallVector<Value> values;
  for (Value value : compute.getYield().getValues())
    values.push_back(mapping.lookup(value));
  YieldOp::create(builder, loc, values);
  return partial;
}

namespace {
/// The rule of one compute: what a point contributes to the element it reads.
struct Rule {
  /// Tensors that contributions read, after the cotangents.
  SmallVector<Value> extra;
  std::function<FailureOr<Value>(ReadGradient &)> emit;
};

/// Values and their tangents.
using DualNumbers = SmallVector<std::pair<Value, Tangent>>;

/// What the elements before and behind a point reduce to.
struct Partials {
  ComputeOp before, after;

  /// Made once for all reads of `compute`.
  void create(OpBuilder &builder, ComputeOp compute) {
    if (before)
      return;
    before = createPartialReduction(builder, compute, /*after=*/false);
    after = createPartialReduction(builder, compute, /*after=*/true);
  }
};
} // namespace

static Rule getExtremumRule(OpBuilder &builder, ComputeOp compute,
                            ReadOp read) {
  bool first = compute.getTies() == Ties::first;
  Rule rule;
  rule.extra = first ? SmallVector<Value>{createFirst(builder, compute, read)}
                     : SmallVector<Value>{compute.getResult(0),
                                          createCount(builder, compute, read)};
  rule.emit = [&builder, compute, first](ReadGradient &g) -> FailureOr<Value> {
    unsigned numInputs = g.getNumForwardInputs();
    Value dy = g.readAtResult(numInputs);
    FloatBuilder f{builder, g.loc, dy.getType()};
    if (first) {
      Value chosen = g.readAtResult(numInputs + 1);
      Value is =
          arith::CmpIOp::create(builder, g.loc, arith::CmpIPredicate::eq,
                                chosen, g.emitReductionPosition(compute));
      return f.select(is, dy, f.c(0));
    }
    Value x = g.readElement();
    Value y = g.readAtResult(numInputs + 1);
    Value n = g.readAtResult(numInputs + 2);
    return f.select(f.equal(x, y), f.div(dy, n), f.c(0));
  };
  return rule;
}

static Rule getProductRule(OpBuilder &builder, const Partials &partials) {
  Rule rule;
  rule.extra = {partials.before->getResult(0), partials.after->getResult(0)};
  rule.emit = [&builder](ReadGradient &g) -> FailureOr<Value> {
    unsigned numInputs = g.getNumForwardInputs();
    Value dy = g.readAtResult(numInputs);
    FloatBuilder f{builder, g.loc, dy.getType()};
    return f.mul(
        dy, f.mul(g.readAtPoint(numInputs + 1), g.readAtPoint(numInputs + 2)));
  };
  return rule;
}

/// The combine region of `compute` on two sets of accumulators.
static FailureOr<DualNumbers> emitCombiner(OpBuilder &builder,
                                           ComputeOp compute,
                                           const DualNumbers &a,
                                           const DualNumbers &b) {
  Block &block = compute.getCombiner().front();
  IRMapping mapping;
  llvm::DenseMap<Value, Tangent> tangents;
  auto bind = [&](Value argument, const std::pair<Value, Tangent> &operand) {
    mapping.map(argument, operand.first);
    tangents[argument] = operand.second;
  };
  unsigned count = compute.getNumResults();
  for (unsigned i = 0; i < count; ++i) {
    bind(block.getArgument(i), a[i]);
    bind(block.getArgument(count + i), b[i]);
  }
  for (Operation &op : block.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    copy->setLoc(gradientLoc(&op));
    SmallVector<Tangent> operands;
    for (Value operand : op.getOperands())
      operands.push_back(tangents.lookup(operand));
    if (llvm::all_of(operands, [](const Tangent &t) { return t.isZero(); }))
      continue;
    FailureOr<Tangent> tangent = differentiateScalar(builder, copy, operands);
    if (failed(tangent))
      return refuse(&op, "'" + op.getName().getStringRef() + "'",
                    "the gradient of the combine region needs it; write it "
                    "with operations that have a derivative, or wrap the "
                    "result in neoflow.stop_gradient");
    tangents[op.getResult(0)] = *tangent;
  }
  DualNumbers results;
  for (Value value : cast<YieldOp>(block.getTerminator()).getValues())
    results.push_back({mapping.lookup(value), tangents.lookup(value)});
  return results;
}

/// The sum of the tangents times the cotangents of the results `resultOf`.
static Value emitProducts(OpBuilder &builder, ReadGradient &g,
                          ArrayRef<Tangent> tangents,
                          ArrayRef<unsigned> resultOf) {
  FloatBuilder f{builder, g.loc, g.read.getResult().getType()};
  Value sum;
  for (auto [position, i] : llvm::enumerate(resultOf)) {
    if (tangents[i].isZero())
      continue;
    // Bodies may work in a wider type than the read.
    Value part = f.convert(g.readAtResult(g.getNumForwardInputs() + position));
    if (tangents[i].value)
      part = f.mul(part, f.convert(tangents[i].value));
    sum = sum ? f.add(sum, part) : part;
  }
  return sum ? sum : f.c(0);
}

/// before (+) (element (+) after) is the result for any associative region: its
/// derivative with respect to the element is that of the region, twice.
static Rule getCombineRule(OpBuilder &builder, ComputeOp compute,
                           const Partials &partials,
                           SmallVector<unsigned> resultOf) {
  Rule rule;
  llvm::append_range(rule.extra, partials.before->getResults());
  llvm::append_range(rule.extra, partials.after->getResults());
  rule.emit = [&builder, compute,
               resultOf](ReadGradient &g) mutable -> FailureOr<Value> {
    g.cloneBody();
    FailureOr<SmallVector<Tangent>> tangents = g.emitTangents();
    if (failed(tangents))
      return failure();
    unsigned count = compute.getNumResults();
    unsigned firstPartial = g.getNumForwardInputs() + resultOf.size();
    DualNumbers before, element, after;
    for (unsigned i = 0; i < count; ++i) {
      before.push_back({g.readAtPoint(firstPartial + i), Tangent()});
      element.push_back({g.getYielded(i), (*tangents)[i]});
      after.push_back({g.readAtPoint(firstPartial + count + i), Tangent()});
    }
    FailureOr<DualNumbers> rest =
        emitCombiner(builder, compute, element, after);
    if (failed(rest))
      return failure();
    FailureOr<DualNumbers> all = emitCombiner(builder, compute, before, *rest);
    if (failed(all))
      return failure();
    return emitProducts(
        builder, g,
        llvm::map_to_vector(*all, [](auto &dual) { return dual.second; }),
        resultOf);
  };
  return rule;
}

/// Sums, and computes without a reduction: the tangent times the cotangent,
/// for the results `resultOf` that have one.
static Rule getLinearRule(OpBuilder &builder, SmallVector<unsigned> resultOf) {
  Rule rule;
  rule.emit = [&builder,
               resultOf](ReadGradient &g) mutable -> FailureOr<Value> {
    g.cloneBody();
    FailureOr<SmallVector<Tangent>> tangents = g.emitTangents();
    if (failed(tangents))
      return failure();
    return emitProducts(builder, g, *tangents, resultOf);
  };
  return rule;
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// One term for every active read of `forward`.
static FailureOr<SmallVector<Term>>
differentiateReads(OpBuilder &builder, const Comprehension &forward,
                   ArrayRef<Value> cotangents,
                   function_ref<bool(Value)> isActive,
                   function_ref<Rule(ReadOp)> getRule) {
  SmallVector<Term> terms;
  for (ReadOp read : forward.block->getOps<ReadOp>()) {
    Value tensor = forward.getBoundOperand(read.getTensor());
    if (!isActive(tensor) || read.getResult().use_empty())
      continue;
    std::optional<AffineMap> map = getSubscriptsOverIndices(
        read.getMap(), read.getIndices(), forward.block, forward.numIndices);
    std::optional<index::ReadInverse> inverse;
    std::string reason;
    if (map)
      inverse = index::invertRead(
          *map, forward.extents, forward.domain,
          cast<RankedTensorType>(read.getTensor().getType()).getShape(),
          reason);
    if (inverse && inverse->empty)
      continue;
    Rule rule = getRule(read);
    ReadGradient gradient(builder, forward, read, cotangents, rule.extra);
    FailureOr<Value> result = inverse
                                  ? gradient.createGather(*inverse, rule.emit)
                                  : gradient.createScatter(rule.emit);
    if (failed(result))
      return failure();
    // A comparison, say, passes nothing on.
    auto gather = result->getDefiningOp<ComputeOp>();
    if (gather &&
        matchPattern(gather.getYield().getValues().front(), m_AnyZeroFloat())) {
      gather.erase();
      continue;
    }
    terms.push_back({tensor, *result});
  }
  return terms;
}

FailureOr<SmallVector<Term>>
autodiff::differentiateCompute(OpBuilder &builder, ComputeOp compute,
                               ArrayRef<Value> cotangents,
                               function_ref<bool(Value)> isActive) {
  if (failed(checkCompute(compute)))
    return failure();
  SmallVector<Value> given;
  SmallVector<unsigned> resultOf;
  for (auto [i, cotangent] : llvm::enumerate(cotangents)) {
    if (!cotangent)
      continue;
    given.push_back(cotangent);
    resultOf.push_back(i);
  }
  Partials partials;
  return differentiateReads(
      builder, Comprehension(compute), given, isActive, [&](ReadOp read) {
        switch (compute.getKind()) {
        case ReductionKind::max:
        case ReductionKind::min:
          return getExtremumRule(builder, compute, read);
        case ReductionKind::prod:
          partials.create(builder, compute);
          return getProductRule(builder, partials);
        case ReductionKind::combine:
          partials.create(builder, compute);
          return getCombineRule(builder, compute, partials, resultOf);
        default:
          return getLinearRule(builder, resultOf);
        }
      });
}

FailureOr<SmallVector<Term>>
autodiff::differentiateScatter(OpBuilder &builder, ScatterOp scatter,
                               Value cotangent,
                               function_ref<bool(Value)> isActive) {
  if (scatter.getKind() != ReductionKind::sum)
    return refuse(scatter,
                  "a scatter of '" + stringifyReductionKind(scatter.getKind()) +
                      "'",
                  "only sum has a derivative; use neoflow.stop_gradient if "
                  "none is wanted");
  FailureOr<SmallVector<Term>> terms =
      differentiateReads(builder, Comprehension(scatter), cotangent, isActive,
                         [&](ReadOp) { return getLinearRule(builder, {0}); });
  if (succeeded(terms) && isActive(scatter.getDestination()))
    terms->push_back({scatter.getDestination(), cotangent});
  return terms;
}
