// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a module to a bundle, or to anything in between.

#ifndef NEOFLOW_COMPILER_COMPILER_H
#define NEOFLOW_COMPILER_COMPILER_H

#include "neoflow/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace neoflow {

struct CompileOptions {
  /// Name of a target.
  std::string target = "host";
  /// Sizes of named dimensions, one entry for each specialisation; empty: the
  /// module's defaults.
  std::vector<std::map<std::string, int64_t>> specializations;
  /// Samples of an epoch; adds the specialisation of its last batch. 0: none.
  int64_t samples = 0;
  /// Functions to compile; empty: every public one.
  std::vector<std::string> functions;
  /// Options of neoflow-build-train-step.
  std::string trainStepOptions;
  /// Default learning rate that the bundle records.
  double learningRate = 0.01;
  std::string decider = "rules";
  unsigned optLevel = 3;
  /// Prints the time of each pass to standard error.
  bool timePasses = false;
  /// What the bundle records of the command.
  std::vector<std::string> flags;
  std::string source;
  /// Called with the number of steps done and in all.
  std::function<void(int done, int total)> progress;
};

/// Compiles `module` up to and including `phase` for its default
/// specialisation. The module is changed. Emits what is wrong.
mlir::LogicalResult compileTo(mlir::ModuleOp module, Phase phase,
                              const CompileOptions &options);

/// Compiles `module` to the bytes of a bundle. Emits what is wrong.
mlir::FailureOr<std::string> compileBundle(mlir::ModuleOp module,
                                           const CompileOptions &options);

/// Text about every kernel of the bundle's default specialisation: family,
/// schedule, operations, bytes.
mlir::FailureOr<std::string> explain(mlir::ModuleOp module,
                                     const CompileOptions &options);

/// The compiler's version, and a number that changes with its code.
const char *getVersion();
std::string getBuildId();

} // namespace neoflow

#endif // NEOFLOW_COMPILER_COMPILER_H
