// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides schedules; applying them is somebody else's.

#include "neoflow/Dialect/NeoFlow/Analysis/KernelAnalysis.h"
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"
#include "neoflow/Dialect/NeoFlow/Utils/ScheduleAttrUtils.h"
#include "neoflow/Dialect/NeoFlow/Utils/TargetAttrUtils.h"

namespace neoflow {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;

namespace {
struct SelectSchedulePass
    : neoflow::impl::SelectSchedulePassBase<SelectSchedulePass> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getScheduleAttr())
      return;
    if (!kernel.getTargetAttr()) {
      kernel.emitOpError("expected a target to select a schedule for");
      return signalPassFailure();
    }
    if (failed(verifyKernel(kernel)))
      return signalPassFailure();
    Schedule schedule =
        chooseDefault(getWorkload(kernel), fromAttr(kernel.getTargetAttr()));
    kernel.setScheduleAttr(toAttr(&getContext(), schedule));
  }
};
} // namespace
