// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies as lists of steps over numbered slots, and the loops around them.

#include "Comprehension.h"
#include "Random.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace neoflow;
using namespace neoflow::test;

Scalar neoflow::test::getScalar(const Tensor &tensor) {
  return getElement(tensor, 0);
}

void neoflow::test::setElement(Tensor &tensor, int64_t position, Scalar value) {
  if (tensor.isFloat())
    tensor.floats[position] = value.f;
  else
    tensor.integers[position] = wrap(value.i, tensor.elementType);
}

namespace {

/// One operation of a body.
struct Step {
  Operation *op;
  ScalarFunction function = nullptr;
  SmallVector<unsigned, 4> operands;
  unsigned result = 0;
  /// Reads: the tensor and the value outside of it.
  const Tensor *tensor = nullptr;
  std::optional<Scalar> otherwise;
};

/// A body, ready to be run at many points.
class Body {
public:
  /// Prepares `block`; block arguments take the first slots.
  LogicalResult prepare(Block &block);
  /// Binds a block argument to a tensor or to a scalar.
  void bind(unsigned argument, const Tensor &tensor);
  /// Evaluates every operation.
  LogicalResult run();

  SmallVector<Scalar> slots;
  /// The slots of the yielded values, and of the operands of `at`.
  SmallVector<unsigned> values, indices;

private:
  LogicalResult runRead(const Step &step);
  void runRandom(const Step &step);
  SmallVector<int64_t, 8> gather(ArrayRef<unsigned> from) const {
    SmallVector<int64_t, 8> result;
    for (unsigned slot : from)
      result.push_back(slots[slot].i);
    return result;
  }

  DenseMap<Value, unsigned> slotOf;
  std::vector<Step> steps;
  SmallVector<const Tensor *> tensors;
};

LogicalResult Body::prepare(Block &block) {
  for (BlockArgument argument : block.getArguments())
    slotOf[argument] = slotOf.size();
  tensors.resize(block.getNumArguments());
  for (Operation &op : block) {
    if (auto yield = dyn_cast<YieldOp>(op)) {
      for (Value value : yield.getValues())
        values.push_back(slotOf.lookup(value));
      for (Value value : yield.getIndices())
        indices.push_back(slotOf.lookup(value));
      continue;
    }
    Step step;
    step.op = &op;
    for (Value operand : op.getOperands())
      step.operands.push_back(slotOf.lookup(operand));
    if (auto read = dyn_cast<ReadOp>(op)) {
      if (Attribute otherwise = read.getOtherwiseAttr())
        step.otherwise = fromAttribute(otherwise);
    } else if (!isa<RandomOp>(op)) {
      step.function = getScalarFunction(&op);
      if (!step.function)
        return op.emitError("the interpreter does not support '")
               << op.getName() << "' here";
    }
    step.result = slotOf.size();
    slotOf[op.getResult(0)] = step.result;
    steps.push_back(std::move(step));
  }
  slots.resize(slotOf.size());
  return success();
}

void Body::bind(unsigned argument, const Tensor &tensor) {
  // A tensor of rank 0 is read; only scalars are values of their own.
  if (tensor.shape.empty())
    slots[argument] = getScalar(tensor);
  tensors[argument] = &tensor;
}

LogicalResult Body::runRead(const Step &step) {
  auto read = cast<ReadOp>(step.op);
  const Tensor &tensor = *tensors[step.operands.front()];
  SmallVector<int64_t, 8> dims = gather(ArrayRef(step.operands).drop_front());
  int64_t position = 0;
  for (auto [dim, expr] : llvm::enumerate(read.getMap().getResults())) {
    int64_t subscript = evaluate(expr, dims);
    if (subscript < 0 || subscript >= tensor.shape[dim]) {
      if (!step.otherwise)
        return read.emitOpError("subscript ")
               << dim << " is " << subscript << ", but the extent is "
               << tensor.shape[dim];
      slots[step.result] = *step.otherwise;
      return success();
    }
    position = position * tensor.shape[dim] + subscript;
  }
  slots[step.result] = getElement(tensor, position);
  return success();
}

void Body::runRandom(const Step &step) {
  auto random = cast<RandomOp>(step.op);
  SmallVector<int64_t, 8> dims = gather(ArrayRef(step.operands).drop_front(2));
  // Wraps around like the compiled code, hence unsigned.
  uint64_t position = 0;
  for (auto [expr, extent] :
       llvm::zip(random.getMap().getResults(), random.getShape()))
    position = position * uint64_t(extent) + uint64_t(evaluate(expr, dims));
  auto words = randomWords(slots[step.operands[0]].i, slots[step.operands[1]].i,
                           int64_t(random.getStream()), int64_t(position));
  bool isDouble = random.getResult().getType().isF64();
  slots[step.result] =
      fromFloat(random.getDistribution() == Distribution::uniform
                    ? uniform(words, isDouble)
                    : normal(words, isDouble));
}

LogicalResult Body::run() {
  SmallVector<Scalar, 4> in;
  for (const Step &step : steps) {
    if (!step.function) {
      if (isa<RandomOp>(step.op))
        runRandom(step);
      else if (failed(runRead(step)))
        return failure();
      continue;
    }
    in.clear();
    for (unsigned slot : step.operands)
      in.push_back(slots[slot]);
    if (const char *why = step.function(step.op, in, slots[step.result]))
      return step.op->emitOpError("cannot be evaluated: ") << why;
  }
  return success();
}

/// Counts through a box in row-major order; false after the last point.
bool advance(MutableArrayRef<int64_t> point, ArrayRef<int64_t> extents) {
  for (unsigned i = point.size(); i-- > 0;) {
    if (++point[i] < extents[i])
      return true;
    point[i] = 0;
  }
  return false;
}

bool contains(ArrayRef<IntegerSet> sets, ArrayRef<int64_t> dims,
              ArrayRef<int64_t> symbols) {
  if (sets.empty())
    return true;
  return llvm::any_of(sets, [&](IntegerSet set) {
    for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
      int64_t value = evaluate(set.getConstraint(i), dims, symbols);
      if (set.isEq(i) ? value != 0 : value < 0)
        return false;
    }
    return true;
  });
}

