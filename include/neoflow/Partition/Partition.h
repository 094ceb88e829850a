// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grouping of a weighted graph of operations into kernels. Knows nothing of IR:
// the caller says what each node is and how it reads its producers.

#ifndef NEOFLOW_PARTITION_PARTITION_H
#define NEOFLOW_PARTITION_PARTITION_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace neoflow::partition {

/// One operand of a node.
struct Edge {
  /// The producing node; always an earlier one.
  int producer = 0;
  /// Every element is read at the position it is written at, so that producer
  /// and consumer can share a loop.
  bool pointwise = false;
};

/// One operation.
struct Node {
  /// Reduces, or otherwise costs enough to be the root of a kernel.
  bool heavy = false;
  /// May stand in a kernel with others at all.
  bool fusible = true;
  /// Nodes of one kernel have the same domain; equal numbers, equal domains.
  int domain = 0;
  /// Bytes that leaving the kernel costs: one write, and a read by each user.
  int64_t bytes = 0;
  std::vector<Edge> operands;
};

/// Nodes in topological order.
struct Problem {
  std::vector<Node> nodes;
  /// No kernel holds more nodes: the time of code generation grows faster than
  /// the size of a kernel.
  int maxGroupSize = 64;
};

/// Group number of every node: that of the first node of the group.
using Grouping = std::vector<int>;

/// What is wrong with `problem`; empty when nothing is.
std::string check(const Problem &problem);

/// Why `grouping` is no legal answer: groups must be acyclic among each other,
/// share one domain, hold at most one heavy node, which reads no other of them,
/// and read values of their own pointwise. Empty when it is legal.
std::string verify(const Problem &problem, const Grouping &grouping);

/// Why two groups may not become one.
enum class Refusal {
  none,
  /// One of them must stand alone.
  alone,
  domain,
  size,
  /// Both hold a heavy node, or the heavy one would not be the first.
  heavy,
  /// One reads a value of the other elsewhere than it is written.
  notPointwise,
  /// A path leaves the first, passes a third group and enters the second.
  cycle
};

/// Groups that start as single nodes and grow by legal merges only, so that
/// every state is a legal answer. A merge costs time in proportion to what lies
/// between both groups on the paths of one of them, and that is usually little.
class Groups {
public:
  /// `problem` has passed check() and outlives this.
  explicit Groups(const Problem &problem);

  /// The number of the group of `node`; changes when groups merge.
  int find(int node);
  /// Makes one group of those of both nodes, or says why not.
  Refusal merge(int a, int b);
  Grouping getGrouping();

private:
  struct Group {
    /// The heavy node; -1 when there is none.
    int heavy = -1;
    std::vector<int> members;
    /// Nodes outside, and inside until they are skipped, that read a member,
    /// and whether pointwise; nodes that members read, likewise.
    std::vector<std::pair<int, bool>> users, producers;
  };
  class Search;

  /// Why both groups cannot share a loop; `from` comes first.
  Refusal checkNodes(int from, int to);
  void insertBefore(int group, int position);
  void unlink(int group);

  const Problem &problem;
  std::vector<int> parent;
  std::vector<Group> groups;
  /// A ring of all groups in topological order, with a sentinel; labels ascend
  /// along it.
  std::vector<int> next, previous;
  std::vector<int64_t> labels;
  /// The search that came by last.
  std::vector<int64_t> marks;
  int64_t searches = 0;
};

/// How groups are decided.
enum class Decider {
  /// Every node alone.
  none,
  /// Light nodes join the kernels of producers that they read pointwise where
  /// this is legal, those that save most bytes first.
  rules
};

/// `problem` has passed check().
Grouping group(const Problem &problem, Decider decider);

/// An order of the groups that respects their dependences; among those that are
/// ready, the one whose first node comes first. `hints` are pairs of nodes
/// whose groups come in that order where their dependences allow it.
std::vector<int> order(const Problem &problem, const Grouping &grouping,
                       const std::vector<std::pair<int, int>> &hints = {});

} // namespace neoflow::partition

#endif // NEOFLOW_PARTITION_PARTITION_H
