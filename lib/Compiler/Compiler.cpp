// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points, and the bundle.

#include "neoflow/Compiler/Compiler.h"

#include "BuildId.h"
#include "BundleCompiler.h"
#include "BundleWriter.h"

#include "neoflow/Dialect/NeoFlow/Analysis/KernelAnalysis.h"
#include "neoflow/TargetInfo/TargetInfo.h"

#include "mlir/Support/Timing.h"
#include "llvm/Support/Path.h"

using namespace neoflow;
using json = nlohmann::ordered_json;

const char *neoflow::getVersion() { return NEOFLOW_VERSION; }

std::string neoflow::getBuildId() { return NEOFLOW_BUILD_ID; }

std::string neoflow::getTrainStepOptions(ModuleOp module,
                                         const CompileOptions &options) {
  std::string optimizer = options.optimizer;
  if (optimizer.empty()) {
    auto asked = module->getAttrOfType<StringAttr>(attr::kOptimizer);
    optimizer = asked ? asked.str() : "sgd";
  }
  return "optimizer=" + optimizer + " " + options.trainStepOptions;
}

static LogicalResult checkTargets(ModuleOp module,
                                  const CompileOptions &options) {
  if (options.targets.empty())
    return module.emitError("expected a target");
  std::set<std::string> seen;
  for (const std::string &target : options.targets) {
    if (!getTarget(target))
      return module.emitError("unknown target '")
             << target << "'; known targets are "
             << llvm::join(getTargetNames(), ", ");
    if (!seen.insert(target).second)
      return module.emitError("the target '") << target << "' is given twice";
  }
  return success();
}

static std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

LogicalResult neoflow::compileTo(ModuleOp module, Phase phase,
                                 const CompileOptions &options) {
  if (failed(checkTargets(module, options)))
    return failure();
  PipelineOptions pipeline;
  if (!options.specializations.empty())
    pipeline.dims = options.specializations.front();
  pipeline.trainStepOptions = getTrainStepOptions(module, options);
  pipeline.hasLoss = module.lookupSymbol<func::FuncOp>("loss") != nullptr;
  pipeline.target = options.targets.front();
  pipeline.decider = options.decider;
  pipeline.scheduleParameters = options.scheduleParameters;
  auto run = [&](ArrayRef<Phase> phases) {
    PassManager manager(module.getContext());
    if (options.timing)
      manager.enableTiming(*options.timing);
    for (Phase next : phases)
      if (failed(buildPhase(manager, next, pipeline)))
        return failure();
    return manager.run(module);
  };
  SmallVector<Phase> phases;
  for (const PhaseInfo &info : getPhases())
    if (info.phase <= phase && info.phase != Phase::lower)
      phases.push_back(info.phase);
  if (failed(run(phases)))
    return failure();
  if (phase != Phase::lower)
    return success();
  // What a function launches is the program's business from here on.
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    function.erase();
  return run({Phase::lower});
}

FailureOr<std::string> neoflow::compileBundle(ModuleOp module,
                                              const CompileOptions &options) {
  if (failed(checkTargets(module, options)))
    return failure();
  std::vector<std::pair<std::string, std::string>> entries = {
      {"module.mlir", printModule(module)}};
  json functions, dims = json::object(), targets = json::array();
  ConstantMap constants;
  for (const std::string &target : options.targets) {
    BundleCompiler compiler(module, options, target);
    if (failed(compiler.compileKernels()))
      return failure();
    FailureOr<std::string> object = compiler.generateObject();
    if (failed(object))
      return failure();
    targets.push_back(compiler.describeTarget());
    functions = compiler.getFunctions();
    for (const auto &[name, size] : compiler.getMainDims())
      dims[name] = size;
    constants.insert(compiler.getConstants().begin(),
                     compiler.getConstants().end());
    std::string folder = "targets/" + target + "/";
    entries.push_back({folder + "kernels.so", std::move(*object)});
    entries.push_back(
        {folder + "kernels.mlir", printModule(compiler.getKernels())});
  }
  if (!constants.empty())
    entries.push_back({"constants.safetensors", writeSafetensors(constants)});
  json checksums;
  for (const auto &[name, bytes] : entries)
    checksums[name] = sha256(bytes);
  std::string source = llvm::sys::path::filename(options.source).str();
  json manifest = {{"format", 2},
                   {"producer",
                    {{"name", "neoflow-compile"},
                     {"version", getVersion()},
                     {"build", getBuildId()},
                     {"llvm", NEOFLOW_LLVM_VERSION}}},
                   {"flags", options.flags},
                   {"source", source},
                   {"model", llvm::sys::path::stem(source).str()},
                   {"dims", dims},
                   {"checksums", checksums},
                   {"functions", functions},
                   {"targets", targets}};
  // Names come from the user, who may use bytes that are not UTF-8.
  std::string text =
      manifest.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  entries.insert(entries.begin(), {"manifest.json", text});
  std::string bytes, error;
  if (!writeZip(entries, bytes, error))
    return module.emitError("cannot write the bundle: ") << error;
  return bytes;
}

FailureOr<std::string> neoflow::compileObject(ModuleOp module,
                                              const CompileOptions &options,
                                              bool asLLVMIR) {
  if (failed(checkTargets(module, options)))
    return failure();
  BundleCompiler compiler(module, options, options.targets.front());
  if (failed(compiler.compileKernels()))
    return failure();
  return asLLVMIR ? compiler.generateLLVMIR() : compiler.generateObject();
}

FailureOr<std::string> neoflow::explain(ModuleOp module,
                                        const CompileOptions &options) {
  if (failed(checkTargets(module, options)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const std::string &target : options.targets) {
    BundleCompiler compiler(module, options, target);
    if (failed(compiler.compileKernels()))
      return failure();
    if (options.targets.size() > 1)
      os << "target " << target << "\n";
    for (KernelOp kernel : compiler.getKernels().getOps<KernelOp>()) {
      os << kernel.getName() << ": " << kernel.getScheduleAttr() << "\n  "
         << getFlops(kernel) << " flop, " << getBytes(kernel) << " bytes";
      std::vector<std::string> places;
      collectPlaces(kernel.getLoc(), places);
      if (!places.empty())
        os << ", from " << llvm::join(places, ", ");
      os << "\n";
    }
  }
  return text;
}
