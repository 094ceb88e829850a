// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deciders, the order of groups, and the checks of problems and answers.

#include "neoflow/Partition/Partition.h"

#include <algorithm>
#include <map>
#include <set>

using namespace neoflow::partition;

std::string neoflow::partition::check(const Problem &problem) {
  if (problem.maxGroupSize < 1)
    return "groups must have room for one node";
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    if (problem.nodes[i].bytes < 0)
      return "node " + std::to_string(i) + " has a negative size";
    for (const Edge &edge : problem.nodes[i].operands)
      if (edge.producer < 0 || edge.producer >= static_cast<int>(i))
        return "node " + std::to_string(i) + " reads node " +
               std::to_string(edge.producer) + ", which is no earlier one";
  }
  return "";
}

std::string neoflow::partition::verify(const Problem &problem,
                                       const Grouping &grouping) {
  size_t n = problem.nodes.size();
  if (grouping.size() != n)
    return "expected a group for each node";
  std::vector<int> size(n, 0), heavy(n, -1);
  for (size_t i = 0; i < n; ++i) {
    const Node &node = problem.nodes[i];
    std::string text = "node " + std::to_string(i);
    int group = grouping[i];
    if (group < 0 || group > static_cast<int>(i) || grouping[group] != group)
      return text + " has no valid group";
    if (++size[group] > problem.maxGroupSize)
      return text + " is too many in its group";
    const Node &first = problem.nodes[group];
    if (size[group] > 1 && (!node.fusible || !first.fusible))
      return text + " must stand alone";
    if (node.domain != first.domain)
      return text + " has another domain than its group";
    if (node.heavy && heavy[group] >= 0)
      return text + " is the second heavy one of its group";
    if (node.heavy)
      heavy[group] = static_cast<int>(i);
    for (const Edge &edge : node.operands) {
      if (grouping[edge.producer] != group)
        continue;
      if (!edge.pointwise)
        return text + " reads a value of its group, but not pointwise";
      if (node.heavy)
        return "heavy " + text + " reads a value of its group";
    }
  }
  std::set<int> groups(grouping.begin(), grouping.end());
  if (order(problem, grouping).size() != groups.size())
    return "the groups form a cycle";
  return "";
}

/// Light nodes join the groups that they read, most valuable first.
static Grouping decideByRules(const Problem &problem) {
  Groups groups(problem);
  for (int i = 0; i < static_cast<int>(problem.nodes.size()); ++i) {
    const Node &node = problem.nodes[i];
    if (node.heavy || !node.fusible)
      continue;
    // By group: the bytes that need not leave it, and the last of its nodes.
    std::map<int, std::pair<int64_t, int>> saved;
    for (const Edge &edge : node.operands) {
      auto &[bytes, last] = saved[groups.find(edge.producer)];
      bytes += problem.nodes[edge.producer].bytes;
      last = std::max(last, edge.producer);
    }
    std::vector<std::pair<int64_t, int>> candidates;
    for (auto [group, value] : saved)
      candidates.push_back(value);
    // Ties go to the later group, whose values are fresher.
    std::sort(candidates.rbegin(), candidates.rend());
    for (auto [bytes, producer] : candidates)
      groups.merge(producer, i);
  }
  return groups.getGrouping();
}

Grouping neoflow::partition::group(const Problem &problem, Decider decider) {
  switch (decider) {
  case Decider::rules:
    return decideByRules(problem);
  case Decider::none:
    break;
  }
  return Groups(problem).getGrouping();
}

std::vector<int>
neoflow::partition::order(const Problem &problem, const Grouping &grouping,
                          const std::vector<std::pair<int, int>> &hints) {
  size_t n = problem.nodes.size();
  std::vector<std::vector<int>> users(n), later(n);
  std::vector<int> pending(n, 0), hinted(n, 0);
  for (size_t i = 0; i < n; ++i)
    for (const Edge &edge : problem.nodes[i].operands)
      if (grouping[edge.producer] != grouping[i]) {
        users[grouping[edge.producer]].push_back(grouping[i]);
        ++pending[grouping[i]];
      }
  for (auto [before, after] : hints)
    if (grouping[before] != grouping[after]) {
      later[grouping[before]].push_back(grouping[after]);
      ++hinted[grouping[after]];
    }
  // Groups have the numbers of their first nodes.
  std::set<int> ready, held;
  auto enqueue = [&](int group) {
    if (pending[group] == 0)
      (hinted[group] == 0 ? ready : held).insert(group);
  };
  for (size_t i = 0; i < n; ++i)
    if (grouping[i] == static_cast<int>(i))
      enqueue(grouping[i]);
  std::vector<int> result;
  while (!ready.empty() || !held.empty()) {
    // Hints that cannot all be followed are given up one group at a time.
    std::set<int> &source = ready.empty() ? held : ready;
    int group = *source.begin();
    source.erase(source.begin());
    result.push_back(group);
    for (int user : users[group])
      if (--pending[user] == 0)
        enqueue(user);
    for (int other : later[group])
      if (--hinted[other] == 0 && held.erase(other))
        ready.insert(other);
  }
  return result;
}
