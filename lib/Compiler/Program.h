// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A partitioned function as the runtime sees it: launches over buffers.

#ifndef NEOFLOW_LIB_COMPILER_PROGRAM_H
#define NEOFLOW_LIB_COMPILER_PROGRAM_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <string>
#include <vector>

namespace neoflow {

struct ProgramBuffer {
  enum Kind { argument, result, arena, constant, slice, alternate } kind;
  /// Of the argument or result; the buffer of a slice, and that of an alternate
  /// at even steps.
  int index = 0;
  /// In the arena.
  int64_t offset = 0;
  /// Of the constant.
  std::string name;
  int64_t bytes = 0;
  /// Of slices and alternates: the loop whose step counts.
  int loop = -1;
  /// Of the alternate at odd steps.
  int odd = -1;
  /// The first step has the last slice.
  bool reverse = false;
};

struct ProgramLaunch {
  std::string kernel;
  std::vector<int> buffers;
};

/// Launches from `first` to before `last` run `steps` times.
struct ProgramLoop {
  int first = 0, last = 0;
  int64_t steps = 0;
};

struct Program {
  std::vector<ProgramBuffer> buffers;
  std::vector<int> arguments, results;
  std::vector<ProgramLaunch> launches;
  /// Outer loops before those inside.
  std::vector<ProgramLoop> loops;
  int64_t arena = 0, maxLive = 0;
};

/// Constant tensors by name.
using ConstantMap = std::map<std::string, mlir::DenseElementsAttr>;

/// Bytes of a value's buffer; scalars are tensors of rank 0, i1 takes a byte.
int64_t getBufferBytes(mlir::Type type);

/// Builds the program of a partitioned function. Launches name kernels as the
/// bundle does: `addKernel` gives that name for a kernel of the function's
/// module. New states are updated in the buffers of the arguments that they
/// replace: by the kernel that computes them where that is legal, and by a copy
/// otherwise, for which `createCopy` names a kernel. Constants are added to
/// `constants`.
mlir::FailureOr<Program> buildProgram(
    mlir::func::FuncOp function, ConstantMap &constants,
    llvm::function_ref<std::string(KernelOp)> addKernel,
    llvm::function_ref<mlir::FailureOr<std::string>(mlir::RankedTensorType)>
        createCopy);

} // namespace neoflow

#endif // NEOFLOW_LIB_COMPILER_PROGRAM_H
