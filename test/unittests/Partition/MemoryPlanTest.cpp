// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory plan: no overlap while both live, alignment, and how close to the
// lower bound it comes.

#include "neoflow/Partition/MemoryPlan.h"

#include "gtest/gtest.h"

#include <chrono>
#include <random>

using namespace neoflow::partition;

namespace {

/// The first fault of `plan`.
std::string findFault(const std::vector<Lifetime> &buffers,
                      const MemoryPlan &plan, int64_t alignment) {
  if (plan.offsets.size() != buffers.size())
    return "missing offsets";
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t from = plan.offsets[i], to = from + buffers[i].bytes;
    std::string text = "buffer " + std::to_string(i);
    if (from < 0 || from % alignment != 0)
      return text + " is misaligned";
    if (to > plan.arena)
      return text + " is outside";
    for (size_t j = 0; j < i; ++j) {
      bool together = buffers[i].first <= buffers[j].last &&
                      buffers[j].first <= buffers[i].last;
      int64_t other = plan.offsets[j];
      if (together && from < other + buffers[j].bytes && other < to)
        return text + " overlaps buffer " + std::to_string(j);
    }
  }
  if (plan.maxLive > plan.arena)
    return "the arena is too small";
  return "";
}

TEST(MemoryPlan, ReusesWhatIsDead) {
  std::vector<Lifetime> buffers = {{100, 0, 1}, {100, 1, 2}, {100, 2, 3}};
  MemoryPlan plan = planMemory(buffers, 64);
  EXPECT_EQ(findFault(buffers, plan, 64), "");
  EXPECT_EQ(plan.arena, 256);
  EXPECT_EQ(plan.maxLive, 256);
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
}

TEST(MemoryPlan, Corners) {
  EXPECT_EQ(planMemory({}, 64).arena, 0);
  // A buffer without elements takes no room.
  MemoryPlan plan = planMemory({{0, 0, 5}, {1, 2, 2}}, 64);
  EXPECT_EQ(plan.arena, 64);
  EXPECT_EQ(plan.maxLive, 64);
}

TEST(MemoryPlan, TrainingStepComesCloseToTheBound) {
  // Activations live from the forward pass to their turn in the backward pass;
  // cotangents live for two launches.
  std::mt19937 random(7);
  std::vector<Lifetime> buffers;
  const int layers = 40;
  for (int i = 0; i < layers; ++i) {
    int64_t bytes = 1 + random() % 1000000;
    buffers.push_back({bytes, i, 2 * layers - i});
    buffers.push_back({bytes, 2 * layers - i, 2 * layers - i + 1});
  }
  MemoryPlan plan = planMemory(buffers, 64);
  EXPECT_EQ(findFault(buffers, plan, 64), "");
  EXPECT_LE(plan.arena, plan.maxLive * 11 / 10);
}

TEST(MemoryPlan, RandomPlansAreLegal) {
  double worst = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 80; ++i) {
      int first = random() % 60;
      int length = random() % 4 ? random() % 5 : random() % 60;
      buffers.push_back({int64_t(random() % 5000), first, first + length});
    }
    MemoryPlan plan = planMemory(buffers, 64);
    ASSERT_EQ(findFault(buffers, plan, 64), "") << "seed " << seed;
    worst = std::max(worst, double(plan.arena) / plan.maxLive);
  }
  EXPECT_LT(worst, 1.25);
}

TEST(MemoryPlan, ManyBuffers) {
  std::mt19937 random(1);
  std::vector<Lifetime> buffers;
  for (int i = 0; i < 20000; ++i)
    buffers.push_back(
        {int64_t(64 + random() % 5000), i, i + 1 + int(random() % 4)});
  auto begin = std::chrono::steady_clock::now();
  MemoryPlan plan = planMemory(buffers, 64);
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(time.count(), 10.0);
  EXPECT_LE(plan.arena, plan.maxLive * 5 / 4);
}

} // namespace
