// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and sizes of element types, shapes as text, and owned memory.

#include "neoflow/Runtime/Tensor.h"

#include "neoflow/Runtime/ABI.h"

#include <cstdlib>
#include <cstring>

using namespace neoflow;
using namespace neoflow::runtime;

namespace {
struct TypeInfo {
  const char *name;
  size_t bytes;
};
} // namespace

static const TypeInfo &info(ElementType type) {
  static const TypeInfo table[] = {
      {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"i1", 1},
      {"i8", 1},  {"i32", 4},  {"i64", 8}, {"u8", 1},  {"i16", 2},
      {"u16", 2}, {"u32", 4},  {"u64", 8},
  };
  return table[static_cast<size_t>(type)];
}

size_t runtime::byteSize(ElementType type) { return info(type).bytes; }
const char *runtime::name(ElementType type) { return info(type).name; }
bool runtime::isModelType(ElementType type) { return type <= ElementType::I64; }
bool runtime::isFloat(ElementType type) { return type <= ElementType::F64; }

std::optional<ElementType> runtime::parseElementType(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(ElementType::U64); ++i) {
    auto type = static_cast<ElementType>(i);
    if (name == info(type).name)
      return type;
  }
  return std::nullopt;
}

std::optional<int64_t> runtime::elementCount(const Shape &shape) {
  int64_t limit = INT64_MAX / 8;
  int64_t count = 1;
  bool tooLarge = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    if (extent == 0)
      return 0;
    tooLarge = tooLarge || count > limit / extent;
    if (!tooLarge)
      count *= extent;
  }
  if (tooLarge)
    return std::nullopt;
  return count;
}

std::string runtime::toString(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string runtime::toString(ElementType type, const Shape &shape) {
  return name(type) + toString(shape);
}

Buffer::Buffer(Buffer &&other) noexcept
    : memory(std::exchange(other.memory, nullptr)),
      length(std::exchange(other.length, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  std::swap(memory, other.memory);
  std::swap(length, other.length);
  return *this;
}

Buffer::~Buffer() { std::free(memory); }

Expected<Buffer> Buffer::allocate(size_t bytes, const std::string &what) {
  Buffer buffer;
  if (bytes == 0)
    return buffer;
  if (bytes > SIZE_MAX - NEOFLOW_ALIGNMENT ||
      posix_memalign(&buffer.memory, NEOFLOW_ALIGNMENT, bytes) != 0) {
    buffer.memory = nullptr;
    return error("cannot allocate ", bytes, " bytes for ", what);
  }
  std::memset(buffer.memory, 0, bytes);
  buffer.length = bytes;
  return buffer;
}

Expected<Tensor> Tensor::allocate(ElementType type, Shape shape) {
  std::optional<int64_t> count = elementCount(shape);
  if (!count)
    return error("a tensor cannot have the shape ", toString(shape));
  Expected<Buffer> data =
      Buffer::allocate(*count * byteSize(type), toString(type, shape));
  if (!data.ok())
    return data.takeError();
  Tensor tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.data = std::move(*data);
  return tensor;
}
