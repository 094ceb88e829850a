// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `neoflow-run bench`: the steady time of every function and of its kernels,
// beside what the machine can do at best in the same run.

#include "Machine.h"
#include "Tool.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace neoflow;
using namespace neoflow::run;
using namespace neoflow::runtime;

using nlohmann::json;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

namespace {
struct Times {
  std::vector<double> seconds;

  double median() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }
  double min() const {
    return *std::min_element(seconds.begin(), seconds.end());
  }
  /// The middle half, as a share of the median.
  double spread() {
    double middle = median();
    size_t quarter = seconds.size() / 4;
    return middle > 0
               ? (seconds[seconds.size() - 1 - quarter] - seconds[quarter]) /
                     middle
               : 0;
  }
};

struct KernelTimes : LaunchObserver {
  std::vector<Times> launches;
  explicit KernelTimes(size_t count) : launches(count) {}
  void launched(size_t launch, double seconds) override {
    launches[launch].seconds.push_back(seconds);
  }
};

/// Arguments and results of one program, filled with random numbers.
struct Operands {
  std::vector<Tensor> tensors;
  std::vector<const void *> arguments;
  std::vector<void *> results;
};
} // namespace

/// Numbers in [0, 1) for floats, 0 or 1 for integers.
static Expected<Tensor> randomTensor(ElementType type, Shape shape,
                                     uint64_t seed) {
  Expected<Tensor> tensor = Tensor::allocate(type, std::move(shape));
  if (!tensor.ok())
    return tensor;
  int64_t count = *elementCount(tensor->shape);
  std::vector<double> values(count);
  uint64_t state = seed * 2 + 1;
  for (double &value : values) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    uint64_t bits = state >> 33;
    value = isFloat(type) ? bits / 2147483648.0 : bits >> 30;
  }
  converter(ElementType::F64, type)(values.data(), tensor->data.data(), count);
  return tensor;
}

static Expected<Operands> makeOperands(const Function &function,
                                       const Program &program) {
  Operands operands;
  auto add = [&](const Value &value, uint64_t seed) -> Status {
    Expected<Tensor> tensor =
        randomTensor(value.type, shapeOf(value, program), seed);
    if (!tensor.ok())
      return tensor.takeError();
    operands.tensors.push_back(std::move(*tensor));
    return Status::success();
  };
  for (const Argument &argument : function.arguments) {
    if (Session::isSetBySession(argument.role)) {
      operands.arguments.push_back(nullptr);
      continue;
    }
    if (Status status = add(argument, operands.arguments.size()); !status.ok())
      return status;
    operands.arguments.push_back(operands.tensors.back().data.data());
  }
  for (const Result &result : function.results) {
    if (result.role == Role::NewState) {
      operands.results.push_back(nullptr);
      continue;
    }
    if (Status status = add(result, 0); !status.ok())
      return status;
    operands.results.push_back(operands.tensors.back().data.data());
  }
  return operands;
}

/// Gives random values to what `init` leaves without one.
static Status fillVariables(Session &session) {
  if (Status status = session.initialise(0); !status.ok())
    return status;
  uint64_t seed = 0;
  for (const Variable &variable : session.variables()) {
    if (variable.hasValue)
      continue;
    Expected<Tensor> value =
        randomTensor(variable.type, variable.shape, ++seed);
    if (!value.ok())
      return value.takeError();
    if (Status status = session.setVariable(variable.name, *value);
        !status.ok())
      return status;
  }
  return Status::success();
}

static json rates(double flops, double bytes, double seconds) {
  return {{"flops", flops},
          {"bytes", bytes},
          {"flops_per_second", seconds > 0 ? flops / seconds : 0},
          {"bytes_per_second", seconds > 0 ? bytes / seconds : 0}};
}

static json describe(Times &times) {
  return {{"median_seconds", times.median()},
          {"min_seconds", times.min()},
          {"spread", times.spread()},
          {"runs", times.seconds.size()}};
}

