// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse mode of one compute: for every read a gather over the points of the
// forward domain that read an element (docs/Autodiff.md).

#include "Differentiate.h"

#include "neoflow/Index/Domain.h"
#include "neoflow/Index/ReadInverse.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

using namespace neoflow;
using namespace neoflow::autodiff;

/// The location of generated code: the forward operation's, and why it is
/// there.
static Location gradientLoc(Operation *op) {
  return NameLoc::get(StringAttr::get(op->getContext(), "gradient"),
                      op->getLoc());
}

static std::vector<std::string> genericNames(unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i)
    names.push_back("i" + std::to_string(i));
  return names;
}

/// Reads `tensor`, an input argument, at the result indices themselves.
static Value readAtIndices(OpBuilder &builder, Location loc, ComputeOp compute,
                           unsigned input) {
  unsigned rank = compute.getNumParallel();
  return ReadOp::create(
      builder, loc, compute.getInputArguments()[input],
      builder.getMultiDimIdentityMap(rank),
      ValueRange(compute.getIndexArguments().take_front(rank)));
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

namespace {

/// The gradient of one read of a compute.
class ReadGradient {
public:
  ReadGradient(OpBuilder &builder, ComputeOp compute, ReadOp read,
               index::ReadInverse inverse, ArrayRef<Value> cotangents)
      : builder(builder), compute(compute), read(read),
        inverse(std::move(inverse)), cotangents(cotangents),
        loc(gradientLoc(read)) {}

  /// Creates the compute over the elements of the tensor. `extra` tensors are
  /// bound after the forward inputs and the cotangents. `emitValue` gives the
  /// contribution of a point.
  Value create(ValueRange extra,
               function_ref<FailureOr<Value>(ReadGradient &)> emitValue);

  /// The forward body at the inverted point, for the operations that the read
  /// reaches; `mapping` then knows every value of it.
  void cloneBody();
  /// The tangent of every yielded value with respect to the read.
  FailureOr<SmallVector<Tangent>> emitTangents();
  /// The element of input `position` of the gradient that belongs to the
  /// result element of the inverted point.
  Value readAtResult(unsigned position);
  /// The element of the differentiated tensor itself.
  Value readElement();

  OpBuilder &builder;
  ComputeOp compute;
  ReadOp read;
  index::ReadInverse inverse;
  ArrayRef<Value> cotangents;
  Location loc;
  ComputeOp gradient;
  IRMapping mapping;

private:
  std::vector<std::string> chooseNames();
  AffineExpr simplify(AffineExpr expr) {
    return index::simplifyOver(expr, gradient.getStaticExtents());
  }
  /// `map` over the forward operands, as a map over the gradient's indices and
  /// data-dependent values.
  AffineMap invert(AffineMap map, ValueRange operands,
                   SmallVectorImpl<Value> &newOperands);
};

std::vector<std::string> ReadGradient::chooseNames() {
  unsigned rank = cast<RankedTensorType>(read.getTensor().getType()).getRank();
  unsigned count = rank + inverse.freeExtents.size();
  std::vector<std::string> names(count);
  llvm::StringSet<> taken;
  // An index that is a forward index keeps its name.
  for (auto [i, variable] : llvm::enumerate(inverse.variables)) {
    auto dim = dyn_cast<AffineDimExpr>(variable);
    std::string name = compute.getIndexName(i);
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

AffineMap ReadGradient::invert(AffineMap map, ValueRange operands,
                               SmallVectorImpl<Value> &newOperands) {
  unsigned numIndices = gradient.getNumIndices();
  llvm::append_range(newOperands, gradient.getIndexArguments());
  SmallVector<AffineExpr> dims;
  for (Value operand : operands) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (argument && argument.getArgNumber() < compute.getNumIndices()) {
      dims.push_back(inverse.variables[argument.getArgNumber()]);
      continue;
    }
    dims.push_back(builder.getAffineDimExpr(newOperands.size()));
    newOperands.push_back(mapping.lookup(operand));
  }
  SmallVector<AffineExpr> results;
  bool dataDependent = newOperands.size() != numIndices;
  for (AffineExpr expr : map.getResults()) {
    expr = expr.replaceDims(dims);
    results.push_back(dataDependent ? expr : simplify(expr));
  }
  // Drop the operands that do not occur.
  SmallVector<AffineExpr> kept(newOperands.size(),
                               builder.getAffineConstantExpr(0));
  SmallVector<Value> used;
  for (unsigned i = 0; i < newOperands.size(); ++i) {
    if (llvm::none_of(results,
                      [&](AffineExpr expr) { return expr.isFunctionOfDim(i); }))
      continue;
    kept[i] = builder.getAffineDimExpr(used.size());
    used.push_back(newOperands[i]);
  }
  for (AffineExpr &expr : results)
    expr = expr.replaceDims(kept);
  newOperands.assign(used.begin(), used.end());
  return AffineMap::get(used.size(), 0, results, builder.getContext());
}

void ReadGradient::cloneBody() {
  // Values that are used other than as subscripts need their index.
  for (BlockArgument index : compute.getIndexArguments()) {
    bool isValue = llvm::any_of(index.getUsers(), [](Operation *user) {
      return !isa<ReadOp, RandomOp>(user);
    });
    if (!isValue)
      continue;
    AffineExpr variable = inverse.variables[index.getArgNumber()];
    SmallVector<Value> operands(gradient.getIndexArguments());
    if (auto dim = dyn_cast<AffineDimExpr>(variable))
      mapping.map(index, operands[dim.getPosition()]);
    else
      mapping.map(index,
                  affine::AffineApplyOp::create(
                      builder, loc,
                      AffineMap::get(operands.size(), 0, variable), operands)
                      .getResult());
  }
  for (auto [i, argument] : llvm::enumerate(compute.getInputArguments()))
    mapping.map(argument, gradient.getInputArguments()[i]);
  for (Operation &op : compute.getBodyBlock()->without_terminator()) {
    if (auto inner = dyn_cast<ReadOp>(op)) {
      SmallVector<Value> operands;
      AffineMap map = invert(inner.getMap(), inner.getIndices(), operands);
      // The differentiated read is in range at every point that is visited.
      TypedAttr otherwise =
          inner == read ? TypedAttr() : inner.getOtherwiseAttr();
      mapping.map(inner.getResult(),
                  ReadOp::create(builder, gradientLoc(&op),
                                 mapping.lookup(inner.getTensor()), map,
                                 operands, otherwise)
                      .getResult());
      continue;
    }
    if (auto random = dyn_cast<RandomOp>(op)) {
      SmallVector<Value> operands;
      AffineMap map = invert(random.getMap(), random.getIndices(), operands);
      mapping.map(random.getResult(),
                  RandomOp::create(
                      builder, gradientLoc(&op), random.getResult().getType(),
                      random.getDistributionAttr(),
                      mapping.lookup(random.getSeed()),
                      mapping.lookup(random.getStep()), random.getStreamAttr(),
                      operands, AffineMapAttr::get(map), random.getShapeAttr())
                      .getResult());
      continue;
    }
    Operation *clone = builder.clone(op, mapping);
    clone->setLoc(gradientLoc(&op));
  }
}

FailureOr<SmallVector<Tangent>> ReadGradient::emitTangents() {
  llvm::DenseMap<Value, Tangent> tangents;
  tangents[read.getResult()] = Tangent::one();
  for (Operation &op : compute.getBodyBlock()->without_terminator()) {
    bool active = llvm::any_of(op.getOperands(), [&](Value operand) {
      return !tangents.lookup(operand).isZero();
    });
    if (!active || isa<ReadOp, RandomOp>(op))
      continue;
    // Differentiate the clone, whose operands are the inverted point's.
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
  for (Value value : compute.getYield().getValues())
    results.push_back(tangents.lookup(value));
  return results;
}

Value ReadGradient::readAtResult(unsigned position) {
  SmallVector<Value> operands;
  ArrayRef<BlockArgument> parallel =
      compute.getIndexArguments().take_front(compute.getNumParallel());
  AffineMap map = invert(builder.getMultiDimIdentityMap(parallel.size()),
                         ValueRange(parallel), operands);
  return ReadOp::create(builder, loc, gradient.getInputArguments()[position],
                        map, operands);
}

Value ReadGradient::readElement() {
  unsigned input = cast<BlockArgument>(read.getTensor()).getArgNumber() -
                   compute.getNumIndices();
  return readAtIndices(builder, loc, gradient, input);
}

Value ReadGradient::create(
    ValueRange extra,
    function_ref<FailureOr<Value>(ReadGradient &)> emitValue) {
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  bool reduces = !inverse.freeExtents.empty();
  TypedAttr otherwise;
  if (!reduces && !inverse.where.empty())
    otherwise = builder.getFloatAttr(type.getElementType(), 0.0);
  SmallVector<Value> inputs(compute.getInputs());
  llvm::append_range(inputs, cotangents);
  llvm::append_range(inputs, extra);
  gradient = ComputeOp::create(
      builder, loc, type, inputs,
      reduces ? ReductionKind::sum : ReductionKind::none, inverse.freeExtents,
      chooseNames(), inverse.where, otherwise);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(gradient.getBodyBlock());
  FailureOr<Value> value = emitValue(*this);
  if (failed(value)) {
    gradient.erase();
    return {};
  }
  YieldOp::create(builder, loc, *value);
  // What the gradient does not use goes: operations, then inputs.
  for (Operation *op = gradient.getYield()->getPrevNode(); op;) {
    Operation *previous = op->getPrevNode();
    if (op->use_empty())
      op->erase();
    op = previous;
  }
  unsigned numIndices = gradient.getNumIndices();
  for (int i = inputs.size() - 1; i >= 0; --i) {
    BlockArgument argument = gradient.getInputArguments()[i];
    if (!argument.use_empty())
      continue;
    gradient.getInputsMutable().erase(i);
    gradient.getBodyBlock()->eraseArgument(numIndices + i);
  }
  return gradient.getResult(0);
}

} // namespace

/// Says that `compute` cannot be differentiated yet.
static LogicalResult refuse(Operation *op, const Twine &what,
                            const Twine &advice) {
  InFlightDiagnostic diagnostic = op->emitError("cannot differentiate ")
                                  << what << " yet";
  diagnostic.attachNote() << advice;
  return diagnostic;
}

static LogicalResult checkCompute(ComputeOp compute) {
  for (unsigned i = 0; i < compute.getNumResults(); ++i) {
    ReductionKind kind = compute.getKind(i);
    if (kind == ReductionKind::none || kind == ReductionKind::sum)
      continue;
    if (kind != ReductionKind::max && kind != ReductionKind::min)
      return refuse(compute,
                    "a '" + stringifyReductionKind(kind) + "' reduction",
                    "only sum, max and min have derivatives; use "
                    "neoflow.stop_gradient if none is wanted");
    if (compute.getNumResults() != 1)
      return refuse(compute, "a max or min with several results",
                    "write one compute for each result");
    if (!compute.getYield().getValues().front().getDefiningOp<ReadOp>())
      return refuse(compute, "a max or min of anything but a read",
                    "write the elements with a compute of their own first");
    if (compute.getTies() == Ties::first)
      return refuse(compute, "a max or min with 'ties first'",
                    "use 'ties share', the default");
  }
  if (!compute.getInits().empty())
    return refuse(compute, "a reduction with 'init'",
                  "add the initial value in a compute of its own");
  return success();
}

/// How many points attain the extremum, for every result element.
static Value createCount(OpBuilder &builder, ComputeOp compute, ReadOp read) {
  Location loc = gradientLoc(compute);
  auto type = cast<RankedTensorType>(compute.getResult(0).getType());
  Type count = type.getElementType().isF64() ? builder.getF64Type()
                                             : builder.getF32Type();
  std::vector<std::string> names;
  for (unsigned i = 0; i < compute.getNumIndices(); ++i)
    names.push_back(compute.getIndexName(i));
  Value source = compute.getBoundOperand(cast<BlockArgument>(read.getTensor()));
  auto counter = ComputeOp::create(
      builder, loc, type.clone(count), ValueRange{source, compute.getResult(0)},
      ReductionKind::sum, compute.getReductionExtents(), names,
      compute.getDomainSets());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(counter.getBodyBlock());
  SmallVector<Value> operands;
  for (Value operand : read.getIndices())
    operands.push_back(
        counter
            .getIndexArguments()[cast<BlockArgument>(operand).getArgNumber()]);
  Type element = read.getResult().getType();
  // Padding takes no share: NaN equals nothing.
  TypedAttr otherwise;
  if (read.getOtherwiseAttr())
    otherwise = builder.getFloatAttr(element, std::nan(""));
  Value x = ReadOp::create(builder, loc, counter.getInputArguments()[0],
                           read.getMap(), operands, otherwise);
  Value y = readAtIndices(builder, loc, counter, 1);
  Value equal =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, x, y);
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(count, 1));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(count, 0));
  Value value = arith::SelectOp::create(builder, loc, equal, one, zero);
  YieldOp::create(builder, loc, value);
  return counter.getResult(0);
}

