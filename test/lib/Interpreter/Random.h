// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The random numbers of neoflow.random, as docs/Spec.md defines them.

#ifndef NEOFLOW_TEST_LIB_INTERPRETER_RANDOM_H
#define NEOFLOW_TEST_LIB_INTERPRETER_RANDOM_H

#include <array>
#include <cstdint>

namespace neoflow::test {

/// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
/// 3", 2011).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

/// The words that neoflow.random draws from.
std::array<uint32_t, 4> randomWords(int64_t seed, int64_t step, int64_t stream,
                                    int64_t position);

/// In [0, 1): 24 bits of the first word, or 53 bits of the first two.
double uniform(const std::array<uint32_t, 4> &words, bool isDouble);

/// Standard normal, by Box and Muller.
double normal(const std::array<uint32_t, 4> &words, bool isDouble);

} // namespace neoflow::test

#endif // NEOFLOW_TEST_LIB_INTERPRETER_RANDOM_H
