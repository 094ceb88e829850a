// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The upstream passes between loops and the LLVM dialect.

#ifndef NEOFLOW_PIPELINES_LOWERTOLLVM_H
#define NEOFLOW_PIPELINES_LOWERTOLLVM_H

#include "mlir/Pass/PassManager.h"

namespace neoflow {

/// Adds the passes that lower what convert-neoflow-to-loops leaves (func, scf,
/// vector, memref, arith, math) to the LLVM dialect.
void buildLowerToLLVMPipeline(mlir::OpPassManager &manager);

} // namespace neoflow

#endif // NEOFLOW_PIPELINES_LOWERTOLLVM_H
