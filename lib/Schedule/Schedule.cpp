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

/// Registers of a tile of outer products: accumulators, one row of the right
/// factor, one broadcast of the left.
static int64_t registersOf(int64_t mr, int64_t nr, int64_t lanes) {
  return mr * ceilDiv(nr, lanes) + ceilDiv(nr, lanes) + 1;
}

static Schedule chooseContraction(const Workload &workload,
                                  const TargetInfo &target) {
  int64_t lanes = hardwareLanes(workload, target);
  // The register tile: least work in half cycles for one reduction step of all
  // tiles, over the tiles that fit the registers.
  int64_t bestMr = 1, bestNr = lanes;
  double bestCost = -1;
  // LLVM scalarises vectors that are no power of two times the registers.
  for (int64_t vectors : {2, 1, 4}) {
    int64_t nr = vectors * lanes;
    int64_t run = std::max<int64_t>(workload.rightRun, 1);
    int64_t padded = paddedRun(run, nr);
    int64_t panels = ceilDiv(ceilDiv(workload.n, run) * padded, nr);
    // A panel that lies in a run is loaded by vectors, others lane by lane.
    double pack = padded % nr == 0 ? 4.0 * vectors : 3.0 * nr;
    for (int64_t mr = 16; mr >= 1; --mr) {
      if (registersOf(mr, nr, lanes) > target.vectorRegisters)
        continue;
      // Two FMAs and two loads (broadcasts, and the row of the right factor)
      // start each cycle; an FMA takes four, so that less than eight
      // accumulators wait; the loop itself costs about one.
      double step = 1 + std::max<double>(
                            {double(mr * vectors), double(mr + vectors), 8.0});
      double cost = panels * (ceilDiv(workload.m, mr) * step + pack);
      if (bestCost < 0 || cost < bestCost * 0.999) {
        bestCost = cost;
        bestMr = mr;
        bestNr = nr;
      }
    }
  }
  // Cache tiles: a panel of the right factor stays in the first level, the left
  // block in half of the second.
  int64_t kTile = std::clamp<int64_t>(
      target.l1Bytes / 2 / (bestNr * workload.elementBytes), 64, 512);
  kTile = std::min(kTile, std::max<int64_t>(workload.k, 1));
  int64_t mTile = std::max<int64_t>(
      bestMr,
      target.l2Bytes / 2 / (kTile * workload.elementBytes) / bestMr * bestMr);
  mTile = std::min(mTile, roundUp(workload.m, bestMr));
  int64_t run = std::max<int64_t>(workload.rightRun, 1);
  int64_t positions = ceilDiv(workload.n, run) * paddedRun(run, bestNr);
  int64_t nTile =
      std::min<int64_t>(roundUp(positions, bestNr), roundUp(512, bestNr));
  // Enough workgroups for the cores to balance, while tiles stay large enough
  // to pay for packing.
  auto workgroups = [&] {
    return workload.batch * ceilDiv(workload.m, mTile) *
           ceilDiv(positions, nTile);
  };
  while (workgroups() < 4 * target.cores) {
    bool splitN = nTile > 4 * bestNr && (nTile >= mTile || mTile <= 8 * bestMr);
    bool splitM = !splitN && mTile > 8 * bestMr;
    if (splitN)
      nTile = roundUp(nTile / 2, bestNr);
    else if (splitM)
      mTile = roundUp(mTile / 2, bestMr);
    else
      break;
  }
  // Cores that would do nothing cost more than packing twice.
  while (workgroups() < target.cores) {
    if (nTile > bestNr && nTile >= mTile)
      nTile = roundUp(nTile / 2, bestNr);
    else if (mTile > bestMr)
      mTile = roundUp(mTile / 2, bestMr);
    else if (nTile > bestNr)
      nTile = roundUp(nTile / 2, bestNr);
    else
      break;
  }
  Schedule schedule;
  schedule.family = Family::contraction;
  schedule.parameters = {{"lanes", lanes},  {"mr", bestMr},
                         {"nr", bestNr},    {"m_tile", mTile},
                         {"n_tile", nTile}, {"k_tile", kTile}};
  schedule.order = "ascending";
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
    if (workload.innerReduction < lanes && workload.innerParallel >= 2)
      alongParallel = true;
    int64_t inner =
        alongParallel ? workload.innerParallel : workload.innerReduction;
    int64_t width = powerOfTwo(2 * lanes, inner);
    schedule.parameters = {{"lanes", width},
                           {"vector_axis", alongParallel ? 0 : 1},
                           {"chunk", chunk(workload.reductionPoints)}};
    if (!alongParallel && width > 1)
      schedule.order = "lanes " + std::to_string(width);
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
    names.insert(names.end(), {"mr", "nr", "m_tile", "n_tile", "k_tile"});
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
  if (schedule.family == Family::reduction) {
    int64_t axis = schedule.get("vector_axis");
    if (axis > 1)
      return "'vector_axis' is " + std::to_string(axis) + ", not 0 or 1";
    std::string order =
        axis == 1 && lanes > 1 ? "lanes " + std::to_string(lanes) : "ascending";
    if (schedule.order != order)
      return "the schedule accumulates in the order '" + order + "', not in '" +
             schedule.order + "'";
  } else if (schedule.order != "ascending") {
    return "the schedule accumulates in the order 'ascending', not in '" +
           schedule.order + "'";
  }
  if (schedule.family == Family::contraction) {
    int64_t mr = schedule.get("mr"), nr = schedule.get("nr");
    if (nr < 2)
      return "'nr' is 1, but a row of the register tile is a vector";
    if (nr % lanes != 0)
      return "'nr' is " + std::to_string(nr) + ", not a multiple of 'lanes', " +
             std::to_string(lanes);
    if (schedule.get("m_tile") % mr != 0)
      return "'m_tile' is not a multiple of 'mr'";
    if (schedule.get("n_tile") % nr != 0)
      return "'n_tile' is not a multiple of 'nr'";
    int64_t hardware = hardwareLanes(workload, target);
    int64_t registers = registersOf(mr, nr, std::min(lanes, hardware));
    if (registers > 2 * target.vectorRegisters)
      return "the register tile needs " + std::to_string(registers) +
             " vector registers, more than twice the " +
             std::to_string(target.vectorRegisters) + " of the target";
  }
  return "";
}
