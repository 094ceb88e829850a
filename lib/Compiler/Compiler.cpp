// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver: specialisations, phases, code generation, the bundle.

#include "neoflow/Compiler/Compiler.h"

#include "BuildId.h"
#include "BundleWriter.h"
#include "Program.h"

#include "neoflow/Dialect/NeoFlow/Analysis/KernelAnalysis.h"
#include "neoflow/Dialect/NeoFlow/Utils/TargetAttrUtils.h"
#include "neoflow/Target/Object.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/Path.h"

#include <nlohmann/json.hpp>

#include <set>
#include <thread>

using namespace neoflow;
using json = nlohmann::ordered_json;
using Dims = std::map<std::string, int64_t>;

const char *neoflow::getVersion() { return NEOFLOW_VERSION; }

std::string neoflow::getBuildId() { return NEOFLOW_BUILD_ID; }

namespace {

/// A function compiled for given sizes of its dimensions.
struct CompiledProgram {
  std::string function;
  Dims dims;
  Program program;
};

class BundleCompiler {
public:
  BundleCompiler(ModuleOp module, const CompileOptions &options)
      : module(module), options(options), context(module.getContext()) {}

  FailureOr<std::string> run();
  /// Partitions and schedules; the kernels are then in `kernels`.
  LogicalResult compileKernels();
  ModuleOp getKernels() { return *kernels; }

private:
  Dims getDefaultDims();
  std::string getBatchDim();
  LogicalResult specialize(const Dims &dims,
                           function_ref<bool(StringRef)> isWanted,
                           bool describes);
  LogicalResult addPrograms(ModuleOp partitioned, const Dims &dims);
  std::string addKernel(KernelOp kernel);
  std::string createCopyKernel(RankedTensorType type);
  LogicalResult runPasses(ModuleOp target, ArrayRef<Phase> phases,
                          const Dims &dims);
  FailureOr<std::string> generateCode();
  json describeFunction(func::FuncOp function);
  json describeKernels();
  json describePrograms();
  void step() {
    if (options.progress)
      options.progress(++done, std::max(done, total));
  }

  ModuleOp module;
  const CompileOptions &options;
  MLIRContext *context;
  OwningOpRef<ModuleOp> kernels;
  std::map<std::string, std::string> kernelOfKey;
  std::set<std::string> kernelNames;
  std::vector<CompiledProgram> programs;
  std::map<std::string, int64_t> workspace, workgroups;
  std::map<std::string, int> kernelIndex;
  json kernelList = json::array(), functionList = json::array();
  std::set<std::string> described;
  ConstantMap constants;
  int done = 0, total = 0;
};

} // namespace

static std::string typeName(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getElementTypeOrSelf(type);
  return text;
}

/// Every place in a source file that `loc` mentions, in order.
static void collectPlaces(Location loc, std::vector<std::string> &places) {
  if (auto file = dyn_cast<FileLineColRange>(loc)) {
    std::string place =
        (llvm::sys::path::filename(file.getFilename().getValue()) + ":" +
         Twine(file.getStartLine()) + ":" + Twine(file.getStartColumn()))
            .str();
    if (!llvm::is_contained(places, place))
      places.push_back(place);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      collectPlaces(part, places);
  } else if (auto name = dyn_cast<NameLoc>(loc)) {
    collectPlaces(name.getChildLoc(), places);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    collectPlaces(call.getCallee(), places);
  }
}

//===----------------------------------------------------------------------===//
// Specialisations
//===----------------------------------------------------------------------===//

Dims BundleCompiler::getDefaultDims() {
  Dims dims;
  if (auto defaults =
          module->getAttrOfType<DictionaryAttr>(attr::kDefaultDims))
    for (NamedAttribute entry : defaults)
      if (auto size = dyn_cast<IntegerAttr>(entry.getValue()))
        dims[entry.getName().str()] = size.getInt();
  return dims;
}

/// The dimension that counts samples: the leading one of an input.
std::string BundleCompiler::getBatchDim() {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, attr::kInput))
        if (auto names =
                function.getArgAttrOfType<ArrayAttr>(i, attr::kDims);
            names && !names.empty())
          return cast<StringAttr>(names[0]).str();
  return "";
}

