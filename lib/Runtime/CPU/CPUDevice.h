// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device "cpu": kernels are native code, threads are oneTBB's.

#ifndef NEOFLOW_LIB_RUNTIME_CPU_CPUDEVICE_H
#define NEOFLOW_LIB_RUNTIME_CPU_CPUDEVICE_H

#include "neoflow/Runtime/Device.h"

namespace neoflow::runtime {

Expected<std::shared_ptr<Device>> createCPUDevice(const DeviceOptions &options);

} // namespace neoflow::runtime

#endif // NEOFLOW_LIB_RUNTIME_CPU_CPUDEVICE_H
