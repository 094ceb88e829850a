// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of bodies over lanes: values, domains, operations.

#include "LaneEmitter.h"

#include "neoflow/Index/Domain.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace neoflow;
using namespace neoflow::loops;

Type loops::laneVector(Type type, int64_t width) {
  return width == 1 ? type : VectorType::get({width}, type);
}

Type loops::getStorageType(Type type) {
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

Value loops::combine(OpBuilder &builder, Location loc, ReductionKind kind,
                     Value a, Value b) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  switch (kind) {
  case ReductionKind::sum:
    return isFloat ? arith::AddFOp::create(builder, loc, a, b).getResult()
                   : arith::AddIOp::create(builder, loc, a, b).getResult();
  case ReductionKind::prod:
    return isFloat ? arith::MulFOp::create(builder, loc, a, b).getResult()
                   : arith::MulIOp::create(builder, loc, a, b).getResult();
  case ReductionKind::max:
    return isFloat ? arith::MaximumFOp::create(builder, loc, a, b).getResult()
                   : arith::MaxSIOp::create(builder, loc, a, b).getResult();
  case ReductionKind::min:
    return isFloat ? arith::MinimumFOp::create(builder, loc, a, b).getResult()
                   : arith::MinSIOp::create(builder, loc, a, b).getResult();
  case ReductionKind::umax:
    return arith::MaxUIOp::create(builder, loc, a, b);
  case ReductionKind::umin:
    return arith::MinUIOp::create(builder, loc, a, b);
  case ReductionKind::and_:
    return arith::AndIOp::create(builder, loc, a, b);
  case ReductionKind::or_:
    return arith::OrIOp::create(builder, loc, a, b);
  case ReductionKind::none:
  case ReductionKind::combine:
    break;
  }
  llvm_unreachable("kinds without an operation of their own");
}

LaneEmitter::LaneEmitter(OpBuilder &builder, Location loc,
                         const KernelNest &nest, const BufferMap &buffers,
                         int64_t width)
    : builder(builder), loc(loc), width(width), nest(nest), buffers(buffers) {
  laneType = nest.fitsInt32() ? builder.getI32Type() : builder.getI64Type();
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

Value LaneEmitter::intConstant(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute = builder.getIntegerAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, attribute);
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value LaneEmitter::iota() {
  SmallVector<Attribute> lanes;
  for (int64_t lane = 0; lane < width; ++lane)
    lanes.push_back(builder.getIntegerAttr(laneType, lane));
  auto type = cast<VectorType>(laneVector(laneType, width));
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, lanes));
}

LaneIndex LaneEmitter::constant(int64_t value) {
  return {arith::ConstantIndexOp::create(builder, loc, value), 0, {}};
}

Value LaneEmitter::materialize(const LaneIndex &index) {
  if (width == 1)
    return index.uniform;
  Type type = laneVector(laneType, width);
  Value base =
      arith::IndexCastOp::create(builder, loc, laneType, index.uniform);
  base = vector::BroadcastOp::create(builder, loc, type, base);
  if (index.isUniform())
    return base;
  Value offsets = index.varying;
  if (!offsets) {
    offsets = iota();
    if (index.stride != 1)
      offsets = arith::MulIOp::create(builder, loc, offsets,
                                      intConstant(type, index.stride));
  }
  return arith::AddIOp::create(builder, loc, base, offsets);
}

LaneIndex LaneEmitter::add(LaneIndex a, LaneIndex b) {
  LaneIndex sum;
  sum.uniform = arith::AddIOp::create(builder, loc, a.uniform, b.uniform);
  if (a.isStrided() && b.isStrided()) {
    sum.stride = a.stride + b.stride;
    return sum;
  }
  auto offsets = [&](const LaneIndex &index) {
    if (index.varying)
      return index.varying;
    LaneIndex zero = constant(0);
    zero.stride = index.stride;
    return materialize(zero);
  };
  if (a.isUniform())
    sum.varying = b.varying;
  else if (b.isUniform())
    sum.varying = a.varying;
  else
    sum.varying = arith::AddIOp::create(builder, loc, offsets(a), offsets(b));
  return sum;
}

