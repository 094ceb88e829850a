// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar operations of the arith, math and affine dialects.

#ifndef NEOFLOW_TEST_LIB_INTERPRETER_SCALAR_H
#define NEOFLOW_TEST_LIB_INTERPRETER_SCALAR_H

#include "neoflow/Support/LLVM.h"

namespace neoflow::test {

/// A value of a scalar type; which member counts follows from the type.
union Scalar {
  double f;
  int64_t i;
};

inline Scalar fromFloat(double value) {
  Scalar scalar;
  scalar.f = value;
  return scalar;
}
inline Scalar fromInteger(int64_t value) {
  Scalar scalar;
  scalar.i = value;
  return scalar;
}

/// `value` at the width of `type`: sign-extended, except that i1 is 0 or 1.
int64_t wrap(int64_t value, Type type);

/// A number or boolean attribute as a scalar.
Scalar fromAttribute(Attribute attribute);

/// Evaluates `op`; returns why that is impossible, or null.
using ScalarFunction = const char *(*)(Operation * op,
                                       ArrayRef<Scalar> operands,
                                       Scalar &result);

/// How `op` is evaluated; null when it is not a known scalar operation.
ScalarFunction getScalarFunction(Operation *op);

/// The value of an affine expression; every divisor in it is positive.
int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims,
                 ArrayRef<int64_t> symbols = {});

} // namespace neoflow::test

#endif // NEOFLOW_TEST_LIB_INTERPRETER_SCALAR_H
