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

void neoflow::buildPhase(OpPassManager &manager, Phase phase,
                         const PipelineOptions &options) {
  switch (phase) {
  case Phase::input: {
    SpecializePassOptions specialize;
    for (const auto &[name, size] : options.dims)
      specialize.sizes.push_back(name + "=" + std::to_string(size));
    manager.addPass(createSpecializePass(std::move(specialize)));
    manager.addPass(createCanonicalizerPass());
    return;
  }
  case Phase::differentiate:
    if (options.hasLoss)
      (void)parsePassPipeline("neoflow-build-train-step{" +
                                  options.trainStepOptions + "}",
                              manager);
    manager.addPass(createDifferentiatePass());
    return;
  case Phase::simplify:
    manager.addPass(createInlinerPass());
    manager.addPass(createSymbolDCEPass());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    return;
  case Phase::partition: {
    OpPassManager &functions = manager.nest<func::FuncOp>();
    functions.addPass(createFuseProducersPass());
    functions.addPass(createCanonicalizerPass());
    functions.addPass(createCSEPass());
    PartitionPassOptions partition;
    partition.target = options.target;
    partition.decider = options.decider;
    manager.addPass(createPartitionPass(partition));
    return;
  }
  case Phase::schedule: {
    OpPassManager &kernels = manager.nest<KernelOp>();
    kernels.addPass(createSelectSchedulePass());
    kernels.addPass(createVerifySchedulePass());
    return;
  }
  case Phase::lower:
    manager.addPass(createConvertNeoFlowToLoopsPass());
    buildLowerToLLVMPipeline(manager);
    return;
  }
}