static Expected<json> benchProgram(Session &session, size_t index,
                                   double budget) {
  const Target &target = session.target();
  const Program &program = target.programs[index];
  const Function &function =
      session.bundle().manifest().functions[program.function];
  Expected<Operands> operands = makeOperands(function, program);
  if (!operands.ok())
    return operands.takeError();
  auto runOnce = [&](LaunchObserver *observer) {
    return session.run(index, operands->arguments.data(),
                       operands->results.data(), observer);
  };
  for (int warmUp = 0; warmUp < 3; ++warmUp)
    if (Status status = runOnce(nullptr); !status.ok())
      return status;

  Times times;
  Clock::time_point start = Clock::now();
  while (!stopSignal &&
         (times.seconds.size() < 30 || secondsSince(start) < budget)) {
    Clock::time_point begin = Clock::now();
    if (Status status = runOnce(nullptr); !status.ok())
      return status;
    times.seconds.push_back(secondsSince(begin));
    if (times.seconds.size() >= 5 && secondsSince(start) > 10 * budget)
      break;
  }
  KernelTimes kernels(program.launches.size());
  size_t observed = std::min<size_t>(times.seconds.size(), 30);
  for (size_t i = 0; i < observed && !stopSignal; ++i)
    if (Status status = runOnce(&kernels); !status.ok())
      return status;
  if (stopSignal)
    return json::object();

  double flops = 0, bytes = 0;
  json list = json::array();
  for (size_t i = 0; i < program.launches.size(); ++i) {
    const Kernel &kernel = target.kernels[program.launches[i].kernel];
    int64_t executions = program.executions(i);
    if (executions == 0)
      continue;
    flops += kernel.flops * executions;
    bytes += kernel.bytes * executions;
    json entry = describe(kernels.launches[i]);
    entry.update(rates(kernel.flops, kernel.bytes, entry["median_seconds"]));
    entry["kernel"] = kernel.name;
    entry["family"] = kernel.family;
    entry["executions"] = executions;
    entry["operators"] = json::array();
    for (const Operator &op : kernel.operators)
      entry["operators"].push_back(op.name + " " + op.location);
    list.push_back(entry);
  }
  json report = describe(times);
  report.update(rates(flops, bytes, report["median_seconds"]));
  report["function"] = function.name;
  report["dims"] = program.dims;
  report["kernels"] = list;
  return report;
}

static std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
  return text;
}

static void print(const json &report) {
  const json &machine = report["machine"];
  std::printf("machine: %s, %u threads\n",
              machine["cpu"].get<std::string>().c_str(),
              machine["threads"].get<unsigned>());
  std::printf("peak: %.1f GFLOP/s on one thread, %.1f on all (%s); triad: "
              "%.1f GB/s\n",
              machine["flops_one_thread"].get<double>() / 1e9,
              machine["flops_all_threads"].get<double>() / 1e9,
              machine["instructions"].get<std::string>().c_str(),
              machine["triad_bytes_per_second"].get<double>() / 1e9);
  double peak = machine["flops_all_threads"];
  for (const json &function : report["functions"]) {
    std::printf("\n%s (%s): median %s, min %s, spread %.0f %%, %.1f GFLOP/s "
                "(%.0f %% of peak), %.1f GB/s\n",
                function["function"].get<std::string>().c_str(),
                toString(function["dims"].get<Dims>()).c_str(),
                milliseconds(function["median_seconds"]).c_str(),
                milliseconds(function["min_seconds"]).c_str(),
                function["spread"].get<double>() * 100,
                function["flops_per_second"].get<double>() / 1e9,
                function["flops_per_second"].get<double>() / peak * 100,
                function["bytes_per_second"].get<double>() / 1e9);
    for (const json &kernel : function["kernels"])
      std::printf("  %-32s %-14s %12s  %8.1f GFLOP/s %8.1f GB/s\n",
                  kernel["kernel"].get<std::string>().c_str(),
                  kernel["family"].get<std::string>().c_str(),
                  milliseconds(kernel["median_seconds"]).c_str(),
                  kernel["flops_per_second"].get<double>() / 1e9,
                  kernel["bytes_per_second"].get<double>() / 1e9);
  }
}

int neoflow::run::benchCommand(const Options &options) {
  Expected<std::unique_ptr<Session>> opened =
      openSession(options, {std::nullopt, options.function});
  if (stopSignal)
    return exitBySignal(stopSignal);
  if (!opened.ok())
    return reportError(opened.message());
  Session &session = **opened;
  if (!options.function.empty())
    if (auto function = session.findFunction(options.function); !function.ok())
      return reportError(function.message());
  if (Status status = fillVariables(session); !status.ok())
    return reportError(status.message());
  session.setSettings({options.seed.value_or(0), 0,
                       options.learningRate ? options.learningRate
                                            : std::optional<double>(0.0)});

  bool isTerminal = isatty(STDERR_FILENO);
  if (isTerminal)
    std::fprintf(stderr, "measuring the machine...\n");
  MachineReport machine = measureMachine(session.device().threads());
  json report;
  report["machine"] = {{"cpu", machine.cpu},
                       {"threads", machine.threads},
                       {"instructions", machine.instructions},
                       {"flops_one_thread", machine.flopsOneThread},
                       {"flops_all_threads", machine.flopsAllThreads},
                       {"triad_bytes_per_second", machine.bytesPerSecond}};
  report["model"] = session.bundle().manifest().model;
  report["functions"] = json::array();
  const std::vector<Program> &programs = session.target().programs;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (!options.function.empty() &&
        programs[i].functionName != options.function)
      continue;
    if (isTerminal)
      std::fprintf(stderr, "measuring %s (%s), %zu of %zu...\n",
                   programs[i].functionName.c_str(),
                   toString(programs[i].dims).c_str(), i + 1, programs.size());
    Expected<json> result = benchProgram(session, i, options.seconds);
    if (stopSignal)
      return exitBySignal(stopSignal);
    if (!result.ok())
      return reportError(result.message());
    report["functions"].push_back(*result);
  }
  if (options.json)
    std::printf("%s\n", report.dump(2).c_str());
  else
    print(report);
  return Success;
}
