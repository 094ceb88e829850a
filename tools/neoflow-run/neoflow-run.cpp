// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of neoflow-run.

#include "Tool.h"

#include "neoflow-c/Runtime.h"

#include <csignal>
#include <cstdio>

#include <CLI/CLI.hpp>

using namespace neoflow;
using namespace neoflow::run;

std::atomic<int> neoflow::run::stopSignal(0);

/// Remembers the signal; a second one ends the program at once.
static void onSignal(int signal) { stopSignal = signal; }

static void catchSignals() {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A full disk or a file-size limit is an error to report, not an end.
  std::signal(SIGXFSZ, SIG_IGN);
}

int neoflow::run::reportError(const std::string &message) {
  // The compiler has spoken for itself.
  if (!message.empty())
    std::fprintf(stderr, "neoflow-run: error: %s\n", message.c_str());
  return Failure;
}

void neoflow::run::reportNote(const std::string &message) {
  std::fprintf(stderr, "neoflow-run: note: %s\n", message.c_str());
}

static void addCommon(CLI::App &command, Options &options) {
  command
      .add_option("file", options.file,
                  "Bundle (.nfb), or model (.mlir) to compile first")
      ->required();
  command.add_option("--device", options.device, "Device to run on")
      ->capture_default_str();
  command
      .add_option("--threads", options.threads,
                  "Threads that run kernels (default: as many as CPUs may "
                  "be used)")
      ->check(CLI::Range(1u, 1024u));
  command.add_option("--target", options.target,
                     "Target of the bundle (default: the best one that runs "
                     "here)");
  command
      .add_option("--specialize", options.specialize,
                  "For .mlir: sizes of named dimensions, such as batch=64")
      ->allow_extra_args(false);
  command.add_flag("--json", options.json, "Print the results as JSON");
}

static void addData(CLI::App &command, Options &options) {
  command
      .add_option("--input", options.inputs,
                  "Data of an input as NAME=FILE: npy, npz, IDX (also inside "
                  "gzip) or text")
      ->allow_extra_args(false);
  command.add_option("--label", options.labels, "Data of a label as NAME=FILE")
      ->allow_extra_args(false);
  command
      .add_option("--test-input", options.testInputs,
                  "The same, for the test after training")
      ->allow_extra_args(false);
  command
      .add_option("--test-label", options.testLabels,
                  "The same, for the test after training")
      ->allow_extra_args(false);
  command.add_option("--data", options.data,
                     "Data set: the path of a description (JSON), or its name "
                     "without .json in ., NEOFLOW_DATA_PATH or the installed "
                     "ones");
  command.add_option("--params", options.parameters,
                     "Parameters from a safetensors file");
  command
      .add_option("--batch", options.batch,
                  "Samples of a batch, among those that the bundle has")
      ->check(CLI::PositiveNumber);
}

static CLI::App *addTrain(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand("train", "Train a model on data");
  addCommon(*command, options);
  addData(*command, options);
  command
      ->add_option("--epochs", options.epochs,
                   "Passes over the data (default: 1, or no limit with "
                   "--steps)")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--steps", options.steps, "Steps after which training ends")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--learning-rate", options.learningRate,
                      "Learning rate (default: that of the model)");
  command->add_option("--seed", options.seed,
                      "Seed of initial parameters, shuffling and randomness in "
                      "the model (default: 0)");
  command->add_flag("--shuffle,!--no-shuffle", options.shuffle,
                    "Whether every epoch has an order of its own (default: "
                    "yes)");
  command
      ->add_option("--tail", options.tail,
                   "When no specialisation fits the last samples of an "
                   "epoch: drop or error")
      ->check(CLI::IsMember({"drop", "error"}))
      ->capture_default_str();
  command->add_flag("--stop-on-nan", options.stopOnNan,
                    "End with an error when the loss is not a number");
  command->add_option("--checkpoint", options.checkpoint,
                      "File for checkpoints (default: the model's name with "
                      ".safetensors in the current folder)");
  command
      ->add_option("--checkpoint-every", options.checkpointEvery,
                   "Also write one every so many steps, not only at the "
                   "end of an epoch")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--resume", options.resume,
                    "Continue from the checkpoint, bit for bit, if it is "
                    "there");
  return command;
}

static CLI::App *addEvaluate(CLI::App &app, Options &options) {
  CLI::App *command =
      app.add_subcommand("evaluate", "Measure a trained model on data");
  addCommon(*command, options);
  addData(*command, options);
  command->add_option("--checkpoint", options.checkpoint,
                      "The same as --params");
  return command;
}

static CLI::App *addCall(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand("call", "Call one function");
  addCommon(*command, options);
  command->add_option("--function", options.function, "Function to call")
      ->required();
  command
      ->add_option("--input", options.inputs,
                   "An argument as FILE (in their order) or NAME=FILE; "
                   "parameters only need one when nothing else gives them")
      ->allow_extra_args(false);
  command
      ->add_option("--output-dir", options.outputDir,
                   "Folder for the results 0.npy, 1.npy, ...")
      ->required();
  command->add_option("--params", options.parameters,
                      "Parameters from a safetensors file");
  command->add_option("--seed", options.seed,
                      "Seed of parameters and randomness (default: 0)");
  command->add_option("--learning-rate", options.learningRate,
                      "Learning rate, for a step");
  return command;
}

static CLI::App *addBench(CLI::App &app, Options &options) {
  CLI::App *command = app.add_subcommand(
      "bench", "Time functions and their kernels on random inputs");
  addCommon(*command, options);
  command->add_option("--function", options.function,
                      "Only this function (default: all)");
  command
      ->add_option("--seconds", options.seconds,
                   "Time for each program, at least 30 calls")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Seed (default: 0)");
  command->add_option("--learning-rate", options.learningRate,
                      "Learning rate (default: 0)");
  return command;
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Trains, evaluates, calls and times NeoFlow models.",
               "neoflow-run");
  app.set_version_flag("--version",
                       std::string("neoflow-run ") + neoflow_runtime_version());
  app.require_subcommand(1);
  CLI::App *train = addTrain(app, options);
  CLI::App *evaluate = addEvaluate(app, options);
  CLI::App *call = addCall(app, options);
  addBench(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    return app.exit(success);
  } catch (const CLI::ParseError &failure) {
    std::fprintf(stderr, "neoflow-run: error: %s\n", failure.what());
    std::fprintf(stderr, "neoflow-run --help lists commands, and neoflow-run "
                         "COMMAND --help their options\n");
    return Usage;
  }
  catchSignals();
  try {
    if (train->parsed())
      return trainCommand(options);
    if (evaluate->parsed())
      return evaluateCommand(options);
    if (call->parsed())
      return callCommand(options);
    return benchCommand(options);
  } catch (const std::exception &exception) {
    return reportError(exception.what());
  }
}
