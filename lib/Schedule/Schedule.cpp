// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Default schedules and their legality.

#include "neoflow/Schedule/Schedule.h"

#include <algorithm>
#include <vector>

using namespace neoflow;

static const std::vector<std::pair<Family, const char *>> kFamilies = {
    {Family::elementwise, "elementwise"},
    {Family::reduction, "reduction"},
    {Family::contraction, "contraction"},
    {Family::scatter, "scatter"}};

const char *neoflow::toString(Family family) {
  for (auto [value, name] : kFamilies)
    if (value == family)
      return name;
  return "unknown";
}

bool neoflow::fromString(const std::string &name, Family &family) {
  for (auto [value, text] : kFamilies) {
    if (name == text) {
      family = value;
      return true;
    }
  }
  return false;
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

/// The largest power of two up to `limit` and `bound`; at least 1.
static int64_t powerOfTwo(int64_t limit, int64_t bound) {
  int64_t result = 1;
  while (result * 2 <= limit && result * 2 <= bound)
    result *= 2;
  return result;
}

static int64_t hardwareLanes(const Workload &workload,
                             const TargetInfo &target) {
  return std::max<int64_t>(1, target.vectorBytes / workload.elementBytes);
}

int64_t neoflow::paddedRun(int64_t run, int64_t width) {
  int64_t padded = roundUp(run, width);
  return 8 * run >= 5 * padded ? padded : run;
}

std::string neoflow::getOrder(const Schedule &schedule) {
  auto it = schedule.parameters.find("vector_axis");
  int64_t lanes = schedule.get("lanes");
  if (it == schedule.parameters.end() || it->second == 0 || lanes == 1)
    return "ascending";
  std::string order = "lanes " + std::to_string(lanes);
  if (schedule.family == Family::contraction)
    order += " tiles " + std::to_string(schedule.get("k_tile"));
  return order;
}

/// Registers of a register tile: accumulators, the operands that stay for a
/// step, and one that does not.
static int64_t registersOf(int64_t vectorAxis, int64_t mr, int64_t nr,
                           int64_t lanes) {
  if (vectorAxis == 1)
    return mr * nr + mr + 1;
  return mr * ceilDiv(nr, lanes) + ceilDiv(nr, lanes) + 1;
}

namespace {
/// A register tile and what it costs, in half cycles for each point of k.
struct RegisterTile {
  int64_t vectorAxis = 0, mr = 1, nr = 1;
  double cost = -1;

  void improve(const RegisterTile &other, double margin) {
    if (cost < 0 || other.cost < cost * margin)
      *this = other;
  }
};
} // namespace

/// Two FMAs and two loads start each cycle; an FMA takes four, so that fewer
/// than eight accumulators wait; the loop itself costs about one half.
static double costOfStep(int64_t accumulators, int64_t loads) {
  return 1 + std::max<double>({double(accumulators), double(loads), 8.0});
}

static RegisterTile chooseOuterProduct(const Workload &workload,
                                       const TargetInfo &target,
                                       int64_t lanes) {
  RegisterTile best;
  best.nr = lanes;
  // LLVM scalarises vectors that are no power of two times the registers.
  for (int64_t vectors : {2, 1, 4}) {
    int64_t nr = vectors * lanes;
    int64_t run = std::max<int64_t>(workload.rightRun, 1);
    int64_t padded = paddedRun(run, nr);
    int64_t panels = ceilDiv(ceilDiv(workload.n, run) * padded, nr);
    // A panel that lies in a run is loaded by vectors, others lane by lane.
    double pack = padded % nr == 0 && workload.rightIsContiguous ? 4.0 * vectors
                                                                 : 3.0 * nr;
    for (int64_t mr = 16; mr >= 1; --mr) {
      if (registersOf(0, mr, nr, lanes) > target.vectorRegisters)
        continue;
      double step = costOfStep(mr * vectors, mr + vectors);
      // Rows of the left factor are packed one by one.
      double cost = panels * (ceilDiv(workload.m, mr) * step + pack) +
                    3.0 * workload.m * ceilDiv(panels * nr, 512);
      best.improve({0, mr, nr, cost}, 0.999);
    }
  }
  return best;
}

static RegisterTile chooseDotProduct(const Workload &workload,
                                     const TargetInfo &target, int64_t lanes) {
  RegisterTile best;
  // The part of a packed vector that is of use.
  double fill = double(workload.innerReduction) /
                roundUp(std::max<int64_t>(workload.innerReduction, 1), lanes);
  for (int64_t nr : {4, 2, 8}) {
    for (int64_t mr = 8; mr >= 1; --mr) {
      if (registersOf(1, mr, nr, lanes) > target.vectorRegisters)
        continue;
      double step = costOfStep(mr * nr, mr + nr);
      double cost = (ceilDiv(workload.m, mr) * ceilDiv(workload.n, nr) * step +
                     6.0 * (workload.m + workload.n) / fill) /
                    lanes;
      best.improve({1, mr, nr, cost}, 0.999);
    }
  }
  return best;
}

static Schedule chooseContraction(const Workload &workload,
                                  const TargetInfo &target) {
  int64_t lanes = hardwareLanes(workload, target);
  RegisterTile tile = chooseOuterProduct(workload, target, lanes);
  if (workload.reductionIsContiguous && lanes > 1)
    tile.improve(chooseDotProduct(workload, target, lanes), 0.8);
  auto [vectorAxis, mr, nr, cost] = tile;
  // Cache tiles: a panel of the right factor stays in the first level, the left
  // block in half of the second.
  int64_t kTile =
      std::clamp<int64_t>(target.l1Bytes / 2 / (nr * workload.elementBytes), 64,
                          vectorAxis == 1 ? 1024 : 512);
  kTile = std::min(kTile, std::max<int64_t>(workload.k, 1));
  int64_t mTile = std::max<int64_t>(
      mr, target.l2Bytes / 2 / (kTile * workload.elementBytes) / mr * mr);
  mTile = std::min(mTile, roundUp(workload.m, mr));
  int64_t run = std::max<int64_t>(workload.rightRun, 1);
  int64_t positions = vectorAxis == 1
                          ? workload.n
                          : ceilDiv(workload.n, run) * paddedRun(run, nr);
  int64_t widest = vectorAxis == 1 ? 64 : 512;
  int64_t nTile =
      std::min<int64_t>(roundUp(positions, nr), roundUp(widest, nr));
  // Enough workgroups for the cores to balance, while tiles stay large enough
  // to pay for packing.
  auto workgroups = [&] {
    return workload.batch * ceilDiv(workload.m, mTile) *
           ceilDiv(positions, nTile);
  };
  while (workgroups() < 4 * target.cores) {
    bool splitN = nTile > 4 * nr && (nTile >= mTile || mTile <= 8 * mr);
    bool splitM = !splitN && mTile > 8 * mr;
    if (splitN)
      nTile = roundUp(nTile / 2, nr);
    else if (splitM)
      mTile = roundUp(mTile / 2, mr);
    else
      break;
  }
  // Cores that would do nothing cost more than packing twice.
  while (workgroups() < target.cores) {
    if (nTile > nr && nTile >= mTile)
      nTile = roundUp(nTile / 2, nr);
    else if (mTile > mr)
      mTile = roundUp(mTile / 2, mr);
    else if (nTile > nr)
      nTile = roundUp(nTile / 2, nr);
    else
      break;
  }
  Schedule schedule;
  schedule.family = Family::contraction;
  schedule.parameters = {{"lanes", lanes},  {"vector_axis", vectorAxis},
                         {"mr", mr},        {"nr", nr},
                         {"m_tile", mTile}, {"n_tile", nTile},
                         {"k_tile", kTile}};
  schedule.order = getOrder(schedule);
  return schedule;
}

Schedule neoflow::chooseDefault(const Workload &workload,
                                const TargetInfo &target) {
  if (workload.family == Family::contraction)
    return chooseContraction(workload, target);
  Schedule schedule;
  schedule.family = workload.family;
  int64_t lanes = hardwareLanes(workload, target);
  int64_t points = std::max<int64_t>(workload.parallelPoints, 1);
  // About 16k points of work a workgroup, fewer when that leaves cores idle.
  auto chunk = [&](int64_t cost) {
    int64_t size = std::max<int64_t>(1, 16384 / std::max<int64_t>(cost, 1));
    size = std::min(size, ceilDiv(points, 4 * target.cores));
    return std::max<int64_t>(size, 1);
  };
  switch (workload.family) {
  case Family::elementwise: {
    int64_t width = powerOfTwo(2 * lanes, workload.innerParallel);
    schedule.parameters = {
        {"lanes", width},
        {"chunk", std::min(roundUp(std::max<int64_t>(chunk(1), 2048), width),
                           std::max<int64_t>(points, 1))}};
    break;
  }
  case Family::reduction: {
    bool alongParallel =
        workload.innerParallel >= lanes &&
        (workload.contiguousParallel >= workload.contiguousReduction ||
         workload.innerReduction < lanes);
    if (workload.isOrdered ||
        (workload.innerReduction < lanes && workload.innerParallel >= 2))
      alongParallel = true;
    int64_t inner =
        alongParallel ? workload.innerParallel : workload.innerReduction;
    int64_t width = powerOfTwo(2 * lanes, inner);
    schedule.parameters = {{"lanes", width},
                           {"vector_axis", alongParallel ? 0 : 1},
                           {"chunk", chunk(workload.reductionPoints)}};
    schedule.order = getOrder(schedule);
    break;
  }
  default:
    schedule.parameters = {{"lanes", 1}};
    break;
  }
  return schedule;
}

std::string neoflow::verify(const Schedule &schedule, const Workload &workload,
                            const TargetInfo &target) {
  if (schedule.family != workload.family)
    return std::string("the kernel is of the family '") +
           toString(workload.family) + "', not '" + toString(schedule.family) +
           "'";
  std::vector<std::string> names = {"lanes"};
  switch (schedule.family) {
  case Family::elementwise:
    names.push_back("chunk");
    break;
  case Family::reduction:
    names.insert(names.end(), {"vector_axis", "chunk"});
    break;
  case Family::contraction:
    names.insert(names.end(),
                 {"vector_axis", "mr", "nr", "m_tile", "n_tile", "k_tile"});
    break;
  case Family::scatter:
    break;
  }
  for (const std::string &name : names) {
    auto it = schedule.parameters.find(name);
    if (it == schedule.parameters.end())
      return "parameter '" + name + "' is missing";
    if (it->second < (name == "vector_axis" ? 0 : 1))
      return "parameter '" + name + "' is " + std::to_string(it->second) +
             ", below its least value";
  }
  for (const auto &[name, value] : schedule.parameters)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return "the family '" + std::string(toString(schedule.family)) +
             "' has no parameter '" + name + "'";
  int64_t lanes = schedule.get("lanes");
  if ((lanes & (lanes - 1)) != 0 || lanes > 64)
    return "'lanes' is " + std::to_string(lanes) +
           ", not a power of two up to 64";
  if (auto it = schedule.parameters.find("vector_axis");
      it != schedule.parameters.end() && it->second > 1)
    return "'vector_axis' is " + std::to_string(it->second) + ", not 0 or 1";
  if (schedule.family == Family::reduction && workload.isOrdered &&
      schedule.get("vector_axis") == 1 && lanes > 1)
    return "a combine region takes its points in order, so that lanes cannot "
           "lie "
           "along the reduction";
  if (std::string order = getOrder(schedule); schedule.order != order)
    return "the schedule accumulates in the order '" + order + "', not in '" +
           schedule.order + "'";
  if (schedule.family == Family::contraction) {
    int64_t axis = schedule.get("vector_axis");
    int64_t mr = schedule.get("mr"), nr = schedule.get("nr");
    if (nr < 2)
      return "'nr' is 1, but a row of the register tile is a vector";
    if (axis == 0 && nr % lanes != 0)
      return "'nr' is " + std::to_string(nr) + ", not a multiple of 'lanes', " +
             std::to_string(lanes);
    if (axis == 1 && (lanes == 1 || (nr & (nr - 1)) != 0))
      return "lanes along the reduction need 'lanes' of 2 or more and a power "
             "of "
             "two for 'nr'";
    if (schedule.get("m_tile") % mr != 0)
      return "'m_tile' is not a multiple of 'mr'";
    if (schedule.get("n_tile") % nr != 0)
      return "'n_tile' is not a multiple of 'nr'";
    int64_t hardware = hardwareLanes(workload, target);
    int64_t registers = registersOf(axis, mr, nr, std::min(lanes, hardware));
    if (registers > 2 * target.vectorRegisters)
      return "the register tile needs " + std::to_string(registers) +
             " vector registers, more than twice the " +
             std::to_string(target.vectorRegisters) + " of the target";
  }
  return "";
}
