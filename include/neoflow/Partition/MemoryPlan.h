// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places buffers with known lifetimes in one arena.

#ifndef NEOFLOW_PARTITION_MEMORYPLAN_H
#define NEOFLOW_PARTITION_MEMORYPLAN_H

#include <cstdint>
#include <vector>

namespace neoflow::partition {

/// A buffer that is written at time `first` and read until time `last`, both
/// included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  /// Offset of every buffer in bytes, a multiple of the alignment.
  std::vector<int64_t> offsets;
  /// Size of the arena in bytes.
  int64_t arena = 0;
  /// The largest number of bytes alive at one time: no plan needs less.
  int64_t maxLive = 0;
};

/// Sizes are rounded up to `alignment` bytes. Buffers alive at the same time
/// never overlap.
MemoryPlan planMemory(const std::vector<Lifetime> &buffers, int64_t alignment);

} // namespace neoflow::partition

#endif // NEOFLOW_PARTITION_MEMORYPLAN_H
