// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes and scatters in mathematical notation, for people.

#ifndef NEOFLOW_DIALECT_NEOFLOW_UTILS_MATHTEXT_H
#define NEOFLOW_DIALECT_NEOFLOW_UTILS_MATHTEXT_H

#include "neoflow/Dialect/NeoFlow/IR/NeoFlow.h"

namespace neoflow {

/// What a compute or a scatter says, as in
///
///     dx[z] = sum(t < 2) dy[z floordiv 2 - t] * w[z mod 2 + 2 * t]
///         where z floordiv 2 >= t
///
/// one string for each line. `nameOf` gives the names of tensors and scalars.
/// Values that are used more than once and are no reads get a line of their
/// own.
llvm::SmallVector<std::string>
getMathText(mlir::Operation *op,
            llvm::function_ref<std::string(mlir::Value)> nameOf);

} // namespace neoflow

#endif // NEOFLOW_DIALECT_NEOFLOW_UTILS_MATHTEXT_H
