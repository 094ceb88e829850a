// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface over the C++ one. No exception leaves a function.

#include "neoflow-c/Runtime.h"

#include "neoflow/Runtime/Checkpoint.h"
#include "neoflow/Runtime/Session.h"

#include <new>

using namespace neoflow::runtime;

struct neoflow_status {
  std::string message;
};

struct neoflow_bundle {
  std::shared_ptr<const Bundle> bundle;
};

struct neoflow_session {
  std::unique_ptr<Session> session;
  /// Fixed for the life of the session.
  std::vector<Variable> variables;
};

/// Runs `use`, which returns a Status, and translates what comes of it.
template <typename Use>
static neoflow_status *guarded(Use use) {
  try {
    Status status = use();
    return status.ok() ? nullptr : new neoflow_status{status.message()};
  } catch (const std::exception &exception) {
    return new (std::nothrow) neoflow_status{exception.what()};
  }
}

static Status toRef(const neoflow_tensor &tensor, TensorRef &ref) {
  if (tensor.rank < 0 || tensor.rank > NEOFLOW_MAX_RANK)
    return error("a tensor has rank ", tensor.rank);
  if (tensor.type < NEOFLOW_F16 || tensor.type > NEOFLOW_I64)
    return error("a tensor has the unknown type ",
                 static_cast<int>(tensor.type));
  ref = TensorRef(static_cast<ElementType>(tensor.type),
                  Shape(tensor.shape, tensor.shape + tensor.rank), tensor.data);
  return Status::success();
}

static Status describe(ElementType type, const Shape &shape,
                       neoflow_tensor &tensor) {
  if (shape.size() > NEOFLOW_MAX_RANK)
    return error("a tensor has rank ", shape.size(),
                 ", which is more than this interface passes");
  tensor.type = static_cast<neoflow_type>(type);
  tensor.rank = static_cast<int32_t>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i)
    tensor.shape[i] = shape[i];
  return Status::success();
}

namespace {
/// A call that was matched with a program.
struct Call {
  const Function *function = nullptr;
  size_t program = 0;
  std::vector<const void *> arguments;

  Status match(const Session &session, const char *name,
               const neoflow_tensor *inputs, size_t count);
  Status describeResults(const Session &session, neoflow_tensor *outputs,
                         size_t count) const;
};
} // namespace

Status Call::match(const Session &session, const char *name,
                   const neoflow_tensor *inputs, size_t count) {
  Expected<const Function *> found = session.findFunction(name);
  if (!found.ok())
    return found.takeError();
  function = *found;
  std::vector<std::optional<Shape>> shapes(function->arguments.size());
  arguments.assign(function->arguments.size(), nullptr);
  size_t needed = 0;
  for (size_t i = 0; i < function->arguments.size(); ++i) {
    const Argument &argument = function->arguments[i];
    if (Session::isSetBySession(argument.role))
      continue;
    if (needed++ >= count)
      continue;
    TensorRef input;
    if (Status status = toRef(inputs[needed - 1], input); !status.ok())
      return status;
    if (input.type != argument.type)
      return error("argument '", argument.name, "' of '", name, "' is ",
                   toString(argument), ", but the tensor is ",
                   toString(input.type, input.shape));
    shapes[i] = input.shape;
    arguments[i] = input.data;
  }
  if (needed != count)
    return error("function '", name, "' takes ", needed, " inputs, but got ",
                 count);
  Expected<size_t> index = session.findProgram(name, shapes);
  if (!index.ok())
    return index.takeError();
  program = *index;
  return Status::success();
}

Status Call::describeResults(const Session &session, neoflow_tensor *outputs,
                             size_t count) const {
  if (count != function->results.size())
    return error("function '", function->name, "' has ",
                 function->results.size(), " results, but got room for ",
                 count);
  for (size_t i = 0; i < count; ++i) {
    const Result &result = function->results[i];
    Shape shape = shapeOf(result, session.target().programs[program]);
    if (Status status = describe(result.type, shape, outputs[i]); !status.ok())
      return status;
  }
  return Status::success();
}

static neoflow_status *run(neoflow_session *session, const char *function,
                           bool isStep, const neoflow_tensor *inputs,
                           size_t inputCount, neoflow_tensor *outputs,
                           size_t outputCount) {
  return guarded([&] {
    Call call;
    if (Status status =
            call.match(*session->session, function, inputs, inputCount);
        !status.ok())
      return status;
    if (Status status =
            call.describeResults(*session->session, outputs, outputCount);
        !status.ok())
      return status;
    std::vector<void *> results;
    for (size_t i = 0; i < outputCount; ++i)
      results.push_back(outputs[i].data);
    return isStep ? session->session->step(call.program, call.arguments.data(),
                                           results.data())
                  : session->session->run(call.program, call.arguments.data(),
                                          results.data());
  });
}

const char *neoflow_runtime_version(void) { return NEOFLOW_VERSION; }

const char *neoflow_status_message(const neoflow_status *status) {
  return status ? status->message.c_str() : "";
}

void neoflow_status_free(neoflow_status *status) { delete status; }

