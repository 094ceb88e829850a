// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface.

#include "TestBundle.h"

#include "neoflow-c/Runtime.h"

#include <gtest/gtest.h>

using namespace neoflow::runtime::test;

static std::string take(neoflow_status *status) {
  std::string message = neoflow_status_message(status);
  neoflow_status_free(status);
  return message;
}

static neoflow_tensor tensor(std::initializer_list<int64_t> shape,
                             float *data) {
  neoflow_tensor result = {
      NEOFLOW_F32, static_cast<int32_t>(shape.size()), {}, data};
  std::copy(shape.begin(), shape.end(), result.shape);
  return result;
}

TEST(CAPI, LoadTrainSaveRestore) {
  TemporaryFolder folder;
  linearModel().write(folder / "m.nfb");
  EXPECT_STREQ(neoflow_runtime_version(), "0.1.0");
  neoflow_bundle *bundle = nullptr;
  ASSERT_EQ(take(neoflow_bundle_load((folder / "m.nfb").c_str(), &bundle)), "");
  ASSERT_EQ(neoflow_bundle_function_count(bundle), 5u);
  EXPECT_STREQ(neoflow_bundle_function_name(bundle, 1), "evaluate");
  EXPECT_EQ(neoflow_bundle_function_name(bundle, 5), nullptr);
  neoflow_session *session = nullptr;
  ASSERT_EQ(take(neoflow_session_create(bundle, "cpu", 1, &session)), "");
  neoflow_bundle_free(bundle);

  ASSERT_EQ(take(neoflow_session_initialize(session, 3)), "");
  ASSERT_EQ(neoflow_session_parameter_count(session), 2u);
  const char *name = nullptr;
  neoflow_tensor description;
  ASSERT_EQ(take(neoflow_session_describe(session, 1, &name, &description)),
            "");
  EXPECT_STREQ(name, "m");
  EXPECT_EQ(description.rank, 1);
  EXPECT_EQ(description.shape[0], 3);

  float w[3] = {1, 1, 1}, x[3] = {1, 2, 3}, y[1] = {2}, loss = 0;
  neoflow_tensor value = tensor({3}, w);
  ASSERT_EQ(take(neoflow_session_set(session, "w", &value)), "");
  ASSERT_EQ(take(neoflow_session_set_learning_rate(session, 0.0625)), "");
  neoflow_tensor inputs[] = {tensor({1, 3}, x), tensor({1}, y)};
  neoflow_tensor outputs[4] = {};
  outputs[0].data = &loss;
  ASSERT_EQ(take(neoflow_session_step(session, inputs, 2, outputs, 4)), "");
  EXPECT_EQ(loss, 16);
  EXPECT_EQ(neoflow_session_step_count(session), 1);
  ASSERT_EQ(take(neoflow_session_get(session, "w", &value)), "");
  EXPECT_EQ(w[0], 0.5f);

  std::string file = folder / "c.safetensors";
  ASSERT_EQ(take(neoflow_session_save(session, file.c_str())), "");
  ASSERT_EQ(take(neoflow_session_initialize(session, 0)), "");
  ASSERT_EQ(take(neoflow_session_load(session, file.c_str())), "");
  w[0] = 0;
  ASSERT_EQ(take(neoflow_session_get(session, "w", &value)), "");
  EXPECT_EQ(w[0], 0.5f);

  size_t count = 0;
  ASSERT_EQ(take(neoflow_session_result_shapes(session, "predict", inputs, 1,
                                               nullptr, &count)),
            "");
  ASSERT_EQ(count, 1u);
  neoflow_tensor prediction = {};
  ASSERT_EQ(take(neoflow_session_result_shapes(session, "predict", inputs, 1,
                                               &prediction, &count)),
            "");
  EXPECT_EQ(prediction.shape[0], 1);
  float p = 0;
  prediction.data = &p;
  ASSERT_EQ(
      take(neoflow_session_call(session, "predict", inputs, 1, &prediction, 1)),
      "");
  EXPECT_EQ(p, -1);
  neoflow_session_free(session);
}

TEST(CAPI, Errors) {
  TemporaryFolder folder;
  linearModel().write(folder / "m.nfb");
  neoflow_bundle *bundle = nullptr;
  EXPECT_EQ(take(neoflow_bundle_load("/nowhere", &bundle)),
            "'/nowhere': No such file");
  EXPECT_EQ(bundle, nullptr);
  ASSERT_EQ(take(neoflow_bundle_load((folder / "m.nfb").c_str(), &bundle)), "");
  neoflow_session *session = nullptr;
  EXPECT_EQ(take(neoflow_session_create(bundle, "tpu", 0, &session)),
            "there is no device 'tpu'; devices are: cpu");
  ASSERT_EQ(take(neoflow_session_create(bundle, "cpu", 1, &session)), "");
  float w[4] = {};
  neoflow_tensor value = tensor({4}, w);
  EXPECT_EQ(take(neoflow_session_set(session, "w", &value)),
            "'w' is f32[3], but the value is f32[4]");
  value.rank = 99;
  EXPECT_EQ(take(neoflow_session_set(session, "w", &value)),
            "a tensor has rank 99");
  value = tensor({3}, w);
  EXPECT_EQ(
      take(neoflow_session_call(session, "predict", &value, 1, &value, 1)),
      "argument 'x' of 'predict' is f32[batch, 3], but the array has the "
      "shape [3]");
  value = tensor({1, 3}, w);
  EXPECT_EQ(
      take(neoflow_session_call(session, "predict", &value, 1, nullptr, 0)),
      "function 'predict' has 1 results, but got room for 0");
  EXPECT_EQ(take(neoflow_session_load(session, "/nowhere")),
            "cannot open '/nowhere': No such file or directory");
  neoflow_session_free(session);
  neoflow_bundle_free(bundle);
  neoflow_session_free(nullptr);
  neoflow_status_free(nullptr);
}
