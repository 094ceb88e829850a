// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes, and the conversion of elements between all types.

#include "neoflow/Runtime/Tensor.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

using namespace neoflow::runtime;

template <typename To, typename From>
static To convertOne(ElementType from, From value, ElementType to) {
  To result;
  converter(from, to)(&value, &result, 1);
  return result;
}

static uint16_t half(double value) {
  return convertOne<uint16_t>(ElementType::F64, value, ElementType::F16);
}
static uint16_t bfloat(double value) {
  return convertOne<uint16_t>(ElementType::F64, value, ElementType::BF16);
}
static float fromHalf(uint16_t bits) {
  return convertOne<float>(ElementType::F16, bits, ElementType::F32);
}

TEST(Tensor, CountsElements) {
  EXPECT_EQ(elementCount({}), 1);
  EXPECT_EQ(elementCount({2, 3, 4}), 24);
  EXPECT_EQ(elementCount({1ll << 40, 1ll << 40, 0}), 0);
  EXPECT_EQ(elementCount({1ll << 40, 1ll << 40}), std::nullopt);
  EXPECT_EQ(elementCount({-1}), std::nullopt);
  EXPECT_EQ(toString(ElementType::BF16, {2, 3}), "bf16[2, 3]");
}

TEST(Tensor, RefusesImpossibleMemory) {
  auto buffer = Buffer::allocate(SIZE_MAX - 8, "a test");
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.message(),
            "cannot allocate 18446744073709551607 bytes for a test");
}

TEST(Convert, HalfRoundsToNearestEven) {
  EXPECT_EQ(half(0.0), 0x0000);
  EXPECT_EQ(half(-0.0), 0x8000);
  EXPECT_EQ(half(1.0), 0x3c00);
  EXPECT_EQ(half(-2.0), 0xc000);
  EXPECT_EQ(half(65504), 0x7bff);
  EXPECT_EQ(half(65519), 0x7bff);
  EXPECT_EQ(half(65520), 0x7c00);
  EXPECT_EQ(half(1 + 1.0 / 2048), 0x3c00);
  EXPECT_EQ(half(1 + 3.0 / 2048), 0x3c02);
  EXPECT_EQ(half(std::ldexp(1.0, -24)), 0x0001);
  EXPECT_EQ(half(std::ldexp(1.0, -25)), 0x0000);
  EXPECT_EQ(half(std::ldexp(1.5, -25)), 0x0001);
  EXPECT_EQ(half(std::ldexp(1.0, -14)), 0x0400);
  EXPECT_EQ(half(INFINITY), 0x7c00);
  EXPECT_EQ(half(NAN) & 0x7fff, 0x7e00);
  // Not rounded twice, by way of f32.
  EXPECT_EQ(half(1 + 1.0 / 2048 + std::ldexp(1.0, -40)), 0x3c01);
}

TEST(Convert, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = fromHalf(bits);
    if (std::isnan(value))
      continue;
    EXPECT_EQ(half(value), bits);
  }
}

TEST(Convert, BFloat) {
  EXPECT_EQ(bfloat(1.0), 0x3f80);
  EXPECT_EQ(bfloat(1 + 1.0 / 256), 0x3f80);
  EXPECT_EQ(bfloat(1 + 3.0 / 256), 0x3f82);
  EXPECT_EQ(bfloat(1e39), 0x7f80);
  uint16_t bits = 0xc040;
  EXPECT_EQ(convertOne<double>(ElementType::BF16, bits, ElementType::F64), -3);
}

TEST(Convert, BytesAndBooleans) {
  uint8_t byte = 255;
  EXPECT_EQ(convertOne<float>(ElementType::U8, byte, ElementType::F32), 255);
  EXPECT_EQ(convertOne<int32_t>(ElementType::U8, byte, ElementType::I32), 255);
  // Any byte but 0 is true, and true is 1.
  EXPECT_EQ(convertOne<double>(ElementType::I1, byte, ElementType::F64), 1);
  EXPECT_EQ(convertOne<uint8_t>(ElementType::F32, 0.5f, ElementType::I1), 1);
}

template <typename T>
static std::string problem(ElementType from, T value, ElementType to) {
  return checkConvertible(from, &value, 1, to).message();
}

TEST(Convert, ChecksThatIntegersFit) {
  EXPECT_EQ(problem(ElementType::U8, uint8_t(127), ElementType::I8), "");
  EXPECT_EQ(problem(ElementType::U8, uint8_t(200), ElementType::I8),
            "element 0 is 200, which is not a value of type i8");
  EXPECT_EQ(problem(ElementType::I64, int64_t(-3), ElementType::I1),
            "element 0 is -3, which is not a value of type i1");
  EXPECT_EQ(problem(ElementType::F32, 1.5f, ElementType::I32),
            "element 0 is 1.5, which is not a value of type i32");
  EXPECT_EQ(problem(ElementType::F64, 2147483647.0, ElementType::I32), "");
  EXPECT_NE(problem(ElementType::F64, 2147483648.0, ElementType::I32), "");
  EXPECT_NE(problem(ElementType::F64, 9223372036854775808.0, ElementType::I64),
            "");
  EXPECT_EQ(problem(ElementType::F64, -9223372036854775808.0, ElementType::I64),
            "");
  EXPECT_NE(problem(ElementType::F64, double(NAN), ElementType::I64), "");
  EXPECT_NE(problem(ElementType::U64, UINT64_MAX, ElementType::I64), "");
  EXPECT_EQ(problem(ElementType::F64, 1e300, ElementType::F16), "");
}
