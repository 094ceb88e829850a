// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The training loop.

#include "neoflow/Runtime/Trainer.h"

#include "Batches.h"
#include "neoflow/Runtime/Checkpoint.h"
#include "neoflow/Runtime/Shuffle.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <unistd.h>

using namespace neoflow;
using namespace neoflow::runtime;

TrainListener::~TrainListener() = default;
void TrainListener::note(const std::string &) {}
void TrainListener::stepDone(const StepReport &) {}
void TrainListener::epochDone(const EpochReport &) {}

namespace {
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The batches of a training from a position on.
class BatchSchedule {
public:
  BatchSchedule(const BatchPrograms &programs, int64_t used,
                const TrainOptions &options, const Position &start)
      : programs(programs), used(used), step(start.step), epoch(start.epoch),
        sample(start.sample) {
    int64_t perEpoch = (used + programs.batch - 1) / programs.batch;
    int64_t doneInEpoch = (sample + programs.batch - 1) / programs.batch;
    lastStep = INT64_MAX;
    if (options.epochs &&
        *options.epochs < INT64_MAX / std::max<int64_t>(perEpoch, 1))
      lastStep = step - doneInEpoch + (*options.epochs - epoch) * perEpoch;
    if (options.steps)
      lastStep = std::min(lastStep, *options.steps);
  }

  int64_t totalSteps() const { return lastStep; }

  bool next(BatchSpec &spec) {
    if (step >= lastStep)
      return false;
    spec.epoch = epoch;
    spec.first = sample;
    spec.size = std::min(programs.batch, used - sample);
    spec.program = programs.bySize.at(spec.size);
    sample += spec.size;
    spec.lastOfEpoch = sample == used;
    if (spec.lastOfEpoch) {
      ++epoch;
      sample = 0;
    }
    ++step;
    return true;
  }

private:
  const BatchPrograms &programs;
  int64_t used, step, epoch, sample, lastStep;
};

/// One training; its parts are called once, in this order.
struct Training {
  Session &session;
  const TrainOptions &options;
  TrainListener &listener;
  BatchPrograms programs = {};
  std::optional<Dataset> data = {};
  /// Samples of an epoch that are trained on.
  int64_t used = 0;
  Position position = {};
  bool saved = false;
  Clock::time_point lastSave = {};
  TrainReport report = {};

  Status prepareData(const NamedArrays &arrays);
  Status prepareTail();
  Status prepareValues();
  Status resume();
  Status run();
  Status save();
  Status finishStep(const BatchSpec &spec, const Metrics &metrics);
};
} // namespace

Status Training::prepareData(const NamedArrays &arrays) {
  if (!options.epochs && !options.steps)
    return error("the number of epochs or of steps must be given");
  Expected<BatchPrograms> found =
      BatchPrograms::find(session, "train_step", options.batch);
  if (!found.ok())
    return found.takeError();
  programs = std::move(*found);
  Expected<Dataset> dataset =
      Dataset::create(*programs.function, programs.dims, arrays);
  if (!dataset.ok())
    return dataset.takeError();
  data = std::move(*dataset);
  for (const std::string &note : data->notes())
    listener.note(note);
  return prepareTail();
}

Status Training::prepareTail() {
  used = data->samples();
  int64_t tail = used % programs.batch;
  if (tail == 0 || programs.bySize.count(tail))
    return Status::success();
  std::string reason =
      "there is no specialisation of 'train_step' for the last " +
      std::to_string(tail) + " of " + std::to_string(used) +
      " samples (batches: " + programs.listSizes() + ")";
  if (options.tail == TailPolicy::Error)
    return Status::error(reason);
  used -= tail;
  if (used == 0)
    return error(reason, ", and there are no others");
  listener.note(reason + "; every epoch leaves them out");
  return Status::success();
}

Status Training::resume() {
  Expected<Position> stored = loadCheckpoint(options.checkpoint, session);
  if (!stored.ok())
    return stored.takeError();
  auto differs = [&](const char *what, const auto &before, const auto &now) {
    return error("'", options.checkpoint, "' is of a training with ", what, " ",
                 before, ", but this one has ", now);
  };
  position = *stored;
  if (options.seed && *options.seed != position.seed)
    return differs("seed", position.seed, *options.seed);
  if (position.samples != data->samples())
    return differs("a number of samples of", position.samples, data->samples());
  if (position.batch != programs.batch)
    return differs("a batch of", position.batch, programs.batch);
  if (position.shuffle != options.shuffle)
    return differs("shuffling", position.shuffle ? "on" : "off",
                   options.shuffle ? "on" : "off");
  if (position.sample < 0 || position.sample >= used || position.step < 0 ||
      position.sample % programs.batch)
    return error("'", options.checkpoint, "' has a position outside the data");
  if (options.learningRate)
    position.learningRate = options.learningRate;
  listener.note("continuing from '" + options.checkpoint + "' after step " +
                std::to_string(position.step));
  return Status::success();
}

