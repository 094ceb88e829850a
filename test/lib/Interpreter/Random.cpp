// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox and the distributions made of it.

#include "Random.h"

#include <cmath>

using namespace neoflow::test;

std::array<uint32_t, 4> neoflow::test::philox(std::array<uint32_t, 4> counter,
                                              std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * counter[0];
    uint64_t b = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b),
               uint32_t(a >> 32) ^ counter[3] ^ key[1], uint32_t(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::array<uint32_t, 4> neoflow::test::randomWords(int64_t seed, int64_t step,
                                                   int64_t stream,
                                                   int64_t position) {
  auto low = [](int64_t x) { return uint32_t(uint64_t(x)); };
  auto high = [](int64_t x) { return uint32_t(uint64_t(x) >> 32); };
  return philox({low(position), high(position), low(stream), low(step)},
                {low(seed), high(seed) ^ high(step)});
}

double neoflow::test::uniform(const std::array<uint32_t, 4> &words,
                              bool isDouble) {
  if (!isDouble)
    return std::ldexp(double(words[0] >> 8), -24);
  uint64_t bits = uint64_t(words[0]) << 32 | words[1];
  return std::ldexp(double(bits >> 11), -53);
}

double neoflow::test::normal(const std::array<uint32_t, 4> &words,
                             bool isDouble) {
  // The radius needs a number in (0, 1], the angle one in [0, 1).
  double radius, angle;
  if (isDouble) {
    radius = uniform({words[0], words[1]}, true) + std::ldexp(1.0, -53);
    angle = uniform({words[2], words[3]}, true);
  } else {
    radius = uniform({words[0]}, false) + std::ldexp(1.0, -24);
    angle = uniform({words[1]}, false);
  }
  const double pi = 3.14159265358979323846;
  return std::sqrt(-2.0 * std::log(radius)) * std::cos(2.0 * pi * angle);
}
