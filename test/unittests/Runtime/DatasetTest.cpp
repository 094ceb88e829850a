// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays for the inputs of a function, and presets.

#include "TestBundle.h"

#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

using namespace neoflow::runtime;
using namespace neoflow::runtime::test;

static Array array(ElementType type, Shape shape, const char *origin) {
  return {std::move(*Tensor::allocate(type, std::move(shape))), origin, false};
}

/// f(x: f32[batch, 1, 2, 2], y: i32[batch]).
static Function imageFunction() {
  Function function;
  function.name = "train_step";
  Argument x;
  x.name = "x";
  x.role = Role::Input;
  x.shape = {{"batch", 0}, {"", 1}, {"", 2}, {"", 2}};
  Argument y;
  y.name = "y";
  y.role = Role::Label;
  y.type = ElementType::I32;
  y.shape = {{"batch", 0}};
  function.arguments = {x, y};
  return function;
}

static std::string problem(const NamedArrays &arrays) {
  auto data = Dataset::create(imageFunction(), {{"batch", 4}}, arrays);
  return data.ok() ? "good" : data.message();
}

TEST(Dataset, ConvertsBytesAndReshapesSamples) {
  NamedArrays arrays;
  arrays["x"] = array(ElementType::U8, {3, 2, 2}, "x.idx");
  arrays["y"] = array(ElementType::U8, {3}, "y.idx");
  for (int i = 0; i < 12; ++i)
    arrays["x"].tensor.data.bytes()[i] = 240 + i;
  arrays["y"].tensor.data.bytes()[2] = 9;
  auto data = Dataset::create(imageFunction(), {{"batch", 4}}, arrays);
  ASSERT_TRUE(data.ok()) << data.message();
  EXPECT_EQ(data->samples(), 3);
  float x[4];
  int32_t y;
  data->get(data->columns()[0], 2, x);
  data->get(data->columns()[1], 2, &y);
  EXPECT_EQ(x[0], 248);
  EXPECT_EQ(x[3], 251);
  EXPECT_EQ(y, 9);
}

TEST(Dataset, Mismatches) {
  NamedArrays arrays;
  arrays["x"] = array(ElementType::U8, {3, 5}, "x.npy");
  arrays["y"] = array(ElementType::I64, {3}, "y.npy");
  EXPECT_EQ(problem(arrays),
            "'x.npy' is u8[3, 5], but 'x' of 'train_step' is f32[batch, 1, 2, "
            "2]: expected 4 elements per sample, but got 5");
  arrays["x"] = array(ElementType::U8, {4, 4}, "x.npy");
  EXPECT_EQ(problem(arrays), "'x.npy' has 4 samples, but 'y.npy' has 3");
  arrays["x"] = array(ElementType::U8, {3, 4}, "x.npy");
  static_cast<int64_t *>(arrays["y"].tensor.data.data())[1] = 1ll << 40;
  EXPECT_EQ(problem(arrays),
            "'y.npy' for 'y': element 1 is 1099511627776, which is not a value "
            "of type i32");
  arrays.erase("y");
  EXPECT_EQ(problem(arrays), "function 'train_step' needs data for 'y': give "
                             "--label y=FILE");
  arrays["y"] = array(ElementType::I64, {3}, "y.npy");
  arrays["z"] = array(ElementType::I64, {3}, "z.npy");
  EXPECT_EQ(problem(arrays), "function 'train_step' has no input or label 'z'; "
                             "it has: 'x', 'y'");
  arrays.erase("z");
  arrays["y"] = array(ElementType::I64, {}, "y.npy");
  EXPECT_EQ(problem(arrays),
            "'y.npy' for 'y' is a scalar, but expected an array of samples");
  arrays["x"] = array(ElementType::U8, {0, 4}, "x.npy");
  arrays["y"] = array(ElementType::I64, {0}, "y.npy");
  EXPECT_EQ(problem(arrays), "the data have no samples");
}

TEST(Dataset, TextIsCutIntoSamples) {
  Function function = imageFunction();
  function.arguments.pop_back();
  NamedArrays arrays;
  arrays["x"] = array(ElementType::U8, {10}, "book.txt");
  arrays["x"].isText = true;
  auto data = Dataset::create(function, {{"batch", 4}}, arrays);
  ASSERT_TRUE(data.ok()) << data.message();
  EXPECT_EQ(data->samples(), 2);
  ASSERT_EQ(data->notes().size(), 1u);
  EXPECT_EQ(data->notes()[0], "the last 2 bytes of 'book.txt' do not fill a "
                              "sample and are not used");
}

TEST(Preset, PathsAndSearch) {
  TemporaryFolder folder;
  writeText(folder / "tiny.json",
            R"({"description": "d", "train": {"x": "a.npy", "y": "/b.npy"}})");
  auto preset = readPreset(folder / "tiny.json", "/share");
  ASSERT_TRUE(preset.ok()) << preset.message();
  EXPECT_EQ(preset->train["x"], folder / "a.npy");
  EXPECT_EQ(preset->train["y"], "/b.npy");
  setenv("NEOFLOW_DATA_PATH", ("/none:" + folder.path).c_str(), 1);
  EXPECT_TRUE(readPreset("tiny", "/share").ok());
  preset = readPreset("small", "/share");
  ASSERT_FALSE(preset.ok());
  EXPECT_EQ(preset.message(), "there is no data set 'small': no file "
                              "small.json in ., /none, " +
                                  folder.path + ", /share");
  unsetenv("NEOFLOW_DATA_PATH");
  EXPECT_TRUE(readPreset("tiny", folder.path).ok());
}

TEST(Preset, Malformed) {
  TemporaryFolder folder;
  writeText(folder / "bad.json", "{}");
  auto preset = readPreset(folder / "bad.json", "");
  ASSERT_FALSE(preset.ok());
  EXPECT_EQ(preset.message(), "'" + (folder / "bad.json") +
                                  "' names no files under 'train' or 'test'");
  writeText(folder / "bad.json", "{\"train\": {\"x\": 3}}");
  preset = readPreset(folder / "bad.json", "");
  ASSERT_FALSE(preset.ok());
  EXPECT_NE(preset.message().find("is not a description of data"),
            std::string::npos);
}
