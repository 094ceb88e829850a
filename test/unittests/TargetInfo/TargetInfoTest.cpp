// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known targets and the host.

#include "neoflow/TargetInfo/TargetInfo.h"

#include <gtest/gtest.h>

#include <set>

using namespace neoflow;

namespace {

TEST(TargetInfo, EveryNameIsKnown) {
  std::set<std::string> names;
  for (const std::string &name : getTargetNames()) {
    std::optional<TargetInfo> target = getTarget(name);
    ASSERT_TRUE(target) << name;
    EXPECT_EQ(target->name, name);
    EXPECT_TRUE(names.insert(name).second);
  }
  EXPECT_FALSE(getTarget("abacus"));
}

TEST(TargetInfo, LevelsWiden) {
  EXPECT_EQ(getTarget("x86-64-v2")->vectorBytes, 16);
  EXPECT_EQ(getTarget("x86-64-v3")->vectorBytes, 32);
  EXPECT_EQ(getTarget("x86-64-v4")->vectorBytes, 64);
  EXPECT_EQ(getTarget("x86-64-v4")->vectorRegisters, 32);
}

TEST(TargetInfo, HostIsDetected) {
  TargetInfo host = getHostTarget();
  EXPECT_GE(host.cores, 1);
  EXPECT_GE(host.vectorBytes, 16);
  EXPECT_GT(host.l2Bytes, host.l1Bytes);
}

} // namespace
