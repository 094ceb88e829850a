// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations of the passes on the neoflow dialect.

#ifndef NEOFLOW_DIALECT_NEOFLOW_TRANSFORMS_PASSES_H
#define NEOFLOW_DIALECT_NEOFLOW_TRANSFORMS_PASSES_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"

namespace neoflow {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"

} // namespace neoflow

#endif // NEOFLOW_DIALECT_NEOFLOW_TRANSFORMS_PASSES_H
