// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Target attribute to plain data and back.

#include "neoflow/Dialect/NeoFlow/Utils/TargetAttrUtils.h"

using namespace neoflow;

/// The numeric fields, by the names they have in the attribute.
static constexpr std::pair<const char *, int64_t TargetInfo::*> kFields[] = {
    {"cores", &TargetInfo::cores},
    {"l1_bytes", &TargetInfo::l1Bytes},
    {"l2_bytes", &TargetInfo::l2Bytes},
    {"l3_bytes", &TargetInfo::l3Bytes},
    {"vector_bytes", &TargetInfo::vectorBytes},
    {"vector_registers", &TargetInfo::vectorRegisters}};

TargetAttr neoflow::toAttr(MLIRContext *context, const TargetInfo &target) {
  Builder builder(context);
  SmallVector<NamedAttribute> parameters;
  for (auto [name, field] : kFields)
    parameters.push_back(
        builder.getNamedAttr(name, builder.getI64IntegerAttr(target.*field)));
  return TargetAttr::get(context, target.name, target.cpu, target.features,
                         builder.getDictionaryAttr(parameters));
}

TargetInfo neoflow::fromAttr(TargetAttr attribute) {
  TargetInfo target;
  target.name = attribute.getName().str();
  target.cpu = attribute.getCpu().str();
  target.features = attribute.getFeatures().str();
  for (auto [name, field] : kFields)
    if (auto value = attribute.getParameters().getAs<IntegerAttr>(name))
      target.*field = value.getInt();
  return target;
}
