// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables, program binding and execution. Names and shapes are resolved when
// a program is bound; a run only moves addresses.

#include "neoflow/Runtime/Session.h"

#include "BoundProgram.h"
#include "neoflow/Runtime/Checkpoint.h"

#include <algorithm>
#include <map>
#include <mutex>

using namespace neoflow;
using namespace neoflow::runtime;

namespace {
struct StoredVariable : Variable {
  DeviceMemory memory;
};
} // namespace

struct Session::Impl {
  std::shared_ptr<const Bundle> bundle;
  std::shared_ptr<Device> device;
  const Target *target = nullptr;
  std::unique_ptr<LoadedTarget> kernels;
  std::map<std::string, DeviceMemory> constants;
  DeviceMemory arena;
  std::vector<StoredVariable> variables;
  std::map<std::string, size_t> variableIndex;
  std::vector<std::unique_ptr<BoundProgram>> bound;
  StepSettings settings;
  mutable std::mutex mutex;

  const Function &functionOf(const Program &program) const {
    return bundle->manifest().functions[program.function];
  }
  Status collectVariables();
  Status loadConstants();
  Expected<BoundProgram *> bind(size_t program);
  Status prepare(BoundProgram &bound, const Function &function,
                 const void *const *arguments, void *const *results);
  Status setScalar(const Argument &argument, void *memory);
  Status run(size_t program, const void *const *arguments, void *const *results,
             LaunchObserver *observer);
  Status initialise(uint64_t seed);
};

Session::Session() : impl(std::make_unique<Impl>()) {}
Session::~Session() = default;

const Bundle &Session::bundle() const { return *impl->bundle; }
const Target &Session::target() const { return *impl->target; }
Device &Session::device() const { return *impl->device; }

Shape runtime::shapeOf(const Value &value, const Program &program) {
  // A manifest that was checked gives every dimension a size.
  return *resolve(value.shape, program.dims);
}

static size_t bytesOf(ElementType type, const Shape &shape) {
  return *elementCount(shape) * byteSize(type);
}

static bool isVariable(Role role) {
  return role == Role::Param || role == Role::State;
}

bool Session::isSetBySession(Role role) {
  return role != Role::None && role != Role::Input && role != Role::Label;
}

Expected<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Bundle> bundle,
                std::shared_ptr<Device> device, const std::string &targetName) {
  std::unique_ptr<Session> session(new Session());
  Impl &impl = *session->impl;
  impl.bundle = std::move(bundle);
  impl.device = std::move(device);
  Expected<const Target *> target =
      impl.bundle->findTarget(impl.device->name(), targetName);
  if (!target.ok())
    return target.takeError();
  impl.target = *target;
  auto fail = [&](const std::string &message) {
    return error("'", impl.bundle->path(), "': ", message);
  };

  auto artifact = impl.bundle->read(impl.target->artifact);
  if (!artifact.ok())
    return artifact.takeError();
  auto kernels = impl.device->load(*impl.target, *artifact);
  if (!kernels.ok())
    return fail(kernels.message());
  impl.kernels = std::move(*kernels);
  if (Status status = impl.loadConstants(); !status.ok())
    return fail(status.message());
  if (Status status = impl.collectVariables(); !status.ok())
    return fail(status.message());

  int64_t arenaBytes = 0;
  for (const Program &program : impl.target->programs)
    arenaBytes = std::max(arenaBytes, program.arena);
  Expected<DeviceMemory> arena =
      DeviceMemory::allocate(impl.device, arenaBytes, "the arena");
  if (!arena.ok())
    return fail(arena.message());
  impl.arena = std::move(*arena);
  impl.bound.resize(impl.target->programs.size());
  return session;
}

Status Session::Impl::collectVariables() {
  for (const Program &program : target->programs)
    for (const Argument &argument : functionOf(program).arguments) {
      if (!isVariable(argument.role))
        continue;
      Shape shape = shapeOf(argument, program);
      auto [it, isNew] = variableIndex.emplace(argument.name, variables.size());
      if (!isNew) {
        StoredVariable &known = variables[it->second];
        if (known.type != argument.type || known.shape != shape)
          return error("'", argument.name, "' is ",
                       toString(known.type, known.shape),
                       " in one program and ", toString(argument.type, shape),
                       " in another");
        // A parameter of one function may be listed as state by another.
        known.role = std::min(known.role, argument.role);
        known.zeroInit = known.zeroInit || argument.zeroInit;
        known.hasValue = known.zeroInit;
        continue;
      }
      Expected<DeviceMemory> memory = DeviceMemory::allocate(
          device, bytesOf(argument.type, shape), "'" + argument.name + "'");
      if (!memory.ok())
        return memory.takeError();
      StoredVariable variable;
      variable.name = argument.name;
      variable.role = argument.role;
      variable.type = argument.type;
      variable.shape = std::move(shape);
      variable.zeroInit = argument.zeroInit;
      variable.hasValue = argument.zeroInit;
      variable.memory = std::move(*memory);
      variables.push_back(std::move(variable));
    }
  return Status::success();
}

