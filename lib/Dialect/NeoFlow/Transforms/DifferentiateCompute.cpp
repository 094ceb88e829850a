// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse mode of one compute or scatter: a term for every read
// (docs/Autodiff.md).

#include "FloatBuilder.h"
#include "ReadGradient.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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
  for (unsigned i = 0; i < compute.getNumResults(); ++i) {
    ReductionKind kind = compute.getKind(i);
    if (kind == ReductionKind::combine)
      return refuse(compute, "a 'combine' reduction yet",
                    "write it with sum, prod, max and min, or wrap the result "
                    "in neoflow.stop_gradient if no gradient is wanted");
  }
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
                ReductionKind kind, Type element,
                function_ref<Value(ComputeOp, Value, Value)> emit) {
  Location loc = gradientLoc(compute);
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

/// For every point, the product of the elements before it (`after`: behind it)
/// in the order of the reduction.
static Value createPartialProduct(OpBuilder &builder, ComputeOp compute,
                                  ReadOp read, bool after) {
  Location loc = gradientLoc(compute);
  MLIRContext *context = builder.getContext();
  Comprehension forward(compute);
  unsigned numParallel = compute.getNumParallel();
  unsigned numReduction = compute.getNumReduction();
  // Indices: those of the forward compute, then the other reduction point.
  SmallVector<AffineExpr> other;
  std::vector<std::string> names;
  for (unsigned i = 0; i < forward.numIndices; ++i) {
    other.push_back(
        getAffineDimExpr(i < numParallel ? i : i + numReduction, context));
    names.push_back(forward.getIndexName(i));
  }
  AffineExpr distance = getAffineConstantExpr(0, context);
  for (unsigned i = 0; i < numReduction; ++i) {
    unsigned dim = numParallel + i;
    AffineExpr here = getAffineDimExpr(dim, context);
    distance = distance * forward.extents[dim] +
               (after ? other[dim] - here : here - other[dim]);
    names.push_back(forward.getIndexName(dim) + "_other");
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
  Value source = compute.getBoundOperand(cast<BlockArgument>(read.getTensor()));
  auto product = ComputeOp::create(
      builder, loc,
      RankedTensorType::get(forward.extents, compute.getAccumulatorType()),
      source, ReductionKind::prod, compute.getReductionExtents(), names,
      domain);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(product.getBodyBlock());
  IRMapping mapping;
  mapping.map(read.getTensor(), product.getInputArguments()[0]);
  SmallVector<Value> used;
  AffineMap map = BodyCloner(builder, forward, other,
                             ValueRange(product.getIndexArguments()),
                             Comprehension(product).extents, mapping)
                      .substitute(read.getMap(), read.getIndices(), used);
  Value element = ReadOp::create(builder, loc, product.getInputArguments()[0],
                                 map, used, read.getOtherwiseAttr());
  YieldOp::create(builder, loc, element);
  return product.getResult(0);
}

namespace {
/// The rule of one compute: what a point contributes to the element it reads.
struct Rule {
  /// Tensors that contributions read, after the cotangents.
  SmallVector<Value> extra;
  std::function<FailureOr<Value>(ReadGradient &)> emit;
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

static Rule getProductRule(OpBuilder &builder, ComputeOp compute, ReadOp read) {
  Rule rule;
  rule.extra = {createPartialProduct(builder, compute, read, /*after=*/false),
                createPartialProduct(builder, compute, read, /*after=*/true)};
  rule.emit = [&builder](ReadGradient &g) -> FailureOr<Value> {
    unsigned numInputs = g.getNumForwardInputs();
    Value dy = g.readAtResult(numInputs);
    FloatBuilder f{builder, g.loc, dy.getType()};
    return f.mul(
        dy, f.mul(g.readAtPoint(numInputs + 1), g.readAtPoint(numInputs + 2)));
  };
  return rule;
}

/// Sums, and computes without a reduction: the tangent times the cotangent,
/// for the results `resultOf` that have one.
static Rule getLinearRule(OpBuilder &builder, ReadOp read,
                          SmallVector<unsigned> resultOf) {
  Rule rule;
  rule.emit = [&builder, read,
               resultOf](ReadGradient &g) mutable -> FailureOr<Value> {
    g.cloneBody();
    FailureOr<SmallVector<Tangent>> tangents = g.emitTangents();
    if (failed(tangents))
      return failure();
    Value sum;
    FloatBuilder f{builder, g.loc, read.getResult().getType()};
    for (auto [position, i] : llvm::enumerate(resultOf)) {
      const Tangent &tangent = (*tangents)[i];
      if (tangent.isZero())
        continue;
      // Bodies may work in a wider type than the read.
      Value part =
          f.convert(g.readAtResult(g.getNumForwardInputs() + position));
      if (tangent.value)
        part = f.mul(part, f.convert(tangent.value));
      sum = sum ? f.add(sum, part) : part;
    }
    return sum ? sum : f.c(0);
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
  return differentiateReads(builder, Comprehension(compute), given, isActive,
                            [&](ReadOp read) {
                              switch (compute.getKind()) {
                              case ReductionKind::max:
                              case ReductionKind::min:
                                return getExtremumRule(builder, compute, read);
                              case ReductionKind::prod:
                                return getProductRule(builder, compute, read);
                              default:
                                return getLinearRule(builder, read, resultOf);
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
  FailureOr<SmallVector<Term>> terms = differentiateReads(
      builder, Comprehension(scatter), cotangent, isActive,
      [&](ReadOp read) { return getLinearRule(builder, read, {0}); });
  if (succeeded(terms) && isActive(scatter.getDestination()))
    terms->push_back({scatter.getDestination(), cotangent});
  return terms;
}
