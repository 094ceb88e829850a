// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs by batch size, the batch pipeline, and means of results.

#include "Batches.h"

#include <algorithm>
#include <limits>

using namespace neoflow;
using namespace neoflow::runtime;

static bool isSampled(Role role) {
  return role == Role::Input || role == Role::Label;
}

/// The number of samples of a program, or -1 if its inputs disagree or there
/// are none; the shapes of one sample go to `rest`.
static int64_t samplesOf(const Function &function, const Program &program,
                         std::vector<Shape> &rest) {
  int64_t samples = -1;
  for (const Argument &argument : function.arguments) {
    if (!isSampled(argument.role))
      continue;
    Shape shape = shapeOf(argument, program);
    if (shape.empty() || (samples >= 0 && shape[0] != samples))
      return -1;
    samples = shape[0];
    rest.emplace_back(shape.begin() + 1, shape.end());
  }
  return samples;
}

/// Whether a program has the sizes that the module states.
static bool hasDefaultSizes(const Program &program, const Dims &defaults) {
  return std::all_of(
      program.dims.begin(), program.dims.end(), [&](const auto &dimension) {
        auto it = defaults.find(dimension.first);
        return it != defaults.end() && it->second == dimension.second;
      });
}

Expected<BatchPrograms> BatchPrograms::find(const Session &session,
                                            const std::string &name,
                                            std::optional<int64_t> batch) {
  Expected<const Function *> function = session.findFunction(name);
  if (!function.ok())
    return function.takeError();
  BatchPrograms result;
  result.function = *function;
  struct Candidate {
    size_t program;
    int64_t samples;
    std::vector<Shape> rest;
  };
  std::vector<Candidate> candidates;
  const std::vector<Program> &all = session.target().programs;
  const Candidate *best = nullptr;
  for (size_t index : session.programs(name)) {
    Candidate candidate{index, 0, {}};
    candidate.samples = samplesOf(**function, all[index], candidate.rest);
    if (candidate.samples > 0)
      candidates.push_back(std::move(candidate));
  }
  std::string sizes;
  const Dims &defaults = session.bundle().manifest().dims;
  for (const Candidate &candidate : candidates) {
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(candidate.samples);
    if (batch && candidate.samples != *batch)
      continue;
    bool isDefault = hasDefaultSizes(all[candidate.program], defaults);
    bool bestIsDefault = best && hasDefaultSizes(all[best->program], defaults);
    if (!best || (isDefault && !bestIsDefault) ||
        (isDefault == bestIsDefault && candidate.samples > best->samples))
      best = &candidate;
  }
  if (candidates.empty())
    return error("function '", name,
                 "' has no program whose inputs share an axis of samples");
  if (!best)
    return error("function '", name, "' has no specialisation for a batch of ",
                 *batch, "; it has: ", sizes);
  result.batch = best->samples;
  result.dims = all[best->program].dims;
  for (const Candidate &candidate : candidates)
    if (candidate.rest == best->rest)
      result.bySize.emplace(candidate.samples, candidate.program);
  return result;
}

std::string BatchPrograms::listSizes() const {
  std::string sizes;
  for (auto it = bySize.rbegin(); it != bySize.rend(); ++it)
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(it->first);
  return sizes;
}

Expected<std::unique_ptr<BatchPipeline>>
BatchPipeline::create(const Dataset &data, size_t arguments, int64_t largest,
                      Source source, Order order, bool prefetch) {
  std::unique_ptr<BatchPipeline> pipeline(
      new BatchPipeline(data, std::move(source), std::move(order)));
  for (Batch &slot : pipeline->slots) {
    slot.arguments.resize(arguments, nullptr);
    for (const Dataset::Column &column : data.columns()) {
      Expected<Buffer> buffer =
          Buffer::allocate(largest * column.sampleBytes, "a batch of data");
      if (!buffer.ok())
        return buffer.takeError();
      slot.arguments[column.argument] = buffer->data();
      slot.columns.push_back(std::move(*buffer));
    }
  }
  if (prefetch)
    pipeline->worker = std::thread([raw = pipeline.get()] { raw->produce(); });
  return pipeline;
}

BatchPipeline::~BatchPipeline() {
  if (!worker.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    closing = true;
  }
  changed.notify_all();
  worker.join();
}

bool BatchPipeline::fill(Batch &batch) {
  if (!source(batch.spec))
    return false;
  for (int64_t i = 0; i < batch.spec.size; ++i) {
    int64_t sample = order(batch.spec.epoch, batch.spec.first + i);
    for (size_t c = 0; c < batch.columns.size(); ++c) {
      const Dataset::Column &column = data.columns()[c];
      data.get(column, sample,
               batch.columns[c].bytes() + i * column.sampleBytes);
    }
  }
  return true;
}

void BatchPipeline::produce() {
  while (true) {
    Batch *slot;
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return closing || produced - returned < 2; });
      if (closing)
        return;
      slot = &slots[produced % 2];
    }
    bool more = fill(*slot);
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (more)
        ++produced;
      else
        ended = true;
    }
    changed.notify_all();
    if (!more)
      return;
  }
}

const Batch *BatchPipeline::next() {
  if (!worker.joinable()) {
    ended = ended || !fill(slots[0]);
    return ended ? nullptr : &slots[0];
  }
  std::unique_lock<std::mutex> lock(mutex);
  returned = taken;
  changed.notify_all();
  changed.wait(lock, [&] { return ended || produced > taken; });
  if (produced == taken)
    return nullptr;
  return &slots[taken++ % 2];
}

std::optional<double> Metrics::find(const std::string &name) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return values[i];
  return std::nullopt;
}

MetricReader::MetricReader(const Function &function) {
  addresses.resize(function.results.size(), nullptr);
  std::vector<size_t> positions;
  for (size_t i = 0; i < function.results.size(); ++i) {
    const Result &result = function.results[i];
    if (result.role != Role::Loss && result.role != Role::Metric)
      continue;
    if (result.role == Role::Loss && current.loss < 0)
      current.loss = slots.size();
    current.names.push_back(result.name.empty() ? name(result.role)
                                                : result.name);
    slots.push_back({result.type, converter(result.type, ElementType::F64)});
    positions.push_back(i);
  }
  for (size_t i = 0; i < slots.size(); ++i)
    addresses[positions[i]] = &slots[i].bits;
  current.values.resize(slots.size());
  sums.resize(slots.size());
}

void MetricReader::add(int64_t samples) {
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].toDouble(&slots[i].bits, &current.values[i], 1);
    sums[i] += current.values[i] * samples;
  }
  weight += samples;
}

Metrics MetricReader::mean() const {
  Metrics means = current;
  for (size_t i = 0; i < sums.size(); ++i)
    means.values[i] = weight > 0 ? sums[i] / weight
                                 : std::numeric_limits<double>::quiet_NaN();
  return means;
}

void MetricReader::reset() {
  std::fill(sums.begin(), sums.end(), 0.0);
  weight = 0;
}
