// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What this machine offers: CPUs that the process may use and features of the
// instruction set.

#include "neoflow/Runtime/Device.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include <sched.h>
#include <unistd.h>

using namespace neoflow;
using namespace neoflow::runtime;

/// CPUs worth of time that a control group grants, or 0 for no limit.
static double groupQuota() {
  double quota = 0, period = 0;
  std::string text;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file >> text >> period)
    return text == "max" || period <= 0 ? 0 : std::stod("0" + text) / period;
  std::ifstream quotaFile("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream periodFile("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quotaFile >> quota && periodFile >> period && quota > 0 && period > 0)
    return quota / period;
  return 0;
}

unsigned runtime::availableThreads() {
  double cpus = sysconf(_SC_NPROCESSORS_ONLN);
  // Room for far more CPUs than the fixed-size set of the C library.
  constexpr int most = 8192;
  cpu_set_t *mask = CPU_ALLOC(most);
  size_t size = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(size, mask);
  if (sched_getaffinity(0, size, mask) == 0)
    cpus = CPU_COUNT_S(size, mask);
  CPU_FREE(mask);
  if (double quota = groupQuota(); quota > 0)
    cpus = std::min(cpus, std::ceil(quota));
  return std::max(1.0, cpus);
}

/// Spellings differ in separators between LLVM and the kernel.
static std::string withoutSeparators(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(),
                            [](char c) {
                              return c == '_' || c == '.' || c == '-' ||
                                     c == '+';
                            }),
             text.end());
  return text;
}

/// What Linux calls a feature of LLVM, where the names differ.
static std::string linuxName(const std::string &feature) {
  static const std::pair<const char *, const char *> different[] = {
      {"sse3", "pni"},
      {"lzcnt", "abm"},
      {"pclmul", "pclmulqdq"},
      {"rdrnd", "rdrand"},
      {"prfchw", "3dnowprefetch"},
      {"sahf", "lahflm"},
      {"x87", "fpu"},
      {"64bit", "lm"},
      {"crc32", "sse42"},
      {"sha", "shani"},
      {"evex512", "avx512f"},
      {"mwaitx", "mwaitx"},
      {"neon", "asimd"},
      {"dotprod", "asimddp"},
      {"fullfp16", "asimdhp"},
  };
  std::string plain = withoutSeparators(feature);
  for (auto &[llvm, kernel] : different)
    if (plain == llvm)
      return kernel;
  return plain;
}

Expected<std::vector<std::string>>
runtime::missingCPUFeatures(const std::vector<std::string> &features) {
  std::vector<std::string> missing;
  if (features.empty())
    return missing;
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> present;
  for (std::string line; present.empty() && std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0)
      continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;)
      present.insert(withoutSeparators(word));
  }
  if (present.empty())
    return error("cannot read the features of the CPU from /proc/cpuinfo");
  for (const std::string &feature : features)
    if (!present.count(linuxName(feature)))
      missing.push_back(feature);
  return missing;
}
