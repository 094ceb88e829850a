// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies passes to a module: every upstream pass and dialect, and NeoFlow's.

#include "neoflow/Conversion/Passes.h"
#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  registry.insert<neoflow::NeoFlowDialect>();
  neoflow::registerNeoFlowConversionPasses();
  neoflow::registerNeoFlowTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "NeoFlow optimizer driver\n", registry));
}