LaneIndex LaneEmitter::divide(AffineExprKind kind, LaneIndex lhs,
                              int64_t divisor, bool nonNegative) {
  Value value = lhs.isUniform() ? lhs.uniform : materialize(lhs);
  Value by = intConstant(value.getType(), divisor);
  Value result;
  if (kind == AffineExprKind::CeilDiv) {
    result = arith::CeilDivSIOp::create(builder, loc, value, by);
  } else if (nonNegative) {
    result = kind == AffineExprKind::FloorDiv
                 ? arith::DivUIOp::create(builder, loc, value, by).getResult()
                 : arith::RemUIOp::create(builder, loc, value, by).getResult();
  } else {
    result = arith::FloorDivSIOp::create(builder, loc, value, by);
    if (kind == AffineExprKind::Mod)
      result = arith::SubIOp::create(
          builder, loc, value,
          arith::MulIOp::create(builder, loc, result, by).getResult());
  }
  if (lhs.isUniform())
    return {result, 0, {}};
  LaneIndex quotient = constant(0);
  quotient.varying = result;
  return quotient;
}

LaneIndex LaneEmitter::evaluate(AffineExpr expr, ArrayRef<LaneIndex> symbols) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return constant(number.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return coordinates[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  LaneIndex lhs = evaluate(binary.getLHS(), symbols);
  if (expr.getKind() == AffineExprKind::Add)
    return add(lhs, evaluate(binary.getRHS(), symbols));
  int64_t factor = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  if (expr.getKind() == AffineExprKind::Mul) {
    LaneIndex product;
    product.uniform = arith::MulIOp::create(
        builder, loc, lhs.uniform,
        arith::ConstantIndexOp::create(builder, loc, factor).getResult());
    product.stride = lhs.stride * factor;
    if (lhs.varying)
      product.varying =
          arith::MulIOp::create(builder, loc, lhs.varying,
                                intConstant(lhs.varying.getType(), factor));
    return product;
  }
  std::optional<index::Range> range;
  if (symbols.empty())
    range = index::boxRange(binary.getLHS(), nest.extents);
  return divide(expr.getKind(), lhs, factor, range && range->min >= 0);
}

SmallVector<LaneIndex> LaneEmitter::symbolsOf(const Access &access,
                                              const Body &body) {
  SmallVector<LaneIndex> symbols;
  for (Value symbol : access.symbols) {
    LaneValue value = emit(symbol, body);
    if (!value.isVector) {
      symbols.push_back({value.value, 0, {}});
      continue;
    }
    LaneIndex index = constant(0);
    index.varying = arith::IndexCastOp::create(
        builder, loc, laneVector(laneType, width), value.value);
    symbols.push_back(index);
  }
  return symbols;
}

LaneValue LaneEmitter::emitIndexValue(const LaneIndex &index) {
  if (index.isUniform())
    return {index.uniform, false};
  return {arith::IndexCastOp::create(builder, loc,
                                     laneVector(builder.getIndexType(), width),
                                     materialize(index)),
          true};
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

LaneValue LaneEmitter::emitCompare(arith::CmpIPredicate predicate,
                                   const LaneIndex &index, int64_t bound) {
  bool isVector = !index.isUniform();
  Value value = isVector ? materialize(index) : index.uniform;
  return {arith::CmpIOp::create(builder, loc, predicate, value,
                                intConstant(value.getType(), bound)),
          isVector};
}

LaneValue LaneEmitter::emitInRange(const LaneIndex &index, int64_t extent) {
  // Negative values are large when taken as unsigned.
  return emitCompare(arith::CmpIPredicate::ult, index, extent);
}

Value LaneEmitter::broadcast(const LaneValue &value) {
  if (value.isVector || width == 1)
    return value.value;
  return vector::BroadcastOp::create(
      builder, loc, laneVector(value.value.getType(), width), value.value);
}

LaneValue LaneEmitter::conjunction(LaneValue a, LaneValue b) {
  if (!a.value)
    return b;
  if (!b.value)
    return a;
  bool isVector = a.isVector || b.isVector;
  Value lhs = isVector ? broadcast(a) : a.value;
  Value rhs = isVector ? broadcast(b) : b.value;
  return {arith::AndIOp::create(builder, loc, lhs, rhs), isVector};
}

LaneValue LaneEmitter::select(LaneValue condition, LaneValue value,
                              LaneValue otherwise) {
  bool isVector = condition.isVector || value.isVector || otherwise.isVector;
  Value lhs = isVector ? broadcast(value) : value.value;
  Value rhs = isVector ? broadcast(otherwise) : otherwise.value;
  return {arith::SelectOp::create(builder, loc, condition.value, lhs, rhs),
          isVector};
}

LaneValue LaneEmitter::emitChecks(const Access &access,
                                  ArrayRef<LaneIndex> symbols) {
  LaneValue mask;
  for (const BoundsCheck &check : access.checks)
    mask = conjunction(
        mask, emitInRange(evaluate(check.expr, symbols), check.extent));
  return mask;
}

LaneValue LaneEmitter::emitDomain(const Body &body,
                                  function_ref<bool(unsigned)> select) {
  LaneValue any;
  for (ArrayRef<Constraint> set : nest.domains.lookup(body.op)) {
    LaneValue all;
    for (auto [i, constraint] : llvm::enumerate(set)) {
      if (select && !select(i))
        continue;
      LaneIndex value = evaluate(constraint.expr);
      all = conjunction(all, emitCompare(constraint.isEquality
                                             ? arith::CmpIPredicate::eq
                                             : arith::CmpIPredicate::sge,
                                         value, 0));
    }
    if (!all.value)
      continue;
    if (!any.value) {
      any = all;
      continue;
    }
    bool isVector = any.isVector || all.isVector;
    Value lhs = isVector ? broadcast(any) : any.value;
    Value rhs = isVector ? broadcast(all) : all.value;
    any = {arith::OrIOp::create(builder, loc, lhs, rhs), isVector};
  }
  return any;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LaneValue LaneEmitter::emitOp(Operation &op) {
  SmallVector<LaneValue> operands;
  bool isVector = false;
  for (Value operand : op.getOperands()) {
    operands.push_back(values.lookup(operand));
    isVector |= operands.back().isVector;
  }
  SmallVector<Value> arguments;
  for (const LaneValue &operand : operands)
    arguments.push_back(isVector ? broadcast(operand) : operand.value);
  // Lanes outside the domain divide too; they must not trap.
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op)) {
    Value &divisor = arguments[1];
    Value zero = intConstant(divisor.getType(), 0);
    Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         divisor, zero);
    divisor = arith::SelectOp::create(
        builder, loc, isZero, intConstant(divisor.getType(), 1), divisor);
  }
  OperationState state(loc, op.getName());
  state.addOperands(arguments);
  for (Type type : op.getResultTypes())
    state.addTypes(isVector ? laneVector(type, width) : type);
  state.addAttributes(op.getAttrs());
  return {builder.create(state)->getResult(0), isVector};
}

