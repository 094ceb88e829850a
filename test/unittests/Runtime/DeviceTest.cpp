// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices by name, CPU features, threads.

#include "TestBundle.h"

#include <sched.h>

#include <gtest/gtest.h>

using namespace neoflow::runtime;
using namespace neoflow::runtime::test;

TEST(Device, UnknownNameListsDevices) {
  auto device = createDevice("tpu");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.message(), "there is no device 'tpu'; devices are: cpu");
}

TEST(Device, TooManyThreads) {
  auto device = createDevice("cpu", {5000});
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.message(), "expected at most 1024 threads, but got 5000");
}

TEST(Device, ThreadsFollowTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before))
    ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(availableThreads(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(availableThreads(), unsigned(CPU_COUNT(&before)));
}

TEST(Device, CPUFeatures) {
  auto missing = missingCPUFeatures({"no-such-thing"});
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(*missing, std::vector<std::string>{"no-such-thing"});
#if defined(__x86_64__)
  // Names of LLVM that Linux spells otherwise.
  missing = missingCPUFeatures({"sse2", "64bit", "x87"});
  ASSERT_TRUE(missing.ok());
  EXPECT_TRUE(missing->empty());
#endif
}

TEST(Device, ResultsDoNotDependOnThreads) {
  TemporaryFolder folder;
  linearModel().write(folder / "m.nfb");
  std::vector<float> a(1000), b(1000), first;
  for (int i = 0; i < 1000; ++i) {
    a[i] = i * 0.37f;
    b[i] = 1000 - i;
  }
  std::vector<TensorRef> inputs = {{ElementType::F32, {1000}, a.data()},
                                   {ElementType::F32, {1000}, b.data()}};
  for (unsigned threads : {1, 2, 3, 8}) {
    auto session = makeSession(folder / "m.nfb", threads);
    auto results = session->call("add", inputs);
    ASSERT_TRUE(results.ok()) << results.message();
    auto *sum = static_cast<float *>((*results)[0].data.data());
    for (int i = 0; i < 1000; ++i)
      ASSERT_EQ(sum[i], a[i] + b[i]);
  }
}
