// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime asks of a device: memory, copies, and the execution of a
// list of kernel launches. The session is written against this interface only.

#ifndef NEOFLOW_RUNTIME_DEVICE_H
#define NEOFLOW_RUNTIME_DEVICE_H

#include "neoflow/Runtime/Manifest.h"
#include "neoflow/Runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace neoflow::runtime {

/// A launch whose buffers have addresses on the device.
struct BoundLaunch {
  /// Index into the kernels of the target.
  size_t kernel = 0;
  void *const *arguments = nullptr;
};

/// Hears of every launch that is done. Observed runs are slower.
class LaunchObserver {
public:
  virtual ~LaunchObserver();
  /// `launch` is the position in the list.
  virtual void launched(size_t launch, double seconds) = 0;
};

/// The kernels of one target, loaded on a device.
class LoadedTarget {
public:
  virtual ~LoadedTarget();

  /// Performs the launches in order and returns when all of them are done.
  /// Safe from several threads; allocates nothing.
  virtual Status run(const BoundLaunch *launches, size_t count,
                     LaunchObserver *observer = nullptr) = 0;
};

/// A device that runs kernels. Safe to use from several threads.
class Device {
public:
  virtual ~Device();

  virtual const std::string &name() const = 0;
  /// How many threads run kernels; 1 for a device that is not a CPU.
  virtual unsigned threads() const = 0;

  /// Zeroed memory aligned to NEOFLOW_ALIGNMENT; `what` names its purpose in
  /// the error. Null, without an error, for no bytes.
  virtual Expected<void *> allocate(size_t bytes, const std::string &what) = 0;
  virtual void release(void *memory) = 0;
  virtual void upload(void *destination, const void *source, size_t bytes) = 0;
  virtual void download(void *destination, const void *source,
                        size_t bytes) = 0;
  virtual void copy(void *destination, const void *source, size_t bytes) = 0;
  /// Whether kernels may work on memory of the host in place.
  virtual bool sharesHostMemory() const = 0;

  /// Loads an artifact; fails when its ABI version is not that of this
  /// runtime or a symbol is missing.
  virtual Expected<std::unique_ptr<LoadedTarget>>
  load(const Target &target, const std::vector<uint8_t> &artifact) = 0;
};

struct DeviceOptions {
  /// Threads that run kernels; 0 takes as many as `availableThreads`.
  unsigned threads = 0;
};

/// Names of the devices that `createDevice` knows.
std::vector<std::string> deviceNames();

/// The device of that name. The error lists those that there are.
Expected<std::shared_ptr<Device>>
createDevice(const std::string &name, const DeviceOptions &options = {});

/// CPUs that this process may use: what its affinity mask and the CPU quota of
/// its control group allow, at least 1.
unsigned availableThreads();

/// Those of `features` (spelt as LLVM does) that this CPU does not have.
Expected<std::vector<std::string>>
missingCPUFeatures(const std::vector<std::string> &features);

/// Reads the ABI version that a shared object of kernels exports.
Expected<int32_t> abiVersion(const std::vector<uint8_t> &artifact);

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_DEVICE_H