Status Session::Impl::loadConstants() {
  const auto &entries = bundle->entries();
  const std::string entryName = "constants.safetensors";
  bool present =
      std::any_of(entries.begin(), entries.end(),
                  [&](const auto &entry) { return entry.name == entryName; });
  if (!present)
    return Status::success();
  auto content = bundle->read(entryName);
  if (!content.ok())
    return content.takeError();
  Expected<TensorFile> file = TensorFile::parse(std::move(*content));
  if (!file.ok())
    return error(entryName, ": ", file.message());
  for (const TensorFile::Entry &entry : file->entries) {
    Expected<DeviceMemory> memory = DeviceMemory::allocate(
        device, entry.bytes, "the constant '" + entry.name + "'");
    if (!memory.ok())
      return memory.takeError();
    device->upload(memory->data(), file->data(entry), entry.bytes);
    constants[entry.name] = std::move(*memory);
  }
  return Status::success();
}

Expected<BoundProgram *> Session::Impl::bind(size_t index) {
  if (bound[index])
    return bound[index].get();
  const Program &program = target->programs[index];
  const Function &function = functionOf(program);
  auto result = std::make_unique<BoundProgram>(program);

  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const ProgramBuffer &buffer = program.buffers[i];
    if (buffer.kind == ProgramBuffer::Kind::Arena)
      result->setAddress(i, static_cast<char *>(arena.data()) + buffer.offset);
    if (buffer.kind != ProgramBuffer::Kind::Constant)
      continue;
    auto it = constants.find(buffer.name);
    if (it == constants.end() ||
        static_cast<int64_t>(it->second.size()) != buffer.bytes)
      return error("constant '", buffer.name, "' of ", buffer.bytes,
                   " bytes is not in constants.safetensors");
    result->setAddress(i, it->second.data());
  }

  bool inPlace = device->sharesHostMemory();
  auto allocate = [&](const Value &value) {
    return DeviceMemory::allocate(
        device, bytesOf(value.type, shapeOf(value, program)),
        "'" + value.name + "' of '" + function.name + "'");
  };
  std::vector<bool> isReplaced(function.arguments.size());
  for (const Result &value : function.results)
    if (value.role == Role::NewState)
      isReplaced[value.argument] = true;
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const Argument &argument = function.arguments[i];
    if (isVariable(argument.role)) {
      size_t variable = variableIndex.at(argument.name);
      result->variables[i] = variable;
      result->setAddress(program.arguments[i],
                         variables[variable].memory.data());
      continue;
    }
    // Memory of the caller is read in place, but never written.
    if (inPlace && !isReplaced[i] && !isSetBySession(argument.role))
      continue;
    Expected<DeviceMemory> memory = allocate(argument);
    if (!memory.ok())
      return memory.takeError();
    result->setAddress(program.arguments[i], memory->data());
    result->argumentMemory[i] = std::move(*memory);
  }
  for (size_t i = 0; i < function.results.size(); ++i) {
    if (!result->hasOwnBuffer(i))
      continue;
    Expected<DeviceMemory> memory = allocate(function.results[i]);
    if (!memory.ok())
      return memory.takeError();
    result->setAddress(program.results[i], memory->data());
    result->resultMemory[i] = std::move(*memory);
  }
  bound[index] = std::move(result);
  return bound[index].get();
}

Status Session::Impl::setScalar(const Argument &argument, void *memory) {
  // Wide enough for every element type.
  uint64_t bits = 0;
  if (argument.role == Role::LearningRate) {
    std::optional<double> rate =
        settings.learningRate ? settings.learningRate : argument.defaultValue;
    if (!rate)
      return error("argument '", argument.name,
                   "' needs a learning rate, and the bundle has no default");
    converter(ElementType::F64, argument.type)(&*rate, &bits, 1);
  } else if (argument.role == Role::Seed) {
    converter(ElementType::U64, argument.type)(&settings.seed, &bits, 1);
  } else {
    converter(ElementType::I64, argument.type)(&settings.step, &bits, 1);
  }
  device->upload(memory, &bits, byteSize(argument.type));
  return Status::success();
}

Status Session::Impl::prepare(BoundProgram &bound, const Function &function,
                              const void *const *arguments,
                              void *const *results) {
  const Program &program = bound.program;
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const Argument &argument = function.arguments[i];
    if (bound.variables[i] >= 0) {
      if (!variables[bound.variables[i]].hasValue)
        return error(name(argument.role), " '", argument.name,
                     "' has no value: the bundle has no function 'init' that "
                     "gives one, and none was loaded");
      continue;
    }
    void *memory = bound.argumentMemory[i].data();
    if (isSetBySession(argument.role)) {
      if (Status status = setScalar(argument, memory); !status.ok())
        return status;
      continue;
    }
    int64_t bytes = program.buffers[program.arguments[i]].bytes;
    if (!arguments[i] && bytes)
      return error("argument '", argument.name, "' of '", function.name,
                   "' has no data");
    if (memory)
      device->upload(memory, arguments[i], bytes);
    else
      bound.setAddress(program.arguments[i], const_cast<void *>(arguments[i]));
  }
  for (size_t i = 0; i < function.results.size(); ++i)
    if (bound.hasOwnBuffer(i)) {
      bool direct = results[i] && device->sharesHostMemory();
      bound.setAddress(program.results[i],
                       direct ? results[i] : bound.resultMemory[i].data());
    }
  return Status::success();
}

