// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Specialisations, the union of their kernels, and machine code.

#include "BundleCompiler.h"

#include "neoflow/Dialect/NeoFlow/Utils/TargetAttrUtils.h"
#include "neoflow/Target/Object.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Support/Timing.h"

#include <atomic>
#include <thread>

using namespace neoflow;

//===----------------------------------------------------------------------===//
// Specialisations
//===----------------------------------------------------------------------===//

Dims BundleCompiler::getDefaultDims() {
  Dims dims;
  if (auto defaults = module->getAttrOfType<DictionaryAttr>(attr::kDefaultDims))
    for (NamedAttribute entry : defaults)
      if (auto size = dyn_cast<IntegerAttr>(entry.getValue()))
        dims[entry.getName().str()] = size.getInt();
  return dims;
}

/// The dimension that counts samples: the leading one of an input, unless its
/// size is fixed.
std::string BundleCompiler::getBatchDim() {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (!function.getArgAttr(i, attr::kInput))
        continue;
      auto names = function.getArgAttrOfType<ArrayAttr>(i, attr::kDims);
      auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
      if (names && !names.empty() && type && type.isDynamicDim(0))
        return cast<StringAttr>(names[0]).str();
    }
  return "";
}

LogicalResult BundleCompiler::runPasses(ModuleOp module, ArrayRef<Phase> phases,
                                        const Dims &dims) {
  PassManager manager(context);
  if (options.timing)
    manager.enableTiming(*options.timing);
  PipelineOptions pipeline;
  pipeline.dims = dims;
  pipeline.trainStepOptions = getTrainStepOptions(module, options);
  pipeline.hasLoss = module.lookupSymbol<func::FuncOp>("loss") != nullptr;
  pipeline.target = target;
  pipeline.decider = options.decider;
  pipeline.scheduleParameters = options.scheduleParameters;
  for (Phase phase : phases)
    if (failed(buildPhase(manager, phase, pipeline)))
      return failure();
  return manager.run(module);
}

