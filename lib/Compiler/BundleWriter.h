// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The container of a bundle: named entries to the bytes of a zip file.

#ifndef NEOFLOW_LIB_COMPILER_BUNDLEWRITER_H
#define NEOFLOW_LIB_COMPILER_BUNDLEWRITER_H

#include "Program.h"

#include <string>
#include <utility>
#include <vector>

namespace neoflow {

/// Entries in order, stored without compression and with a fixed date, so that
/// equal entries give equal bytes. On failure returns false and says why.
bool writeZip(const std::vector<std::pair<std::string, std::string>> &entries,
              std::string &bytes, std::string &error);

/// SHA-256 in hexadecimal.
std::string sha256(const std::string &bytes);

/// Constants in the safetensors layout.
std::string writeSafetensors(const ConstantMap &constants);

} // namespace neoflow

#endif // NEOFLOW_LIB_COMPILER_BUNDLEWRITER_H
