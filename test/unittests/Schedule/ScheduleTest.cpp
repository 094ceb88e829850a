// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Default schedules are legal for every workload; illegal ones are refused with
// the reason.

#include "neoflow/Schedule/Schedule.h"

#include <gtest/gtest.h>

using namespace neoflow;

namespace {

TargetInfo target(const char *name) {
  TargetInfo info = *getTarget(name);
  info.cores = 2;
  return info;
}

TEST(Schedule, DefaultIsLegalForEveryShapeAndTarget) {
  const int64_t extents[] = {1, 2, 3, 5, 7, 8, 16, 31, 64, 97, 1000, 50176};
  int count = 0;
  for (const std::string &name : getTargetNames())
    for (int64_t bytes : {4, 8})
      for (int64_t m : extents)
        for (int64_t n : extents)
          for (int64_t k : extents) {
            Workload workload;
            workload.elementBytes = bytes;
            workload.parallelPoints = m * n;
            workload.reductionPoints = workload.innerReduction = k;
            workload.innerParallel = n;
            workload.m = m;
            workload.n = n;
            workload.k = k;
            for (Family family : {Family::elementwise, Family::reduction,
                                  Family::contraction, Family::scatter}) {
              workload.family = family;
              TargetInfo info = target(name.c_str());
              Schedule schedule = chooseDefault(workload, info);
              ASSERT_EQ(verify(schedule, workload, info), "")
                  << name << " " << toString(family) << " " << m << " " << n
                  << " " << k;
              ++count;
            }
          }
  EXPECT_EQ(count, 4 * 2 * 12 * 12 * 12 * 4);
}

TEST(Schedule, RegisterTileOfTheRecipe) {
  Workload gemm;
  gemm.family = Family::contraction;
  gemm.m = gemm.n = gemm.k = 1152;
  Schedule avx2 = chooseDefault(gemm, target("x86-64-v3"));
  EXPECT_EQ(avx2.get("mr"), 6);
  EXPECT_EQ(avx2.get("nr"), 16);
  Schedule avx512 = chooseDefault(gemm, target("x86-64-v4"));
  EXPECT_EQ(avx512.get("mr"), 12);
  EXPECT_EQ(avx512.get("nr"), 32);
}

TEST(Schedule, ContractionGivesEveryCoreWork) {
  Workload gemm;
  gemm.family = Family::contraction;
  gemm.m = gemm.n = gemm.k = 1024;
  TargetInfo info = target("x86-64-v3");
  Schedule schedule = chooseDefault(gemm, info);
  int64_t groups =
      (1024 + schedule.get("m_tile") - 1) / schedule.get("m_tile") *
      ((1024 + schedule.get("n_tile") - 1) / schedule.get("n_tile"));
  EXPECT_GE(groups, 2 * info.cores);
}

TEST(Schedule, IllegalOnesAreRefusedWithAReason) {
  Workload gemm;
  gemm.family = Family::contraction;
  gemm.m = gemm.n = gemm.k = 64;
  TargetInfo info = target("x86-64-v3");
  Schedule schedule = chooseDefault(gemm, info);
  auto with = [&](const char *name, int64_t value) {
    Schedule changed = schedule;
    changed.parameters[name] = value;
    return verify(changed, gemm, info);
  };
  EXPECT_EQ(with("nr", 12), "'nr' is 12, not a multiple of 'lanes', 8");
  EXPECT_EQ(with("m_tile", 7), "'m_tile' is not a multiple of 'mr'");
  EXPECT_EQ(with("n_tile", 17), "'n_tile' is not a multiple of 'nr'");
  EXPECT_EQ(with("k_tile", 0),
            "parameter 'k_tile' is 0, below its least value");
  EXPECT_EQ(with("colour", 1),
            "the family 'contraction' has no parameter 'colour'");
  Schedule spills = schedule;
  spills.parameters["mr"] = 64;
  spills.parameters["m_tile"] = 64;
  EXPECT_EQ(verify(spills, gemm, info),
            "the register tile needs " +
                std::to_string(64 * (schedule.get("nr") / 8) +
                               schedule.get("nr") / 8 + 1) +
                " vector registers, more than twice the 16 of the target");
  Schedule along = schedule;
  along.parameters["vector_axis"] = 1;
  along.parameters["mr"] = along.parameters["m_tile"] = 3;
  along.parameters["nr"] = along.parameters["n_tile"] = 4;
  along.order = getOrder(along);
  EXPECT_EQ(along.order,
            "lanes 8 tiles " + std::to_string(along.get("k_tile")));
  EXPECT_EQ(verify(along, gemm, info), "");
  along.parameters["nr"] = along.parameters["n_tile"] = 3;
  EXPECT_EQ(verify(along, gemm, info),
            "lanes along the reduction need 'lanes' of 2 or more and a power "
            "of two for 'nr'");
  EXPECT_EQ(with("vector_axis", 2), "'vector_axis' is 2, not 0 or 1");
  Schedule order = schedule;
  order.order = "lanes 8";
  EXPECT_EQ(verify(order, gemm, info), "the schedule accumulates in the order "
                                       "'ascending', not in 'lanes 8'");
}

TEST(Schedule, FamiliesHaveNames) {
  for (Family family : {Family::elementwise, Family::reduction,
                        Family::contraction, Family::scatter}) {
    Family back;
    ASSERT_TRUE(fromString(toString(family), back));
    EXPECT_EQ(family, back);
  }
  Family unused;
  EXPECT_FALSE(fromString("magic", unused));
}

} // namespace