LogicalResult
BundleCompiler::specialize(const Dims &dims,
                           function_ref<bool(StringRef)> isWanted) {
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
  for (auto function : clone->getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal() &&
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

FailureOr<std::string> BundleCompiler::createCopyKernel(RankedTensorType type) {
  // A module of one identity function goes through the same partitioner.
  OpBuilder builder(context);
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(module.getLoc());
  builder.setInsertionPointToEnd(scratch->getBody());
  auto function = func::FuncOp::create(builder, module.getLoc(), "copy",
                                       builder.getFunctionType({type}, {type}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  func::ReturnOp::create(builder, module.getLoc(),
                         ValueRange(entry->getArgument(0)));
  if (failed(runPasses(*scratch, {Phase::partition}, {})))
    return failure();
  return addKernel(*scratch->getOps<KernelOp>().begin());
}

LogicalResult BundleCompiler::addPrograms(ModuleOp partitioned,
                                          const Dims &dims) {
  for (auto function : partitioned.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isExternal())
      continue;
    // Only its own dimensions tell the specialisations of a function apart.
    std::string functionName = function.getName().str();
    Dims ownDims;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto names = function.getArgAttrOfType<ArrayAttr>(i, attr::kDims))
        for (StringRef name : names.getAsValueRange<StringAttr>())
          if (auto it = dims.find(name.str()); it != dims.end())
            ownDims.insert(*it);
    if (llvm::any_of(programs, [&](const CompiledProgram &other) {
          return other.function == functionName && other.dims == ownDims;
        }))
      continue;
    FailureOr<Program> program = buildProgram(
        function, constants, [&](KernelOp kernel) { return addKernel(kernel); },
        [&](RankedTensorType type) { return createCopyKernel(type); });
    if (failed(program))
      return failure();
    programs.push_back({functionName, ownDims, std::move(*program)});
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
  bool hasBatch = !batch.empty() && llvm::all_of(mains, [&](const Dims &dims) {
    auto it = dims.find(batch);
    return it != dims.end() && it->second > 0;
  });
  mainDims = mains.front();
  auto requested = [&](StringRef name) {
    return options.functions.empty() ||
           llvm::is_contained(options.functions, name);
  };
  auto notInit = [&](StringRef name) {
    return name != "init" && requested(name);
  };
  auto evaluates = [&](StringRef name) {
    return (name == "evaluate" || name == "predict") && requested(name);
  };
  // What is compiled, in order: the sizes asked for, the last batch of an
  // epoch, and single samples, so that every sample can be evaluated and
  // predicted, whatever their number.
  std::vector<std::pair<Dims, function_ref<bool(StringRef)>>> work;
  std::set<Dims> seen;
  for (const Dims &dims : mains)
    if (seen.insert(dims).second)
      work.push_back({dims, requested});
  for (const Dims &dims : mains) {
    if (options.samples == 0 || !hasBatch)
      break;
    Dims tail = dims;
    tail[batch] = options.samples % dims.at(batch);
    if (tail[batch] != 0 && seen.insert(tail).second)
      work.push_back({tail, notInit});
  }
  for (const Dims &dims : mains) {
    if (!hasBatch)
      break;
    Dims single = dims;
    single[batch] = 1;
    if (seen.insert(single).second)
      work.push_back({single, evaluates});
  }
  total = static_cast<int>(work.size()) + 2;
  for (const auto &[dims, isWanted] : work)
    if (failed(specialize(dims, isWanted)))
      return failure();
  for (const std::string &name : options.functions)
    if (!described.count(name)) {
      InFlightDiagnostic diagnostic =
          module.emitError("there is no public function '") << name << "'";
      if (!described.empty())
        diagnostic << "; compiled are " << llvm::join(described, ", ");
      return diagnostic;
    }
  if (programs.empty())
    return module.emitError("expected a public function to compile");
  return runPasses(*kernels, {Phase::schedule}, {});
}

//===----------------------------------------------------------------------===//
// Code generation
//===----------------------------------------------------------------------===//

LogicalResult BundleCompiler::lower(ModuleOp part) {
  return runPasses(part, {Phase::lower}, {});
}

/// Calls `function` for 0 to `count` - 1 on up to `jobs` threads.
static void runParallel(unsigned count, unsigned jobs,
                        function_ref<void(unsigned)> function) {
  std::atomic<unsigned> next = 0;
  auto work = [&] {
    for (unsigned i = next++; i < count; i = next++)
      function(i);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::min(jobs, count); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
}

FailureOr<std::string> BundleCompiler::generateObject() {
  // How kernels are dealt to modules does not depend on the number of threads:
  // equal input gives equal bytes.
  size_t numKernels = llvm::range_size(kernels->getOps<KernelOp>());
  size_t numParts = std::min<size_t>((numKernels + 1) / 2, 64);
  std::vector<OwningOpRef<ModuleOp>> parts(numParts);
  for (OwningOpRef<ModuleOp> &part : parts)
    part = ModuleOp::create(module.getLoc());
  for (auto [i, kernel] : llvm::enumerate(kernels->getOps<KernelOp>())) {
    OpBuilder builder = OpBuilder::atBlockEnd(parts[i % numParts]->getBody());
    builder.clone(*kernel);
  }
  // Dialects can only be loaded while there is one thread.
  registerTargetTranslations(*context);
  OpPassManager passes(ModuleOp::getOperationName());
  if (failed(buildPhase(passes, Phase::lower, {})))
    return failure();
  DialectRegistry dialects;
  passes.getDependentDialects(dialects);
  context->appendDialectRegistry(dialects);
  for (StringRef name : dialects.getDialectNames())
    context->getOrLoadDialect(name);

  unsigned jobs = options.jobs
                      ? options.jobs
                      : std::max(1u, std::thread::hardware_concurrency());
  TargetAttr attribute = toAttr(context, *getTarget(target));
  ObjectOptions objectOptions{options.optLevel};
  std::vector<FailureOr<std::string>> objects(numParts, failure());
  runParallel(numParts, jobs, [&](unsigned i) {
    if (failed(lower(*parts[i])))
      return;
    TimingScope timing;
    if (options.timing)
      timing = options.timing->nest("LLVM code generation");
    objects[i] = emitObject(*parts[i], attribute, objectOptions);
  });
  step();
  std::vector<std::string> bytes;
  for (auto [part, object] : llvm::zip(parts, objects)) {
    if (failed(object))
      return failure();
    bytes.push_back(std::move(*object));
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
  FailureOr<std::string> result = linkSharedObject(bytes, module.getLoc());
  step();
  return result;
}

FailureOr<std::string> BundleCompiler::generateLLVMIR() {
  registerTargetTranslations(*context);
  OwningOpRef<ModuleOp> clone = kernels->clone();
  if (failed(lower(*clone)))
    return failure();
  return emitLLVMIR(*clone, toAttr(context, *getTarget(target)),
                    ObjectOptions{options.optLevel});
}
