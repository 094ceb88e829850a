// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Best fit: one buffer after another, each into the smallest gap that is free
// for its whole life. Several orders are tried, and the smallest arena wins.

#include "neoflow/Partition/MemoryPlan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using namespace neoflow::partition;

static int64_t findMaxLive(const std::vector<Lifetime> &buffers) {
  // Live bytes change where a life begins and after it ends.
  std::map<int, int64_t> change;
  for (const Lifetime &buffer : buffers) {
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
  }
  int64_t live = 0, most = 0;
  for (auto [time, bytes] : change) {
    live += bytes;
    most = std::max(most, live);
  }
  return most;
}

/// Places `buffers` in that order.
static MemoryPlan place(const std::vector<Lifetime> &buffers,
                        const std::vector<size_t> &order) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<size_t> placed;
  std::vector<std::pair<int64_t, int64_t>> busy;
  for (size_t i : order) {
    const Lifetime &buffer = buffers[i];
    if (buffer.bytes == 0)
      continue;
    // What is in the way, by offset.
    busy.clear();
    for (size_t j : placed)
      if (buffers[j].first <= buffer.last && buffer.first <= buffers[j].last)
        busy.push_back({plan.offsets[j], plan.offsets[j] + buffers[j].bytes});
    std::sort(busy.begin(), busy.end());
    int64_t best = -1, bestGap = 0, end = 0;
    for (auto [from, to] : busy) {
      int64_t gap = from - end;
      if (gap >= buffer.bytes && (best < 0 || gap < bestGap)) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, to);
    }
    plan.offsets[i] = best < 0 ? end : best;
    plan.arena = std::max(plan.arena, plan.offsets[i] + buffer.bytes);
    placed.push_back(i);
  }
  return plan;
}

MemoryPlan neoflow::partition::planMemory(const std::vector<Lifetime> &given,
                                          int64_t alignment) {
  std::vector<Lifetime> buffers = given;
  for (Lifetime &buffer : buffers)
    buffer.bytes = (buffer.bytes + alignment - 1) / alignment * alignment;
  int64_t maxLive = findMaxLive(buffers);

  auto sorted = [&](auto key) {
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::make_pair(key(buffers[a]), a) <
             std::make_pair(key(buffers[b]), b);
    });
    return order;
  };
  // Large ones first; as they come to life, like an allocator that knows their
  // size; long lives first.
  std::vector<size_t> orders[] = {sorted([](const Lifetime &b) {
                                    return std::make_tuple(-b.bytes, b.first);
                                  }),
                                  sorted([](const Lifetime &b) {
                                    return std::make_tuple(b.first, -b.bytes);
                                  }),
                                  sorted([](const Lifetime &b) {
                                    return std::make_tuple(b.first - b.last,
                                                           -b.bytes);
                                  })};
  MemoryPlan best;
  for (const std::vector<size_t> &order : orders) {
    MemoryPlan plan = place(buffers, order);
    if (best.offsets.empty() || plan.arena < best.arena)
      best = std::move(plan);
    if (best.arena == maxLive)
      break;
  }
  best.maxLive = maxLive;
  return best;
}