LogicalResult BundleCompiler::runPasses(ModuleOp target, ArrayRef<Phase> phases,
                                        const Dims &dims) {
  PassManager manager(context);
  if (options.timePasses)
    manager.enableTiming();
  PipelineOptions pipeline;
  pipeline.dims = dims;
  pipeline.trainStepOptions = options.trainStepOptions;
  pipeline.hasLoss = target.lookupSymbol<func::FuncOp>("loss") != nullptr;
  pipeline.target = options.target;
  pipeline.decider = options.decider;
  for (Phase phase : phases)
    buildPhase(manager, phase, pipeline);
  return manager.run(target);
}

LogicalResult BundleCompiler::specialize(const Dims &dims,
                                         function_ref<bool(StringRef)> isWanted,
                                         bool describes) {
  OwningOpRef<ModuleOp> clone = module.clone();
  if (failed(runPasses(*clone, {Phase::input, Phase::differentiate}, dims)))
    return failure();
  // The loss lives on in the train step and in the evaluation.
  bool trains = clone->lookupSymbol("train_step") != nullptr;
  for (auto function :
       llvm::make_early_inc_range(clone->getOps<func::FuncOp>())) {
    if (function.isPrivate())
      continue;
    StringRef name = function.getName();
    if ((trains && name == "loss") || !isWanted(name))
      function.setPrivate();
  }
  if (failed(runPasses(*clone, {Phase::simplify, Phase::partition}, {})))
    return failure();
  if (describes)
    for (auto function : clone->getOps<func::FuncOp>())
      if (function.isPublic() &&
          described.insert(function.getName().str()).second)
        functionList.push_back(describeFunction(function));
  step();
  return addPrograms(*clone, dims);
}

//===----------------------------------------------------------------------===//
// Kernels and programs
//===----------------------------------------------------------------------===//

std::string BundleCompiler::addKernel(KernelOp kernel) {
  std::string key = kernel.getKey()->str();
  auto [it, inserted] = kernelOfKey.insert({key, ""});
  if (!inserted)
    return it->second;
  std::string name = kernel.getName().str();
  for (unsigned suffix = 1; !kernelNames.insert(name).second; ++suffix)
    name = (kernel.getName() + "_" + Twine(suffix)).str();
  it->second = name;
  OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
  auto clone = cast<KernelOp>(builder.clone(*kernel));
  clone.setName(name);
  return name;
}

