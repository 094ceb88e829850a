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
      addresses(program.buffers.size(), nullptr), uses(program.buffers.size()) {
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
