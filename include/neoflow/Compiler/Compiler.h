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

namespace mlir {
class TimingScope;
} // namespace mlir

namespace neoflow {

struct CompileOptions {
  /// Names of targets.
  std::vector<std::string> targets = {"host"};
  /// Sizes of named dimensions, one entry for each specialisation; empty: the
  /// module's defaults.
  std::vector<std::map<std::string, int64_t>> specializations;
  /// Samples of an epoch; adds the specialisation of its last batch. 0: none.
  int64_t samples = 0;
  /// Functions to compile; empty: every public one.
  std::vector<std::string> functions;
  /// Empty: what the module's `neoflow.optimizer` says, or else sgd.
  std::string optimizer;
  /// Other options of neoflow-build-train-step.
  std::string trainStepOptions;
  /// Default learning rate that the bundle records. Nothing: what the module's
  /// `neoflow.learning_rate` says, or else 0.01.
  std::optional<double> learningRate;
  std::string decider = "rules";
  /// Parameters of schedules in place of the default ones, as in "k_tile=64".
  std::vector<std::string> scheduleParameters;
  unsigned optLevel = 3;
  /// Threads that generate code; 0 for one on each processor. The result does
  /// not depend on it.
  unsigned jobs = 0;
  /// Where the time of each pass is added up, or null.
  mlir::TimingScope *timing = nullptr;
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

/// Compiles `module` to the shared object of its kernels for the first target,
/// or to their optimised LLVM IR. Emits what is wrong.
mlir::FailureOr<std::string> compileObject(mlir::ModuleOp module,
                                           const CompileOptions &options,
                                           bool asLLVMIR);

/// Text about every kernel of the bundle's default specialisation: family,
/// schedule, operations, bytes.
mlir::FailureOr<std::string> explain(mlir::ModuleOp module,
                                     const CompileOptions &options);

/// The compiler's version, and a number that changes with its code.
const char *getVersion();
std::string getBuildId();

} // namespace neoflow

#endif // NEOFLOW_COMPILER_COMPILER_H
