// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `neoflow-bundle inspect`.

#include "Inspect.h"

#include <cstdio>
#include <string>

using namespace neoflow;
using namespace neoflow::runtime;

static void print(const std::string &line) {
  std::fputs((line + "\n").c_str(), stdout);
}

static std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "none" : text;
}

/// "401408 B" as "392.0 KiB".
static std::string bytes(double count) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; count >= 1024 && unit < 4; ++unit)
    count /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", count,
                units[unit]);
  return text;
}

static std::string flops(double count) {
  const char *units[] = {"", "k", "M", "G", "T"};
  int unit = 0;
  for (; count >= 1000 && unit < 4; ++unit)
    count /= 1000;
  char text[40];
  std::snprintf(text, sizeof text, unit ? "%.1f %sFLOP" : "%.0f %sFLOP", count,
                units[unit]);
  return text;
}

static void printFunction(const Function &function) {
  print("  " + function.name);
  for (const Argument &argument : function.arguments) {
    std::string line = "    " + (argument.name.empty() ? "-" : argument.name) +
                       ": " + toString(argument) + "  " + name(argument.role);
    if (argument.zeroInit)
      line += ", starts at zero";
    if (argument.defaultValue) {
      char number[40];
      std::snprintf(number, sizeof number, ", default %g",
                    *argument.defaultValue);
      line += number;
    }
    print(line);
  }
  for (const Result &result : function.results)
    print("    -> " + (result.name.empty() ? "-" : result.name) + ": " +
          toString(result) + "  " + name(result.role));
}

/// ", loops of 16, 32 steps"; empty without loops.
static std::string loops(const Program &program) {
  std::string steps;
  for (const Loop &loop : program.loops)
    steps += (steps.empty() ? "" : ", ") + std::to_string(loop.steps);
  return steps.empty() ? "" : ", loops of " + steps + " steps";
}

static void printTarget(const Target &target) {
  print("\ntarget " + target.name + ": device " + target.device +
        (target.cpu.empty() ? "" : ", " + target.cpu));
  print("  requires: " + join(target.features));
  print("  programs:");
  for (const Program &program : target.programs)
    print("    " + program.functionName + " (" + toString(program.dims) +
          "): " + std::to_string(program.launches.size()) + " launches" +
          loops(program) + ", arena " + bytes(program.arena) +
          ", live at most " + bytes(program.maxLive));
  print("  kernels:");
  for (const Kernel &kernel : target.kernels) {
    std::string phases;
    for (const Phase &phase : kernel.phases)
      phases +=
          (phases.empty() ? "" : " + ") + std::to_string(phase.workgroups);
    print("    " + kernel.name + ": " +
          (kernel.family.empty() ? "-" : kernel.family) + ", " +
          flops(kernel.flops) + ", " + bytes(kernel.bytes) + ", workgroups " +
          phases + ", workspace " + bytes(kernel.workspace));
    if (!kernel.schedule.empty())
      print("      schedule: " + kernel.schedule);
    for (const Operator &op : kernel.operators)
      print("      from: " + op.name + " at " + op.location);
    if (!kernel.key.empty())
      print("      key: " + kernel.key);
  }
}

void neoflow::bundle::inspect(const Bundle &bundle) {
  const Manifest &manifest = bundle.manifest();
  print("bundle: " + bundle.path() + ", format " +
        std::to_string(manifest.format));
  print("model: " + manifest.model + " from " + manifest.source);
  print("producer: " + manifest.producer.name + " " +
        manifest.producer.version + ", build " + manifest.producer.build +
        ", LLVM " + manifest.producer.llvm);
  print("flags: " + join(manifest.flags));
  print("dimensions: " +
        (manifest.dims.empty() ? "none" : toString(manifest.dims)));
  print("\nentries:");
  for (const Bundle::Entry &entry : bundle.entries())
    print("  " + entry.name + ": " + bytes(entry.size));
  print("\nfunctions:");
  for (const Function &function : manifest.functions)
    printFunction(function);
  for (const Target &target : manifest.targets)
    printTarget(target);
}
