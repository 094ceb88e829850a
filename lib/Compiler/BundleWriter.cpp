// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zip and safetensors.

#include "BundleWriter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <nlohmann/json.hpp>
#include <zip.h>

using namespace neoflow;

bool neoflow::writeZip(
    const std::vector<std::pair<std::string, std::string>> &entries,
    std::string &bytes, std::string &error) {
  zip_error_t zipError;
  zip_error_init(&zipError);
  zip_source_t *memory = zip_source_buffer_create(nullptr, 0, 0, &zipError);
  zip_t *archive =
      memory ? zip_open_from_source(memory, ZIP_TRUNCATE, &zipError) : nullptr;
  if (!archive) {
    error = zip_error_strerror(&zipError);
    return false;
  }
  zip_source_keep(memory);
  // 1980-01-01, the first day that the format knows.
  const time_t date = 315532800;
  for (const auto &[name, content] : entries) {
    zip_source_t *source =
        zip_source_buffer(archive, content.data(), content.size(), 0);
    zip_int64_t index =
        source ? zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8)
               : -1;
    if (index < 0 ||
        zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_mtime(archive, index, date, 0) != 0) {
      error = zip_strerror(archive);
      zip_discard(archive);
      zip_source_free(memory);
      return false;
    }
  }
  if (zip_close(archive) != 0) {
    error = zip_strerror(archive);
    zip_discard(archive);
    zip_source_free(memory);
    return false;
  }
  zip_stat_t stat;
  bool read =
      zip_source_stat(memory, &stat) == 0 && zip_source_open(memory) == 0;
  if (read) {
    bytes.resize(stat.size);
    read = zip_source_read(memory, bytes.data(), stat.size) ==
           static_cast<zip_int64_t>(stat.size);
    zip_source_close(memory);
  }
  if (!read)
    error = "the archive cannot be read back";
  zip_source_free(memory);
  return read;
}

std::string neoflow::sha256(const std::string &bytes) {
  llvm::SHA256 hash;
  hash.update(bytes);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

/// The elements of `constant` as they lie in memory, splats spelt out.
static std::string getRawBytes(DenseElementsAttr constant) {
  std::string bytes;
  Type type = constant.getElementType();
  auto append = [&](llvm::APInt value) {
    unsigned width = std::max(8u, value.getBitWidth());
    uint64_t word = value.getZExtValue();
    for (unsigned i = 0; i < width / 8; ++i)
      bytes.push_back(static_cast<char>(word >> (8 * i)));
  };
  if (isa<FloatType>(type))
    for (const llvm::APFloat &value : constant.getValues<llvm::APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const llvm::APInt &value : constant.getValues<llvm::APInt>())
      append(value);
  return bytes;
}

static std::string getDtype(Type type) {
  if (type.isF16())
    return "F16";
  if (type.isBF16())
    return "BF16";
  if (type.isF32())
    return "F32";
  if (type.isF64())
    return "F64";
  if (type.isInteger(1))
    return "BOOL";
  return "I" + std::to_string(type.getIntOrFloatBitWidth());
}

std::string neoflow::writeSafetensors(const ConstantMap &constants) {
  nlohmann::ordered_json header;
  std::string data;
  for (const auto &[name, constant] : constants) {
    std::string bytes = getRawBytes(constant);
    header[name] = {
        {"dtype", getDtype(constant.getElementType())},
        {"shape", std::vector<int64_t>(constant.getType().getShape().begin(),
                                       constant.getType().getShape().end())},
        {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
  }
  std::string text = header.dump();
  // The data starts on a multiple of eight bytes.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string result;
  for (unsigned i = 0; i < 8; ++i)
    result.push_back(static_cast<char>(uint64_t(text.size()) >> (8 * i)));
  return result + text + data;
}
