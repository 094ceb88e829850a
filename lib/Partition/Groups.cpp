// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merging with a topological order that is kept up to date: whether a merge
// closes a cycle is found out between the positions of both groups only.

#include "neoflow/Partition/Partition.h"

#include <algorithm>

using namespace neoflow::partition;

static constexpr int64_t kGap = int64_t(1) << 40;

/// Walks along edges one at a time, so that two searches can take turns and the
/// cheaper one decides.
class Groups::Search {
public:
  /// What is reachable from `start` without passing the position of `goal`;
  /// `forward` along users, otherwise along producers.
  Search(Groups &groups, int start, int goal, bool forward, int64_t mark,
         int64_t otherMark)
      : groups(groups), start(start), goal(goal), forward(forward), mark(mark),
        otherMark(otherMark) {
    stack.push_back({start, 0});
  }

  enum class State { running, done, cycle };

  /// Looks at one more edge.
  State step() {
    while (!stack.empty()) {
      auto &[group, position] = stack.back();
      const auto &edges =
          forward ? groups.groups[group].users : groups.groups[group].producers;
      if (position == edges.size()) {
        stack.pop_back();
        continue;
      }
      int other = groups.find(edges[position++].first);
      if (other == group || other == start)
        return State::running;
      if (other == goal)
        return group == start ? State::running : State::cycle;
      int64_t bound = groups.labels[goal];
      if (forward ? groups.labels[other] > bound : groups.labels[other] < bound)
        return State::running;
      if (groups.marks[other] == otherMark)
        return State::cycle;
      if (groups.marks[other] != mark) {
        groups.marks[other] = mark;
        reached.push_back(other);
        stack.push_back({other, 0});
      }
      return State::running;
    }
    return State::done;
  }

  /// Everything that was reached, in topological order.
  std::vector<int> takeReached() {
    std::sort(reached.begin(), reached.end(), [&](int a, int b) {
      return groups.labels[a] < groups.labels[b];
    });
    return std::move(reached);
  }

private:
  Groups &groups;
  int start, goal;
  bool forward;
  int64_t mark, otherMark;
  std::vector<std::pair<int, size_t>> stack;
  std::vector<int> reached;
};

Groups::Groups(const Problem &problem)
    : problem(problem), parent(problem.nodes.size()),
      groups(problem.nodes.size()), next(problem.nodes.size() + 1),
      previous(problem.nodes.size() + 1), labels(problem.nodes.size() + 1),
      marks(problem.nodes.size(), 0) {
  int n = static_cast<int>(problem.nodes.size());
  for (int i = 0; i <= n; ++i) {
    next[i] = i == n ? 0 : i + 1;
    previous[i] = i == 0 ? n : i - 1;
    labels[i] = (i + 1) * kGap;
  }
  for (int i = 0; i < n; ++i) {
    parent[i] = i;
    groups[i].members = {i};
    if (problem.nodes[i].heavy)
      groups[i].heavy = i;
    for (const Edge &edge : problem.nodes[i].operands) {
      groups[i].producers.push_back({edge.producer, edge.pointwise});
      groups[edge.producer].users.push_back({i, edge.pointwise});
    }
  }
}

int Groups::find(int node) {
  while (parent[node] != node) {
    parent[node] = parent[parent[node]];
    node = parent[node];
  }
  return node;
}

Refusal Groups::checkNodes(int from, int to) {
  const Node &first = problem.nodes[groups[from].members.front()];
  const Node &second = problem.nodes[groups[to].members.front()];
  if (!first.fusible || !second.fusible)
    return Refusal::alone;
  if (first.domain != second.domain)
    return Refusal::domain;
  if (groups[from].members.size() + groups[to].members.size() >
      static_cast<size_t>(problem.maxGroupSize))
    return Refusal::size;
  if (int heavy = groups[to].heavy; heavy >= 0) {
    if (groups[from].heavy >= 0)
      return Refusal::heavy;
    for (const Edge &edge : problem.nodes[heavy].operands)
      if (find(edge.producer) == from)
        return Refusal::heavy;
  }
  // Edges lead from the earlier group to the later one only.
  bool fewUsers = groups[from].users.size() < groups[to].producers.size();
  const auto &edges = fewUsers ? groups[from].users : groups[to].producers;
  int other = fewUsers ? to : from;
  for (auto [node, pointwise] : edges)
    if (!pointwise && find(node) == other)
      return Refusal::notPointwise;
  return Refusal::none;
}

void Groups::unlink(int group) {
  next[previous[group]] = next[group];
  previous[next[group]] = previous[group];
}

void Groups::insertBefore(int group, int position) {
  int sentinel = static_cast<int>(parent.size());
  int before = previous[position];
  next[before] = previous[position] = group;
  previous[group] = before;
  next[group] = position;
  int64_t low = before == sentinel ? 0 : labels[before];
  labels[group] = low + (labels[position] - low) / 2;
  if (labels[group] != low)
    return;
  // No room: number everything again.
  int64_t value = kGap;
  for (int i = next[sentinel]; i != sentinel; i = next[i], value += kGap)
    labels[i] = value;
  labels[sentinel] = value;
}

Refusal Groups::merge(int a, int b) {
  int from = find(a), to = find(b);
  if (from == to)
    return Refusal::none;
  if (labels[from] > labels[to])
    std::swap(from, to);
  if (Refusal refusal = checkNodes(from, to); refusal != Refusal::none)
    return refusal;

  int64_t mark = ++searches * 2;
  Search down(*this, from, to, /*forward=*/true, mark, mark + 1);
  Search up(*this, to, from, /*forward=*/false, mark + 1, mark);
  auto downState = Search::State::running, upState = downState;
  while (downState == Search::State::running &&
         upState == Search::State::running) {
    downState = down.step();
    if (downState == Search::State::running)
      upState = up.step();
  }
  if (downState == Search::State::cycle || upState == Search::State::cycle)
    return Refusal::cycle;

  // Either what comes from the first group moves behind the second one, which
  // stays where it is, or what leads to the second moves before the first.
  bool moveDown = downState == Search::State::done;
  int stays = moveDown ? to : from, goes = moveDown ? from : to;
  int position = moveDown ? next[to] : from;
  for (int group : moveDown ? down.takeReached() : up.takeReached()) {
    unlink(group);
    insertBefore(group, position);
  }
  unlink(goes);
  parent[goes] = stays;
  Group &into = groups[stays], &old = groups[goes];
  into.heavy = std::max(into.heavy, old.heavy);
  auto append = [](auto &target, auto &source) {
    if (target.size() < source.size())
      target.swap(source);
    target.insert(target.end(), source.begin(), source.end());
    source.clear();
    source.shrink_to_fit();
  };
  append(into.members, old.members);
  append(into.users, old.users);
  append(into.producers, old.producers);
  return Refusal::none;
}

Grouping Groups::getGrouping() {
  std::vector<int> first(parent.size(), -1);
  Grouping grouping(parent.size());
  for (int i = 0; i < static_cast<int>(parent.size()); ++i) {
    int &number = first[find(i)];
    if (number < 0)
      number = i;
    grouping[i] = number;
  }
  return grouping;
}
