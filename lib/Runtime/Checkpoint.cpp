// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints: which tensors and which numbers go into the file, and back.

#include "neoflow/Runtime/Checkpoint.h"

#include "neoflow/Runtime/Session.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace neoflow;
using namespace neoflow::runtime;

static const char kind[] = "neoflow-checkpoint-1";

Status runtime::saveCheckpoint(const std::string &path, const Session &session,
                               const Position &position) {
  std::vector<Tensor> values;
  std::vector<NamedTensor> tensors;
  for (const Variable &variable : session.variables()) {
    Expected<Tensor> value = session.getVariable(variable.name);
    if (!value.ok())
      return value.takeError();
    tensors.push_back({variable.name, TensorRef(*value)});
    values.push_back(std::move(*value));
  }
  std::map<std::string, std::string> metadata = {
      {"format", kind},
      {"model", session.bundle().manifest().model},
      {"step", std::to_string(position.step)},
      {"epoch", std::to_string(position.epoch)},
      {"sample", std::to_string(position.sample)},
      {"seed", std::to_string(position.seed)},
      {"samples", std::to_string(position.samples)},
      {"batch", std::to_string(position.batch)},
      {"shuffle", position.shuffle ? "true" : "false"},
  };
  if (position.learningRate) {
    // Hexadecimal: exactly the number of this run.
    char text[40];
    std::snprintf(text, sizeof text, "%a", *position.learningRate);
    metadata["learning_rate"] = text;
  }
  return writeTensorFile(path, metadata, tensors);
}

static Status setFrom(const TensorFile &file, const TensorFile::Entry &entry,
                      Session &session) {
  // Tensors lie in the file without alignment, and are copied.
  return session.setVariable(
      entry.name, TensorRef(entry.type, entry.shape,
                            const_cast<uint8_t *>(file.data(entry))));
}

/// Checks names, types and shapes of all tensors before the first one is set.
static Status putTensors(const TensorFile &file, Session &session,
                         bool needStates) {
  std::vector<Variable> variables = session.variables();
  for (const Variable &variable : variables) {
    const TensorFile::Entry *entry = file.find(variable.name);
    if (!entry) {
      if (variable.role == Role::Param || needStates)
        return error("there is no tensor for ", name(variable.role), " '",
                     variable.name, "'");
      continue;
    }
    if (entry->type != variable.type || entry->shape != variable.shape)
      return error("'", variable.name, "' is ",
                   toString(entry->type, entry->shape), ", but the model has ",
                   toString(variable.type, variable.shape));
  }
  for (const TensorFile::Entry &entry : file.entries)
    if (std::none_of(
            variables.begin(), variables.end(),
            [&](const Variable &known) { return known.name == entry.name; }))
      return error("the model has no parameter or state '", entry.name, "'");
  for (const TensorFile::Entry &entry : file.entries)
    if (Status status = setFrom(file, entry, session); !status.ok())
      return status;
  return Status::success();
}

static bool readNumber(const TensorFile &file, const char *key,
                       uint64_t &value) {
  auto it = file.metadata.find(key);
  if (it == file.metadata.end())
    return false;
  char *end = nullptr;
  value = std::strtoull(it->second.c_str(), &end, 10);
  return end != it->second.c_str() && *end == 0;
}

static bool readPosition(const TensorFile &file, Position &position) {
  uint64_t step, epoch, sample, samples, batch;
  if (!readNumber(file, "step", step) || !readNumber(file, "epoch", epoch) ||
      !readNumber(file, "sample", sample) ||
      !readNumber(file, "seed", position.seed) ||
      !readNumber(file, "samples", samples) ||
      !readNumber(file, "batch", batch))
    return false;
  position.step = step;
  position.epoch = epoch;
  position.sample = sample;
  position.samples = samples;
  position.batch = batch;
  auto shuffle = file.metadata.find("shuffle");
  position.shuffle =
      shuffle == file.metadata.end() || shuffle->second == "true";
  if (auto rate = file.metadata.find("learning_rate");
      rate != file.metadata.end())
    position.learningRate = std::strtod(rate->second.c_str(), nullptr);
  return true;
}

Expected<Position> runtime::loadCheckpoint(const std::string &path,
                                           Session &session) {
  Expected<TensorFile> file = TensorFile::read(path);
  if (!file.ok())
    return file.takeError();
  auto format = file->metadata.find("format");
  Position position;
  if (format == file->metadata.end() || format->second != kind ||
      !readPosition(*file, position))
    return error("'", path,
                 "' is not a checkpoint of this runtime, so that training "
                 "cannot resume from it; --params loads parameters alone");
  if (Status status = putTensors(*file, session, true); !status.ok())
    return error("'", path, "': ", status.message());
  return position;
}

Status runtime::loadParameters(const std::string &path, Session &session) {
  Expected<TensorFile> file = TensorFile::read(path);
  if (!file.ok())
    return file.takeError();
  if (Status status = putTensors(*file, session, false); !status.ok())
    return error("'", path, "': ", status.message());
  return Status::success();
}
