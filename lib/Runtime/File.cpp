// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole-file input and atomic replacement of files, on POSIX calls.

#include "neoflow/Runtime/File.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace neoflow;
using namespace neoflow::runtime;

Expected<std::vector<uint8_t>> runtime::readFile(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return error("cannot open '", path, "': ", std::strerror(errno));
  std::vector<uint8_t> content;
  struct stat status;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
    content.reserve(status.st_size + 65536 + 1);
  size_t size = 0;
  while (true) {
    content.resize(std::max(content.capacity(), size + 65536));
    ssize_t got =
        read(descriptor, content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      int reason = errno;
      close(descriptor);
      return error("cannot read '", path, "': ", std::strerror(reason));
    }
    if (got == 0)
      break;
    size += got;
  }
  close(descriptor);
  content.resize(size);
  return content;
}

ReplacingFile::ReplacingFile(ReplacingFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      descriptor(std::exchange(other.descriptor, -1)) {}

ReplacingFile &ReplacingFile::operator=(ReplacingFile &&other) noexcept {
  std::swap(path, other.path);
  std::swap(temporary, other.temporary);
  std::swap(descriptor, other.descriptor);
  return *this;
}

ReplacingFile::~ReplacingFile() {
  if (descriptor < 0)
    return;
  unlink(temporary.c_str());
  close(descriptor);
}

Status ReplacingFile::failure(const char *action) const {
  int reason = errno;
  return error("cannot ", action, " '", path, "': ", std::strerror(reason));
}

Expected<ReplacingFile> ReplacingFile::create(const std::string &path) {
  ReplacingFile file;
  file.path = path;
  file.temporary = path + ".tmp";
  int descriptor =
      open(file.temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return file.failure("write");
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor);
    return error("cannot write '", path, "': another process is writing it");
  }
  file.descriptor = descriptor;
  if (ftruncate(descriptor, 0) != 0)
    return file.failure("write");
  return file;
}

Status ReplacingFile::write(const void *data, size_t size) {
  auto *bytes = static_cast<const uint8_t *>(data);
  while (size) {
    ssize_t done = ::write(descriptor, bytes, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return failure("write");
    bytes += done;
    size -= done;
  }
  return Status::success();
}

Status ReplacingFile::commit() {
  if (fsync(descriptor) != 0)
    return failure("write");
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return failure("replace");
  close(std::exchange(descriptor, -1));
  // The rename itself reaches the disk with the folder.
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int handle = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    fsync(handle);
    close(handle);
  }
  return Status::success();
}