LaneValue LaneEmitter::emit(Value root, const Body &body) {
  // Operands first, without recursion: bodies may be long.
  SmallVector<Value> stack{root};
  while (!stack.empty()) {
    Value value = stack.back();
    if (values.contains(value)) {
      stack.pop_back();
      continue;
    }
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (body.isIndex(value)) {
        values[value] =
            emitIndexValue(evaluate(nest.dimOfIndex[argument.getArgNumber()]));
      } else {
        // A scalar: a buffer of rank 0.
        Value buffer = buffers.lookup(body.getBoundOperand(argument));
        values[value] = emitLoad(buffer, constant(0), {}, {}, false);
        if (argument.getType().isInteger(1))
          values[value] = {arith::TruncIOp::create(builder, loc,
                                                   argument.getType(),
                                                   values[value].value),
                           false};
      }
      stack.pop_back();
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto read = dyn_cast<ReadOp>(op)) {
      bool ready = true;
      for (Value symbol : nest.accesses.find(op)->second.symbols)
        if (!values.contains(symbol)) {
          stack.push_back(symbol);
          ready = false;
        }
      if (!ready)
        continue;
      values[value] = emitRead(read, body);
      stack.pop_back();
      continue;
    }
    bool ready = true;
    for (Value operand : op->getOperands()) {
      if (isa<RandomOp>(op) && body.isIndex(operand))
        continue; // Addressed by position.
      if (!values.contains(operand)) {
        stack.push_back(operand);
        ready = false;
      }
    }
    if (!ready)
      continue;
    if (auto random = dyn_cast<RandomOp>(op)) {
      values[value] = emitRandom(random, body);
    } else if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
      SmallVector<LaneIndex> operands;
      for (Value operand : apply.getMapOperands()) {
        LaneValue lane = values.lookup(operand);
        LaneIndex index = {lane.value, 0, {}};
        if (lane.isVector) {
          index = constant(0);
          index.varying = arith::IndexCastOp::create(
              builder, loc, laneVector(laneType, width), lane.value);
        }
        operands.push_back(index);
      }
      AffineMap map = apply.getAffineMap();
      SmallVector<AffineExpr> dims, symbols;
      for (unsigned i = 0; i < map.getNumDims(); ++i)
        dims.push_back(builder.getAffineSymbolExpr(i));
      for (unsigned i = 0; i < map.getNumSymbols(); ++i)
        symbols.push_back(builder.getAffineSymbolExpr(map.getNumDims() + i));
      values[value] = emitIndexValue(evaluate(
          map.getResult(0).replaceDimsAndSymbols(dims, symbols), operands));
    } else {
      values[value] = emitOp(*op);
    }
    stack.pop_back();
  }
  return values.lookup(root);
}

