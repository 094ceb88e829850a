// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 (FIPS 180-4) of a block of memory, as the checksums of bundles use.

#ifndef NEOFLOW_LIB_RUNTIME_SHA256_H
#define NEOFLOW_LIB_RUNTIME_SHA256_H

#include <cstddef>
#include <string>

namespace neoflow::runtime {

/// The digest in lower-case hex.
std::string sha256(const void *data, size_t size);

} // namespace neoflow::runtime

#endif // NEOFLOW_LIB_RUNTIME_SHA256_H
