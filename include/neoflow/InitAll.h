// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of everything NeoFlow has, for tools.

#ifndef NEOFLOW_INITALL_H
#define NEOFLOW_INITALL_H

#include "neoflow/Conversion/Passes.h"
#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"
#include "neoflow/Pipelines/Pipelines.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"

namespace neoflow {

/// Every upstream dialect and extension, and NeoFlow's.
inline void registerAllDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<NeoFlowDialect>();
}

/// Every upstream pass and pipeline, and NeoFlow's.
inline void registerAllPasses() {
  mlir::registerAllPasses();
  registerNeoFlowConversionPasses();
  registerNeoFlowTransformsPasses();
  registerPipelines();
}

} // namespace neoflow

#endif // NEOFLOW_INITALL_H
