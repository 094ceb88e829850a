// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs with loops: slices, alternates, their checks, and their execution.

#include "TestBundle.h"

#include <gtest/gtest.h>

using namespace neoflow;
using namespace neoflow::runtime;
using namespace neoflow::runtime::test;

static constexpr int64_t rowBytes = 4000, steps = 3;

static Json moving(const char *kind, int64_t loop, int64_t of) {
  Json buffer = {
      {"kind", kind}, {"of", of}, {"loop", loop}, {"bytes", rowBytes}};
  return buffer;
}

static Json slice(int64_t loop, int64_t of, bool reverse) {
  Json buffer = moving("slice", loop, of);
  buffer["reverse"] = reverse;
  return buffer;
}

static Json alternate(int64_t loop, int64_t even, int64_t odd) {
  Json buffer = moving("alternate", loop, even);
  buffer["odd"] = odd;
  return buffer;
}

/// `add` becomes: two runs of `c = a + a; repeat over t: c += b[t]; d[2 - t] =
/// c + b[t]`, the carry in two buffers that take turns.
static BundleParts makeLoop() {
  BundleParts parts = linearModel();
  Json &functions = parts.manifest["functions"];
  Json &function = functions.back();
  function["arguments"][1]["shape"] = {steps, 1000};
  Json stacked = function["arguments"][1];
  stacked["name"] = "d";
  function["results"].push_back(stacked);
  Json &program = parts.program("add");
  int64_t kernel = program["launches"][0]["kernel"];
  auto launch = [&](std::vector<int64_t> buffers) {
    return Json{{"kernel", kernel}, {"buffers", buffers}};
  };
  program["arena"] = 4032;
  program["max_live"] = 4032;
  program["buffers"] = {
      {{"kind", "argument"}, {"index", 0}, {"bytes", rowBytes}},
      {{"kind", "argument"}, {"index", 1}, {"bytes", steps * rowBytes}},
      {{"kind", "result"}, {"index", 0}, {"bytes", rowBytes}},
      {{"kind", "result"}, {"index", 1}, {"bytes", steps * rowBytes}},
      {{"kind", "arena"}, {"offset", 0}, {"bytes", rowBytes}},
      alternate(1, 4, 2),
      alternate(1, 2, 4),
      slice(1, 1, false),
      slice(1, 3, true)};
  program["results"] = {2, 3};
  program["launches"] = {launch({0, 0, 4}), launch({5, 7, 6}),
                         launch({6, 7, 8})};
  program["loops"] = {{{"first", 0}, {"last", 3}, {"steps", 2}},
                      {{"first", 1}, {"last", 3}, {"steps", steps}}};
  return parts;
}

TEST(Loop, RunsStepsInOrder) {
  BundleParts parts = makeLoop();
  TemporaryFolder folder;
  parts.write(folder / "m.nfb");
  auto bundle = openGood(folder / "m.nfb");
  ASSERT_TRUE(bundle);
  EXPECT_EQ(bundle->verify().message(), "");
  auto session = makeSession(folder / "m.nfb");
  ASSERT_TRUE(session);
  std::vector<float> a(1000), b(steps * 1000);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<float>(i % 7 * (i / 1000 + 1));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(i);
  auto results =
      session->call("add", {{ElementType::F32, {1000}, a.data()},
                            {ElementType::F32, {steps, 1000}, b.data()}});
  ASSERT_TRUE(results.ok()) << results.message();
  auto *c = reinterpret_cast<const float *>((*results)[0].data.data());
  auto *d = reinterpret_cast<const float *>((*results)[1].data.data());
  for (int64_t i = 0; i < 1000; ++i) {
    float sum = 2 * a[i];
    for (int64_t t = 0; t < steps; ++t) {
      sum += b[t * 1000 + i];
      EXPECT_EQ(d[(steps - 1 - t) * 1000 + i], sum + b[t * 1000 + i]);
    }
    EXPECT_EQ(c[i], sum);
  }
}