neoflow_status *neoflow_bundle_load(const char *path, neoflow_bundle **bundle) {
  return guarded([&] {
    auto opened = Bundle::open(path);
    if (!opened.ok())
      return opened.takeError();
    *bundle = new neoflow_bundle{std::move(*opened)};
    return Status::success();
  });
}

void neoflow_bundle_free(neoflow_bundle *bundle) { delete bundle; }

size_t neoflow_bundle_function_count(const neoflow_bundle *bundle) {
  return bundle->bundle->manifest().functions.size();
}

const char *neoflow_bundle_function_name(const neoflow_bundle *bundle,
                                         size_t index) {
  const auto &functions = bundle->bundle->manifest().functions;
  return index < functions.size() ? functions[index].name.c_str() : nullptr;
}

neoflow_status *neoflow_session_create(const neoflow_bundle *bundle,
                                       const char *device, uint32_t threads,
                                       neoflow_session **session) {
  return guarded([&] {
    auto created = createDevice(device, {threads});
    if (!created.ok())
      return created.takeError();
    auto result = Session::create(bundle->bundle, std::move(*created));
    if (!result.ok())
      return result.takeError();
    std::vector<Variable> variables = (*result)->variables();
    *session = new neoflow_session{std::move(*result), std::move(variables)};
    return Status::success();
  });
}

void neoflow_session_free(neoflow_session *session) { delete session; }

neoflow_status *neoflow_session_initialize(neoflow_session *session,
                                           uint64_t seed) {
  return guarded([&] { return session->session->initialise(seed); });
}

neoflow_status *neoflow_session_set_learning_rate(neoflow_session *session,
                                                  double rate) {
  return guarded([&] {
    StepSettings settings = session->session->settings();
    settings.learningRate = rate;
    session->session->setSettings(settings);
    return Status::success();
  });
}

int64_t neoflow_session_step_count(const neoflow_session *session) {
  return session->session->settings().step;
}

size_t neoflow_session_parameter_count(const neoflow_session *session) {
  return session->variables.size();
}

neoflow_status *neoflow_session_describe(const neoflow_session *session,
                                         size_t index, const char **name,
                                         neoflow_tensor *tensor) {
  return guarded([&] {
    if (index >= session->variables.size())
      return error("there is no parameter ", index);
    const Variable &variable = session->variables[index];
    *name = variable.name.c_str();
    tensor->data = nullptr;
    return describe(variable.type, variable.shape, *tensor);
  });
}

neoflow_status *neoflow_session_set(neoflow_session *session, const char *name,
                                    const neoflow_tensor *value) {
  return guarded([&] {
    TensorRef ref;
    if (Status status = toRef(*value, ref); !status.ok())
      return status;
    return session->session->setVariable(name, ref);
  });
}

neoflow_status *neoflow_session_get(const neoflow_session *session,
                                    const char *name,
                                    const neoflow_tensor *value) {
  return guarded([&] {
    TensorRef ref;
    if (Status status = toRef(*value, ref); !status.ok())
      return status;
    Expected<Tensor> stored = session->session->getVariable(name);
    if (!stored.ok())
      return stored.takeError();
    if (stored->type != ref.type || stored->shape != ref.shape)
      return error("'", name, "' is ", toString(stored->type, stored->shape),
                   ", but the tensor is ", toString(ref.type, ref.shape));
    converter(ref.type, ref.type)(stored->data.data(), ref.data,
                                  *elementCount(ref.shape));
    return Status::success();
  });
}

neoflow_status *neoflow_session_call(neoflow_session *session,
                                     const char *function,
                                     const neoflow_tensor *inputs,
                                     size_t inputCount, neoflow_tensor *outputs,
                                     size_t outputCount) {
  return run(session, function, false, inputs, inputCount, outputs,
             outputCount);
}

neoflow_status *neoflow_session_step(neoflow_session *session,
                                     const neoflow_tensor *inputs,
                                     size_t inputCount, neoflow_tensor *outputs,
                                     size_t outputCount) {
  return run(session, "train_step", true, inputs, inputCount, outputs,
             outputCount);
}

neoflow_status *neoflow_session_result_shapes(const neoflow_session *session,
                                              const char *function,
                                              const neoflow_tensor *inputs,
                                              size_t inputCount,
                                              neoflow_tensor *outputs,
                                              size_t *outputCount) {
  return guarded([&] {
    Call call;
    if (Status status =
            call.match(*session->session, function, inputs, inputCount);
        !status.ok())
      return status;
    if (!outputs) {
      *outputCount = call.function->results.size();
      return Status::success();
    }
    return call.describeResults(*session->session, outputs, *outputCount);
  });
}

neoflow_status *neoflow_session_save(const neoflow_session *session,
                                     const char *path) {
  return guarded([&] {
    StepSettings settings = session->session->settings();
    Position position;
    position.step = settings.step;
    position.seed = settings.seed;
    position.learningRate = settings.learningRate;
    return saveCheckpoint(path, *session->session, position);
  });
}

neoflow_status *neoflow_session_load(neoflow_session *session,
                                     const char *path) {
  return guarded([&] { return loadParameters(path, *session->session); });
}
