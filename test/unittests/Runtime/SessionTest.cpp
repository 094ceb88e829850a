// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions: variables, specialisations, memory, concurrent callers.

#include "TestBundle.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include <gtest/gtest.h>

using namespace neoflow::runtime;
using namespace neoflow::runtime::test;

// Every allocation of the program is counted. The sanitizers have their own
// allocator, which these would get in the way of.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NEOFLOW_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NEOFLOW_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef NEOFLOW_COUNTS_ALLOCATIONS
#define NEOFLOW_COUNTS_ALLOCATIONS 1
#endif

#if NEOFLOW_COUNTS_ALLOCATIONS
static std::atomic<long> allocations(0);

extern "C" void *__libc_malloc(size_t size);
extern "C" void *__libc_memalign(size_t alignment, size_t size);
extern "C" void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
extern "C" int posix_memalign(void **memory, size_t alignment, size_t size) {
  ++allocations;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : 12;
}
#endif

class SessionTest : public ::testing::Test {
protected:
  SessionTest() {
    linearModel().write(path);
    session = makeSession(path);
  }

  TemporaryFolder folder;
  std::string path = folder / "m.nfb";
  std::unique_ptr<Session> session;
};

TEST_F(SessionTest, VariablesAndInit) {
  std::vector<Variable> variables = session->variables();
  ASSERT_EQ(variables.size(), 2u);
  EXPECT_EQ(variables[0].name, "w");
  EXPECT_FALSE(variables[0].hasValue);
  EXPECT_TRUE(variables[1].hasValue);
  ASSERT_TRUE(session->initialise(3).ok());
  EXPECT_EQ(valuesOf(*session, "w"), (std::vector<float>{0.125f, 0.5f, 0.25f}));
  EXPECT_EQ(valuesOf(*session, "m"), (std::vector<float>{0, 0, 0}));
}

TEST_F(SessionTest, VariableErrors) {
  float value[4] = {};
  EXPECT_EQ(session->setVariable("v", {ElementType::F32, {3}, value}).message(),
            "the model has no parameter or state 'v'");
  EXPECT_EQ(session->setVariable("w", {ElementType::F32, {4}, value}).message(),
            "'w' is f32[3], but the value is f32[4]");
  auto missing = session->getVariable("w");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.message(), "'w' has no value yet");
  auto result = session->call("predict", {{ElementType::F32, {1, 3}, value}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.message(),
            "param 'w' has no value: the bundle has no function 'init' that "
            "gives one, and none was loaded");
}

