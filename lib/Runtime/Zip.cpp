// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The zip reader, on libzip.

#include "Zip.h"

#include <algorithm>

#include <zip.h>

using namespace neoflow;
using namespace neoflow::runtime;

static zip_t *handle(void *archive) { return static_cast<zip_t *>(archive); }

void ZipReader::Close::operator()(void *archive) const {
  zip_discard(handle(archive));
}

ZipReader::ZipReader() = default;
ZipReader::ZipReader(ZipReader &&) noexcept = default;
ZipReader &ZipReader::operator=(ZipReader &&) noexcept = default;
ZipReader::~ZipReader() = default;

Expected<ZipReader> ZipReader::open(const std::string &path) {
  int code = 0;
  ZipReader reader;
  reader.archive.reset(
      zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (!reader.archive) {
    if (code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS)
      return error("not a zip file, or not all of it");
    zip_error_t reason;
    zip_error_init_with_code(&reason, code);
    Status status = Status::error(zip_error_strerror(&reason));
    zip_error_fini(&reason);
    return status;
  }
  zip_t *archive = handle(reader.archive.get());
  zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t info;
    if (zip_stat_index(archive, i, 0, &info) != 0)
      return error("entry ", i, " cannot be read");
    reader.list.push_back(
        {info.name, info.size, info.comp_method == ZIP_CM_STORE});
  }
  return reader;
}

bool ZipReader::contains(const std::string &name) const {
  return zip_name_locate(handle(archive.get()), name.c_str(), 0) >= 0;
}

Expected<std::vector<uint8_t>> ZipReader::read(const std::string &name) const {
  zip_t *zip = handle(archive.get());
  zip_stat_t info;
  if (zip_stat(zip, name.c_str(), 0, &info) != 0)
    return error("there is no entry '", name, "'");
  zip_file_t *file = zip_fopen(zip, name.c_str(), 0);
  if (!file)
    return error("entry '", name, "' is damaged");
  // The stated size is not to be trusted with memory before the bytes come.
  std::vector<uint8_t> content;
  zip_int64_t got = 0;
  do {
    size_t size = content.size();
    size_t chunk = std::min<uint64_t>(info.size - size, 16u << 20) + 1;
    content.resize(size + chunk);
    got = zip_fread(file, content.data() + size, chunk);
    content.resize(size + (got > 0 ? got : 0));
  } while (got > 0 && content.size() <= info.size);
  zip_fclose(file);
  if (got < 0 || content.size() != info.size)
    return error("entry '", name, "' is damaged");
  return content;
}