/// `a` combined with `b` in elements of `type`.
Scalar combine(ReductionKind kind, Type type, Scalar a, Scalar b) {
  if (isa<FloatType>(type)) {
    bool nan = std::isnan(a.f) || std::isnan(b.f);
    switch (kind) {
    case ReductionKind::sum:
      return fromFloat(a.f + b.f);
    case ReductionKind::prod:
      return fromFloat(a.f * b.f);
    case ReductionKind::max:
      if (nan)
        return fromFloat(std::nan(""));
      return a.f == b.f ? (std::signbit(a.f) ? b : a) : (a.f > b.f ? a : b);
    default:
      if (nan)
        return fromFloat(std::nan(""));
      return a.f == b.f ? (std::signbit(a.f) ? a : b) : (a.f < b.f ? a : b);
    }
  }
  uint64_t mask =
      llvm::maskTrailingOnes<uint64_t>(type.getIntOrFloatBitWidth());
  uint64_t ua = uint64_t(a.i) & mask, ub = uint64_t(b.i) & mask;
  switch (kind) {
  case ReductionKind::sum:
    return fromInteger(wrap(int64_t(ua + ub), type));
  case ReductionKind::prod:
    return fromInteger(wrap(int64_t(ua * ub), type));
  case ReductionKind::max:
    return a.i > b.i ? a : b;
  case ReductionKind::min:
    return a.i < b.i ? a : b;
  case ReductionKind::umax:
    return ua > ub ? a : b;
  case ReductionKind::umin:
    return ua < ub ? a : b;
  case ReductionKind::and_:
    return fromInteger(wrap(int64_t(ua & ub), type));
  default:
    return fromInteger(wrap(int64_t(ua | ub), type));
  }
}

SmallVector<int64_t> getSymbols(ValueRange inputs,
                                ArrayRef<const Tensor *> tensors) {
  SmallVector<int64_t> symbols;
  for (auto [input, tensor] : llvm::zip(inputs, tensors))
    if (input.getType().isIndex())
      symbols.push_back(getScalar(*tensor).i);
  return symbols;
}

} // namespace

