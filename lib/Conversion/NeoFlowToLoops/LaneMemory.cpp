// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of bodies over lanes: loads, stores, random numbers.

#include "LaneEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace neoflow;
using namespace neoflow::loops;

/// Types whose masked loads are single instructions on the targets.
static bool hasMaskedLoad(Type type) {
  return type.isF32() || type.isF64() || type.isInteger(32) ||
         type.isInteger(64);
}

LaneValue LaneEmitter::emitLoad(Value buffer, const LaneIndex &address,
                                LaneValue mask, TypedAttr otherwise,
                                bool isContiguous) {
  auto type = cast<MemRefType>(buffer.getType());
  Type element = type.getElementType();
  auto constantOf = [&](TypedAttr value) -> LaneValue {
    return {arith::ConstantOp::create(builder, loc, value), false};
  };
  TypedAttr zero = builder.getZeroAttr(element);
  if (!otherwise)
    otherwise = zero;
  if (type.getNumElements() == 0)
    return constantOf(otherwise);

  Value zeroIndex = arith::ConstantIndexOp::create(builder, loc, 0);
  if (address.isUniform() && !mask.isVector) {
    Value at = address.uniform;
    if (mask.value)
      at = arith::SelectOp::create(builder, loc, mask.value, at, zeroIndex);
    LaneValue value{memref::LoadOp::create(builder, loc, buffer, at), false};
    return mask.value ? select(mask, value, constantOf(otherwise)) : value;
  }

  auto vectorType = cast<VectorType>(laneVector(element, width));
  isContiguous |= address.isStrided() && address.stride == 1;
  if (isContiguous && (!mask.value || hasMaskedLoad(element))) {
    Value start = emitFirst(address);
    if (!mask.value)
      return {vector::LoadOp::create(builder, loc, vectorType, buffer, start),
              true};
    return {vector::MaskedLoadOp::create(builder, loc, vectorType, buffer,
                                         start, broadcast(mask),
                                         broadcast(constantOf(otherwise))),
            true};
  }

  if (address.isStrided() && address.stride == 2 && !mask.value) {
    // Two loads that end at the last lane's element, and one shuffle.
    Value low = vector::LoadOp::create(builder, loc, vectorType, buffer,
                                       address.uniform);
    Value shift = arith::ConstantIndexOp::create(builder, loc, width - 1);
    Value high = vector::LoadOp::create(
        builder, loc, vectorType, buffer,
        arith::AddIOp::create(builder, loc, address.uniform, shift)
            .getResult());
    SmallVector<int64_t> picks;
    for (int64_t lane = 0; lane < width; ++lane)
      picks.push_back(2 * lane < width ? 2 * lane
                                       : width + 2 * lane - (width - 1));
    return {vector::ShuffleOp::create(builder, loc, low, high, picks), true};
  }

  // Lanes outside read the first element, so that no lane needs a branch.
  Value at = materialize(address);
  if (mask.value)
    at = arith::SelectOp::create(builder, loc, broadcast(mask), at,
                                 intConstant(at.getType(), 0));
  Value all = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(
          cast<VectorType>(laneVector(builder.getI1Type(), width)), true));
  LaneValue value{vector::GatherOp::create(builder, loc, vectorType, buffer,
                                           zeroIndex, at, all,
                                           broadcast(constantOf(zero))),
                  true};
  return mask.value ? select(mask, value, constantOf(otherwise)) : value;
}

