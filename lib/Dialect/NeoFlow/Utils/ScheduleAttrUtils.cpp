// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedule attribute to plain data and back.

#include "neoflow/Dialect/NeoFlow/Utils/ScheduleAttrUtils.h"

using namespace neoflow;

ScheduleAttr neoflow::toAttr(MLIRContext *context, const Schedule &schedule) {
  Builder builder(context);
  SmallVector<NamedAttribute> parameters;
  for (const auto &[name, value] : schedule.parameters)
    parameters.push_back(
        builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  return ScheduleAttr::get(context, toString(schedule.family),
                           builder.getDictionaryAttr(parameters),
                           schedule.order);
}

std::optional<Schedule> neoflow::fromAttr(ScheduleAttr attribute) {
  Schedule schedule;
  if (!fromString(attribute.getFamily().str(), schedule.family))
    return std::nullopt;
  for (NamedAttribute parameter : attribute.getParameters())
    schedule.parameters[parameter.getName().str()] =
        cast<IntegerAttr>(parameter.getValue()).getInt();
  schedule.order = attribute.getOrder().str();
  return schedule;
}
