// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A shared object of kernels that is loaded from memory.

#ifndef NEOFLOW_LIB_RUNTIME_CPU_SHAREDOBJECT_H
#define NEOFLOW_LIB_RUNTIME_CPU_SHAREDOBJECT_H

#include "neoflow/Runtime/Status.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace neoflow::runtime {

class SharedObject {
public:
  SharedObject(SharedObject &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)),
        descriptor(std::exchange(other.descriptor, -1)) {}
  SharedObject &operator=(SharedObject &&) = delete;
  ~SharedObject();

  static Expected<SharedObject> load(const std::vector<uint8_t> &content);

  /// The address of an exported symbol, or null.
  void *find(const std::string &symbol) const;
  /// The ABI version that the object states.
  Expected<int32_t> abiVersion() const;

private:
  SharedObject() = default;

  void *handle = nullptr;
  /// Open as long as the object is loaded: the dynamic linker knows an object
  /// by its path, and the path holds the number of the descriptor.
  int descriptor = -1;
};

} // namespace neoflow::runtime

#endif // NEOFLOW_LIB_RUNTIME_CPU_SHAREDOBJECT_H
