// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The target as an attribute and as plain data; the only place that converts.

#ifndef NEOFLOW_DIALECT_NEOFLOW_UTILS_TARGETATTRUTILS_H
#define NEOFLOW_DIALECT_NEOFLOW_UTILS_TARGETATTRUTILS_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"
#include "neoflow/TargetInfo/TargetInfo.h"

namespace neoflow {

/// `target` as an attribute. Required features are not part of it: they follow
/// from the target's name.
TargetAttr toAttr(mlir::MLIRContext *context, const TargetInfo &target);

/// The plain data of `attribute`; fields that it does not mention keep the
/// defaults of TargetInfo.
TargetInfo fromAttr(TargetAttr attribute);

} // namespace neoflow

#endif // NEOFLOW_DIALECT_NEOFLOW_UTILS_TARGETATTRUTILS_H
