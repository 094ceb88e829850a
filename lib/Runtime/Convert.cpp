// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of elements from any type of a data file to any type of a model,
// and the check that integers fit before they are converted.

#include "neoflow/Runtime/Tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

using namespace neoflow;
using namespace neoflow::runtime;

/// The nearest number with `mantissa` stored bits and `exponent` exponent bits,
/// ties to even, as the bits of that 16-bit format.
static uint16_t encodeSmallFloat(double value, int mantissa, int exponent) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int bias = (1 << (exponent - 1)) - 1;
  const uint16_t infinity = ((1 << exponent) - 1) << mantissa;
  if (std::isnan(value))
    return sign | infinity | (1 << (mantissa - 1));
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return sign | infinity;
  int power = std::max(std::ilogb(magnitude), 1 - bias);
  // In units of the last place; exact but for the rounding.
  double units = std::nearbyint(std::ldexp(magnitude, mantissa - power));
  // An implicit leading one carries into the exponent by itself.
  double bits = units + std::ldexp(power + bias - 1, mantissa);
  return sign | (bits >= infinity ? infinity : static_cast<uint16_t>(bits));
}

static float decodeBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static float decodeHalf(uint16_t bits) {
  uint32_t sign = (bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 31;
  uint32_t mantissa = bits & 1023;
  if (exponent == 0) {
    float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return decodeBits(sign | wide << 23 | mantissa << 13);
}

namespace {
/// How elements of a type are stored and what they stand for.
template <typename T>
struct Plain {
  using Storage = T;
  using Number = T;
  static T load(T value) { return value; }
  template <typename From>
  static T store(From value) {
    return static_cast<T>(value);
  }
};

struct Half {
  using Storage = uint16_t;
  using Number = float;
  static float load(uint16_t bits) { return decodeHalf(bits); }
  template <typename From>
  static uint16_t store(From value) {
    return encodeSmallFloat(static_cast<double>(value), 10, 5);
  }
};

struct BFloat {
  using Storage = uint16_t;
  using Number = float;
  static float load(uint16_t bits) {
    return decodeBits(static_cast<uint32_t>(bits) << 16);
  }
  template <typename From>
  static uint16_t store(From value) {
    return encodeSmallFloat(static_cast<double>(value), 7, 8);
  }
};

struct Boolean {
  using Storage = uint8_t;
  using Number = uint8_t;
  static uint8_t load(uint8_t value) { return value != 0; }
  template <typename From>
  static uint8_t store(From value) {
    return value != 0;
  }
};
} // namespace

/// Calls `use` with an object of the traits of a type.
template <typename Use>
static auto withTraits(ElementType type, Use use) {
  switch (type) {
  case ElementType::F16:
    return use(Half());
  case ElementType::BF16:
    return use(BFloat());
  case ElementType::F32:
    return use(Plain<float>());
  case ElementType::F64:
    return use(Plain<double>());
  case ElementType::I1:
    return use(Boolean());
  case ElementType::I8:
    return use(Plain<int8_t>());
  case ElementType::I32:
    return use(Plain<int32_t>());
  case ElementType::I64:
    return use(Plain<int64_t>());
  case ElementType::U8:
    return use(Plain<uint8_t>());
  case ElementType::I16:
    return use(Plain<int16_t>());
  case ElementType::U16:
    return use(Plain<uint16_t>());
  case ElementType::U32:
    return use(Plain<uint32_t>());
  case ElementType::U64:
    break;
  }
  return use(Plain<uint64_t>());
}

template <typename From, typename To>
static void convert(const void *source, void *destination, size_t count) {
  auto *from = static_cast<const typename From::Storage *>(source);
  auto *to = static_cast<typename To::Storage *>(destination);
  for (size_t i = 0; i < count; ++i)
    to[i] = To::store(From::load(from[i]));
}

template <size_t bytes>
static void copyElements(const void *source, void *destination, size_t count) {
  if (count)
    std::memcpy(destination, source, count * bytes);
}

ConvertFn runtime::converter(ElementType from, ElementType to) {
  if (from == to) {
    switch (byteSize(from)) {
    case 1:
      return copyElements<1>;
    case 2:
      return copyElements<2>;
    case 4:
      return copyElements<4>;
    default:
      return copyElements<8>;
    }
  }
  return withTraits(from, [to](auto source) -> ConvertFn {
    return withTraits(to, [](auto destination) -> ConvertFn {
      return convert<decltype(source), decltype(destination)>;
    });
  });
}

/// Whether a number has an integer value in [low, high].
template <typename Number>
static bool fits(Number value, int64_t low, uint64_t high) {
  if constexpr (std::is_floating_point_v<Number>) {
    // The bound above is a power of two less one, which may not be a float.
    double number = value;
    return std::nearbyint(number) == number &&
           number >= static_cast<double>(low) &&
           number < static_cast<double>(high) + (high < (1ull << 53) ? 1 : 0);
  } else if constexpr (std::is_signed_v<Number>) {
    return value >= low && (value < 0 || static_cast<uint64_t>(value) <= high);
  } else {
    return value <= high;
  }
}

Status runtime::checkConvertible(ElementType from, const void *data,
                                 size_t count, ElementType to) {
  if (isFloat(to) || from == to)
    return Status::success();
  return withTraits(to, [&](auto destination) {
    using To = decltype(destination);
    using Number = typename To::Number;
    int64_t low = 0;
    uint64_t high = 1;
    if constexpr (!std::is_same_v<To, Boolean>) {
      low = static_cast<int64_t>(std::numeric_limits<Number>::lowest());
      high = static_cast<uint64_t>(std::numeric_limits<Number>::max());
    }
    return withTraits(from, [&](auto source) {
      using From = decltype(source);
      auto *elements = static_cast<const typename From::Storage *>(data);
      for (size_t i = 0; i < count; ++i) {
        auto value = From::load(elements[i]);
        if (!fits(value, low, high))
          return error("element ", i, " is ", +value,
                       ", which is not a value of type ", name(to));
      }
      return Status::success();
    });
  });
}
