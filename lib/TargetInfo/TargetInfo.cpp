// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known targets, and detection of the host.

#include "neoflow/TargetInfo/TargetInfo.h"

#include <fstream>
#include <sched.h>
#include <sstream>

using namespace neoflow;

static TargetInfo makeLevel(int level) {
  TargetInfo target;
  target.name = target.cpu = "x86-64-v" + std::to_string(level);
  if (level >= 3) {
    target.vectorBytes = 32;
    target.requiredFeatures = {"avx2", "fma", "bmi2", "f16c"};
  }
  if (level >= 4) {
    target.vectorBytes = 64;
    target.vectorRegisters = 32;
    for (const char *feature : {"avx512f", "avx512bw", "avx512vl", "avx512dq"})
      target.requiredFeatures.push_back(feature);
    // LLVM prefers 256-bit vectors for this level unless told otherwise.
    target.features = "-prefer-256-bit";
  }
  if (level == 2)
    target.requiredFeatures = {"sse4.2", "popcnt", "ssse3"};
  return target;
}

/// The size of a data cache of this machine as the kernel reports it; nothing
/// when it does not.
static std::optional<int64_t> readCache(int level) {
  for (int index = 0; index < 8; ++index) {
    std::string base =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::ifstream levelFile(base + "/level"), typeFile(base + "/type"),
        sizeFile(base + "/size");
    int found = 0;
    std::string type, size;
    if (!(levelFile >> found) || !(typeFile >> type) || !(sizeFile >> size))
      continue;
    if (found != level || type == "Instruction")
      continue;
    std::istringstream number(size);
    int64_t value = 0;
    char unit = 0;
    if (!(number >> value))
      continue;
    number >> unit;
    return unit == 'K'   ? value * 1024
           : unit == 'M' ? value * 1024 * 1024
                         : value;
  }
  return std::nullopt;
}

TargetInfo neoflow::getHostTarget() {
  int level = 2;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    level = 3;
  if (level == 3 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    level = 4;
#endif
  TargetInfo target = makeLevel(level);
  target.name = "host";
  target.cpu = "native";
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    target.cores = CPU_COUNT(&set);
  target.l1Bytes = readCache(1).value_or(target.l1Bytes);
  target.l2Bytes = readCache(2).value_or(target.l2Bytes);
  target.l3Bytes = readCache(3).value_or(target.l3Bytes);
  return target;
}

std::optional<TargetInfo> neoflow::getTarget(const std::string &name) {
  if (name == "host")
    return getHostTarget();
  for (int level = 2; level <= 4; ++level)
    if (name == "x86-64-v" + std::to_string(level))
      return makeLevel(level);
  return std::nullopt;
}

std::vector<std::string> neoflow::getTargetNames() {
  return {"host", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
}
