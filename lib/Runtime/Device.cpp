// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of devices.

#include "neoflow/Runtime/Device.h"

#include "CPU/CPUDevice.h"

using namespace neoflow;
using namespace neoflow::runtime;

LaunchObserver::~LaunchObserver() = default;
LoadedTarget::~LoadedTarget() = default;
Device::~Device() = default;

namespace {
struct DeviceEntry {
  const char *name;
  Expected<std::shared_ptr<Device>> (*create)(const DeviceOptions &);
};
} // namespace

static const DeviceEntry devices[] = {{"cpu", createCPUDevice}};

std::vector<std::string> runtime::deviceNames() {
  std::vector<std::string> names;
  for (const DeviceEntry &entry : devices)
    names.push_back(entry.name);
  return names;
}

Expected<std::shared_ptr<Device>>
runtime::createDevice(const std::string &name, const DeviceOptions &options) {
  std::string known;
  for (const DeviceEntry &entry : devices) {
    if (name == entry.name)
      return entry.create(options);
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return error("there is no device '", name, "'; devices are: ", known);
}
