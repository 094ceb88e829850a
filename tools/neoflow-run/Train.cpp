// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `neoflow-run train` and `neoflow-run evaluate`.

#include "Progress.h"
#include "Tool.h"

#include <cstdio>
#include <tuple>

#include <nlohmann/json.hpp>

using namespace neoflow;
using namespace neoflow::run;
using namespace neoflow::runtime;

using Files = std::map<std::string, std::string>;
using nlohmann::json;

/// Adds "NAME=FILE" options to a table; they replace what a preset says.
static Status addFiles(const std::vector<std::string> &options,
                       const char *option, Files &files) {
  for (const std::string &text : options) {
    auto [name, file] = splitAssignment(text);
    if (name.empty() || file.empty())
      return error("expected ", option, " NAME=FILE, but got '", text, "'");
    files[name] = file;
  }
  return Status::success();
}

namespace {
struct DataFiles {
  Files train;
  Files test;
};
} // namespace

static Expected<DataFiles> collectFiles(const Options &options) {
  DataFiles files;
  if (!options.data.empty()) {
    Expected<Preset> preset =
        readPreset(options.data, executableFolder() + "/../share/neoflow/data");
    if (!preset.ok())
      return preset.takeError();
    files.train = preset->train;
    files.test = preset->test;
  }
  for (auto [list, option, table] :
       {std::tuple(&options.inputs, "--input", &files.train),
        std::tuple(&options.labels, "--label", &files.train),
        std::tuple(&options.testInputs, "--test-input", &files.test),
        std::tuple(&options.testLabels, "--test-label", &files.test)})
    if (Status status = addFiles(*list, option, *table); !status.ok())
      return status;
  return files;
}

static json toJson(const Metrics &metrics) {
  json object = json::object();
  for (size_t i = 0; i < metrics.names.size(); ++i)
    object[metrics.names[i]] = metrics.values[i];
  return object;
}

static std::string stem(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.rfind('.'));
}

static TrainOptions trainOptions(const Options &options) {
  TrainOptions result;
  result.epochs = options.epochs;
  result.steps = options.steps;
  if (!options.epochs && !options.steps)
    result.epochs = 1;
  result.batch = options.batch;
  result.seed = options.seed;
  result.learningRate = options.learningRate;
  result.shuffle = options.shuffle;
  result.tail = options.tail == "error" ? TailPolicy::Error : TailPolicy::Drop;
  result.stopOnNan = options.stopOnNan;
  result.parameters = options.parameters;
  result.checkpoint = options.checkpoint.empty()
                          ? stem(options.file) + ".safetensors"
                          : options.checkpoint;
  result.checkpointEvery = options.checkpointEvery;
  result.resume = options.resume;
  result.stop = &stopSignal;
  return result;
}

static void printMetrics(const char *what, const Metrics &metrics) {
  for (size_t i = 0; i < metrics.names.size(); ++i)
    std::printf("%s %s: %.4f\n", what, metrics.names[i].c_str(),
                metrics.values[i]);
}

static Expected<EvaluateReport> evaluateAll(Session &session,
                                            const NamedArrays &arrays,
                                            std::optional<int64_t> batch) {
  Progress progress("evaluation  ", std::nullopt);
  EvaluateOptions options;
  options.batch = batch;
  options.stop = &stopSignal;
  return evaluate(session, arrays, options, progress);
}

