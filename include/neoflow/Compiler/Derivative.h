// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of values from the source, and derivatives as text.

#ifndef NEOFLOW_COMPILER_DERIVATIVE_H
#define NEOFLOW_COMPILER_DERIVATIVE_H

#include "neoflow/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace neoflow {

/// Parses and verifies the main file of `sources`. The location of every value
/// that has a name in the text is a NameLoc with that name. Null, and
/// diagnostics, when something is wrong.
mlir::OwningOpRef<mlir::ModuleOp> parseSource(llvm::SourceMgr &sources,
                                              mlir::MLIRContext *context);

/// The functions called `functions` (empty: every public one) and for each a
/// function `NAME_derivative`, which takes the cotangents of its results as
/// well and returns its results and the gradients with respect to the arguments
/// called `wrt` (empty: all of floating-point elements). As text of MLIR in
/// which values have their names from the source, and computes stand in
/// mathematical notation above. The module is changed. Emits what is wrong.
mlir::FailureOr<std::string>
printDerivative(mlir::ModuleOp module, llvm::ArrayRef<std::string> functions,
                llvm::ArrayRef<std::string> wrt,
                const PipelineOptions &options);

} // namespace neoflow

#endif // NEOFLOW_COMPILER_DERIVATIVE_H