Status Session::Impl::run(size_t index, const void *const *arguments,
                          void *const *results, LaunchObserver *observer) {
  Expected<BoundProgram *> program = bind(index);
  if (!program.ok())
    return program.takeError();
  BoundProgram &bound = **program;
  const Function &function = functionOf(bound.program);
  if (Status status = prepare(bound, function, arguments, results);
      !status.ok())
    return status;
  if (Status status = bound.run(*kernels, observer); !status.ok())
    return status;
  for (size_t i = 0; i < function.results.size(); ++i) {
    int64_t buffer = bound.program.results[i];
    if (results[i] && bound.address(buffer) != results[i])
      device->download(results[i], bound.address(buffer),
                       bound.program.buffers[buffer].bytes);
  }
  return Status::success();
}

Status Session::run(size_t program, const void *const *arguments,
                    void *const *results, LaunchObserver *observer) {
  std::lock_guard<std::mutex> lock(impl->mutex);
  return impl->run(program, arguments, results, observer);
}

Status Session::step(size_t program, const void *const *arguments,
                     void *const *results) {
  std::lock_guard<std::mutex> lock(impl->mutex);
  Status status = impl->run(program, arguments, results, nullptr);
  if (status.ok())
    ++impl->settings.step;
  return status;
}

std::vector<Variable> Session::variables() const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  return {impl->variables.begin(), impl->variables.end()};
}

Status Session::initialise(uint64_t seed) {
  std::lock_guard<std::mutex> lock(impl->mutex);
  return impl->initialise(seed);
}

Status Session::Impl::initialise(uint64_t seed) {
  for (StoredVariable &variable : variables)
    if (variable.zeroInit && variable.memory.size()) {
      std::vector<uint8_t> zeros(variable.memory.size());
      device->upload(variable.memory.data(), zeros.data(), zeros.size());
    }
  size_t index = 0;
  const std::vector<Program> &programs = target->programs;
  while (index < programs.size() && programs[index].functionName != "init")
    ++index;
  if (index == programs.size())
    return Status::success();

  const Function &function = functionOf(programs[index]);
  for (const Argument &argument : function.arguments)
    if (argument.role != Role::Seed)
      return error("argument '", argument.name, "' of 'init' has role ",
                   name(argument.role), ", but expected seed");
  std::vector<const void *> arguments(function.arguments.size(), nullptr);
  std::vector<Tensor> values;
  std::vector<void *> results;
  for (const Result &result : function.results) {
    auto value =
        Tensor::allocate(result.type, shapeOf(result, programs[index]));
    if (!value.ok())
      return value.takeError();
    auto it = variableIndex.find(result.name);
    if (it != variableIndex.end() &&
        (variables[it->second].type != value->type ||
         variables[it->second].shape != value->shape))
      return error(
          "'init' gives ", toString(value->type, value->shape), " for '",
          result.name, "', which is ",
          toString(variables[it->second].type, variables[it->second].shape));
    results.push_back(value->data.data());
    values.push_back(std::move(*value));
  }
  settings.seed = seed;
  if (Status status = run(index, arguments.data(), results.data(), nullptr);
      !status.ok())
    return status;
  for (size_t i = 0; i < values.size(); ++i) {
    auto it = variableIndex.find(function.results[i].name);
    if (it == variableIndex.end())
      continue;
    StoredVariable &variable = variables[it->second];
    device->upload(variable.memory.data(), values[i].data.data(),
                   values[i].data.size());
    variable.hasValue = true;
  }
  return Status::success();
}

Status Session::setVariable(const std::string &name, const TensorRef &value) {
  std::lock_guard<std::mutex> lock(impl->mutex);
  auto it = impl->variableIndex.find(name);
  if (it == impl->variableIndex.end())
    return error("the model has no parameter or state '", name, "'");
  StoredVariable &variable = impl->variables[it->second];
  if (variable.type != value.type || variable.shape != value.shape)
    return error("'", name, "' is ", toString(variable.type, variable.shape),
                 ", but the value is ", toString(value.type, value.shape));
  impl->device->upload(variable.memory.data(), value.data,
                       variable.memory.size());
  variable.hasValue = true;
  return Status::success();
}

Expected<Tensor> Session::getVariable(const std::string &name) const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  auto it = impl->variableIndex.find(name);
  if (it == impl->variableIndex.end())
    return error("the model has no parameter or state '", name, "'");
  const StoredVariable &variable = impl->variables[it->second];
  if (!variable.hasValue)
    return error("'", name, "' has no value yet");
  Expected<Tensor> value = Tensor::allocate(variable.type, variable.shape);
  if (value.ok())
    impl->device->download(value->data.data(), variable.memory.data(),
                           variable.memory.size());
  return value;
}

StepSettings Session::settings() const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  return impl->settings;
}

void Session::setSettings(const StepSettings &settings) {
  std::lock_guard<std::mutex> lock(impl->mutex);
  impl->settings = settings;
}
