// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training and evaluation of a session on data: batches in shuffled order,
// prepared while the previous one computes; metrics; checkpoints and exact
// resume. What the user sees is up to a listener.

#ifndef NEOFLOW_RUNTIME_TRAINER_H
#define NEOFLOW_RUNTIME_TRAINER_H

#include "neoflow/Runtime/Dataset.h"
#include "neoflow/Runtime/Session.h"
#include "neoflow/Runtime/Status.h"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace neoflow::runtime {

/// What to do with the samples after the last full batch of an epoch when
/// there is no specialisation for their number.
enum class TailPolicy : uint8_t { Drop, Error };

struct TrainOptions {
  /// Of the whole training, including what a resumed run has behind it. At
  /// least one of the two must be given; the first one reached ends it.
  std::optional<int64_t> epochs;
  std::optional<int64_t> steps;
  /// Samples of a full batch; the default of the bundle if absent.
  std::optional<int64_t> batch;
  /// 0 if absent, or that of the checkpoint.
  std::optional<uint64_t> seed;
  std::optional<double> learningRate;
  bool shuffle = true;
  TailPolicy tail = TailPolicy::Drop;
  bool stopOnNan = false;
  /// A safetensors file with the initial parameters.
  std::string parameters;
  /// Where checkpoints go; none are written if empty. One is written at the
  /// end, and after every epoch unless the last one is less than a second old.
  std::string checkpoint;
  /// Also after every so many steps, unless 0.
  int64_t checkpointEvery = 0;
  /// Continue from the checkpoint if there is one.
  bool resume = false;
  /// Gather batches on a thread of their own.
  bool prefetch = true;
  /// Training ends after the current step when this is not 0.
  const std::atomic<int> *stop = nullptr;
};

/// Means over samples of results with the roles loss and metric.
struct Metrics {
  std::vector<std::string> names;
  std::vector<double> values;
  /// Position of the loss, or -1.
  int64_t loss = -1;

  std::optional<double> find(const std::string &name) const;
};

struct StepReport {
  /// Steps done, including this one, and in the whole training.
  int64_t step = 0;
  int64_t totalSteps = 0;
  /// Counted from 1.
  int64_t epoch = 0;
  /// Samples of this step.
  int64_t samples = 0;
  /// Of this step's batch. Valid during the call only.
  const Metrics *metrics = nullptr;
};

struct EpochReport {
  int64_t epoch = 0;
  int64_t steps = 0;
  double seconds = 0;
  /// Over the samples that this run has seen of the epoch.
  Metrics metrics;
};

class TrainListener {
public:
  virtual ~TrainListener();
  /// Something the user should know; one line.
  virtual void note(const std::string &text);
  virtual void stepDone(const StepReport &report);
  virtual void epochDone(const EpochReport &report);
};

struct TrainReport {
  /// Steps and epochs of the whole training that are done.
  int64_t steps = 0;
  int64_t epochs = 0;
  /// Steps, samples and seconds of this run.
  int64_t ownSteps = 0;
  int64_t ownSamples = 0;
  double seconds = 0;
  uint64_t seed = 0;
  /// The signal that ended it, or 0.
  int signal = 0;
  std::vector<EpochReport> epochReports;
};

/// Runs `train_step` over the data. When it fails, parameters are those of the
/// last complete step and the last checkpoint is in place.
Expected<TrainReport> train(Session &session, const NamedArrays &data,
                            const TrainOptions &options,
                            TrainListener &listener);

struct EvaluateOptions {
  /// The largest batch to use; the default of the bundle if absent.
  std::optional<int64_t> batch;
  bool prefetch = true;
  const std::atomic<int> *stop = nullptr;
};

struct EvaluateReport {
  int64_t samples = 0;
  double seconds = 0;
  int signal = 0;
  Metrics metrics;
};

/// Runs `evaluate` over every sample of the data; fails when the
/// specialisations that there are cannot cover them.
Expected<EvaluateReport> evaluate(Session &session, const NamedArrays &data,
                                  const EvaluateOptions &options,
                                  TrainListener &listener);

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_TRAINER_H
