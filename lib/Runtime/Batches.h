// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What training and evaluation share: programs by batch size, the pipeline
// that prepares batches, and running means of the results.

#ifndef NEOFLOW_LIB_RUNTIME_BATCHES_H
#define NEOFLOW_LIB_RUNTIME_BATCHES_H

#include "neoflow/Runtime/Trainer.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace neoflow::runtime {

/// The specialisations of a function that differ in the number of samples only.
struct BatchPrograms {
  const Function *function = nullptr;
  /// The size of a full batch.
  int64_t batch = 0;
  /// Of the program for a full batch.
  Dims dims;
  std::map<int64_t, size_t> bySize;

  static Expected<BatchPrograms> find(const Session &session,
                                      const std::string &function,
                                      std::optional<int64_t> batch);
  /// "64, 1".
  std::string listSizes() const;
};

/// Some samples to run together.
struct BatchSpec {
  /// Position of the first sample in the order of the epoch.
  int64_t first = 0;
  int64_t size = 0;
  int64_t epoch = 0;
  size_t program = 0;
  bool lastOfEpoch = false;
};

/// A batch with its data in memory, ready to run.
struct Batch {
  BatchSpec spec;
  std::vector<Buffer> columns;
  /// Addresses by argument of the function.
  std::vector<const void *> arguments;
};

/// Prepares batches one ahead of their use, on a thread of its own or, without
/// prefetch, when they are asked for. Contents do not depend on which.
class BatchPipeline {
public:
  /// Gives the next batch; false after the last one. Called from one thread at
  /// a time.
  using Source = std::function<bool(BatchSpec &)>;
  /// Gives the sample at a position of an epoch.
  using Order = std::function<int64_t(int64_t epoch, int64_t position)>;

  static Expected<std::unique_ptr<BatchPipeline>>
  create(const Dataset &data, size_t arguments, int64_t largest, Source source,
         Order order, bool prefetch);
  ~BatchPipeline();

  /// The next batch, or null after the last one. The one before is given back.
  const Batch *next();

private:
  BatchPipeline(const Dataset &data, Source source, Order order)
      : data(data), source(std::move(source)), order(std::move(order)) {}
  bool fill(Batch &batch);
  void produce();

  const Dataset &data;
  Source source;
  Order order;
  Batch slots[2];
  /// Batches produced, taken and given back so far.
  int64_t produced = 0, taken = 0, returned = 0;
  bool ended = false, closing = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread worker;
};

/// Reads the scalar results of a program and keeps their means.
class MetricReader {
public:
  explicit MetricReader(const Function &function);

  /// Addresses for the results of the function.
  void *const *results() { return addresses.data(); }
  /// Adds what a batch of that many samples has left there.
  void add(int64_t samples);
  const Metrics &last() const { return current; }
  Metrics mean() const;
  void reset();

private:
  struct Slot {
    ElementType type;
    ConvertFn toDouble;
    uint64_t bits = 0;
  };
  std::vector<Slot> slots;
  std::vector<void *> addresses;
  Metrics current;
  std::vector<double> sums;
  double weight = 0;
};

} // namespace neoflow::runtime

#endif // NEOFLOW_LIB_RUNTIME_BATCHES_H