FailureOr<std::vector<Tensor>>
neoflow::test::evaluateCompute(ComputeOp op,
                               ArrayRef<const Tensor *> operands) {
  unsigned numInputs = op.getInputs().size(), numInits = op.getInits().size();
  unsigned numParallel = op.getNumParallel(), numIndices = op.getNumIndices();
  unsigned numResults = op.getNumResults();
  ArrayRef<const Tensor *> inits = operands.slice(numInputs, numInits);

  SmallVector<int64_t> extents = op.getStaticExtents();
  unsigned dynamic = numInputs + numInits;
  for (int64_t &extent : extents) {
    if (ShapedType::isDynamic(extent))
      extent = getScalar(*operands[dynamic++]).i;
    if (extent < 0)
      return op.emitOpError("has the extent ") << extent;
  }
  ArrayRef<int64_t> all(extents);
  std::vector<Tensor> results(numResults);
  SmallVector<Type> accTypes;
  for (unsigned i = 0; i < numResults; ++i) {
    results[i].shape.assign(extents.begin(), extents.begin() + numParallel);
    results[i].elementType = getElementTypeOrSelf(op.getResult(i).getType());
    results[i].allocate();
    accTypes.push_back(op.getAccumulatorType(i));
    if (numInits && inits[i]->shape != results[i].shape)
      return op.emitOpError("has an 'init' tensor of another shape");
  }

  Body body, combiner;
  if (failed(body.prepare(*op.getBodyBlock())) ||
      (!op.getCombiner().empty() &&
       failed(combiner.prepare(op.getCombiner().front()))))
    return failure();
  for (unsigned i = 0; i < numInputs; ++i)
    body.bind(numIndices + i, *operands[i]);
  SmallVector<int64_t> symbols =
      getSymbols(op.getInputs(), operands.take_front(numInputs));
  SmallVector<IntegerSet> sets = op.getDomainSets();

  bool empty = llvm::is_contained(all.drop_front(numParallel), 0);
  SmallVector<int64_t> point(numIndices, 0);
  SmallVector<Scalar> acc(numResults);
  for (int64_t position = 0, size = results[0].size(); position < size;
       ++position) {
    for (unsigned i = 0; i < numResults; ++i) {
      ReductionKind kind = op.getKind(i);
      if (numInits)
        acc[i] = getElement(*inits[i], position);
      else if (kind == ReductionKind::none)
        acc[i] = op.getOtherwiseAttr() ? fromAttribute(op.getOtherwiseAttr()[i])
                                       : Scalar();
      else if (kind == ReductionKind::combine)
        acc[i] = fromAttribute(op.getIdentityAttr()[i]);
      else
        acc[i] = fromAttribute(getIdentity(kind, accTypes[i]));
    }
    MutableArrayRef<int64_t> reduction =
        MutableArrayRef<int64_t>(point).drop_front(numParallel);
    if (!empty)
      do {
        if (!contains(sets, point, symbols))
          continue;
        for (unsigned i = 0; i < numIndices; ++i)
          body.slots[i].i = point[i];
        if (failed(body.run()))
          return failure();
        if (op.getKind() == ReductionKind::combine) {
          for (unsigned i = 0; i < numResults; ++i) {
            combiner.slots[i] = acc[i];
            combiner.slots[numResults + i] = body.slots[body.values[i]];
          }
          if (failed(combiner.run()))
            return failure();
          for (unsigned i = 0; i < numResults; ++i)
            acc[i] = combiner.slots[combiner.values[i]];
          continue;
        }
        for (unsigned i = 0; i < numResults; ++i) {
          Scalar value = body.slots[body.values[i]];
          acc[i] = op.getKind(i) == ReductionKind::none
                       ? value
                       : combine(op.getKind(i), accTypes[i], acc[i], value);
        }
      } while (advance(reduction, all.drop_front(numParallel)));
    for (unsigned i = 0; i < numResults; ++i)
      setElement(results[i], position, acc[i]);
    advance(MutableArrayRef<int64_t>(point).take_front(numParallel),
            all.take_front(numParallel));
  }
  return results;
}

FailureOr<Tensor>
neoflow::test::evaluateScatter(ScatterOp op,
                               ArrayRef<const Tensor *> operands) {
  unsigned numInputs = op.getInputs().size(), numIndices = op.getNumIndices();
  Tensor result = *operands[numInputs];
  Body body;
  if (failed(body.prepare(*op.getBodyBlock())))
    return failure();
  for (unsigned i = 0; i < numInputs; ++i)
    body.bind(numIndices + i, *operands[i]);
  SmallVector<int64_t> symbols =
      getSymbols(op.getInputs(), operands.take_front(numInputs));
  SmallVector<IntegerSet> sets = op.getDomainSets();
  ArrayRef<int64_t> extents = op.getIndexExtents();
  AffineMap map = *op.getYield().getMap();
  if (llvm::is_contained(extents, 0))
    return result;
  SmallVector<int64_t> point(numIndices, 0);
  do {
    if (!contains(sets, point, symbols))
      continue;
    for (unsigned i = 0; i < numIndices; ++i)
      body.slots[i].i = point[i];
    if (failed(body.run()))
      return failure();
    SmallVector<int64_t> dims;
    for (unsigned slot : body.indices)
      dims.push_back(body.slots[slot].i);
    int64_t position = 0;
    bool inside = true;
    for (auto [expr, extent] : llvm::zip(map.getResults(), result.shape)) {
      int64_t subscript = evaluate(expr, dims);
      inside &= subscript >= 0 && subscript < extent;
      position = position * extent + subscript;
    }
    if (!inside)
      continue;
    setElement(result, position,
               combine(op.getKind(), result.elementType,
                       getElement(result, position),
                       body.slots[body.values.front()]));
  } while (advance(point, extents));
  return result;
}
