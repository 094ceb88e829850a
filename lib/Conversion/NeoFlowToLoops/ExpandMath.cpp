// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expansion of f32 math functions.

#include "neoflow/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace neoflow {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "neoflow/Conversion/Passes.h.inc"
} // namespace neoflow

namespace {
struct ExpandMathPass : neoflow::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    mlir::populateMathPolynomialApproximationPatterns(
        patterns, mlir::MathPolynomialApproximationOptions());
    if (failed(
            mlir::applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
