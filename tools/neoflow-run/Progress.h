// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Progress on stderr: a line that is rewritten when it is a terminal, a line
// every now and then otherwise.

#ifndef NEOFLOW_TOOLS_NEOFLOW_RUN_PROGRESS_H
#define NEOFLOW_TOOLS_NEOFLOW_RUN_PROGRESS_H

#include "neoflow/Runtime/Trainer.h"

#include <chrono>
#include <string>
#include <vector>

namespace neoflow::run {

class Progress : public runtime::TrainListener {
public:
  /// `what` begins every line, "epoch" lines say which of `epochs`.
  Progress(std::string what, std::optional<int64_t> epochs);
  ~Progress() override;

  void note(const std::string &text) override;
  void stepDone(const runtime::StepReport &report) override;
  void epochDone(const runtime::EpochReport &report) override;

  /// Takes the rewritten line away, before something else is printed.
  void erase();

  /// The loss of every step.
  const std::vector<double> &losses() const { return lossOfStep; }

private:
  using Clock = std::chrono::steady_clock;

  void show(const runtime::StepReport &report, double now);

  std::string what;
  std::optional<int64_t> epochs;
  bool isTerminal;
  bool lineIsOpen = false;
  Clock::time_point start;
  double nextTime;
  /// Of this run.
  int64_t steps = 0, samples = 0;
  std::vector<double> lossOfStep;
};

/// "loss 0.4312  accuracy 0.8519".
std::string describe(const runtime::Metrics &metrics);

} // namespace neoflow::run

#endif // NEOFLOW_TOOLS_NEOFLOW_RUN_PROGRESS_H
