// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading zip files: bundles and .npz archives.

#ifndef NEOFLOW_LIB_RUNTIME_ZIP_H
#define NEOFLOW_LIB_RUNTIME_ZIP_H

#include "neoflow/Runtime/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace neoflow::runtime {

/// An open zip file. Not for use from several threads at once.
class ZipReader {
public:
  struct Entry {
    std::string name;
    uint64_t size = 0;
    bool stored = true;
  };

  ZipReader(ZipReader &&) noexcept;
  ZipReader &operator=(ZipReader &&) noexcept;
  ~ZipReader();

  /// The error does not name the file.
  static Expected<ZipReader> open(const std::string &path);
  const std::vector<Entry> &entries() const { return list; }
  bool contains(const std::string &name) const;
  /// The content of an entry, inflated if need be. The error names the entry.
  Expected<std::vector<uint8_t>> read(const std::string &name) const;

private:
  ZipReader();
  struct Close {
    void operator()(void *archive) const;
  };
  std::unique_ptr<void, Close> archive;
  std::vector<Entry> list;
};

} // namespace neoflow::runtime

#endif // NEOFLOW_LIB_RUNTIME_ZIP_H
