// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox against the known answers of Random123, and the distributions.

#include "Random.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace neoflow::test;

namespace {

using Words = std::array<uint32_t, 4>;

TEST(RandomTest, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, Layout) {
  int64_t seed = 0x299f31d0a4093822, step = 0x03707344;
  EXPECT_EQ(randomWords(seed, step, 0x13198a2e, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Every bit of every argument matters.
TEST(RandomTest, AllBits) {
  Words base = randomWords(0, 0, 0, 0);
  for (int bit = 0; bit < 64; ++bit) {
    int64_t one = int64_t(uint64_t(1) << bit);
    EXPECT_NE(randomWords(one, 0, 0, 0), base) << bit;
    EXPECT_NE(randomWords(0, one, 0, 0), base) << bit;
    EXPECT_NE(randomWords(0, 0, 0, one), base) << bit;
    if (bit < 32) {
      EXPECT_NE(randomWords(0, 0, one, 0), base) << bit;
    }
  }
}

TEST(RandomTest, Uniform) {
  EXPECT_EQ(uniform({0, 0, 0, 0}, false), 0.0);
  EXPECT_EQ(uniform({~0u, 0, 0, 0}, false), 1.0 - std::ldexp(1.0, -24));
  EXPECT_EQ(uniform({~0u, ~0u, 0, 0}, true), 1.0 - std::ldexp(1.0, -53));
  EXPECT_EQ(uniform({0x80000000, 0, 0, 0}, true), 0.5);
}

TEST(RandomTest, Normal) {
  // A radius of zero at the largest word; finite at the smallest.
  EXPECT_EQ(normal({~0u, 0, 0, 0}, false), 0.0);
  EXPECT_NEAR(normal({0, 0, 0, 0}, false), std::sqrt(48 * std::log(2.0)),
              1e-12);
  EXPECT_NEAR(normal({0, 0, 0, 0}, true), std::sqrt(106 * std::log(2.0)),
              1e-12);
}

TEST(RandomTest, Moments) {
  for (bool isDouble : {false, true}) {
    const int n = 100000;
    double mean = 0, variance = 0, average = 0;
    for (int i = 0; i < n; ++i) {
      Words words = randomWords(42, 7, 3, i);
      double x = normal(words, isDouble);
      mean += x / n;
      variance += x * x / n;
      average += uniform(words, isDouble) / n;
    }
    EXPECT_NEAR(mean, 0.0, 0.015);
    EXPECT_NEAR(variance, 1.0, 0.02);
    EXPECT_NEAR(average, 0.5, 0.005);
  }
}

} // namespace
