// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grouping: legality on known and random graphs, order, and time.

#include "neoflow/Partition/Partition.h"

#include "gtest/gtest.h"

#include <chrono>
#include <random>
#include <set>

using namespace neoflow::partition;

namespace {

Node light(std::vector<Edge> operands) {
  Node node;
  node.bytes = 4;
  node.operands = std::move(operands);
  return node;
}

Node heavy(std::vector<Edge> operands) {
  Node node = light(std::move(operands));
  node.heavy = true;
  return node;
}

/// Whether the groups form a cycle, by brute force: repeatedly drop groups
/// without producers.
bool isAcyclic(const Problem &problem, const Grouping &grouping) {
  std::set<int> left(grouping.begin(), grouping.end());
  std::set<std::pair<int, int>> edges;
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    for (const Edge &edge : problem.nodes[i].operands)
      if (grouping[edge.producer] != grouping[i])
        edges.insert({grouping[edge.producer], grouping[i]});
  while (!left.empty()) {
    std::set<int> free = left;
    for (auto [from, to] : edges)
      if (left.count(from))
        free.erase(to);
    if (free.empty())
      return false;
    for (int group : free)
      left.erase(group);
  }
  return true;
}

Problem createRandom(unsigned seed, int n) {
  std::mt19937 random(seed);
  Problem problem;
  problem.maxGroupSize = 2 + seed % 40;
  for (int i = 0; i < n; ++i) {
    Node node;
    node.heavy = random() % 4 == 0;
    node.fusible = random() % 16 != 0;
    node.domain = random() % 4 == 0;
    node.bytes = random() % 1000;
    int count = i == 0 ? 0 : random() % 4;
    for (int k = 0; k < count; ++k) {
      // Mostly near, sometimes far.
      int back = random() % 3 ? 1 + random() % 4 : 1 + random() % i;
      node.operands.push_back({std::max(0, i - back), random() % 4 != 0});
    }
    problem.nodes.push_back(node);
  }
  return problem;
}

TEST(Partition, RefusesTheCycleThroughAReduction) {
  // A = x + 1, B = sum A, C = A * B: A and C share a domain.
  Problem problem;
  problem.nodes = {light({}), heavy({{0, false}}),
                   light({{0, true}, {1, false}})};
  problem.nodes[1].domain = 1;
  EXPECT_EQ(check(problem), "");
  Groups groups(problem);
  EXPECT_EQ(groups.merge(0, 2), Refusal::cycle);
  EXPECT_EQ(group(problem, Decider::rules), Grouping({0, 1, 2}));
  EXPECT_EQ(verify(problem, {0, 1, 0}), "the groups form a cycle");
}

TEST(Partition, SeesCyclesThroughMergedGroups) {
  // 0 -> 1 and 2 -> 3 are harmless alone; {0, 3} and {1, 2} read each other.
  Problem problem;
  problem.nodes = {light({}), light({{0, true}}), light({}),
                   light({{2, true}})};
  Groups groups(problem);
  EXPECT_EQ(groups.merge(0, 3), Refusal::none);
  EXPECT_EQ(groups.find(0), groups.find(3));
  // Direct edges both ways: the pair {1, 2} in between is one group then.
  EXPECT_EQ(groups.merge(1, 2), Refusal::cycle);
  EXPECT_EQ(groups.getGrouping(), Grouping({0, 1, 2, 0}));
  EXPECT_EQ(verify(problem, {0, 1, 1, 0}), "the groups form a cycle");
}

TEST(Partition, SaysWhyNot) {
  Problem problem;
  problem.nodes = {heavy({}), heavy({{0, true}}), light({{0, false}}),
                   light({{1, true}}), light({})};
  problem.nodes[3].domain = 1;
  problem.nodes[4].fusible = false;
  problem.maxGroupSize = 2;
  Groups groups(problem);
  EXPECT_EQ(groups.merge(0, 1), Refusal::heavy);
  EXPECT_EQ(groups.merge(2, 0), Refusal::notPointwise);
  EXPECT_EQ(groups.merge(1, 3), Refusal::domain);
  EXPECT_EQ(groups.merge(1, 4), Refusal::alone);
  EXPECT_EQ(groups.merge(1, 2), Refusal::none);
  problem.maxGroupSize = 1;
  EXPECT_EQ(groups.merge(0, 2), Refusal::size);
}

TEST(Partition, AHeavyNodeMayNotReadItsGroup) {
  Problem problem;
  problem.nodes = {light({}), heavy({{0, true}}), light({{1, true}})};
  EXPECT_EQ(group(problem, Decider::rules), Grouping({0, 1, 1}));
  EXPECT_EQ(verify(problem, {0, 0, 0}),
            "heavy node 1 reads a value of its group");
}

TEST(Partition, EpiloguesJoinTheirHeavyNode) {
  // Two heavy nodes, an update behind each, and a node that reads both updates.
  Problem problem;
  problem.nodes = {heavy({}), heavy({}), light({{0, true}}), light({{1, true}}),
                   light({{2, true}, {3, true}})};
  EXPECT_EQ(group(problem, Decider::none), Grouping({0, 1, 2, 3, 4}));
  EXPECT_EQ(group(problem, Decider::rules), Grouping({0, 1, 0, 1, 1}));
  // Light groups on both sides become one.
  problem.nodes[0].heavy = problem.nodes[1].heavy = false;
  EXPECT_EQ(group(problem, Decider::rules), Grouping({0, 0, 0, 0, 0}));
}

TEST(Partition, JoinsWhereItSavesMost) {
  Problem problem;
  problem.nodes = {heavy({}), heavy({}), light({{0, true}, {1, true}})};
  problem.nodes[0].bytes = 100;
  EXPECT_EQ(group(problem, Decider::rules), Grouping({0, 1, 0}));
}

TEST(Partition, ChecksTheProblem) {
  Problem problem;
  problem.nodes = {light({{0, true}})};
  EXPECT_EQ(check(problem), "node 0 reads node 0, which is no earlier one");
  problem.nodes = {light({{-1, true}})};
  EXPECT_EQ(check(problem), "node 0 reads node -1, which is no earlier one");
  problem.nodes = {light({})};
  problem.nodes[0].bytes = -1;
  EXPECT_EQ(check(problem), "node 0 has a negative size");
  EXPECT_EQ(verify(problem, {}), "expected a group for each node");
  EXPECT_EQ(verify(problem, {7}), "node 0 has no valid group");
}

TEST(Partition, RandomGraphsStayLegal) {
  int grouped = 0, refused = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Problem problem = createRandom(seed, 30 + seed % 50);
    ASSERT_EQ(check(problem), "");
    Grouping rules = group(problem, Decider::rules);
    ASSERT_EQ(verify(problem, rules), "") << "seed " << seed;
    ASSERT_TRUE(isAcyclic(problem, rules)) << "seed " << seed;
    ASSERT_EQ(rules, group(problem, Decider::rules));
    // Merges of any two nodes: the answer is the one of brute force.
    std::mt19937 random(seed);
    Groups groups(problem);
    int n = static_cast<int>(problem.nodes.size());
    for (int k = 0; k < 200; ++k) {
      int a = random() % n, b = random() % n;
      Grouping before = groups.getGrouping(), merged = before;
      for (int &group : merged)
        if (group == before[a] || group == before[b])
          group = std::min(before[a], before[b]);
      bool legal = verify(problem, merged).empty();
      Refusal refusal = groups.merge(a, b);
      ASSERT_EQ(refusal == Refusal::none, legal)
          << "seed " << seed << " nodes " << a << " and " << b;
      ASSERT_EQ(groups.getGrouping(), legal ? merged : before);
      ASSERT_TRUE(isAcyclic(problem, groups.getGrouping()));
      grouped += legal && before[a] != before[b];
      refused += refusal == Refusal::cycle;
    }
  }
  // Both happen often, so that the loop above has something to say.
  EXPECT_GT(grouped, 1000);
  EXPECT_GT(refused, 100);
}

