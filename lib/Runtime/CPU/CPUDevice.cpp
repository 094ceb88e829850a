// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels on the CPU. The workgroups of a phase are handed out in chunks
// to the threads of one oneTBB arena; which thread performs a workgroup never
// shows in a result.

#include "CPUDevice.h"

#include "Handover.h"
#include "SharedObject.h"
#include "neoflow/Runtime/ABI.h"
#include "neoflow/Runtime/Tensor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

using namespace neoflow;
using namespace neoflow::runtime;

namespace {
/// The threads that all targets of a device share.
class Threads {
public:
  explicit Threads(unsigned count)
      : count(count),
        control(tbb::global_control::max_allowed_parallelism, count + 1),
        arena(count) {
    arena.initialize();
  }

  const unsigned count;

  /// Calls `use` on a thread of the arena: no two calls at one time see the
  /// same value of `slot()`.
  template <typename Use>
  void enter(Use use) {
    auto handedOver = [&] {
      Handover::take();
      use();
      Handover::give();
    };
    Handover::give();
    arena.execute(handedOver);
    Handover::take();
  }

  static unsigned slot() {
    return tbb::this_task_arena::current_thread_index();
  }

private:
  /// Allows as many threads as asked for, even if there are fewer CPUs.
  tbb::global_control control;
  tbb::task_arena arena;
};

struct LoadedKernel {
  struct Part {
    neoflow_kernel_fn function;
    int64_t workgroups;
  };
  std::vector<Part> phases;
};

class CPULoadedTarget : public LoadedTarget {
public:
  CPULoadedTarget(SharedObject object, std::shared_ptr<Threads> threads)
      : object(std::move(object)), threads(std::move(threads)) {}

  Status prepare(const Target &target);
  Status run(const BoundLaunch *launches, size_t count,
             LaunchObserver *observer) override;

private:
  void perform(const BoundLaunch &launch);
  void perform(const LoadedKernel::Part &phase, void *const *arguments);
  void *workspace() { return workspaces.bytes() + Threads::slot() * stride; }

  SharedObject object;
  std::shared_ptr<Threads> threads;
  std::vector<LoadedKernel> kernels;
  /// One piece for each thread of the arena, large enough for every kernel.
  Buffer workspaces;
  size_t stride = 0;
};

class CPUDevice : public Device {
public:
  explicit CPUDevice(unsigned threads)
      : pool(std::make_shared<Threads>(threads)) {}

  const std::string &name() const override { return deviceName; }
  unsigned threads() const override { return pool->count; }
  bool sharesHostMemory() const override { return true; }

  Expected<void *> allocate(size_t bytes, const std::string &what) override {
    void *memory = nullptr;
    if (bytes == 0)
      return memory;
    if (bytes > SIZE_MAX - NEOFLOW_ALIGNMENT ||
        posix_memalign(&memory, NEOFLOW_ALIGNMENT, bytes) != 0)
      return error("cannot allocate ", bytes, " bytes for ", what);
    std::memset(memory, 0, bytes);
    return memory;
  }
  void release(void *memory) override { std::free(memory); }
  void upload(void *destination, const void *source, size_t bytes) override {
    copy(destination, source, bytes);
  }
  void download(void *destination, const void *source, size_t bytes) override {
    copy(destination, source, bytes);
  }
  void copy(void *destination, const void *source, size_t bytes) override {
    if (bytes)
      std::memmove(destination, source, bytes);
  }

  Expected<std::unique_ptr<LoadedTarget>>
  load(const Target &target, const std::vector<uint8_t> &artifact) override;

private:
  const std::string deviceName = "cpu";
  std::shared_ptr<Threads> pool;
};
} // namespace

Status CPULoadedTarget::prepare(const Target &target) {
  Expected<int32_t> version = object.abiVersion();
  if (!version.ok())
    return version.takeError();
  if (*version != NEOFLOW_ABI_VERSION)
    return error("its object has ABI version ", *version,
                 ", but this runtime has version ", NEOFLOW_ABI_VERSION);
  for (const Kernel &kernel : target.kernels) {
    LoadedKernel loaded;
    for (const Phase &phase : kernel.phases) {
      auto function =
          reinterpret_cast<neoflow_kernel_fn>(object.find(phase.symbol));
      if (!function)
        return error("its object does not export '", phase.symbol,
                     "' of kernel '", kernel.name, "'");
      loaded.phases.push_back({function, phase.workgroups});
    }
    kernels.push_back(std::move(loaded));
    size_t bytes = kernel.workspace;
    size_t aligned =
        (bytes + NEOFLOW_ALIGNMENT - 1) / NEOFLOW_ALIGNMENT * NEOFLOW_ALIGNMENT;
    stride = std::max(stride, aligned);
  }
  Expected<Buffer> memory = Buffer::allocate(stride * threads->count,
                                             "the workspaces of the kernels");
  if (!memory.ok())
    return memory.takeError();
  workspaces = std::move(*memory);
  return Status::success();
}

void CPULoadedTarget::perform(const LoadedKernel::Part &phase,
                              void *const *arguments) {
  int64_t workgroups = phase.workgroups;
  if (workgroups == 0)
    return;
  if (workgroups == 1 || threads->count == 1)
    return phase.function(arguments, 0, workgroups, workspace());
  // Several chunks for each thread, so that a thread that comes late or is
  // slow leaves its share to the others.
  int64_t chunk = std::max<int64_t>(1, workgroups / (threads->count * 8));
  std::atomic<int64_t> next(0);
  auto work = [&](unsigned) {
    Handover::take();
    void *memory = workspace();
    while (true) {
      int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= workgroups)
        break;
      phase.function(arguments, begin, std::min(begin + chunk, workgroups),
                     memory);
    }
    Handover::give();
  };
  unsigned helpers = std::min<int64_t>(threads->count, workgroups);
  Handover::give();
  tbb::parallel_for(0u, helpers, work, tbb::simple_partitioner());
  Handover::take();
}

void CPULoadedTarget::perform(const BoundLaunch &launch) {
  for (const LoadedKernel::Part &phase : kernels[launch.kernel].phases)
    perform(phase, launch.arguments);
}

Status CPULoadedTarget::run(const BoundLaunch *launches, size_t count,
                            LaunchObserver *observer) {
  threads->enter([&] {
    if (!observer) {
      for (size_t i = 0; i < count; ++i)
        perform(launches[i]);
      return;
    }
    using Clock = std::chrono::steady_clock;
    for (size_t i = 0; i < count; ++i) {
      Clock::time_point start = Clock::now();
      perform(launches[i]);
      observer->launched(
          i, std::chrono::duration<double>(Clock::now() - start).count());
    }
  });
  return Status::success();
}

Expected<std::unique_ptr<LoadedTarget>>
CPUDevice::load(const Target &target, const std::vector<uint8_t> &artifact) {
  Expected<SharedObject> object = SharedObject::load(artifact);
  if (!object.ok())
    return error("target '", target.name, "': ", object.message());
  auto loaded = std::make_unique<CPULoadedTarget>(std::move(*object), pool);
  if (Status status = loaded->prepare(target); !status.ok())
    return error("target '", target.name, "': ", status.message());
  return std::unique_ptr<LoadedTarget>(std::move(loaded));
}

Expected<std::shared_ptr<Device>>
runtime::createCPUDevice(const DeviceOptions &options) {
  unsigned threads = options.threads ? options.threads : availableThreads();
  if (threads > 1024)
    return error("expected at most 1024 threads, but got ", threads);
  return std::shared_ptr<Device>(std::make_shared<CPUDevice>(threads));
}
