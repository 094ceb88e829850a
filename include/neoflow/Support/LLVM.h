// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of MLIR and LLVM that the compiler uses unqualified.

#ifndef NEOFLOW_SUPPORT_LLVM_H
#define NEOFLOW_SUPPORT_LLVM_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace neoflow {

using namespace mlir; // NOLINT: the one place where the compiler imports names.

} // namespace neoflow

#endif // NEOFLOW_SUPPORT_LLVM_H
