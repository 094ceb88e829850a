// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the machine can do at best, measured: figures to set kernels against.

#ifndef NEOFLOW_TOOLS_NEOFLOW_RUN_MACHINE_H
#define NEOFLOW_TOOLS_NEOFLOW_RUN_MACHINE_H

#include <string>

namespace neoflow::run {

struct MachineReport {
  std::string cpu;
  unsigned threads = 1;
  /// The widest multiply-add instruction set: "avx512f", "fma", "sse2", "c++".
  std::string instructions;
  /// f32 operations per second, a multiply-add counting two.
  double flopsOneThread = 0;
  double flopsAllThreads = 0;
  /// Bytes per second of c[i] = a[i] + s * b[i], three streams counted.
  double bytesPerSecond = 0;
};

/// Takes about half a second.
MachineReport measureMachine(unsigned threads);

} // namespace neoflow::run

#endif // NEOFLOW_TOOLS_NEOFLOW_RUN_MACHINE_H
