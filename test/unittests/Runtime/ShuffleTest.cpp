// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The permutation of an epoch.

#include "neoflow/Runtime/Shuffle.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

using namespace neoflow::runtime;

static std::vector<uint64_t> order(uint64_t seed, uint64_t epoch,
                                   uint64_t count) {
  Permutation permutation(seed, epoch, count);
  std::vector<uint64_t> result(count);
  for (uint64_t i = 0; i < count; ++i)
    result[i] = permutation(i);
  return result;
}

TEST(Shuffle, IsAPermutation) {
  for (uint64_t count : {1, 2, 3, 4, 5, 16, 17, 1000, 60000}) {
    std::vector<uint64_t> samples = order(7, 3, count);
    std::sort(samples.begin(), samples.end());
    for (uint64_t i = 0; i < count; ++i)
      ASSERT_EQ(samples[i], i) << "of " << count;
  }
}

TEST(Shuffle, IsTheSameEverywhere) {
  // Computed once; another machine or compiler must agree.
  std::vector<uint64_t> expected = {6, 4, 9, 2, 5, 7, 8, 0, 1, 3};
  EXPECT_EQ(order(1, 2, 10), expected);
}

TEST(Shuffle, DependsOnSeedAndEpoch) {
  EXPECT_EQ(order(1, 0, 100), order(1, 0, 100));
  EXPECT_NE(order(1, 0, 100), order(2, 0, 100));
  EXPECT_NE(order(1, 0, 100), order(1, 1, 100));
}

TEST(Shuffle, SpreadsEvenly) {
  // How often a sample lands in each tenth, over many epochs.
  std::vector<int> counts(10);
  for (uint64_t epoch = 0; epoch < 2000; ++epoch)
    for (uint64_t i = 0; i < 10; ++i)
      if (Permutation(5, epoch, 10)(i) == 0)
        ++counts[i];
  for (int count : counts)
    EXPECT_NEAR(count, 200, 60);
}
