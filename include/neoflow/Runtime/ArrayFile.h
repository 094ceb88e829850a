// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays from data files: npy, npz, IDX (the MNIST family), text; the first
// three also inside gzip. And the npy writer.

#ifndef NEOFLOW_RUNTIME_ARRAYFILE_H
#define NEOFLOW_RUNTIME_ARRAYFILE_H

#include "neoflow/Runtime/Status.h"
#include "neoflow/Runtime/Tensor.h"

#include <string>

namespace neoflow::runtime {

/// An array in the memory order and byte order of this machine.
struct Array {
  Tensor tensor;
  /// The file, for messages.
  std::string origin;
  /// Bytes of a text, which has no samples of its own: any number of elements
  /// makes a sample.
  bool isText = false;
};

/// Reads a file of any known kind, which is told by its content. An npz archive
/// gives its array `name`, or the only one that it has; `FILE:ENTRY` picks
/// another. Errors name the file.
Expected<Array> readArray(const std::string &path,
                          const std::string &name = "");

/// The array with elements of type `type`. Fails when a value does not fit.
Expected<Tensor> convertArray(const Array &array, ElementType type);

/// Replaces the file at `path` by a tensor. bf16, which npy does not know, is
/// written as f32.
Status writeNpy(const std::string &path, const TensorRef &tensor);

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_ARRAYFILE_H
