// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `neoflow-run call`: one function, arrays from files, results to files.

#include "Tool.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

using namespace neoflow;
using namespace neoflow::run;
using namespace neoflow::runtime;

namespace {
/// The file of each argument of the function, or "".
struct Binding {
  std::vector<std::string> files;

  static Expected<Binding> create(const Function &function,
                                  const std::vector<std::string> &inputs);
};
} // namespace

static bool isVariable(Role role) {
  return role == Role::Param || role == Role::State;
}

static std::string signature(const Function &function) {
  std::string text;
  for (const Argument &argument : function.arguments) {
    text +=
        (text.empty() ? "" : ", ") + argument.name + ": " + toString(argument);
    if (argument.role != Role::None)
      text += std::string(" (") + name(argument.role) + ")";
  }
  return "(" + text + ")";
}

Expected<Binding> Binding::create(const Function &function,
                                  const std::vector<std::string> &inputs) {
  const std::vector<Argument> &arguments = function.arguments;
  Binding binding;
  binding.files.resize(arguments.size());
  std::vector<std::string> positional;
  for (const std::string &input : inputs) {
    auto [name, file] = splitAssignment(input);
    if (name.empty()) {
      positional.push_back(file);
      continue;
    }
    size_t i = 0;
    while (i < arguments.size() && arguments[i].name != name)
      ++i;
    if (i == arguments.size())
      return error("function '", function.name, "' has no argument '", name,
                   "'; its arguments are ", signature(function));
    if (arguments[i].role >= Role::Seed)
      return error("argument '", name, "' has the role ",
                   runtime::name(arguments[i].role),
                   ", which --seed and --learning-rate set");
    binding.files[i] = file;
  }
  // Files without a name go to the arguments that would have no value; but when
  // there is a file for each argument, to all of them.
  auto isOpen = [&](size_t i, bool all) {
    return binding.files[i].empty() && arguments[i].role < Role::Seed &&
           (all || !isVariable(arguments[i].role));
  };
  auto countOpen = [&](bool all) {
    size_t open = 0;
    for (size_t i = 0; i < arguments.size(); ++i)
      open += isOpen(i, all);
    return open;
  };
  size_t open = countOpen(false);
  bool all = positional.size() != open && positional.size() == countOpen(true);
  if (!all && positional.size() != open)
    return error("function '", function.name, "' takes ", open,
                 " more inputs, but got ", positional.size(),
                 "; its arguments are ", signature(function));
  size_t next = 0;
  for (size_t i = 0; i < arguments.size() && next < positional.size(); ++i)
    if (isOpen(i, all))
      binding.files[i] = positional[next++];
  return binding;
}

/// Puts an array of samples into the shape that an input has per sample.
static void reshapeSamples(const Argument &argument, Tensor &tensor) {
  bool isSampled = argument.role == Role::Input || argument.role == Role::Label;
  if (!isSampled || tensor.shape.empty() || argument.shape.empty())
    return;
  Shape shape = {tensor.shape[0]};
  for (size_t i = 1; i < argument.shape.size(); ++i) {
    if (!argument.shape[i].name.empty())
      return;
    shape.push_back(argument.shape[i].size);
  }
  if (elementCount(shape) == elementCount(tensor.shape))
    tensor.shape = shape;
}

static Status prepareFolder(const std::string &path) {
  if (mkdir(path.c_str(), 0777) == 0 || errno == EEXIST)
    return Status::success();
  return error("cannot create the folder '", path, "': ", std::strerror(errno));
}

static Expected<std::vector<Tensor>> runCall(const Options &options,
                                             Session &session) {
  Expected<const Function *> function = session.findFunction(options.function);
  if (!function.ok())
    return function.takeError();
  Expected<Binding> binding = Binding::create(**function, options.inputs);
  if (!binding.ok())
    return binding.takeError();

  // Only what the arguments below do not bring needs an initial value; a file
  // of parameters may lack states.
  bool needsInit = false;
  for (size_t i = 0; i < binding->files.size(); ++i)
    needsInit = needsInit || (isVariable((*function)->arguments[i].role) &&
                              binding->files[i].empty());
  uint64_t seed = options.seed.value_or(0);
  if (needsInit)
    if (Status status = session.initialise(seed); !status.ok())
      return status;
  if (!options.parameters.empty())
    if (Status status = loadParameters(options.parameters, session);
        !status.ok())
      return status;
  session.setSettings({seed, 0, options.learningRate});

  std::vector<Tensor> tensors;
  std::vector<TensorRef> inputs;
  for (size_t i = 0; i < binding->files.size(); ++i) {
    const Argument &argument = (*function)->arguments[i];
    if (binding->files[i].empty())
      continue;
    Expected<Array> array = readArray(binding->files[i], argument.name);
    if (!array.ok())
      return array.takeError();
    Expected<Tensor> tensor = convertArray(*array, argument.type);
    if (!tensor.ok())
      return tensor.takeError();
    if (isVariable(argument.role)) {
      if (Status status = session.setVariable(argument.name, *tensor);
          !status.ok())
        return error("'", binding->files[i], "': ", status.message());
      continue;
    }
    reshapeSamples(argument, *tensor);
    inputs.emplace_back(*tensor);
    tensors.push_back(std::move(*tensor));
  }
  return session.call(options.function, inputs);
}

int neoflow::run::callCommand(const Options &options) {
  Expected<std::unique_ptr<Session>> session =
      openSession(options, {std::nullopt, options.function});
  if (stopSignal)
    return exitBySignal(stopSignal);
  if (!session.ok())
    return reportError(session.message());
  Expected<std::vector<Tensor>> results = runCall(options, **session);
  if (!results.ok())
    return reportError(results.message());
  if (Status status = prepareFolder(options.outputDir); !status.ok())
    return reportError(status.message());

  const Function &function = **(*session)->findFunction(options.function);
  nlohmann::json report = nlohmann::json::array();
  for (size_t i = 0; i < results->size(); ++i) {
    const Tensor &tensor = (*results)[i];
    std::string path = options.outputDir + "/" + std::to_string(i) + ".npy";
    if (Status status = writeNpy(path, tensor); !status.ok())
      return reportError(status.message());
    const std::string &name = function.results[i].name;
    if (options.json)
      report.push_back({{"file", path},
                        {"name", name},
                        {"type", runtime::name(tensor.type)},
                        {"shape", tensor.shape}});
    else
      std::printf("%s: %s%s%s\n", path.c_str(), name.c_str(),
                  name.empty() ? "" : " ",
                  toString(tensor.type, tensor.shape).c_str());
  }
  if (options.json)
    std::printf("%s\n", report.dump(2).c_str());
  return Success;
}
