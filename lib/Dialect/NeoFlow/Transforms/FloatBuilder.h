// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar float arithmetic in bodies, written as expressions.

#ifndef NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_FLOATBUILDER_H
#define NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_FLOATBUILDER_H

#include "neoflow/Support/LLVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace neoflow {

/// Builds float expressions of one type.
struct FloatBuilder {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value c(double value) const {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, value));
  }
  Value add(Value a, Value b) const {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) const {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) const {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value div(Value a, Value b) const {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  Value neg(Value a) const { return arith::NegFOp::create(builder, loc, a); }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) const {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value equal(Value a, Value b) const {
    return compare(arith::CmpFPredicate::OEQ, a, b);
  }
  Value greater(Value a, Value b) const {
    return compare(arith::CmpFPredicate::OGT, a, b);
  }
  template <typename OpTy>
  Value call(Value a) const {
    return OpTy::create(builder, loc, a);
  }
  template <typename OpTy>
  Value call(Value a, Value b) const {
    return OpTy::create(builder, loc, a, b);
  }
  /// Minus one, zero or one.
  Value sign(Value a) const {
    Value zero = c(0);
    return select(greater(a, zero), c(1),
                  select(greater(zero, a), c(-1), zero));
  }
  /// `a` in the type of this arithmetic.
  Value convert(Value a) const {
    unsigned have = a.getType().getIntOrFloatBitWidth();
    unsigned want = type.getIntOrFloatBitWidth();
    if (have == want)
      return a;
    return have < want
               ? arith::ExtFOp::create(builder, loc, type, a).getResult()
               : arith::TruncFOp::create(builder, loc, type, a).getResult();
  }
};

} // namespace neoflow

#endif // NEOFLOW_LIB_DIALECT_NEOFLOW_TRANSFORMS_FLOATBUILDER_H
