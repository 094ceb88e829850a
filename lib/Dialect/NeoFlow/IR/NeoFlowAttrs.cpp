// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and verification of the schedule and target attributes.

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace neoflow;

#include "neoflow/Dialect/NeoFlow/IR/NeoFlowEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "neoflow/Dialect/NeoFlow/IR/NeoFlowAttrs.cpp.inc"

void NeoFlowDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "neoflow/Dialect/NeoFlow/IR/NeoFlowAttrs.cpp.inc"
      >();
}

/// Every value of `parameters` is an i64.
static LogicalResult
verifyParameters(function_ref<InFlightDiagnostic()> emitError,
                 DictionaryAttr parameters) {
  for (NamedAttribute parameter : parameters) {
    auto value = dyn_cast<IntegerAttr>(parameter.getValue());
    if (!value || !value.getType().isSignlessInteger(64))
      return emitError() << "expected parameter '"
                         << parameter.getName().getValue()
                         << "' to be an i64, but got " << parameter.getValue();
  }
  return success();
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  std::string family, order;
  DictionaryAttr parameters;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};
  family = keyword.str();
  if (parser.parseComma() || parser.parseAttribute(parameters) ||
      parser.parseComma() || parser.parseKeyword("order") ||
      parser.parseEqual() || parser.parseString(&order) ||
      parser.parseGreater())
    return {};
  return ScheduleAttr::getChecked([&] { return parser.emitError(loc); },
                                  parser.getContext(), family, parameters,
                                  order);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<" << getFamily() << ", {";
  llvm::interleaveComma(getParameters(), printer, [&](NamedAttribute entry) {
    printer << entry.getName().getValue() << " = "
            << cast<IntegerAttr>(entry.getValue()).getInt();
  });
  printer << "}, order = \"" << getOrder() << "\">";
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringRef, DictionaryAttr parameters,
                                   StringRef) {
  return verifyParameters(emitError, parameters);
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef, StringRef, StringRef,
                                 DictionaryAttr parameters) {
  return verifyParameters(emitError, parameters);
}
