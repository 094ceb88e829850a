// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between partitioning and everything after it.

#include "neoflow/Dialect/NeoFlow/Analysis/KernelAnalysis.h"
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"

namespace neoflow {
#define GEN_PASS_DEF_VERIFYPARTITIONEDPASS
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;

static LogicalResult verifyFunction(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("expected a function of one block");
  for (Operation &op : function.front()) {
    if (isa<LaunchOp, ScanOp, func::ReturnOp>(op) ||
        op.hasTrait<OpTrait::ConstantLike>())
      continue;
    return op.emitError("expected launches only, but got '")
           << op.getName() << "'; run neoflow-partition first";
  }
  return success();
}

namespace {
struct VerifyPartitionedPass
    : neoflow::impl::VerifyPartitionedPassBase<VerifyPartitionedPass> {
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      if (failed(verifyKernel(kernel)))
        return signalPassFailure();
      if (kernel.getKeyAttr() && kernel.getTargetAttr())
        continue;
      kernel.emitOpError("expected a key and a target; run neoflow-partition "
                         "first");
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(verifyFunction(function)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
