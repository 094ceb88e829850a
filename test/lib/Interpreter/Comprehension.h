// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates one compute or scatter on given tensors.

#ifndef NEOFLOW_TEST_LIB_INTERPRETER_COMPREHENSION_H
#define NEOFLOW_TEST_LIB_INTERPRETER_COMPREHENSION_H

#include "Interpreter.h"
#include "Scalar.h"

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

namespace neoflow::test {

/// The only element of a scalar or of a tensor of rank 0.
Scalar getScalar(const Tensor &tensor);

/// Element `position`, in row-major order.
inline Scalar getElement(const Tensor &tensor, int64_t position) {
  return tensor.isFloat() ? fromFloat(tensor.floats[position])
                          : fromInteger(tensor.integers[position]);
}
void setElement(Tensor &tensor, int64_t position, Scalar value);

/// The results of `op`; operands in the order of the operation.
FailureOr<std::vector<Tensor>>
evaluateCompute(ComputeOp op, ArrayRef<const Tensor *> operands);

/// The result of `op`.
FailureOr<Tensor> evaluateScatter(ScatterOp op,
                                  ArrayRef<const Tensor *> operands);

} // namespace neoflow::test

#endif // NEOFLOW_TEST_LIB_INTERPRETER_COMPREHENSION_H