std::string BundleCompiler::createCopyKernel(RankedTensorType type) {
  // A module of one identity function goes through the same partitioner.
  OpBuilder builder(context);
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(module.getLoc());
  builder.setInsertionPointToEnd(scratch->getBody());
  auto function = func::FuncOp::create(
      builder, module.getLoc(), "copy", builder.getFunctionType({type}, {type}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  func::ReturnOp::create(builder, module.getLoc(),
                         ValueRange(entry->getArgument(0)));
  if (failed(runPasses(*scratch, {Phase::partition}, {})))
    return "";
  return addKernel(*scratch->getOps<KernelOp>().begin());
}

LogicalResult BundleCompiler::addPrograms(ModuleOp partitioned,
                                          const Dims &dims) {
  std::map<std::string, std::string> nameOf;
  for (KernelOp kernel : partitioned.getOps<KernelOp>())
    nameOf[kernel.getName().str()] = "";
  for (auto function : partitioned.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isExternal())
      continue;
    std::set<std::string> copies;
    FailureOr<Program> program =
        buildProgram(function, constants, [&](RankedTensorType type) {
          std::string name = createCopyKernel(type);
          copies.insert(name);
          return name;
        });
    if (failed(program))
      return failure();
    for (ProgramLaunch &launch : program->launches) {
      if (copies.count(launch.kernel) && !nameOf.count(launch.kernel))
        continue;
      std::string &name = nameOf[launch.kernel];
      if (name.empty())
        name = addKernel(partitioned.lookupSymbol<KernelOp>(launch.kernel));
      launch.kernel = name;
    }
    programs.push_back(
        {function.getName().str(), dims, std::move(*program)});
  }
  return success();
}

LogicalResult BundleCompiler::compileKernels() {
  kernels = ModuleOp::create(module.getLoc());
  std::vector<Dims> mains = options.specializations;
  Dims defaults = getDefaultDims();
  for (Dims &dims : mains)
    dims.insert(defaults.begin(), defaults.end());
  if (mains.empty())
    mains.push_back(defaults);
  std::string batch = getBatchDim();
  bool hasBatch = !batch.empty() && mains.front().count(batch);
  std::set<Dims> seen;
  auto requested = [&](StringRef name) {
    return options.functions.empty() ||
           llvm::is_contained(options.functions, name);
  };
  total = static_cast<int>(mains.size()) + 2;
  std::vector<Dims> tails;
  for (const Dims &dims : mains) {
    if (!seen.insert(dims).second)
      continue;
    if (failed(specialize(dims, requested, /*describes=*/true)))
      return failure();
    if (options.samples > 0 && hasBatch) {
      Dims tail = dims;
      tail[batch] = options.samples % dims.at(batch);
      if (tail[batch] != 0)
        tails.push_back(tail);
    }
  }
  for (const Dims &dims : tails)
    if (seen.insert(dims).second &&
        failed(specialize(
            dims,
            [&](StringRef name) { return name != "init" && requested(name); },
            /*describes=*/false)))
      return failure();
  // Every sample can be evaluated and predicted, whatever their number.
  if (hasBatch) {
    Dims single = mains.front();
    single[batch] = 1;
    if (seen.insert(single).second &&
        failed(specialize(
            single,
            [&](StringRef name) {
              return (name == "evaluate" || name == "predict") &&
                     requested(name);
            },
            /*describes=*/false)))
      return failure();
  }
  if (programs.empty()) {
    if (options.functions.empty())
      return module.emitError("expected a public function to compile");
    return module.emitError("there is no public function '")
           << options.functions.front() << "'";
  }
  return runPasses(*kernels, {Phase::schedule}, {});
}

//===----------------------------------------------------------------------===//
// Code generation
//===----------------------------------------------------------------------===//

FailureOr<std::string> BundleCompiler::generateCode() {
  if (kernels->getOps<KernelOp>().empty())
    return linkSharedObject({}, module.getLoc());
  std::optional<TargetInfo> info = getTarget(options.target);
  TargetAttr target = toAttr(context, *info);
  // Kernels are dealt to the threads; each thread has a module of its own.
  unsigned numThreads = std::max(1u, std::thread::hardware_concurrency());
  SmallVector<OwningOpRef<ModuleOp>> parts;
  for (unsigned i = 0; i < numThreads; ++i)
    parts.push_back(ModuleOp::create(module.getLoc()));
  unsigned next = 0;
  for (KernelOp kernel : kernels->getOps<KernelOp>()) {
    OpBuilder builder = OpBuilder::atBlockEnd(
        parts[next++ % numThreads]->getBody());
    builder.clone(*kernel);
  }
  registerTargetTranslations(*context);
  for (OwningOpRef<ModuleOp> &part : parts) {
    if (failed(runPasses(*part, {Phase::lower}, {})))
      return failure();
    for (auto function : part->getOps<LLVM::LLVMFuncOp>()) {
      auto phases = function->getAttrOfType<ArrayAttr>("neoflow.phases");
      if (!phases)
        continue;
      std::string name = function.getName().str();
      workspace[name] =
          function->getAttrOfType<IntegerAttr>("neoflow.workspace").getInt();
      workgroups[name] = cast<DictionaryAttr>(phases[0])
                             .getAs<IntegerAttr>("workgroups")
                             .getInt();
    }
  }
  step();
  std::vector<FailureOr<std::string>> objects(parts.size(), failure());
  ObjectOptions objectOptions{options.optLevel};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < parts.size(); ++i)
    threads.emplace_back([&, i] {
      objects[i] = emitObject(*parts[i], target, objectOptions);
    });
  for (std::thread &thread : threads)
    thread.join();
  step();
  std::vector<std::string> bytes;
  for (FailureOr<std::string> &object : objects) {
    if (failed(object))
      return failure();
    bytes.push_back(std::move(*object));
  }
  return linkSharedObject(bytes, module.getLoc());
}

//===----------------------------------------------------------------------===//
// Manifest
//===----------------------------------------------------------------------===//

/// Name and role of an argument.
static std::pair<std::string, std::string>
getArgumentRole(func::FuncOp function, unsigned i) {
  static const std::pair<StringRef, const char *> named[] = {
      {attr::kParam, "param"},
      {attr::kState, "state"},
      {attr::kInput, "input"},
      {attr::kLabel, "label"}};
  for (auto [attribute, role] : named)
    if (auto name = function.getArgAttrOfType<StringAttr>(i, attribute))
      return {name.str(), role};
  static const std::pair<StringRef, const char *> single[] = {
      {attr::kSeed, "seed"},
      {attr::kStep, "step"},
      {attr::kLearningRate, "learning_rate"}};
  for (auto [attribute, role] : single)
    if (function.getArgAttr(i, attribute))
      return {role, role};
  return {"arg" + std::to_string(i), "none"};
}

