// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The safetensors layout: eight bytes with the length of a JSON header, the
// header, then the tensors one after the other.

#include "neoflow/Runtime/Checkpoint.h"
#include "neoflow/Runtime/File.h"

#include <algorithm>
#include <cstring>

#include <nlohmann/json.hpp>

using namespace neoflow;
using namespace neoflow::runtime;

// Keeps members in the order of the tensors.
using json = nlohmann::ordered_json;

static const std::pair<const char *, ElementType> typeNames[] = {
    {"F16", ElementType::F16}, {"BF16", ElementType::BF16},
    {"F32", ElementType::F32}, {"F64", ElementType::F64},
    {"BOOL", ElementType::I1}, {"I8", ElementType::I8},
    {"I16", ElementType::I16}, {"I32", ElementType::I32},
    {"I64", ElementType::I64}, {"U8", ElementType::U8},
    {"U16", ElementType::U16}, {"U32", ElementType::U32},
    {"U64", ElementType::U64},
};

static const char *typeName(ElementType type) {
  for (auto &[text, known] : typeNames)
    if (known == type)
      return text;
  return "F32";
}

const TensorFile::Entry *TensorFile::find(const std::string &name) const {
  for (const Entry &entry : entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

static Status parseEntry(const std::string &name, const json &value,
                         size_t begin, size_t end, TensorFile &file) {
  TensorFile::Entry entry;
  entry.name = name;
  std::string type = value.at("dtype").get<std::string>();
  bool known = false;
  for (auto &[text, candidate] : typeNames)
    if (type == text) {
      entry.type = candidate;
      known = true;
    }
  if (!known)
    return error("tensor '", name, "' has the unknown type ", type);
  entry.shape = value.at("shape").get<Shape>();
  auto range = value.at("data_offsets").get<std::vector<uint64_t>>();
  std::optional<int64_t> count = elementCount(entry.shape);
  if (range.size() != 2 || range[0] > range[1] || range[1] > end - begin)
    return error("tensor '", name, "' lies outside the file (truncated?)");
  entry.offset = begin + range[0];
  entry.bytes = range[1] - range[0];
  if (!count || entry.bytes != *count * byteSize(entry.type))
    return error("tensor '", name, "' has ", entry.bytes, " bytes, but is ",
                 toString(entry.type, entry.shape));
  file.entries.push_back(std::move(entry));
  return Status::success();
}

Expected<TensorFile> TensorFile::parse(std::vector<uint8_t> content) {
  TensorFile file;
  file.content = std::move(content);
  uint64_t length = 0;
  if (file.content.size() < 8)
    return error("not a safetensors file, or truncated");
  for (int i = 0; i < 8; ++i)
    length |= static_cast<uint64_t>(file.content[i]) << (8 * i);
  if (length > file.content.size() - 8)
    return error("not a safetensors file, or truncated");
  size_t begin = 8 + length;
  try {
    json header =
        json::parse(file.content.begin() + 8, file.content.begin() + begin);
    for (auto &[name, value] : header.items()) {
      if (name == "__metadata__") {
        for (auto &[key, text] : value.items())
          file.metadata[key] = text.get<std::string>();
        continue;
      }
      if (Status status =
              parseEntry(name, value, begin, file.content.size(), file);
          !status.ok())
        return status;
    }
  } catch (const json::exception &exception) {
    return error("the header of the safetensors file is damaged: ",
                 exception.what());
  }
  return file;
}

Expected<TensorFile> TensorFile::read(const std::string &path) {
  Expected<std::vector<uint8_t>> content = readFile(path);
  if (!content.ok())
    return content.takeError();
  Expected<TensorFile> file = parse(std::move(*content));
  if (!file.ok())
    return error("'", path, "': ", file.message());
  return file;
}

Status
runtime::writeTensorFile(const std::string &path,
                         const std::map<std::string, std::string> &metadata,
                         const std::vector<NamedTensor> &tensors) {
  json header = json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  size_t offset = 0;
  for (const NamedTensor &entry : tensors) {
    const TensorRef &tensor = entry.tensor;
    std::optional<int64_t> count = elementCount(tensor.shape);
    if (!count)
      return error("a tensor cannot have the shape ", toString(tensor.shape));
    size_t bytes = *count * byteSize(tensor.type);
    header[entry.name] = {{"dtype", typeName(tensor.type)},
                          {"shape", tensor.shape},
                          {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text =
      header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint8_t length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<uint64_t>(text.size()) >> (8 * i);

  Expected<ReplacingFile> file = ReplacingFile::create(path);
  if (!file.ok())
    return file.takeError();
  if (Status status = file->write(length, sizeof length); !status.ok())
    return status;
  if (Status status = file->write(text.data(), text.size()); !status.ok())
    return status;
  for (const NamedTensor &entry : tensors) {
    size_t bytes =
        *elementCount(entry.tensor.shape) * byteSize(entry.tensor.type);
    if (Status status = file->write(entry.tensor.data, bytes); !status.ok())
      return status;
  }
  return file->commit();
}
