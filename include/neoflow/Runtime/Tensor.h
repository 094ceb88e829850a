// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types, shapes and dense row-major memory of the host, and the
// conversion of elements between types.

#ifndef NEOFLOW_RUNTIME_TENSOR_H
#define NEOFLOW_RUNTIME_TENSOR_H

#include "neoflow/Runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace neoflow::runtime {

/// The first eight are those of models; the others occur in data files only.
enum class ElementType : uint8_t {
  F16,
  BF16,
  F32,
  F64,
  I1,
  I8,
  I32,
  I64,
  U8,
  I16,
  U16,
  U32,
  U64,
};

/// Bytes of one element; an i1 takes one.
size_t byteSize(ElementType type);
/// The name as the bundle spells it: "f32", "i1", "u8".
const char *name(ElementType type);
/// The type of that name, if there is one.
std::optional<ElementType> parseElementType(std::string_view name);
/// Whether a model may have values of this type.
bool isModelType(ElementType type);
bool isFloat(ElementType type);

using Shape = std::vector<int64_t>;

/// The product of the extents, or nothing when an extent is negative or the
/// bytes of so many 8-byte elements would not fit in 63 bits.
std::optional<int64_t> elementCount(const Shape &shape);
/// "f32[64, 1, 28, 28]".
std::string toString(ElementType type, const Shape &shape);
/// "[64, 1, 28, 28]".
std::string toString(const Shape &shape);

/// A block of host memory, aligned for every kernel, owned by this object.
class Buffer {
public:
  Buffer() = default;
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  ~Buffer();

  /// Zeroed memory; `what` names its purpose in the error.
  static Expected<Buffer> allocate(size_t bytes, const std::string &what);

  void *data() { return memory; }
  const void *data() const { return memory; }
  uint8_t *bytes() { return static_cast<uint8_t *>(memory); }
  const uint8_t *bytes() const { return static_cast<const uint8_t *>(memory); }
  size_t size() const { return length; }

private:
  void *memory = nullptr;
  size_t length = 0;
};

/// A dense tensor that owns its elements.
struct Tensor {
  ElementType type = ElementType::F32;
  Shape shape;
  Buffer data;

  static Expected<Tensor> allocate(ElementType type, Shape shape);
};

/// A dense tensor in memory of somebody else, which must outlive its use.
struct TensorRef {
  ElementType type = ElementType::F32;
  Shape shape;
  void *data = nullptr;

  TensorRef() = default;
  TensorRef(ElementType type, Shape shape, void *data)
      : type(type), shape(std::move(shape)), data(data) {}
  TensorRef(const Tensor &tensor)
      : type(tensor.type), shape(tensor.shape),
        data(const_cast<void *>(tensor.data.data())) {}
};

/// Converts `count` elements; source and destination do not overlap.
using ConvertFn = void (*)(const void *source, void *destination, size_t count);

/// The conversion from any type to a type of models. Floating-point
/// destinations round to nearest even; integer destinations need values that
/// `checkConvertible` accepts.
ConvertFn converter(ElementType from, ElementType to);

/// Whether every element has a value of type `to`: an error says which element
/// does not fit. Rounding of a floating-point destination always fits.
Status checkConvertible(ElementType from, const void *data, size_t count,
                        ElementType to);

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_TENSOR_H
