// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule as data, the workload it is for, the default choice and its
// legality. Plain C++: search, records and the tuner need no IR.

#ifndef NEOFLOW_SCHEDULE_SCHEDULE_H
#define NEOFLOW_SCHEDULE_SCHEDULE_H

#include "neoflow/TargetInfo/TargetInfo.h"

#include <cstdint>
#include <map>
#include <string>

namespace neoflow {

/// How a kernel is executed.
///
/// | family | idea |
/// | --- | --- |
/// | elementwise | lanes along the innermost result dimension |
/// | reduction | lanes along the innermost result dimension or reduction index
/// | | contraction | both factors packed, a register tile of products | |
/// scatter | one workgroup in the order of the points |
enum class Family { elementwise, reduction, contraction, scatter };

const char *toString(Family family);
/// The family called `name`; false when there is none.
bool fromString(const std::string &name, Family &family);

/// What a schedule is chosen for. Extents are numbers of points.
struct Workload {
  Family family = Family::elementwise;
  /// Bytes of an element in the type that is computed with.
  int64_t elementBytes = 4;
  /// Points of the parallel and of the reduction domain.
  int64_t parallelPoints = 1;
  int64_t reductionPoints = 1;
  /// Extents of the innermost parallel and reduction index.
  int64_t innerParallel = 1;
  int64_t innerReduction = 1;
  /// Reduction: reads that are contiguous along the innermost parallel and
  /// along the innermost reduction index.
  int64_t contiguousParallel = 0;
  int64_t contiguousReduction = 0;
  /// Reduction: points must be combined in their order.
  bool isOrdered = false;
  /// Contraction: points of the left, right, reduction and batch indices.
  int64_t m = 1, n = 1, k = 1, batch = 1;
  /// Contraction: positions of the right indices that follow each other in
  /// memory, as far as all reads agree.
  int64_t rightRun = 1;
  /// Contraction: whether every read of the right factor is contiguous along
  /// its innermost index, and every read of both along the innermost reduction
  /// index.
  bool rightIsContiguous = true;
  bool reductionIsContiguous = false;
};

/// Positions that a run of `run` points takes when it is cut into panels of
/// `width`: rounded up where that wastes little, so that no panel leaves the
/// run, and unchanged otherwise.
int64_t paddedRun(int64_t run, int64_t width);

/// A decision. Parameters by family, all in points unless said otherwise:
///
/// - every family: `lanes`, points evaluated by one vector operation;
/// - elementwise: `chunk`, points of one workgroup;
/// - reduction: `vector_axis`, 0 for lanes along the parallel index, 1 for
///   lanes along the reduction index; `chunk`, result elements of one
///   workgroup;
/// - contraction: `vector_axis`, 0 for lanes along the right indices, 1 for
///   lanes along the reduction indices; `mr` and `nr`, the register tile;
///   `m_tile`, `n_tile`, the tile of one workgroup; `k_tile`, the reduction
///   points packed at a time.
struct Schedule {
  Family family = Family::elementwise;
  std::map<std::string, int64_t> parameters;
  /// The order in which an element is accumulated; see docs/Schedules.md.
  std::string order = "ascending";

  int64_t get(const std::string &name) const { return parameters.at(name); }
};

/// A legal schedule for any workload.
Schedule chooseDefault(const Workload &workload, const TargetInfo &target);

/// The order in which a schedule with these parameters accumulates.
std::string getOrder(const Schedule &schedule);

/// Why `schedule` is illegal for `workload` on `target`; empty when it is
/// legal.
std::string verify(const Schedule &schedule, const Workload &workload,
                   const TargetInfo &target);

} // namespace neoflow

#endif // NEOFLOW_SCHEDULE_SCHEDULE_H
