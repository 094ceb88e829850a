// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The umbrella: everything the neoflow dialect defines.

#ifndef NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOW_TD
#define NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOW_TD

include "neoflow/Dialect/NeoFlow/IR/NeoFlowDialect.td"
include "neoflow/Dialect/NeoFlow/IR/NeoFlowAttrs.td"
include "neoflow/Dialect/NeoFlow/IR/NeoFlowOps.td"
include "neoflow/Dialect/NeoFlow/IR/NeoFlowGraphOps.td"

#endif // NEOFLOW_DIALECT_NEOFLOW_IR_NEOFLOW_TD
