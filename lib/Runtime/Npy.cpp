// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The npy format of NumPy, versions 1 to 3: reading any order of bytes and of
// elements, writing C order.

#include "ArrayFormats.h"
#include "neoflow/Runtime/ArrayFile.h"
#include "neoflow/Runtime/File.h"

#include <cctype>
#include <cstring>

using namespace neoflow;
using namespace neoflow::runtime;

static const char magic[] = "\x93NUMPY";

bool runtime::isNpy(const Bytes &content) {
  return content.size() >= 10 && std::memcmp(content.data(), magic, 6) == 0;
}

namespace {
struct Header {
  std::string descr;
  bool fortranOrder = false;
  Shape shape;
};

/// A reader of the Python dictionary in the header.
class HeaderParser {
public:
  explicit HeaderParser(std::string text) : text(std::move(text)) {}

  bool parse(Header &header) {
    int known = 0;
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':'))
        return false;
      bool good = key == "descr"           ? string(header.descr)
                  : key == "fortran_order" ? boolean(header.fortranOrder)
                  : key == "shape"         ? tuple(header.shape)
                                           : false;
      if (!good)
        return false;
      ++known;
      take(',');
    }
    return known == 3;
  }

private:
  void skip() {
    while (at < text.size() && std::isspace(static_cast<uint8_t>(text[at])))
      ++at;
  }
  bool take(char c) {
    skip();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool word(const char *w) {
    skip();
    size_t length = std::strlen(w);
    if (text.compare(at, length, w) != 0)
      return false;
    at += length;
    return true;
  }
  bool boolean(bool &value) {
    value = word("True");
    return value || word("False");
  }
  bool string(std::string &value) {
    skip();
    if (at == text.size() || (text[at] != '\'' && text[at] != '"'))
      return false;
    size_t end = text.find(text[at], at + 1);
    if (end == std::string::npos)
      return false;
    value = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  bool tuple(Shape &shape) {
    if (!take('('))
      return false;
    while (!take(')')) {
      skip();
      size_t begin = at;
      while (at < text.size() && std::isdigit(static_cast<uint8_t>(text[at])))
        ++at;
      if (at == begin || at - begin > 18)
        return false;
      shape.push_back(std::stoll(text.substr(begin, at - begin)));
      take('L');
      take(',');
    }
    return true;
  }

  std::string text;
  size_t at = 0;
};
} // namespace

static std::optional<ElementType> typeOfDescr(const std::string &descr) {
  static const std::pair<const char *, ElementType> table[] = {
      {"b1", ElementType::I1},  {"i1", ElementType::I8},
      {"u1", ElementType::U8},  {"i2", ElementType::I16},
      {"u2", ElementType::U16}, {"i4", ElementType::I32},
      {"u4", ElementType::U32}, {"i8", ElementType::I64},
      {"u8", ElementType::U64}, {"f2", ElementType::F16},
      {"f4", ElementType::F32}, {"f8", ElementType::F64},
  };
  if (descr.size() != 3 || !std::strchr("<>|=", descr[0]))
    return std::nullopt;
  for (auto &[code, type] : table)
    if (descr.compare(1, 2, code) == 0)
      return type;
  return std::nullopt;
}

/// Moves the elements from the first-index-fastest order to the last-index-
/// fastest one.
static Expected<Tensor> transposed(const Tensor &fortran) {
  Expected<Tensor> result = Tensor::allocate(fortran.type, fortran.shape);
  if (!result.ok())
    return result;
  size_t rank = fortran.shape.size(), bytes = byteSize(fortran.type);
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (size_t i = 1; i < rank; ++i)
    stride[i] = stride[i - 1] * fortran.shape[i - 1];
  int64_t count = *elementCount(fortran.shape), from = 0;
  for (int64_t to = 0; to < count; ++to) {
    std::memcpy(result->data.bytes() + to * bytes,
                fortran.data.bytes() + from * bytes, bytes);
    for (size_t axis = rank; axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < fortran.shape[axis])
        break;
      from -= stride[axis] * fortran.shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

Expected<Tensor> runtime::decodeNpy(const Bytes &content) {
  int version = content[6];
  size_t lengthBytes = version == 1 ? 2 : 4;
  size_t begin = 8 + lengthBytes;
  if (version < 1 || version > 3)
    return error("npy version ", version, " is not known");
  size_t length = 0;
  for (size_t i = 0; i < lengthBytes && 8 + i < content.size(); ++i)
    length |= static_cast<size_t>(content[8 + i]) << (8 * i);
  if (begin > content.size() || length > content.size() - begin)
    return error("the npy header is truncated");
  Header header;
  std::string text(content.begin() + begin, content.begin() + begin + length);
  if (!HeaderParser(text).parse(header))
    return error("the npy header cannot be understood");
  std::optional<ElementType> type = typeOfDescr(header.descr);
  if (!type)
    return error("npy elements of type '", header.descr, "' are not supported");
  std::optional<int64_t> count = elementCount(header.shape);
  size_t present = content.size() - begin - length;
  if (!count || *count * byteSize(*type) != present)
    return error("the header says ", toString(*type, header.shape), ", but ",
                 present, " bytes of elements follow");
  Expected<Tensor> tensor = Tensor::allocate(*type, header.shape);
  if (!tensor.ok())
    return tensor;
  if (present)
    std::memcpy(tensor->data.data(), content.data() + begin + length, present);
  if (header.descr[0] == '>')
    swapBytes(*tensor);
  if (header.fortranOrder && header.shape.size() > 1)
    return transposed(*tensor);
  return tensor;
}

static const char *descrOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return "<f2";
  case ElementType::BF16:
  case ElementType::F32:
    return "<f4";
  case ElementType::F64:
    return "<f8";
  case ElementType::I1:
    return "|b1";
  case ElementType::I8:
    return "|i1";
  case ElementType::I16:
    return "<i2";
  case ElementType::I32:
    return "<i4";
  case ElementType::I64:
    return "<i8";
  case ElementType::U8:
    return "|u1";
  case ElementType::U16:
    return "<u2";
  case ElementType::U32:
    return "<u4";
  case ElementType::U64:
    break;
  }
  return "<u8";
}

Status runtime::writeNpy(const std::string &path, const TensorRef &tensor) {
  std::optional<int64_t> count = elementCount(tensor.shape);
  if (!count)
    return error("a tensor cannot have the shape ", toString(tensor.shape));
  const void *data = tensor.data;
  size_t bytes = *count * byteSize(tensor.type);
  std::vector<float> widened;
  if (tensor.type == ElementType::BF16) {
    widened.resize(*count);
    converter(ElementType::BF16, ElementType::F32)(data, widened.data(),
                                                   *count);
    data = widened.data();
    bytes = *count * sizeof(float);
  }
  std::string header = std::string("{'descr': '") + descrOf(tensor.type) +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : tensor.shape)
    header += std::to_string(extent) + ",";
  header += "), }";
  // Magic, version and length take 10 bytes; the elements begin at a multiple
  // of 64.
  header.resize((header.size() + 1 + 10 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::string prefix(magic, 6);
  prefix += '\1';
  prefix += '\0';
  prefix += static_cast<char>(header.size() & 255);
  prefix += static_cast<char>(header.size() >> 8);

  Expected<ReplacingFile> file = ReplacingFile::create(path);
  if (!file.ok())
    return file.takeError();
  for (auto [part, size] : {std::pair<const void *, size_t>(prefix.data(), 10),
                            {header.data(), header.size()},
                            {data, bytes}})
    if (Status status = file->write(part, size); !status.ok())
      return status;
  return file->commit();
}
