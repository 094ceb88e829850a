// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Targets and schedules survive the way through attributes and back.

#include "neoflow/Dialect/NeoFlow/Utils/ScheduleAttrUtils.h"
#include "neoflow/Dialect/NeoFlow/Utils/TargetAttrUtils.h"

#include <gtest/gtest.h>

using namespace neoflow;

namespace {

TEST(AttrUtils, EveryFieldOfATargetSurvives) {
  MLIRContext context;
  context.loadDialect<NeoFlowDialect>();
  TargetInfo target;
  target.name = "name";
  target.cpu = "cpu";
  target.features = "+a,-b";
  target.cores = 3;
  target.vectorBytes = 64;
  target.vectorRegisters = 31;
  target.l1Bytes = 5;
  target.l2Bytes = 7;
  target.l3Bytes = 11;
  TargetInfo back = fromAttr(toAttr(&context, target));
  EXPECT_EQ(back.name, target.name);
  EXPECT_EQ(back.cpu, target.cpu);
  EXPECT_EQ(back.features, target.features);
  EXPECT_EQ(back.cores, target.cores);
  EXPECT_EQ(back.vectorBytes, target.vectorBytes);
  EXPECT_EQ(back.vectorRegisters, target.vectorRegisters);
  EXPECT_EQ(back.l1Bytes, target.l1Bytes);
  EXPECT_EQ(back.l2Bytes, target.l2Bytes);
  EXPECT_EQ(back.l3Bytes, target.l3Bytes);
}

TEST(AttrUtils, EveryFieldOfAScheduleSurvives) {
  MLIRContext context;
  context.loadDialect<NeoFlowDialect>();
  Schedule schedule;
  schedule.family = Family::contraction;
  schedule.parameters = {{"mr", 6}, {"lanes", 8}};
  schedule.order = "order";
  std::optional<Schedule> back = fromAttr(toAttr(&context, schedule));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->family, schedule.family);
  EXPECT_EQ(back->parameters, schedule.parameters);
  EXPECT_EQ(back->order, schedule.order);
}

} // namespace
