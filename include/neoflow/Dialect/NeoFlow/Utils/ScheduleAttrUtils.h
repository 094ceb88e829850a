// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule as an attribute and as plain data; the only place that converts.

#ifndef NEOFLOW_DIALECT_NEOFLOW_UTILS_SCHEDULEATTRUTILS_H
#define NEOFLOW_DIALECT_NEOFLOW_UTILS_SCHEDULEATTRUTILS_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"
#include "neoflow/Schedule/Schedule.h"

#include <optional>

namespace neoflow {

ScheduleAttr toAttr(mlir::MLIRContext *context, const Schedule &schedule);

/// The plain data of `attribute`; nothing when its family is unknown.
std::optional<Schedule> fromAttr(ScheduleAttr attribute);

} // namespace neoflow

#endif // NEOFLOW_DIALECT_NEOFLOW_UTILS_SCHEDULEATTRUTILS_H
