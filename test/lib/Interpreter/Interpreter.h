// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reference interpreter of the neoflow dialect: the meaning of a program,
// computed as plainly as possible. Floats are evaluated in double precision
// whatever their type, integers wrap around at the width of their type.

#ifndef NEOFLOW_TEST_LIB_INTERPRETER_INTERPRETER_H
#define NEOFLOW_TEST_LIB_INTERPRETER_INTERPRETER_H

#include "neoflow/Support/LLVM.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace neoflow::test {

/// A tensor, or a scalar as a tensor of rank 0. Elements are in row-major order
/// in `floats` or in `integers`, depending on the element type; integers are
/// sign-extended, except that i1 is 0 or 1.
struct Tensor {
  std::vector<int64_t> shape;
  Type elementType;
  std::vector<double> floats;
  std::vector<int64_t> integers;

  bool isFloat() const { return isa<FloatType>(elementType); }
  int64_t size() const;
  /// Gives `floats` or `integers` the size that the shape asks for.
  void allocate();
};

/// The results of `function` for `inputs`, one for each argument, scalars as
/// tensors of rank 0. On failure the reason has been emitted as a diagnostic,
/// at the operation that cannot be evaluated.
FailureOr<std::vector<Tensor>> interpret(func::FuncOp function,
                                         ArrayRef<Tensor> inputs);

} // namespace neoflow::test

#endif // NEOFLOW_TEST_LIB_INTERPRETER_INTERPRETER_H
