// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between generated CPU code and whoever calls it. Plain C, the
// only header of the runtime that the compiler may include.

#ifndef NEOFLOW_RUNTIME_ABI_H
#define NEOFLOW_RUNTIME_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Raised whenever the meaning of anything in this header changes. A shared
/// object of kernels exports it as a 32-bit integer named
/// NEOFLOW_ABI_VERSION_SYMBOL; the runtime refuses an object whose version
/// differs from its own.
#define NEOFLOW_ABI_VERSION 1
#define NEOFLOW_ABI_VERSION_SYMBOL "neoflow_abi_version"

/// Alignment in bytes of every workspace, and of every buffer of the arena.
/// Kernels assume only element alignment of their arguments.
#define NEOFLOW_ALIGNMENT 64

/// One phase of a kernel. `args[i]` is the address of the first element of the
/// i-th kernel argument (inputs first, destinations after them); arguments are
/// dense, row-major, and scalars are tensors of rank 0. i1 elements take one
/// byte each, 0 or 1. The call performs workgroups [begin, end) of the phase,
/// 0 <= begin <= end <= workgroups; different workgroups may run at the same
/// time on different threads. `workspace` holds the kernel's stated number of
/// bytes, belongs to this call alone and has no defined contents. All
/// workgroups of a phase are done before the next phase of the kernel begins.
typedef void (*neoflow_kernel_fn)(void *const *args, int64_t begin, int64_t end,
                                  void *workspace);

#ifdef __cplusplus
}
#endif

#endif // NEOFLOW_RUNTIME_ABI_H
