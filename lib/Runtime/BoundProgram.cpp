// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout of the argument arrays of a program's launches.

#include "BoundProgram.h"

using namespace neoflow;
using namespace neoflow::runtime;

Expected<DeviceMemory> DeviceMemory::allocate(std::shared_ptr<Device> device,
                                              size_t bytes,
                                              const std::string &what) {
  Expected<void *> address = device->allocate(bytes, what);
  if (!address.ok())
    return address.takeError();
  DeviceMemory memory;
  memory.device = std::move(device);
  memory.address = *address;
  memory.bytes = bytes;
  return memory;
}

BoundProgram::BoundProgram(const Program &program)
    : program(program), argumentMemory(program.arguments.size()),
      resultMemory(program.results.size()),
      variables(program.arguments.size(), -1),
      addresses(program.buffers.size(), nullptr), uses(program.buffers.size()),
      moving(program.loops.size()) {
  size_t count = 0;
  for (const Launch &launch : program.launches)
    count += launch.buffers.size();
  slots.resize(count, nullptr);
  size_t slot = 0;
  for (const Launch &launch : program.launches) {
    bound.push_back({static_cast<size_t>(launch.kernel), slots.data() + slot});
    for (int64_t buffer : launch.buffers)
      uses[buffer].push_back(slot++);
  }
  for (size_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].moves())
      moving[program.buffers[i].loop].push_back(static_cast<int64_t>(i));
}

void BoundProgram::moveTo(size_t loop, int64_t step) {
  for (int64_t i : moving[loop]) {
    const ProgramBuffer &buffer = program.buffers[i];
    if (buffer.kind == ProgramBuffer::Kind::Alternate) {
      setAddress(i, addresses[step % 2 ? buffer.odd : buffer.index]);
      continue;
    }
    int64_t slice =
        buffer.reverse ? program.loops[loop].steps - 1 - step : step;
    setAddress(i, static_cast<char *>(addresses[buffer.index]) +
                      slice * buffer.bytes);
  }
}

namespace {
/// Tells positions in the whole program.
struct ShiftedObserver : LaunchObserver {
  LaunchObserver &observer;
  size_t first;
  ShiftedObserver(LaunchObserver &observer, size_t first)
      : observer(observer), first(first) {}
  void launched(size_t launch, double seconds) override {
    observer.launched(first + launch, seconds);
  }
};
} // namespace

Status BoundProgram::run(LoadedTarget &kernels, LaunchObserver *observer) {
  return run(kernels, observer, 0, static_cast<int64_t>(bound.size()), 0);
}

Status BoundProgram::run(LoadedTarget &kernels, LaunchObserver *observer,
                         int64_t first, int64_t last, size_t loop) {
  auto runUntil = [&](int64_t end) {
    if (first == end)
      return Status::success();
    if (!observer)
      return kernels.run(bound.data() + first, end - first);
    ShiftedObserver shifted(*observer, first);
    return kernels.run(bound.data() + first, end - first, &shifted);
  };
  const std::vector<Loop> &loops = program.loops;
  for (; loop < loops.size() && loops[loop].first < last; ++loop) {
    // One inside a loop that has been performed.
    if (loops[loop].first < first)
      continue;
    if (Status status = runUntil(loops[loop].first); !status.ok())
      return status;
    for (int64_t step = 0; step < loops[loop].steps; ++step) {
      moveTo(loop, step);
      if (Status status = run(kernels, observer, loops[loop].first,
                              loops[loop].last, loop + 1);
          !status.ok())
        return status;
    }
    first = loops[loop].last;
  }
  return runUntil(last);
}

void BoundProgram::setAddress(int64_t buffer, void *address) {
  if (addresses[buffer] == address)
    return;
  addresses[buffer] = address;
  for (size_t slot : uses[buffer])
    slots[slot] = address;
}

bool BoundProgram::hasOwnBuffer(size_t result) const {
  const ProgramBuffer &buffer = program.buffers[program.results[result]];
  return buffer.kind == ProgramBuffer::Kind::Result &&
         buffer.index == static_cast<int64_t>(result);
}
