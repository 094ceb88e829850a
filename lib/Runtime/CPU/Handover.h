// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the thread sanitizer what TBB orders. TBB itself is not instrumented,
// so that its tasks look unordered to the code that starts and awaits them.

#ifndef NEOFLOW_LIB_RUNTIME_CPU_HANDOVER_H
#define NEOFLOW_LIB_RUNTIME_CPU_HANDOVER_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NEOFLOW_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define NEOFLOW_THREAD_SANITIZER
#endif

#ifdef NEOFLOW_THREAD_SANITIZER
extern "C" void __tsan_acquire(void *);
extern "C" void __tsan_release(void *);
#endif

namespace neoflow::runtime {

/// What a thread did before `give` happens before what follows `take` in any
/// other. Nothing outside of sanitizer builds. One place for the whole process,
/// since even a pointer to it would have to be handed over.
struct Handover {
#ifdef NEOFLOW_THREAD_SANITIZER
  static void give() { __tsan_release(&place); }
  static void take() { __tsan_acquire(&place); }
  static inline char place = 0;
#else
  static void give() {}
  static void take() {}
#endif
};

} // namespace neoflow::runtime

#endif // NEOFLOW_LIB_RUNTIME_CPU_HANDOVER_H