int neoflow::run::trainCommand(const Options &options) {
  Expected<DataFiles> files = collectFiles(options);
  if (!files.ok())
    return reportError(files.message());
  Expected<NamedArrays> data = readArrays(files->train);
  if (!data.ok())
    return reportError(data.message());
  Expected<NamedArrays> testData = readArrays(files->test);
  if (!testData.ok())
    return reportError(testData.message());
  Expected<std::optional<int64_t>> samples = countSamples(*data);
  if (!samples.ok())
    return reportError(samples.message());
  Expected<std::unique_ptr<Session>> session =
      openSession(options, {*samples, ""});
  if (stopSignal)
    return exitBySignal(stopSignal);
  if (!session.ok())
    return reportError(session.message());

  bool canTest = (*session)->findFunction("evaluate").ok();
  if (!testData->empty() && !canTest)
    reportNote("the model has no function 'evaluate', so that the test data "
               "are not used");

  TrainOptions training = trainOptions(options);
  json report = json::object();
  {
    Progress progress("", training.epochs);
    Expected<TrainReport> result = train(**session, *data, training, progress);
    if (!result.ok()) {
      progress.erase();
      return reportError(result.message());
    }
    report["steps"] = result->steps;
    report["epochs_done"] = result->epochs;
    report["seed"] = result->seed;
    report["seconds"] = result->seconds;
    report["samples_per_second"] =
        result->seconds > 0 ? result->ownSamples / result->seconds : 0;
    report["losses"] = progress.losses();
    report["epochs"] = json::array();
    for (const EpochReport &epoch : result->epochReports) {
      json entry = toJson(epoch.metrics);
      entry["epoch"] = epoch.epoch;
      entry["steps"] = epoch.steps;
      entry["seconds"] = epoch.seconds;
      report["epochs"].push_back(entry);
    }
    report["checkpoint"] = training.checkpoint;
    if (result->signal) {
      progress.note("stopped after step " + std::to_string(result->steps) +
                    "; the checkpoint is '" + training.checkpoint +
                    "', and --resume continues from it");
      return exitBySignal(result->signal);
    }
  }

  if (!testData->empty() && canTest) {
    Expected<EvaluateReport> result =
        evaluateAll(**session, *testData, options.batch);
    if (!result.ok())
      return reportError("test: " + result.message());
    if (result->signal)
      return exitBySignal(result->signal);
    report["test"] = toJson(result->metrics);
    report["test_samples"] = result->samples;
    if (!options.json)
      printMetrics("test", result->metrics);
  }
  if (options.json)
    std::printf("%s\n", report.dump(2).c_str());
  else
    std::printf("checkpoint: %s\n", training.checkpoint.c_str());
  return Success;
}

int neoflow::run::evaluateCommand(const Options &options) {
  Expected<DataFiles> files = collectFiles(options);
  if (!files.ok())
    return reportError(files.message());
  // The test part of a preset; files that are named by themselves are meant.
  Files chosen = files->test;
  if (!options.inputs.empty() || !options.labels.empty() || chosen.empty())
    chosen = files->train;
  Expected<NamedArrays> data = readArrays(chosen);
  if (!data.ok())
    return reportError(data.message());
  Expected<std::unique_ptr<Session>> session =
      openSession(options, {std::nullopt, ""});
  if (stopSignal)
    return exitBySignal(stopSignal);
  if (!session.ok())
    return reportError(session.message());
  bool hasParameters = false;
  for (const Variable &variable : (*session)->variables())
    hasParameters = hasParameters || variable.role == Role::Param;
  std::string parameters =
      options.parameters.empty() ? options.checkpoint : options.parameters;
  if (hasParameters && parameters.empty())
    return reportError("the model has parameters: give --params FILE");
  // A file of parameters may lack states.
  if (Status status = (*session)->initialise(0); !status.ok())
    return reportError(status.message());
  if (!parameters.empty())
    if (Status status = loadParameters(parameters, **session); !status.ok())
      return reportError(status.message());
  Expected<EvaluateReport> result =
      evaluateAll(**session, *data, options.batch);
  if (!result.ok())
    return reportError(result.message());
  if (result->signal)
    return exitBySignal(result->signal);
  if (options.json) {
    json report = toJson(result->metrics);
    report["samples"] = result->samples;
    report["seconds"] = result->seconds;
    std::printf("%s\n", report.dump(2).c_str());
  } else {
    printMetrics("test", result->metrics);
  }
  return Success;
}
