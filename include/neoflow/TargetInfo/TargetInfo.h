// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a device is, as far as schedules and costs depend on it. Plain data:
// the compiler, the tuner and the runtime all read it.

#ifndef NEOFLOW_TARGETINFO_TARGETINFO_H
#define NEOFLOW_TARGETINFO_TARGETINFO_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace neoflow {

/// A device.
struct TargetInfo {
  /// The name it is asked for: "host", "x86-64-v3".
  std::string name;
  /// LLVM's name of the processor; "native" for the one this process runs on.
  std::string cpu;
  /// LLVM's feature string; empty when the processor implies everything.
  std::string features;
  /// What the runtime must find before it loads code for this target, by the
  /// names of GCC's __builtin_cpu_supports.
  std::vector<std::string> requiredFeatures;
  /// Processors that one process may use.
  int64_t cores = 1;
  /// Width of a vector register in bytes, and how many there are.
  int64_t vectorBytes = 16;
  int64_t vectorRegisters = 16;
  /// Data cache sizes in bytes: first and second level per core, third level
  /// shared.
  int64_t l1Bytes = 32 * 1024;
  int64_t l2Bytes = 512 * 1024;
  int64_t l3Bytes = 8 * 1024 * 1024;
};

/// The machine this process runs on, detected: instruction set from the
/// processor, caches from the operating system, cores from the affinity mask.
TargetInfo getHostTarget();

/// The target called `name`; nothing when there is none.
std::optional<TargetInfo> getTarget(const std::string &name);

/// Names that getTarget accepts.
std::vector<std::string> getTargetNames();

} // namespace neoflow

#endif // NEOFLOW_TARGETINFO_TARGETINFO_H
