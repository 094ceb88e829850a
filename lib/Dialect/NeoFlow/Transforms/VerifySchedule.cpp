// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Refuses illegal schedules.

#include "neoflow/Dialect/NeoFlow/Analysis/KernelAnalysis.h"
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"
#include "neoflow/Dialect/NeoFlow/Utils/ScheduleAttrUtils.h"
#include "neoflow/Dialect/NeoFlow/Utils/TargetAttrUtils.h"

namespace neoflow {
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h.inc"
} // namespace neoflow

using namespace neoflow;

namespace {
struct VerifySchedulePass
    : neoflow::impl::VerifySchedulePassBase<VerifySchedulePass> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (failed(check(kernel)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  static LogicalResult check(KernelOp kernel) {
    if (!kernel.getTargetAttr() || !kernel.getScheduleAttr())
      return kernel.emitOpError("expected a target and a schedule");
    if (failed(verifyKernel(kernel)))
      return failure();
    std::optional<Schedule> schedule = fromAttr(kernel.getScheduleAttr());
    if (!schedule)
      return kernel.emitOpError("has an illegal schedule: there is no family '")
             << kernel.getScheduleAttr().getFamily() << "'";
    std::string reason = verify(*schedule, getWorkload(kernel),
                                fromAttr(kernel.getTargetAttr()));
    if (!reason.empty())
      return kernel.emitOpError("has an illegal schedule: ") << reason;
    return success();
  }
};
} // namespace