SmallVector<Value> LaneEmitter::emitCombiner(ComputeOp compute, ValueRange a,
                                             ValueRange b) {
  Block &block = compute.getCombiner().front();
  unsigned count = compute.getNumResults();
  for (unsigned i = 0; i < count; ++i) {
    values[block.getArgument(i)] = {a[i], width > 1};
    values[block.getArgument(count + i)] = {b[i], width > 1};
  }
  for (Operation &op : block.without_terminator())
    values[op.getResult(0)] = emitOp(op);
  SmallVector<Value> results;
  for (Value value : cast<YieldOp>(block.getTerminator()).getValues())
    results.push_back(broadcast(values.lookup(value)));
  // The region is evaluated many times.
  for (BlockArgument argument : block.getArguments())
    values.erase(argument);
  for (Operation &op : block.without_terminator())
    values.erase(op.getResult(0));
  return results;
}

LaneValue LaneEmitter::emitElement(ComputeOp compute) {
  Type element = getElementTypeOrSelf(compute.getResult(0).getType());
  LaneValue value = emit(compute.getYield().getValues().front(), compute);
  LaneValue domain = emitDomain(compute);
  if (domain.value) {
    auto otherwise = cast<TypedAttr>((*compute.getOtherwise())[0]);
    LaneValue constant{arith::ConstantOp::create(builder, loc, otherwise),
                       false};
    if (isa<FloatType>(element) && element != compute.getAccumulatorType())
      constant.value = arith::ExtFOp::create(
          builder, loc, compute.getAccumulatorType(), constant.value);
    else if (element != compute.getAccumulatorType())
      constant.value = arith::ExtSIOp::create(
          builder, loc, compute.getAccumulatorType(), constant.value);
    value = select(domain, value, constant);
  }
  return value;
}