TEST_F(SessionTest, ChoosesTheSpecialisation) {
  ASSERT_TRUE(session->initialise(3).ok());
  std::vector<float> x(12, 1.0f);
  for (int64_t batch : {4, 2, 1}) {
    auto result =
        session->call("predict", {{ElementType::F32, {batch, 3}, x.data()}});
    ASSERT_TRUE(result.ok()) << result.message();
    EXPECT_EQ((*result)[0].shape, (Shape{batch}));
    EXPECT_EQ(static_cast<float *>((*result)[0].data.data())[batch - 1],
              0.875f);
  }
  auto result =
      session->call("predict", {{ElementType::F32, {3, 3}, x.data()}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.message(), "function 'predict' has no specialisation for "
                              "batch=3; it has: batch=4; batch=2; batch=1");
}

TEST_F(SessionTest, CallErrors) {
  std::vector<float> x(12);
  auto message = [&](const char *function, std::vector<TensorRef> inputs) {
    auto result = session->call(function, inputs);
    return result.ok() ? std::string("good") : result.message();
  };
  EXPECT_EQ(message("forecast", {}),
            "there is no function 'forecast'; functions are: train_step, "
            "evaluate, predict, init, add");
  EXPECT_EQ(message("add", {}), "function 'add' takes 2 inputs, but got 0");
  EXPECT_EQ(message("predict", {{ElementType::F64, {1, 3}, x.data()}}),
            "argument 'x' of 'predict' is f32[batch, 3], but the array has "
            "elements of type f64");
  EXPECT_EQ(message("predict", {{ElementType::F32, {1, 4}, x.data()}}),
            "argument 'x' of 'predict' is f32[batch, 3], but the array has the "
            "shape [1, 4]");
  EXPECT_EQ(message("evaluate", {{ElementType::F32, {4, 3}, x.data()},
                                 {ElementType::F32, {2}, x.data()}}),
            "argument 'y' of 'evaluate' is f32[batch], but the array has the "
            "shape [2] while batch=4");
}

TEST_F(SessionTest, StepUpdatesInPlace) {
  ASSERT_TRUE(session->initialise(0).ok());
  float w[3] = {1, 1, 1}, x[3] = {1, 2, 3}, y = 2, loss = 0, accuracy = 0;
  ASSERT_TRUE(session->setVariable("w", {ElementType::F32, {3}, w}).ok());
  auto program =
      session->findProgram("train_step", {std::nullopt, std::nullopt,
                                          Shape{1, 3}, Shape{1}, std::nullopt});
  ASSERT_TRUE(program.ok()) << program.message();
  const void *arguments[5] = {nullptr, nullptr, x, &y, nullptr};
  void *results[4] = {&loss, &accuracy, nullptr, nullptr};
  ASSERT_TRUE(session->step(*program, arguments, results).ok());
  // error 4, gradient 8x, rate 1/16.
  EXPECT_EQ(loss, 16);
  EXPECT_EQ(valuesOf(*session, "m"), (std::vector<float>{8, 16, 24}));
  EXPECT_EQ(valuesOf(*session, "w"), (std::vector<float>{0.5f, 0, -0.5f}));
  EXPECT_EQ(session->settings().step, 1);
}

TEST_F(SessionTest, StepAllocatesNothing) {
#if NEOFLOW_COUNTS_ALLOCATIONS
  ASSERT_TRUE(session->initialise(0).ok());
  std::vector<float> x(12, 0.5f), y(4, 1.0f), otherX = x;
  float loss = 0;
  size_t program = session->programs("train_step")[0];
  const void *arguments[5] = {nullptr, nullptr, x.data(), y.data(), nullptr};
  void *results[4] = {&loss, nullptr, nullptr, nullptr};
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(session->step(program, arguments, results).ok());
  long before = allocations;
  for (int i = 0; i < 1000; ++i) {
    arguments[2] = i % 2 ? x.data() : otherX.data();
    if (!session->step(program, arguments, results).ok())
      FAIL();
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_GT(before, 0);
#else
  GTEST_SKIP() << "not with a sanitizer";
#endif
}

TEST_F(SessionTest, ConcurrentCallersGetTheirOwnResults) {
  ASSERT_TRUE(session->initialise(0).ok());
  std::atomic<int> wrong(0);
  auto work = [&](int thread) {
    std::vector<float> a(1000, thread), b(1000);
    for (int round = 0; round < 200; ++round) {
      for (int i = 0; i < 1000; ++i)
        b[i] = i + round;
      auto result =
          session->call("add", {{ElementType::F32, {1000}, a.data()},
                                {ElementType::F32, {1000}, b.data()}});
      if (!result.ok()) {
        ++wrong;
        continue;
      }
      auto *sum = static_cast<float *>((*result)[0].data.data());
      for (int i = 0; i < 1000; ++i)
        wrong += sum[i] != thread + i + round;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back(work, i);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SessionTest, SessionsShareADevice) {
  // Kernels of two sessions run on the same threads at the same time.
  auto device = createDevice("cpu", {2});
  auto bundle = openGood(path);
  std::vector<std::thread> threads;
  std::atomic<int> wrong(0);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      auto own = Session::create(bundle, *device);
      std::vector<float> a(1000, 1), b(1000, 2);
      for (int round = 0; round < 200; ++round) {
        auto result =
            (*own)->call("add", {{ElementType::F32, {1000}, a.data()},
                                 {ElementType::F32, {1000}, b.data()}});
        for (int i = 0; i < 1000; ++i)
          wrong += static_cast<float *>((*result)[0].data.data())[i] != 3;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Session, ArgumentReturnedAndReturnedTwice) {
  BundleParts parts = linearModel();
  // add2(a, b) -> a + b, a + b again, a.
  Json &functions = parts.manifest["functions"];
  Json function = functions[4];
  function["name"] = "add2";
  Json result = function["results"][0];
  function["results"].push_back(result);
  function["results"].push_back(result);
  functions.push_back(function);
  Json program = parts.program("add");
  program["function"] = "add2";
  program["results"] = {2, 2, 0};
  parts.target()["programs"].push_back(program);
  TemporaryFolder folder;
  parts.write(folder / "m.nfb");
  auto session = makeSession(folder / "m.nfb");
  std::vector<float> a(1000, 1), b(1000, 2);
  auto results = session->call("add2", {{ElementType::F32, {1000}, a.data()},
                                        {ElementType::F32, {1000}, b.data()}});
  ASSERT_TRUE(results.ok()) << results.message();
  float expected[] = {3, 3, 1};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(static_cast<float *>((*results)[i].data.data())[999],
              expected[i]);
}
