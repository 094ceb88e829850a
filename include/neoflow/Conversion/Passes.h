// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations of the passes that leave the neoflow dialect.

#ifndef NEOFLOW_CONVERSION_PASSES_H
#define NEOFLOW_CONVERSION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace neoflow {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "neoflow/Conversion/Passes.h.inc"

} // namespace neoflow

#endif // NEOFLOW_CONVERSION_PASSES_H
