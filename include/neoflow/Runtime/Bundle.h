// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bundle file that was opened: its manifest and its entries, each compared
// with its checksum when it is read.

#ifndef NEOFLOW_RUNTIME_BUNDLE_H
#define NEOFLOW_RUNTIME_BUNDLE_H

#include "neoflow/Runtime/Manifest.h"
#include "neoflow/Runtime/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace neoflow::runtime {

/// Constant, and safe to use from several threads at once.
class Bundle {
public:
  struct Entry {
    std::string name;
    uint64_t size = 0;
    /// Whether the entry is stored as it is, as the format asks.
    bool stored = true;
  };

  ~Bundle();
  Bundle(const Bundle &) = delete;
  Bundle &operator=(const Bundle &) = delete;

  /// Opens the file and checks its manifest. Errors name the file.
  static Expected<std::shared_ptr<const Bundle>> open(const std::string &path);

  const std::string &path() const;
  const Manifest &manifest() const;
  const std::vector<Entry> &entries() const;

  /// The content of an entry, which must have a checksum in the manifest that
  /// agrees.
  Expected<std::vector<uint8_t>> read(const std::string &name) const;

  /// The target to run on a device. Among those for the device whose CPU
  /// features this machine has, the one that uses most; or the one of that
  /// name. Errors list the targets that are there.
  Expected<const Target *> findTarget(const std::string &device,
                                      const std::string &name = "") const;

  /// Reads every entry, compares every checksum, and checks that everything
  /// that the manifest names is there.
  Status verify() const;

private:
  Bundle();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_BUNDLE_H
