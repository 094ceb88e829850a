// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the subcommands of neoflow-run share: their options, messages, and the
// way from a file to a session.

#ifndef NEOFLOW_TOOLS_NEOFLOW_RUN_TOOL_H
#define NEOFLOW_TOOLS_NEOFLOW_RUN_TOOL_H

#include "neoflow/Runtime/Runtime.h"

#include <atomic>
#include <string>
#include <vector>

namespace neoflow::run {

enum ExitCode { Success = 0, Failure = 1, Usage = 2 };

/// Everything that the command line can say.
struct Options {
  std::string file;
  std::string device = "cpu";
  unsigned threads = 0;
  std::string target;
  bool json = false;
  std::vector<std::string> specialize;

  // Data and parameters.
  std::vector<std::string> inputs;
  std::vector<std::string> labels;
  std::vector<std::string> testInputs;
  std::vector<std::string> testLabels;
  std::string data;
  std::string parameters;

  // train
  std::optional<int64_t> epochs;
  std::optional<int64_t> steps;
  std::optional<int64_t> batch;
  std::optional<uint64_t> seed;
  std::optional<double> learningRate;
  bool shuffle = true;
  std::string tail = "drop";
  bool stopOnNan = false;
  std::string checkpoint;
  int64_t checkpointEvery = 0;
  bool resume = false;

  // call and bench
  std::string function;
  std::string outputDir;
  double seconds = 1;
};

int trainCommand(const Options &options);
int evaluateCommand(const Options &options);
int callCommand(const Options &options);
int benchCommand(const Options &options);

/// The signal that asked the program to stop, or 0.
extern std::atomic<int> stopSignal;
/// The exit status of a program that a signal ended.
inline int exitBySignal(int signal) { return 128 + signal; }

/// Prints "neoflow-run: error: ..." and returns the status of a failure.
int reportError(const std::string &message);
void reportNote(const std::string &message);

/// What the compiler needs to know of the use of a model.
struct CompileRequest {
  std::optional<int64_t> samples;
  std::string function;
};

/// Opens a bundle, or compiles a `.mlir` file to a temporary one first. The
/// error is empty when the compiler has already said what is wrong.
runtime::Expected<std::shared_ptr<const runtime::Bundle>>
openModel(const Options &options, const CompileRequest &request);

/// Opens the model on the device that the options ask for.
runtime::Expected<std::unique_ptr<runtime::Session>>
openSession(const Options &options, const CompileRequest &request);

/// The folder of this executable.
std::string executableFolder();

/// Splits "NAME=FILE". A file without a name has an empty one.
std::pair<std::string, std::string> splitAssignment(const std::string &text);

} // namespace neoflow::run

#endif // NEOFLOW_TOOLS_NEOFLOW_RUN_TOOL_H