json BundleCompiler::describeFunction(func::FuncOp function) {
  json result;
  result["name"] = function.getName().str();
  result["arguments"] = json::array();
  auto shapeOf = [](Type type, ArrayAttr names) {
    json shape = json::array();
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (auto [dim, extent] : llvm::enumerate(tensor.getShape())) {
        std::string name =
            names ? cast<StringAttr>(names[dim]).str() : std::string();
        if (name.empty())
          shape.push_back(extent);
        else
          shape.push_back(name);
      }
    return shape;
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto [name, role] = getArgumentRole(function, i);
    Type type = function.getArgument(i).getType();
    json argument = {
        {"name", name},
        {"role", role},
        {"type", typeName(type)},
        {"shape", shapeOf(type, function.getArgAttrOfType<ArrayAttr>(
                                    i, attr::kDims))}};
    if (function.getArgAttr(i, attr::kZeros))
      argument["init"] = "zeros";
    if (role == "learning_rate")
      argument["default"] = options.learningRate;
    result["arguments"].push_back(argument);
  }
  // A result's dynamic dimension is named when only one name is possible.
  auto original = module.lookupSymbol<func::FuncOp>(function.getName());
  std::set<std::string> dimNames;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto names = function.getArgAttrOfType<ArrayAttr>(i, attr::kDims))
      for (auto name : names.getAsRange<StringAttr>())
        if (!name.empty())
          dimNames.insert(name.str());
  result["results"] = json::array();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    Type type = function.getFunctionType().getResult(i);
    json shape = shapeOf(type, {});
    if (original && i < original.getNumResults() && dimNames.size() == 1)
      if (auto tensor = dyn_cast<RankedTensorType>(
              original.getFunctionType().getResult(i)))
        for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
          if (tensor.isDynamicDim(dim))
            shape[dim] = *dimNames.begin();
    json entry = {{"name", "result" + std::to_string(i)},
                  {"role", "none"},
                  {"type", typeName(type)},
                  {"shape", shape}};
    if (function.getResultAttr(i, attr::kLoss)) {
      entry["name"] = entry["role"] = "loss";
    } else if (auto name = function.getResultAttrOfType<StringAttr>(
                   i, attr::kMetric)) {
      entry["name"] = name.str();
      entry["role"] = "metric";
    } else if (auto position = function.getResultAttrOfType<IntegerAttr>(
                   i, attr::kNewState)) {
      entry["name"] = getArgumentRole(function, position.getInt()).first;
      entry["role"] = "new_state";
      entry["argument"] = position.getInt();
    } else {
      for (StringRef attribute : {attr::kParam, attr::kState})
        if (auto name =
                function.getResultAttrOfType<StringAttr>(i, attribute)) {
          entry["name"] = name.str();
          entry["role"] = "param";
        }
    }
    result["results"].push_back(entry);
  }
  return result;
}

json BundleCompiler::describeKernels() {
  json list = json::array();
  for (KernelOp kernel : kernels->getOps<KernelOp>()) {
    std::string name = kernel.getName().str();
    kernelIndex[name] = static_cast<int>(list.size());
    json operators = json::array();
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      std::vector<std::string> places;
      collectPlaces(op.getLoc(), places);
      operators.push_back(
          {{"name", op.getName().stripDialect().str()},
           {"location", places.empty() ? std::string("unknown")
                                       : places.front()}});
    }
    std::string schedule;
    llvm::raw_string_ostream os(schedule);
    os << kernel.getScheduleAttr();
    list.push_back(
        {{"name", name},
         {"key", kernel.getKey()->str()},
         {"family", kernel.getScheduleAttr().getFamily().str()},
         {"schedule", schedule},
         {"operators", operators},
         {"flops", getFlops(kernel)},
         {"bytes", getBytes(kernel)},
         {"workspace", workspace[name]},
         {"phases",
          json::array({{{"symbol", name}, {"workgroups", workgroups[name]}}})}});
  }
  return list;
}

json BundleCompiler::describePrograms() {
  json list = json::array();
  static const char *kinds[] = {"argument", "result", "arena", "constant"};
  for (const CompiledProgram &entry : programs) {
    const Program &program = entry.program;
    json buffers = json::array(), launches = json::array();
    for (const ProgramBuffer &buffer : program.buffers) {
      json item = {{"kind", kinds[buffer.kind]}};
      if (buffer.kind == ProgramBuffer::arena)
        item["offset"] = buffer.offset;
      else if (buffer.kind == ProgramBuffer::constant)
        item["name"] = buffer.name;
      else
        item["index"] = buffer.index;
      item["bytes"] = buffer.bytes;
      buffers.push_back(item);
    }
    for (const ProgramLaunch &launch : program.launches)
      launches.push_back({{"kernel", kernelIndex.at(launch.kernel)},
                          {"buffers", launch.buffers}});
    list.push_back({{"function", entry.function},
                    {"dims", entry.dims},
                    {"arena", program.arena},
                    {"max_live", program.maxLive},
                    {"buffers", buffers},
                    {"arguments", program.arguments},
                    {"results", program.results},
                    {"launches", launches}});
  }
  return list;
}

