// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phases and their passes.

#include "neoflow/Pipelines/Pipelines.h"

#include "neoflow/Conversion/Passes.h"
#include "neoflow/Dialect/NeoFlow/Transforms/Passes.h"
#include "neoflow/Pipelines/LowerToLLVM.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace neoflow;

static constexpr PhaseInfo kPhases[] = {
    {Phase::input, "input", "static shapes: named dimensions have their sizes"},
    {Phase::differentiate, "differentiate",
     "the train step is built, and every derivative is ordinary computes"},
    {Phase::simplify, "simplify", "calls inlined, common computes shared"},
    {Phase::partition, "partition", "every compute stands in a kernel"},
    {Phase::schedule, "schedule", "every kernel has a legal schedule"},
    {Phase::lower, "lower", "every kernel is a function in the LLVM dialect"}};

llvm::ArrayRef<PhaseInfo> neoflow::getPhases() { return kPhases; }

std::optional<Phase> neoflow::getPhase(llvm::StringRef name) {
  for (const PhaseInfo &info : kPhases)
    if (name == info.name)
      return info.phase;
  return std::nullopt;
}

LogicalResult neoflow::buildPhase(OpPassManager &manager, Phase phase,
                                  const PipelineOptions &options) {
  switch (phase) {
  case Phase::input: {
    SpecializePassOptions specialize;
    for (const auto &[name, size] : options.dims)
      specialize.sizes.push_back(name + "=" + std::to_string(size));
    llvm::append_range(specialize.sizes, options.sizes);
    manager.addPass(createSpecializePass(std::move(specialize)));
    manager.addPass(createCanonicalizerPass());
    return success();
  }
  case Phase::differentiate:
    if (options.hasLoss &&
        failed(parsePassPipeline("neoflow-build-train-step{" +
                                     options.trainStepOptions + "}",
                                 manager)))
      return failure();
    manager.addPass(createDifferentiatePass());
    return success();
  case Phase::simplify:
    manager.addPass(createInlinerPass());
    manager.addPass(createSymbolDCEPass());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    manager.addPass(createSimplifyScansPass());
    return success();
  case Phase::partition: {
    OpPassManager &functions = manager.nest<func::FuncOp>();
    functions.addPass(createFuseProducersPass());
    functions.addPass(createCanonicalizerPass());
    functions.addPass(createCSEPass());
    PartitionPassOptions partition;
    partition.target = options.target;
    partition.decider = options.decider;
    manager.addPass(createPartitionPass(partition));
    manager.addPass(createVerifyPartitionedPass());
    return success();
  }
  case Phase::schedule: {
    OpPassManager &kernels = manager.nest<KernelOp>();
    SelectSchedulePassOptions select;
    llvm::append_range(select.parameters, options.scheduleParameters);
    kernels.addPass(createSelectSchedulePass(std::move(select)));
    kernels.addPass(createVerifySchedulePass());
    return success();
  }
  case Phase::lower:
    manager.addPass(createConvertNeoFlowToLoopsPass());
    buildLowerToLLVMPipeline(manager);
    return success();
  }
  llvm_unreachable("all phases are handled");
}

namespace {
struct PhaseOptions : PassPipelineOptions<PhaseOptions> {
  ListOption<std::string> sizes{
      *this, "sizes",
      llvm::cl::desc("sizes of named dimensions, as in batch=64")};
  Option<std::string> trainStep{
      *this, "train-step",
      llvm::cl::desc("options of neoflow-build-train-step; without them no "
                     "train step is built")};
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("the device to compile for"),
                             llvm::cl::init("host")};
  Option<std::string> decider{*this, "decider",
                              llvm::cl::desc("how kernels are formed"),
                              llvm::cl::init("rules")};
  ListOption<std::string> parameters{
      *this, "schedule-parameters",
      llvm::cl::desc("parameters of schedules in place of the default ones, as "
                     "in k_tile=64")};
};
} // namespace

void neoflow::registerPipelines() {
  for (const PhaseInfo &info : kPhases) {
    // The registry keeps its own copy of both texts.
    PassPipelineRegistration<PhaseOptions>(
        std::string("neoflow-phase-") + info.name,
        std::string("the passes after which: ") + info.description,
        [phase = info.phase](OpPassManager &manager,
                             const PhaseOptions &options) {
          PipelineOptions pipeline;
          pipeline.sizes.assign(options.sizes.begin(), options.sizes.end());
          pipeline.hasLoss = !options.trainStep.empty();
          pipeline.trainStepOptions = options.trainStep;
          pipeline.target = options.target;
          pipeline.decider = options.decider;
          pipeline.scheduleParameters.assign(options.parameters.begin(),
                                             options.parameters.end());
          if (failed(buildPhase(manager, phase, pipeline)))
            llvm::report_fatal_error("a phase cannot be built", false);
        });
  }
}