Status Training::prepareValues() {
  const Argument *rate = nullptr;
  for (const Argument &argument : programs.function->arguments)
    if (argument.role == Role::LearningRate)
      rate = &argument;
  if (options.learningRate && !rate)
    return error("'train_step' has no argument with role learning_rate, so "
                 "that the learning rate cannot be chosen");
  position.learningRate = options.learningRate;
  if (rate && !position.learningRate)
    position.learningRate = rate->defaultValue;
  position.seed = options.seed.value_or(0);
  position.samples = data->samples();
  position.batch = programs.batch;
  position.shuffle = options.shuffle;

  bool present = !options.checkpoint.empty() &&
                 access(options.checkpoint.c_str(), F_OK) == 0;
  if (options.resume && present) {
    if (Status status = resume(); !status.ok())
      return status;
    saved = true;
  } else {
    if (options.resume)
      listener.note("there is no checkpoint '" + options.checkpoint +
                    "' yet; starting from the beginning");
    if (Status status = session.initialise(position.seed); !status.ok())
      return status;
    if (!options.parameters.empty())
      if (Status status = loadParameters(options.parameters, session);
          !status.ok())
        return status;
  }
  session.setSettings({position.seed, position.step, position.learningRate});
  return Status::success();
}

Status Training::save() {
  if (options.checkpoint.empty() || saved)
    return Status::success();
  if (Status status = saveCheckpoint(options.checkpoint, session, position);
      !status.ok())
    return error(status.message(), access(options.checkpoint.c_str(), F_OK) == 0
                                       ? "; the previous checkpoint is kept"
                                       : "");
  saved = true;
  lastSave = Clock::now();
  return Status::success();
}

/// Moves the position behind a batch and judges its loss.
Status Training::finishStep(const BatchSpec &spec, const Metrics &metrics) {
  ++position.step;
  position.sample = spec.lastOfEpoch ? 0 : spec.first + spec.size;
  position.epoch = spec.epoch + (spec.lastOfEpoch ? 1 : 0);
  saved = false;
  ++report.ownSteps;
  report.ownSamples += spec.size;
  double loss = metrics.loss < 0 ? 0 : metrics.values[metrics.loss];
  if (std::isfinite(loss))
    return Status::success();
  return error("the loss is ", std::isnan(loss) ? "nan" : "infinite",
               " at step ", position.step, " (epoch ", spec.epoch + 1, ")");
}

Status Training::run() {
  BatchSchedule schedule(programs, used, options, position);
  Permutation permutation(position.seed, position.epoch, data->samples());
  int64_t permutedEpoch = position.epoch;
  auto order = [&](int64_t epoch, int64_t at) -> int64_t {
    if (!options.shuffle)
      return at;
    if (epoch != permutedEpoch) {
      permutation = Permutation(position.seed, epoch, data->samples());
      permutedEpoch = epoch;
    }
    return permutation(at);
  };
  Expected<std::unique_ptr<BatchPipeline>> pipeline = BatchPipeline::create(
      *data, programs.function->arguments.size(), programs.batch,
      [&](BatchSpec &spec) { return schedule.next(spec); }, order,
      options.prefetch);
  if (!pipeline.ok())
    return pipeline.takeError();

  MetricReader metrics(*programs.function);
  Clock::time_point start = Clock::now(), epochStart = start;
  int64_t epochSteps = 0;
  bool warned = false;
  while (const Batch *batch = (*pipeline)->next()) {
    const BatchSpec &spec = batch->spec;
    if (Status status = session.step(spec.program, batch->arguments.data(),
                                     metrics.results());
        !status.ok())
      return status;
    metrics.add(spec.size);
    ++epochSteps;
    Status judged = finishStep(spec, metrics.last());
    if (!judged.ok() && options.stopOnNan)
      return judged;
    listener.stepDone({position.step, schedule.totalSteps(), spec.epoch + 1,
                       spec.size, &metrics.last()});
    if (!judged.ok() && !warned) {
      listener.note(judged.message());
      warned = true;
    }
    if (spec.lastOfEpoch) {
      report.epochReports.push_back({spec.epoch + 1, epochSteps,
                                     secondsSince(epochStart), metrics.mean()});
      listener.epochDone(report.epochReports.back());
      metrics.reset();
      epochSteps = 0;
      epochStart = Clock::now();
    }
    bool due = options.checkpointEvery > 0 &&
               position.step % options.checkpointEvery == 0;
    bool epochIsDue = spec.lastOfEpoch && secondsSince(lastSave) > 1;
    if (due || epochIsDue)
      if (Status status = save(); !status.ok())
        return status;
    if (options.stop && (report.signal = options.stop->load()))
      break;
  }
  report.seconds = secondsSince(start);
  report.steps = position.step;
  report.epochs = position.epoch;
  report.seed = position.seed;
  return save();
}

Expected<TrainReport> runtime::train(Session &session, const NamedArrays &data,
                                     const TrainOptions &options,
                                     TrainListener &listener) {
  Training training{session, options, listener};
  if (Status status = training.prepareData(data); !status.ok())
    return status;
  if (Status status = training.prepareValues(); !status.ok())
    return status;
  if (Status status = training.run(); !status.ok())
    return status;
  return std::move(training.report);
}