TEST(Loop, CountsExecutions) {
  BundleParts parts = makeLoop();
  TemporaryFolder folder;
  parts.write(folder / "m.nfb");
  auto bundle = openGood(folder / "m.nfb");
  ASSERT_TRUE(bundle);
  for (const Program &program : bundle->manifest().targets[0].programs)
    if (program.functionName == "add") {
      EXPECT_EQ(program.executions(0), 2);
      EXPECT_EQ(program.executions(2), 2 * steps);
      EXPECT_EQ(program.loopsAround(1), (std::vector<size_t>{0, 1}));
    }
}

namespace {
/// A change of the program that must not open, and what the message ends with.
struct BadLoop {
  const char *name;
  void (*change)(Json &program);
  const char *message;
};
} // namespace

class BadLoopTest : public ::testing::TestWithParam<BadLoop> {};

TEST_P(BadLoopTest, IsRefused) {
  BundleParts parts = makeLoop();
  GetParam().change(parts.program("add"));
  std::string message = openError(parts);
  std::string want = GetParam().message;
  EXPECT_TRUE(
      message.size() >= want.size() &&
      message.compare(message.size() - want.size(), want.size(), want) == 0)
      << message;
}

static const BadLoop badLoops[] = {
    {"Behind", [](Json &p) { p["loops"][1]["last"] = 4; },
     "loop 1 over launches 1 to 4 of 3"},
    {"Backwards", [](Json &p) { p["loops"][0]["first"] = 9; },
     "loop 0 over launches 9 to 3 of 3"},
    {"Crossing",
     [](Json &p) {
       p["loops"][0]["first"] = 0;
       p["loops"][0]["last"] = 2;
     },
     "loop 1 is neither inside of loop 0 nor apart from it"},
    {"NoLoop", [](Json &p) { p["buffers"][7]["loop"] = 5; },
     "buffer 7 moves in loop 5, which does not exist"},
    {"Forward", [](Json &p) { p["buffers"][5]["odd"] = 5; },
     "buffer 5 is made of buffer 5, which does not come before it"},
    {"Short", [](Json &p) { p["loops"][1]["steps"] = 4; },
     "buffer 7 of 4 times 4000 bytes ends outside buffer 1 of 12000 bytes"},
    {"SmallAlternate", [](Json &p) { p["buffers"][4]["bytes"] = 3968; },
     "buffer 5 of 1 times 4000 bytes ends outside buffer 4 of 3968 bytes"},
    {"InnerLoop", [](Json &p) { p["buffers"].push_back(alternate(0, 7, 7)); },
     "buffer 9 is made of buffer 7, which moves in a loop that is not around "
     "it"},
    {"LaunchOutside", [](Json &p) { p["launches"][0]["buffers"][0] = 7; },
     "launch 0 uses buffer 7, which moves in a loop that is not around the "
     "launch"},
    {"Reverse", [](Json &p) { p["buffers"][8]["reverse"] = 1; },
     "buffers[8].reverse: expected true or false"},
};

INSTANTIATE_TEST_SUITE_P(Manifest, BadLoopTest, ::testing::ValuesIn(badLoops),
                         [](const auto &info) { return info.param.name; });

TEST(Loop, LiveRangesCoverTheLoop) {
  BundleParts parts = makeLoop();
  Json &program = parts.program("add");
  // A value of one step may not lie where the carry is, which the next step
  // needs, although no later launch of this step reads it.
  program["buffers"].push_back(
      {{"kind", "arena"}, {"offset", 0}, {"bytes", rowBytes}});
  program["launches"][2]["buffers"] = {6, 7, 9};
  TemporaryFolder folder;
  parts.write(folder / "m.nfb");
  auto bundle = openGood(folder / "m.nfb");
  ASSERT_TRUE(bundle);
  EXPECT_NE(bundle->verify().message().find("buffers 4 and 9 overlap"),
            std::string::npos)
      << bundle->verify().message();
}
