// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peak of multiply-adds in registers, and the triad over arrays far larger
// than any cache.

#include "Machine.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace neoflow;
using namespace neoflow::run;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static std::string cpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0)
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown";
}

/// Keeps the compiler from knowing the value.
template <typename T>
static void hide(T &value) {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+w"(value));
#endif
}

// Twelve independent chains hide the latency of two units that take four to
// five cycles. Each function returns the operations of one repetition.
static constexpr int chains = 12;

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double addAVX512(long repetitions) {
  __m512 sums[chains], scale = _mm512_set1_ps(0.999f),
                       step = _mm512_set1_ps(1e-3f);
  for (__m512 &sum : sums)
    sum = step;
  for (long n = 0; n < repetitions; ++n)
    for (__m512 &sum : sums)
      sum = _mm512_fmadd_ps(sum, scale, step);
  for (__m512 &sum : sums)
    asm volatile("" ::"v"(sum));
  return 2.0 * 16 * chains;
}

__attribute__((target("avx2,fma"))) static double addFMA(long repetitions) {
  __m256 sums[chains], scale = _mm256_set1_ps(0.999f),
                       step = _mm256_set1_ps(1e-3f);
  for (__m256 &sum : sums)
    sum = step;
  for (long n = 0; n < repetitions; ++n)
    for (__m256 &sum : sums)
      sum = _mm256_fmadd_ps(sum, scale, step);
  for (__m256 &sum : sums)
    asm volatile("" ::"x"(sum));
  return 2.0 * 8 * chains;
}

static double addSSE(long repetitions) {
  __m128 sums[chains], scale = _mm_set1_ps(0.999f), step = _mm_set1_ps(1e-3f);
  for (__m128 &sum : sums)
    sum = step;
  for (long n = 0; n < repetitions; ++n)
    for (__m128 &sum : sums)
      sum = _mm_add_ps(_mm_mul_ps(sum, scale), step);
  for (__m128 &sum : sums)
    asm volatile("" ::"x"(sum));
  return 2.0 * 4 * chains;
}
#else
static double addPlain(long repetitions) {
  float sums[chains * 4];
  for (float &sum : sums)
    sum = 1e-3f;
  for (long n = 0; n < repetitions; ++n)
    for (float &sum : sums)
      sum = sum * 0.999f + 1e-3f;
  for (float &sum : sums)
    hide(sum);
  return 2.0 * 4 * chains;
}
#endif

/// Runs a function on several threads at once and returns the seconds until
/// the last one is done.
static double onThreads(unsigned threads,
                        const std::function<void(unsigned)> &work) {
  Clock::time_point start = Clock::now();
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back(work, i);
  work(0);
  for (std::thread &thread : others)
    thread.join();
  return secondsSince(start);
}

static double peak(double (*add)(long), unsigned threads) {
  constexpr long repetitions = 4000000;
  double best = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    double operations = 0;
    double seconds = onThreads(threads, [&](unsigned thread) {
      double each = add(repetitions);
      if (thread == 0)
        operations = each;
    });
    best = std::max(best, operations * repetitions * threads / seconds);
  }
  return best;
}

static double triad(unsigned threads) {
  constexpr size_t count = size_t(24) << 20;
  std::vector<float> a(count, 1.0f), b(count, 2.0f), c(count, 0.0f);
  double best = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    double seconds = onThreads(threads, [&](unsigned thread) {
      size_t begin = count / threads * thread;
      size_t end = thread + 1 == threads ? count : begin + count / threads;
      float scale = 1.5f;
      hide(scale);
      for (size_t i = begin; i < end; ++i)
        c[i] = a[i] + scale * b[i];
    });
    best = std::max(best, 3.0 * sizeof(float) * count / seconds);
  }
  return best;
}

MachineReport neoflow::run::measureMachine(unsigned threads) {
  MachineReport report;
  report.cpu = cpuModel();
  report.threads = threads;
#if defined(__x86_64__)
  double (*add)(long) = addSSE;
  report.instructions = "sse2";
  if (__builtin_cpu_supports("avx512f")) {
    add = addAVX512;
    report.instructions = "avx512f";
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    add = addFMA;
    report.instructions = "fma";
  }
#else
  double (*add)(long) = addPlain;
  report.instructions = "c++";
#endif
  report.flopsOneThread = peak(add, 1);
  report.flopsAllThreads =
      threads == 1 ? report.flopsOneThread : peak(add, threads);
  report.bytesPerSecond = triad(threads);
  return report;
}
