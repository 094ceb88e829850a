// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program whose buffers have addresses: the argument arrays of its launches
// are laid out once, and a run changes only the addresses that the caller
// brings.

#ifndef NEOFLOW_LIB_RUNTIME_BOUNDPROGRAM_H
#define NEOFLOW_LIB_RUNTIME_BOUNDPROGRAM_H

#include "neoflow/Runtime/Device.h"
#include "neoflow/Runtime/Manifest.h"

#include <memory>
#include <vector>

namespace neoflow::runtime {

/// Memory of a device.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory &&other) noexcept { swap(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory() {
    if (address)
      device->release(address);
  }

  static Expected<DeviceMemory> allocate(std::shared_ptr<Device> device,
                                         size_t bytes, const std::string &what);
  void *data() const { return address; }
  size_t size() const { return bytes; }

private:
  void swap(DeviceMemory &other) {
    std::swap(device, other.device);
    std::swap(address, other.address);
    std::swap(bytes, other.bytes);
  }

  std::shared_ptr<Device> device;
  void *address = nullptr;
  size_t bytes = 0;
};

class BoundProgram {
public:
  explicit BoundProgram(const Program &program);

  const Program &program;
  /// Memory that the session keeps for an argument, or for a result that the
  /// caller does not want; empty where none is needed.
  std::vector<DeviceMemory> argumentMemory;
  std::vector<DeviceMemory> resultMemory;
  /// Position of the variable of an argument, or -1.
  std::vector<int64_t> variables;

  void setAddress(int64_t buffer, void *address);
  void *address(int64_t buffer) const { return addresses[buffer]; }
  /// Performs all launches, those of loops once for each step.
  Status run(LoadedTarget &kernels, LaunchObserver *observer);
  /// Whether the kernels write a result straight to its own buffer.
  bool hasOwnBuffer(size_t result) const;

private:
  /// The launches from `first` to before `last`, and those of the loops from
  /// `loop` on that are inside.
  Status run(LoadedTarget &kernels, LaunchObserver *observer, int64_t first,
             int64_t last, size_t loop);
  /// Moves what depends on the step of a loop.
  void moveTo(size_t loop, int64_t step);

  std::vector<void *> addresses;
  /// The arguments of all launches, one launch after the other.
  std::vector<void *> slots;
  std::vector<BoundLaunch> bound;
  /// The slots of each buffer.
  std::vector<std::vector<size_t>> uses;
  /// The buffers that move in each loop, in an order in which each comes after
  /// those that it is made of.
  std::vector<std::vector<int64_t>> moving;
};

} // namespace neoflow::runtime

#endif // NEOFLOW_LIB_RUNTIME_BOUNDPROGRAM_H
