// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the format of a data file and reads it: IDX, gzip, archives, text.

#include "neoflow/Runtime/ArrayFile.h"

#include "ArrayFormats.h"
#include "Zip.h"
#include "neoflow/Runtime/File.h"

#include <algorithm>
#include <cstring>

#include <zlib.h>

using namespace neoflow;
using namespace neoflow::runtime;

void runtime::swapBytes(Tensor &tensor) {
  size_t bytes = byteSize(tensor.type);
  for (size_t i = 0; bytes > 1 && i < tensor.data.size(); i += bytes)
    std::reverse(tensor.data.bytes() + i, tensor.data.bytes() + i + bytes);
}

static std::optional<ElementType> idxType(uint8_t code) {
  switch (code) {
  case 0x08:
    return ElementType::U8;
  case 0x09:
    return ElementType::I8;
  case 0x0B:
    return ElementType::I16;
  case 0x0C:
    return ElementType::I32;
  case 0x0D:
    return ElementType::F32;
  case 0x0E:
    return ElementType::F64;
  default:
    return std::nullopt;
  }
}

bool runtime::isIdx(const Bytes &content) {
  return content.size() >= 4 && content[0] == 0 && content[1] == 0 &&
         idxType(content[2]) && content[3] > 0;
}

Expected<Tensor> runtime::decodeIdx(const Bytes &content) {
  ElementType type = *idxType(content[2]);
  size_t rank = content[3], begin = 4 + 4 * rank;
  if (content.size() < begin)
    return error("the IDX header is truncated");
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    const uint8_t *b = content.data() + 4 + 4 * i;
    shape.push_back(static_cast<int64_t>(b[0]) << 24 | b[1] << 16 | b[2] << 8 |
                    b[3]);
  }
  std::optional<int64_t> count = elementCount(shape);
  size_t present = content.size() - begin;
  if (!count || *count * byteSize(type) != present)
    return error("the header says ", toString(type, shape), ", but ", present,
                 " bytes of elements follow");
  Expected<Tensor> tensor = Tensor::allocate(type, shape);
  if (!tensor.ok())
    return tensor;
  if (present)
    std::memcpy(tensor->data.data(), content.data() + begin, present);
  swapBytes(*tensor); // IDX is big-endian.
  return tensor;
}

bool runtime::isGzip(const Bytes &content) {
  return content.size() >= 3 && content[0] == 0x1f && content[1] == 0x8b &&
         content[2] == 8;
}

Expected<Bytes> runtime::decodeGzip(const Bytes &content) {
  z_stream stream = {};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
    return error("cannot set up zlib");
  stream.next_in = const_cast<Bytef *>(content.data());
  size_t left = content.size();
  Bytes result(std::max<size_t>(content.size() * 4, 1 << 16));
  size_t size = 0;
  int code = Z_OK;
  while (true) {
    if (size == result.size())
      result.resize(result.size() * 2);
    if (stream.avail_in == 0) {
      stream.avail_in = std::min<size_t>(left, 1u << 30);
      left -= stream.avail_in;
    }
    uInt room = std::min<size_t>(result.size() - size, 1u << 30);
    stream.next_out = result.data() + size;
    stream.avail_out = room;
    code = inflate(&stream, Z_NO_FLUSH);
    size += room - stream.avail_out;
    bool moreInput = stream.avail_in > 0 || left > 0;
    if (code == Z_STREAM_END) {
      // A gzip file may consist of several members.
      if (!moreInput || inflateReset(&stream) != Z_OK)
        break;
    } else if (code != Z_OK) {
      break;
    }
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END)
    return error("the gzip data are damaged or truncated");
  result.resize(size);
  return result;
}

static bool endsWith(const std::string &text, const std::string &ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

static Expected<Tensor> readNpz(const std::string &path,
                                const std::string &name, bool exact) {
  Expected<ZipReader> zip = ZipReader::open(path);
  if (!zip.ok())
    return zip.takeError();
  std::string wanted = name + ".npy", known;
  for (const ZipReader::Entry &entry : zip->entries()) {
    std::string stem = endsWith(entry.name, ".npy")
                           ? entry.name.substr(0, entry.name.size() - 4)
                           : entry.name;
    known += (known.empty() ? "" : ", ") + stem;
  }
  if (!zip->contains(wanted)) {
    if (exact || zip->entries().size() != 1)
      return error("there is no array '", name,
                   "'; arrays are: ", known.empty() ? "none" : known);
    wanted = zip->entries().front().name;
  }
  Expected<Bytes> content = zip->read(wanted);
  if (!content.ok())
    return content.takeError();
  if (!isNpy(*content))
    return error("entry '", wanted, "' is not an npy file");
  return decodeNpy(*content);
}

static Expected<Tensor> decode(Bytes content, const std::string &path,
                               bool &isText) {
  if (isGzip(content)) {
    Expected<Bytes> inflated = decodeGzip(content);
    if (!inflated.ok())
      return inflated.takeError();
    content = std::move(*inflated);
  }
  if (isNpy(content))
    return decodeNpy(content);
  if (endsWith(path, ".npy"))
    return error("not an npy file");
  if (isIdx(content))
    return decodeIdx(content);
  if (std::find(content.begin(), content.end(), 0) != content.end())
    return error("not a file of npy, npz, IDX or text");
  isText = true;
  Expected<Tensor> text =
      Tensor::allocate(ElementType::U8, {static_cast<int64_t>(content.size())});
  if (text.ok() && !content.empty())
    std::memcpy(text->data.data(), content.data(), content.size());
  return text;
}

Expected<Array> runtime::readArray(const std::string &path,
                                   const std::string &name) {
  Array array;
  array.origin = path;
  std::string file = path, entry = name;
  size_t colon = path.rfind(".npz:");
  bool exact = colon != std::string::npos;
  if (exact) {
    file = path.substr(0, colon + 4);
    entry = path.substr(colon + 5);
  }
  Expected<Bytes> content = readFile(file);
  if (!content.ok())
    return content.takeError();
  bool isZip =
      content->size() >= 4 && std::memcmp(content->data(), "PK\3\4", 4) == 0;
  Expected<Tensor> tensor =
      isZip || endsWith(file, ".npz")
          ? readNpz(file, entry, exact)
          : decode(std::move(*content), file, array.isText);
  if (!tensor.ok())
    return error("'", path, "': ", tensor.message());
  array.tensor = std::move(*tensor);
  return array;
}

Expected<Tensor> runtime::convertArray(const Array &array, ElementType type) {
  const Tensor &source = array.tensor;
  size_t count = *elementCount(source.shape);
  if (Status status =
          checkConvertible(source.type, source.data.data(), count, type);
      !status.ok())
    return error("'", array.origin, "': ", status.message());
  Expected<Tensor> result = Tensor::allocate(type, source.shape);
  if (result.ok())
    converter(source.type, type)(source.data.data(), result->data.data(),
                                 count);
  return result;
}