FailureOr<SmallVector<Term>>
autodiff::differentiateCompute(OpBuilder &builder, ComputeOp compute,
                               ArrayRef<Value> cotangents,
                               function_ref<bool(Value)> isActive) {
  if (failed(checkCompute(compute)))
    return failure();
  if (!compute.hasStaticExtents() ||
      llvm::any_of(compute.getInputs(),
                   [](Value input) { return input.getType().isIndex(); }))
    return compute.emitError("expected static extents to differentiate; run "
                             "neoflow-specialize first");
  bool isExtremum = compute.getKind() == ReductionKind::max ||
                    compute.getKind() == ReductionKind::min;
  SmallVector<Value> given;
  SmallVector<unsigned> resultOf;
  for (auto [i, cotangent] : llvm::enumerate(cotangents)) {
    if (!cotangent)
      continue;
    given.push_back(cotangent);
    resultOf.push_back(i);
  }
  SmallVector<Term> terms;
  Value count;
  for (ReadOp read : compute.getBody().getOps<ReadOp>()) {
    Value tensor =
        compute.getBoundOperand(cast<BlockArgument>(read.getTensor()));
    if (!isActive(tensor) || read.getResult().use_empty())
      continue;
    std::optional<AffineMap> map = getSubscriptsOverIndices(read);
    if (!map)
      return refuse(read, "a read at data-dependent subscripts",
                    "its gradient needs a scatter; stop it with "
                    "neoflow.stop_gradient, or mark the argument "
                    "neoflow.no_gradient");
    std::string reason;
    std::optional<index::ReadInverse> inverse = index::invertRead(
        *map, compute.getStaticExtents(), compute.getDomainSets(),
        cast<RankedTensorType>(read.getTensor().getType()).getShape(), reason);
    if (!inverse)
      return refuse(read, "this read: " + reason,
                    "write the subscript as an affine expression with floordiv "
                    "and mod by constants");
    if (inverse->empty)
      continue;
    ReadGradient gradient(builder, compute, read, std::move(*inverse), given);
    unsigned numInputs = compute.getInputs().size();
    Value result;
    if (isExtremum) {
      if (!count)
        count = createCount(builder, compute, read);
      SmallVector<Value> extra = {compute.getResult(0), count};
      result = gradient.create(extra, [&](ReadGradient &g) -> FailureOr<Value> {
        Value x = g.readElement();
        Value dy = g.readAtResult(numInputs);
        Value y = g.readAtResult(numInputs + 1);
        Value n = g.readAtResult(numInputs + 2);
        Value equal = arith::CmpFOp::create(builder, g.loc,
                                            arith::CmpFPredicate::OEQ, x, y);
        Value share = arith::DivFOp::create(builder, g.loc, dy, n);
        Value zero = arith::ConstantOp::create(
            builder, g.loc, builder.getFloatAttr(dy.getType(), 0.0));
        return arith::SelectOp::create(builder, g.loc, equal, share, zero)
            .getResult();
      });
    } else {
      result = gradient.create({}, [&](ReadGradient &g) -> FailureOr<Value> {
        g.cloneBody();
        FailureOr<SmallVector<Tangent>> tangents = g.emitTangents();
        if (failed(tangents))
          return failure();
        Value sum;
        Type type = read.getResult().getType();
        for (auto [position, i] : llvm::enumerate(resultOf)) {
          const Tangent &tangent = (*tangents)[i];
          if (tangent.isZero())
            continue;
          Value dy = g.readAtResult(numInputs + position);
          // Bodies may work in a wider type than the read.
          if (dy.getType() != type)
            dy = type.getIntOrFloatBitWidth() >
                         dy.getType().getIntOrFloatBitWidth()
                     ? arith::ExtFOp::create(builder, g.loc, type, dy)
                           .getResult()
                     : arith::TruncFOp::create(builder, g.loc, type, dy)
                           .getResult();
          Value factor = tangent.value;
          if (factor && factor.getType() != type)
            factor = type.getIntOrFloatBitWidth() >
                             factor.getType().getIntOrFloatBitWidth()
                         ? arith::ExtFOp::create(builder, g.loc, type, factor)
                               .getResult()
                         : arith::TruncFOp::create(builder, g.loc, type, factor)
                               .getResult();
          Value part = factor
                           ? arith::MulFOp::create(builder, g.loc, dy, factor)
                                 .getResult()
                           : dy;
          sum =
              sum ? arith::AddFOp::create(builder, g.loc, sum, part).getResult()
                  : part;
        }
        if (!sum)
          sum = arith::ConstantOp::create(builder, g.loc,
                                          builder.getFloatAttr(type, 0.0));
        return sum;
      });
    }
    if (!result)
      return failure();
    terms.push_back({tensor, result});
  }
  return terms;
}
