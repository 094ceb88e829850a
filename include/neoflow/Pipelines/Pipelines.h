// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases between a module and kernels, and the passes of each. The only
// place that knows their order.

#ifndef NEOFLOW_PIPELINES_PIPELINES_H
#define NEOFLOW_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace neoflow {

/// A named point of the compilation, in order.
enum class Phase { input, differentiate, simplify, partition, schedule, lower };

struct PhaseInfo {
  Phase phase;
  const char *name;
  const char *description;
};

/// All phases, in order, for --compile-to, --help and the documentation.
llvm::ArrayRef<PhaseInfo> getPhases();
std::optional<Phase> getPhase(llvm::StringRef name);

struct PipelineOptions {
  /// Sizes of named dimensions; others have the module's defaults.
  std::map<std::string, int64_t> dims;
  /// The same as text that neoflow-specialize checks, as in "batch=64".
  std::vector<std::string> sizes;
  /// Passed to neoflow-build-train-step, when the module has a loss.
  std::string trainStepOptions;
  bool hasLoss = false;
  std::string target = "host";
  std::string decider = "rules";
  /// Parameters of schedules in place of the default ones, as in "k_tile=64".
  std::vector<std::string> scheduleParameters;
};

/// Adds the passes of one phase. Fails when an option of the train step is not
/// known, which it has printed then.
mlir::LogicalResult buildPhase(mlir::OpPassManager &manager, Phase phase,
                               const PipelineOptions &options);

/// Registers every phase as a pipeline `neoflow-phase-NAME` for tools.
void registerPipelines();

} // namespace neoflow

#endif // NEOFLOW_PIPELINES_PIPELINES_H