TEST(Partition, OrderFollowsDependencesAndHints) {
  Problem problem;
  problem.nodes = {light({}), light({}), light({{0, false}})};
  Grouping alone = group(problem, Decider::none);
  EXPECT_EQ(order(problem, alone), std::vector<int>({0, 1, 2}));
  EXPECT_EQ(order(problem, alone, {{2, 1}}), std::vector<int>({0, 2, 1}));
  // A hint against a dependence is given up.
  EXPECT_EQ(order(problem, alone, {{2, 0}}), std::vector<int>({1, 0, 2}));
  EXPECT_EQ(order(problem, alone, {{2, 1}, {1, 2}}),
            std::vector<int>({0, 1, 2}));
}

TEST(Partition, TimeIsNearLinear) {
  // A residual network: chains with a heavy node now and then, and skips.
  for (bool skips : {false, true}) {
    Problem problem;
    for (int i = 0; i < 20000; ++i) {
      Node node = light({});
      if (i > 0)
        node.operands.push_back({i - 1, true});
      node.heavy = i % 5 == 0;
      if (skips && i >= 50)
        node.operands.push_back({i % 3 == 0 ? i - 50 : 0, true});
      problem.nodes.push_back(node);
    }
    auto begin = std::chrono::steady_clock::now();
    Grouping grouping = group(problem, Decider::rules);
    EXPECT_EQ(verify(problem, grouping), "");
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    EXPECT_LT(time.count(), 2.0);
  }
}

} // namespace
