// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies passes to a module: every upstream pass and dialect, and NeoFlow's.

#include "neoflow/InitAll.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  neoflow::registerAllDialects(registry);
  neoflow::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "NeoFlow optimizer driver\n", registry));
}
