// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading whole files, and replacing a file so that at every moment either the
// old or the new content is there in full.

#ifndef NEOFLOW_RUNTIME_FILE_H
#define NEOFLOW_RUNTIME_FILE_H

#include "neoflow/Runtime/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace neoflow::runtime {

/// The content of a file. Errors name it.
Expected<std::vector<uint8_t>> readFile(const std::string &path);

/// A file that takes the place of another one when it is complete. What is
/// written goes to `PATH.tmp`; `commit` brings it to the disk and renames it.
/// Without a successful commit the file at PATH stays as it was.
class ReplacingFile {
public:
  ReplacingFile() = default;
  ReplacingFile(ReplacingFile &&other) noexcept;
  ReplacingFile &operator=(ReplacingFile &&other) noexcept;
  /// Removes what was written when it was not committed.
  ~ReplacingFile();

  static Expected<ReplacingFile> create(const std::string &path);
  Status write(const void *data, size_t size);
  Status commit();

private:
  Status failure(const char *action) const;

  std::string path;
  std::string temporary;
  int descriptor = -1;
};

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_FILE_H
