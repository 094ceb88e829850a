// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The .npy reader and writer: round trips and damaged files.

#include "Npy.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <fstream>

using namespace neoflow::test;

namespace {

std::string temporary(const char *name) {
  return testing::TempDir() + "/neoflow-npy-" + name + ".npy";
}

TEST(NpyTest, RoundTrip) {
  for (NpyType type : {NpyType::f32, NpyType::f64, NpyType::i8, NpyType::i32,
                       NpyType::i64, NpyType::u8, NpyType::boolean}) {
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{}, {3}, {2, 3}, {0, 4}}) {
      NpyArray array;
      array.type = type;
      array.shape = shape;
      int64_t size = 1;
      for (int64_t extent : shape)
        size *= extent;
      for (int64_t i = 0; i < size; ++i) {
        if (array.isFloat())
          array.floats.push_back(0.5 * i - 1);
        else
          array.integers.push_back(type == NpyType::boolean ? i % 2 : i);
      }
      std::string path = temporary(toString(type) + 1), error;
      ASSERT_TRUE(writeNpy(path, array, error)) << error;
      NpyArray back;
      ASSERT_TRUE(readNpy(path, back, error)) << error;
      std::remove(path.c_str());
      EXPECT_EQ(back.type, array.type);
      EXPECT_EQ(back.shape, array.shape);
      EXPECT_EQ(back.floats, array.floats);
      EXPECT_EQ(back.integers, array.integers);
    }
  }
}

std::string readError(const std::string &bytes) {
  std::string path = temporary("damaged"), error;
  std::ofstream(path, std::ios::binary) << bytes;
  NpyArray array;
  EXPECT_FALSE(readNpy(path, array, error));
  std::remove(path.c_str());
  return error.substr(error.find(": ") + 2);
}

std::string makeFile(const std::string &header, const std::string &data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += char(header.size());
  bytes += '\0';
  return bytes + header + data;
}

TEST(NpyTest, Damaged) {
  EXPECT_EQ(readError("no array"), "is no .npy file");
  EXPECT_EQ(readError(makeFile("{}", "").substr(0, 10) + "          "),
            "has an incomplete header");
  EXPECT_EQ(readError(makeFile("{'descr': '<f4', 'fortran_order': True, "
                               "'shape': (1,), }",
                               "abcd")),
            "is in Fortran order");
  EXPECT_EQ(readError(makeFile("{'descr': '>f4', 'fortran_order': False, "
                               "'shape': (1,), }",
                               "abcd")),
            "has elements of the unsupported type '>f4'");
  EXPECT_EQ(readError(makeFile("{'descr': '<f4', 'fortran_order': False, "
                               "'shape': (2,), }",
                               "abcd")),
            "holds 4 bytes, but its shape asks for 8");
  NpyArray array;
  std::string error;
  EXPECT_FALSE(readNpy("/nonexistent.npy", array, error));
  EXPECT_EQ(error, "/nonexistent.npy: cannot be read");
}

} // namespace
