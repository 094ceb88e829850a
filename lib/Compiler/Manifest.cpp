// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The description of functions, kernels and programs in the manifest.

#include "BundleCompiler.h"

#include "neoflow/Dialect/NeoFlow/Analysis/KernelAnalysis.h"
#include "neoflow/Dialect/NeoFlow/Utils/TargetAttrUtils.h"
#include "neoflow/Target/Object.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/Path.h"

using namespace neoflow;
using json = nlohmann::ordered_json;

static std::string typeName(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getElementTypeOrSelf(type);
  return text;
}

/// Every place in a source file that `loc` mentions, in order.
void neoflow::collectPlaces(Location loc, std::vector<std::string> &places) {
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

/// The default learning rate: what the module asks for, unless the command says
/// otherwise.
static double getLearningRate(ModuleOp module, const CompileOptions &options) {
  if (options.learningRate)
    return *options.learningRate;
  auto asked = module->getAttrOfType<FloatAttr>(attr::kLearningRate);
  return asked ? asked.getValueAsDouble() : 0.01;
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
        {"shape",
         shapeOf(type, function.getArgAttrOfType<ArrayAttr>(i, attr::kDims))}};
    if (function.getArgAttr(i, attr::kZeros))
      argument["init"] = "zeros";
    if (role == "learning_rate")
      argument["default"] = getLearningRate(module, options);
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
    } else if (auto name =
                   function.getResultAttrOfType<StringAttr>(i, attr::kMetric)) {
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
      operators.push_back({{"name", op.getName().stripDialect().str()},
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
         {"phases", json::array({{{"symbol", name},
                                  {"workgroups", workgroups[name]}}})}});
  }
  return list;
}

json BundleCompiler::describePrograms() {
  json list = json::array();
  static const char *kinds[] = {"argument", "result", "arena",
                                "constant", "slice",  "alternate"};
  for (const CompiledProgram &entry : programs) {
    const Program &program = entry.program;
    json buffers = json::array(), launches = json::array();
    for (const ProgramBuffer &buffer : program.buffers) {
      json item = {{"kind", kinds[buffer.kind]}};
      if (buffer.kind == ProgramBuffer::arena)
        item["offset"] = buffer.offset;
      else if (buffer.kind == ProgramBuffer::constant)
        item["name"] = buffer.name;
      else if (buffer.loop < 0)
        item["index"] = buffer.index;
      else
        item.update({{"of", buffer.index}, {"loop", buffer.loop}});
      if (buffer.kind == ProgramBuffer::slice)
        item["reverse"] = buffer.reverse;
      else if (buffer.kind == ProgramBuffer::alternate)
        item["odd"] = buffer.odd;
      item["bytes"] = buffer.bytes;
      buffers.push_back(item);
    }
    for (const ProgramLaunch &launch : program.launches)
      launches.push_back({{"kernel", kernelIndex.at(launch.kernel)},
                          {"buffers", launch.buffers}});
    json loops = json::array();
    for (const ProgramLoop &loop : program.loops)
      loops.push_back(
          {{"first", loop.first}, {"last", loop.last}, {"steps", loop.steps}});
    list.push_back({{"function", entry.function},
                    {"dims", entry.dims},
                    {"arena", program.arena},
                    {"max_live", program.maxLive},
                    {"buffers", buffers},
                    {"arguments", program.arguments},
                    {"results", program.results},
                    {"launches", launches},
                    {"loops", loops}});
  }
  return list;
}

json BundleCompiler::describeTarget() {
  std::optional<TargetInfo> info = getTarget(target);
  TargetAttr resolved = resolveTarget(toAttr(context, *info));
  return {{"name", target},
          {"device", "cpu"},
          {"cpu", resolved.getCpu().str()},
          {"requires", info->requiredFeatures},
          {"artifact", "targets/" + target + "/kernels.so"},
          {"kernels", describeKernels()},
          {"programs", describePrograms()}};
}
