// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A permutation of the samples of an epoch that is computed from the seed, the
// epoch and the position alone: nothing has to be stored to resume it, and it
// is the same on every machine.

#ifndef NEOFLOW_RUNTIME_SHUFFLE_H
#define NEOFLOW_RUNTIME_SHUFFLE_H

#include <cstdint>

namespace neoflow::runtime {

class Permutation {
public:
  /// A permutation of 0 ... count - 1.
  Permutation(uint64_t seed, uint64_t epoch, uint64_t count);
  /// The sample at a position, `position` < count.
  uint64_t operator()(uint64_t position) const;

private:
  static constexpr int rounds = 8;
  uint64_t count;
  int halfBits;
  uint64_t keys[rounds];
};

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_SHUFFLE_H
