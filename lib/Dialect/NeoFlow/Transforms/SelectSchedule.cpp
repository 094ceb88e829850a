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
  using Base::Base;

  /// Replaces the parameters that the family has by the given ones.
  LogicalResult setParameters(Schedule &schedule) {
    for (StringRef text : parameters) {
      auto [name, number] = text.split('=');
      int64_t value;
      if (number.getAsInteger(10, value)) {
        emitError(getOperation().getLoc())
            << "expected a schedule parameter as in 'k_tile=64', but got '"
            << text << "'";
        return failure();
      }
      if (auto it = schedule.parameters.find(name.str());
          it != schedule.parameters.end())
        it->second = value;
    }
    schedule.order = getOrder(schedule);
    return success();
  }

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
    if (failed(setParameters(schedule)))
      return signalPassFailure();
    kernel.setScheduleAttr(toAttr(&getContext(), schedule));
  }
};
} // namespace
