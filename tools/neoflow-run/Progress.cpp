// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The progress lines.

#include "Progress.h"

#include "Tool.h"

#include <cstdio>

#include <unistd.h>

using namespace neoflow;
using namespace neoflow::run;
using namespace neoflow::runtime;

/// Seconds between two lines.
static double interval(bool isTerminal) { return isTerminal ? 0.1 : 10; }

Progress::Progress(std::string what, std::optional<int64_t> epochs)
    : what(std::move(what)), epochs(epochs), isTerminal(isatty(STDERR_FILENO)),
      start(Clock::now()), nextTime(interval(isTerminal)) {}

Progress::~Progress() { erase(); }

void Progress::erase() {
  if (lineIsOpen)
    std::fputs("\r\x1b[K", stderr);
  lineIsOpen = false;
}

void Progress::note(const std::string &text) {
  erase();
  reportNote(text);
}

std::string neoflow::run::describe(const Metrics &metrics) {
  std::string text;
  for (size_t i = 0; i < metrics.names.size(); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%.4f", metrics.values[i]);
    text += (i ? "  " : "") + metrics.names[i] + " " + number;
  }
  return text;
}

static std::string duration(double seconds) {
  auto total = static_cast<long>(seconds + 0.5);
  char text[40];
  if (total >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", total / 3600,
                  total / 60 % 60, total % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", total / 60, total % 60);
  return text;
}

void Progress::stepDone(const StepReport &report) {
  ++steps;
  samples += report.samples;
  if (report.metrics->loss >= 0)
    lossOfStep.push_back(report.metrics->values[report.metrics->loss]);
  double now = std::chrono::duration<double>(Clock::now() - start).count();
  if (now < nextTime)
    return;
  nextTime = now + interval(isTerminal);
  show(report, now);
}

void Progress::show(const StepReport &report, double now) {
  std::string line = what;
  if (epochs)
    line += "epoch " + std::to_string(report.epoch) + "/" +
            std::to_string(*epochs) + "  ";
  line += "step " + std::to_string(report.step) + "/" +
          std::to_string(report.totalSteps) + "  " + describe(*report.metrics);
  char rate[64];
  std::snprintf(rate, sizeof rate, "  %.0f samples/s", samples / now);
  double left = (report.totalSteps - report.step) * (now / steps);
  line += rate + ("  " + duration(left)) + " left";
  if (isTerminal)
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  else
    std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  lineIsOpen = isTerminal;
}

void Progress::epochDone(const EpochReport &report) {
  erase();
  std::string of = epochs ? "/" + std::to_string(*epochs) : "";
  std::fprintf(stderr, "epoch %ld%s: %s  (%ld steps in %.1f s)\n",
               static_cast<long>(report.epoch), of.c_str(),
               describe(report.metrics).c_str(),
               static_cast<long>(report.steps), report.seconds);
}
