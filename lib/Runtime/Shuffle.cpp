// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Feistel network on the smallest even number of bits that holds every
// position; a value outside the range is sent through it again until it falls
// inside (cycle walking), which keeps it a permutation.

#include "neoflow/Runtime/Shuffle.h"

using namespace neoflow::runtime;

/// The finaliser of splitmix64.
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

Permutation::Permutation(uint64_t seed, uint64_t epoch, uint64_t count)
    : count(count), halfBits(1) {
  while (halfBits < 32 && count > uint64_t(1) << (2 * halfBits))
    ++halfBits;
  uint64_t key = mix(mix(seed) ^ epoch);
  for (uint64_t &round : keys)
    round = key = mix(key);
}

uint64_t Permutation::operator()(uint64_t position) const {
  uint64_t mask = (uint64_t(1) << halfBits) - 1;
  do {
    uint64_t left = position >> halfBits, right = position & mask;
    for (uint64_t key : keys) {
      uint64_t next = left ^ (mix(right ^ key) & mask);
      left = right;
      right = next;
    }
    position = left << halfBits | right;
  } while (position >= count);
  return position;
}
