// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders of the single formats, from bytes in memory. Errors do not name the
// file.

#ifndef NEOFLOW_LIB_RUNTIME_ARRAYFORMATS_H
#define NEOFLOW_LIB_RUNTIME_ARRAYFORMATS_H

#include "neoflow/Runtime/Tensor.h"

#include <cstdint>
#include <vector>

namespace neoflow::runtime {

using Bytes = std::vector<uint8_t>;

bool isNpy(const Bytes &content);
Expected<Tensor> decodeNpy(const Bytes &content);

bool isIdx(const Bytes &content);
Expected<Tensor> decodeIdx(const Bytes &content);

bool isGzip(const Bytes &content);
Expected<Bytes> decodeGzip(const Bytes &content);

/// Reverses the bytes of each element.
void swapBytes(Tensor &tensor);

} // namespace neoflow::runtime

#endif // NEOFLOW_LIB_RUNTIME_ARRAYFORMATS_H