LaneValue LaneEmitter::emitRead(ReadOp read, const Body &body) {
  Value source = body.getBoundOperand(read.getTensor());
  if (auto it = results.find(source); it != results.end())
    return it->second;
  const Access &access = nest.accesses.find(read)->second;
  SmallVector<LaneIndex> symbols = symbolsOf(access, body);
  LaneValue mask = conjunction(active, emitChecks(access, symbols));
  Type element = getElementTypeOrSelf(read.getTensor().getType());
  // `else` is given in the compute type; half precision is selected after the
  // extension.
  TypedAttr otherwise = read.getOtherwiseAttr();
  bool extends = getComputeType(element) != element || element.isInteger(1);
  LaneValue value =
      emitLoad(buffers.lookup(source), evaluate(access.address, symbols), mask,
               extends ? TypedAttr() : otherwise, contiguous.contains(read));
  if (!extends)
    return value;
  Type computeType = value.isVector ? laneVector(getComputeType(element), width)
                                    : getComputeType(element);
  if (element.isInteger(1))
    value.value =
        arith::TruncIOp::create(builder, loc, computeType, value.value);
  else
    value.value = arith::ExtFOp::create(builder, loc, computeType, value.value);
  if (mask.value && otherwise)
    value = select(mask, value,
                   {arith::ConstantOp::create(builder, loc, otherwise), false});
  return value;
}

Value LaneEmitter::emitIsContiguous(Operation *op) {
  const Access &access = nest.accesses.find(op)->second;
  LaneIndex address = evaluate(access.address);
  return emitIsConsecutive(address);
}

Value LaneEmitter::emitIsConsecutive(const LaneIndex &index) {
  if (!index.varying)
    return arith::ConstantIntOp::create(builder, loc, index.stride == 1, 1);
  Value first = vector::ExtractOp::create(builder, loc, index.varying,
                                          ArrayRef<int64_t>{0});
  first =
      vector::BroadcastOp::create(builder, loc, index.varying.getType(), first);
  Value expected = arith::AddIOp::create(builder, loc, first, iota());
  Value equal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      index.varying, expected);
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::AND,
                                     equal);
}

Value LaneEmitter::emitFirst(const LaneIndex &index) {
  if (!index.varying)
    return index.uniform;
  Value first = vector::ExtractOp::create(builder, loc, index.varying,
                                          ArrayRef<int64_t>{0});
  first =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), first);
  return arith::AddIOp::create(builder, loc, index.uniform, first);
}

void LaneEmitter::store(LaneValue value, Value buffer, AffineExpr address,
                        Value valid) {
  auto type = cast<MemRefType>(buffer.getType());
  // i1 elements take a byte.
  Type have = getElementTypeOrSelf(value.value.getType());
  if (have != type.getElementType())
    value.value = arith::ExtUIOp::create(
        builder, loc,
        value.isVector ? laneVector(type.getElementType(), width)
                       : type.getElementType(),
        value.value);
  LaneIndex at = evaluate(address);
  if (width == 1) {
    memref::StoreOp::create(builder, loc, value.value, buffer, at.uniform);
    return;
  }
  Value vector = broadcast(value);
  Value start = emitFirst(at);
  if (at.isStrided() && at.stride == 1 && !valid) {
    vector::StoreOp::create(builder, loc, vector, buffer, start);
    return;
  }
  Value isContiguous = emitIsConsecutive(at);
  Value lanes = arith::ConstantIndexOp::create(builder, loc, width);
  if (valid) {
    Value full = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                                       valid, lanes);
    isContiguous = arith::AndIOp::create(builder, loc, isContiguous, full);
  } else {
    valid = lanes;
  }
  auto branch = scf::IfOp::create(builder, loc, isContiguous,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  vector::StoreOp::create(builder, loc, vector, buffer, start);
  builder.setInsertionPointToStart(branch.elseBlock());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, zero, valid, one);
  builder.setInsertionPointToStart(loop.getBody());
  Value lane = loop.getInductionVar();
  Value offset;
  if (at.varying) {
    offset = vector::ExtractOp::create(builder, loc, at.varying, lane);
    offset = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        offset);
  } else {
    offset = arith::MulIOp::create(
        builder, loc, lane,
        arith::ConstantIndexOp::create(builder, loc, at.stride).getResult());
  }
  Value position = arith::AddIOp::create(builder, loc, at.uniform, offset);
  Value element = vector::ExtractOp::create(builder, loc, vector, lane);
  memref::StoreOp::create(builder, loc, element, buffer, position);
}