static std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

FailureOr<std::string> BundleCompiler::run() {
  if (failed(compileKernels()))
    return failure();
  FailureOr<std::string> object = generateCode();
  if (failed(object))
    return failure();
  std::optional<TargetInfo> info = getTarget(options.target);
  TargetAttr resolved = resolveTarget(toAttr(context, *info));
  std::string folder = "targets/" + options.target + "/";
  json targetEntry = {{"name", options.target},
                      {"device", "cpu"},
                      {"cpu", resolved.getCpu().str()},
                      {"requires", info->requiredFeatures},
                      {"artifact", folder + "kernels.so"},
                      {"kernels", describeKernels()},
                      {"programs", describePrograms()}};
  std::vector<std::pair<std::string, std::string>> entries = {
      {"module.mlir", printModule(module)},
      {folder + "kernels.so", *object},
      {folder + "kernels.mlir", printModule(*kernels)}};
  if (!constants.empty())
    entries.push_back({"constants.safetensors", writeSafetensors(constants)});
  json checksums;
  for (const auto &[name, bytes] : entries)
    checksums[name] = sha256(bytes);
  std::string source = llvm::sys::path::filename(options.source).str();
  json manifest = {
      {"format", 1},
      {"producer",
       {{"name", "neoflow-compile"},
        {"version", getVersion()},
        {"build", getBuildId()},
        {"llvm", NEOFLOW_LLVM_VERSION}}},
      {"flags", options.flags},
      {"source", source},
      {"model", llvm::sys::path::stem(source).str()},
      {"dims", programs.front().dims},
      {"checksums", checksums},
      {"functions", functionList},
      {"targets", json::array({targetEntry})}};
  entries.insert(entries.begin(), {"manifest.json", manifest.dump(1) + "\n"});
  std::string bytes, error;
  if (!writeZip(entries, bytes, error))
    return module.emitError("cannot write the bundle: ") << error;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

static LogicalResult checkTarget(ModuleOp module, const std::string &name) {
  if (getTarget(name))
    return success();
  return module.emitError("unknown target '")
         << name << "'; known targets are "
         << llvm::join(getTargetNames(), ", ");
}

LogicalResult neoflow::compileTo(ModuleOp module, Phase phase,
                                 const CompileOptions &options) {
  if (failed(checkTarget(module, options.target)))
    return failure();
  PassManager manager(module.getContext());
  if (options.timePasses)
    manager.enableTiming();
  PipelineOptions pipeline;
  if (!options.specializations.empty())
    pipeline.dims = options.specializations.front();
  pipeline.trainStepOptions = options.trainStepOptions;
  pipeline.hasLoss = module.lookupSymbol<func::FuncOp>("loss") != nullptr;
  pipeline.target = options.target;
  pipeline.decider = options.decider;
  for (const PhaseInfo &info : getPhases()) {
    buildPhase(manager, info.phase, pipeline);
    if (info.phase == phase)
      break;
  }
  return manager.run(module);
}

FailureOr<std::string> neoflow::compileBundle(ModuleOp module,
                                              const CompileOptions &options) {
  if (failed(checkTarget(module, options.target)))
    return failure();
  return BundleCompiler(module, options).run();
}

FailureOr<std::string> neoflow::explain(ModuleOp module,
                                        const CompileOptions &options) {
  if (failed(checkTarget(module, options.target)))
    return failure();
  BundleCompiler compiler(module, options);
  if (failed(compiler.compileKernels()))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  for (KernelOp kernel : compiler.getKernels().getOps<KernelOp>()) {
    os << kernel.getName() << ": " << kernel.getScheduleAttr() << "\n  "
       << getFlops(kernel) << " flop, " << getBytes(kernel) << " bytes";
    std::vector<std::string> places;
    collectPlaces(kernel.getLoc(), places);
    if (!places.empty())
      os << ", from " << llvm::join(places, ", ");
    os << "\n";
  }
  return text;
}
