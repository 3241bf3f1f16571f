//===- Roofline.cpp - What this machine can do at most --------------------===//

#include "tools/weft-bench/Roofline.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

using namespace weft;
using Clock = std::chrono::steady_clock;

/// Runs `work(thread)` on all threads at once, `passes` times; the shortest
/// time from the common start to the last end, in seconds.
static double timeTogether(unsigned threads, int passes,
                           const std::function<void(unsigned)> &work) {
  std::barrier<> barrier(threads + 1);
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      for (int pass = 0; pass < passes; ++pass) {
        barrier.arrive_and_wait();
        work(t);
        barrier.arrive_and_wait();
      }
    });
  double best = 1e300;
  for (int pass = 0; pass < passes; ++pass) {
    Clock::time_point begin = Clock::now();
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
    std::chrono::duration<double> elapsed = Clock::now() - begin;
    best = std::min(best, elapsed.count());
  }
  for (std::thread &worker : workers)
    worker.join();
  return best;
}

/// Keeps the compiler from dropping the computation of a value.
template <typename T> static void keep(const T &value) {
  asm volatile("" : : "r"(&value) : "memory");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

// The widest loads count when the buffer fits into a cache.
#define WEFT_READ_LOOP(NAME, TARGET, BYTES)                                    \
  TARGET static void NAME(const std::byte *data, size_t size) {                \
    typedef uint64_t Words __attribute__((vector_size(BYTES)));                \
    const Words *words = reinterpret_cast<const Words *>(data);                \
    Words sums[8] = {};                                                        \
    for (size_t i = 0; i + 8 <= size / sizeof(Words); i += 8)                  \
      for (int j = 0; j < 8; ++j)                                              \
        sums[j] += words[i + j];                                               \
    for (int j = 1; j < 8; ++j)                                                \
      sums[0] += sums[j];                                                      \
    keep(sums[0]);                                                             \
  }

WEFT_READ_LOOP(readWords128, , 16)
#if defined(__x86_64__)
WEFT_READ_LOOP(readWords256, __attribute__((target("avx2"))), 32)
WEFT_READ_LOOP(readWords512, __attribute__((target("avx512f"))), 64)
#endif
#undef WEFT_READ_LOOP

using ReadFunction = void (*)(const std::byte *, size_t);

static ReadFunction chooseReadLoop() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f"))
    return readWords512;
  if (__builtin_cpu_supports("avx2"))
    return readWords256;
#endif
  return readWords128;
}

rt::Result<double> weft::measureReadBandwidth(unsigned threads, size_t bytes) {
  const size_t part =
      std::max<size_t>(bytes / threads, 64 << 10) & ~size_t(511);
  const size_t total = part * threads;
  std::unique_ptr<std::byte, decltype(&std::free)> buffer(
      static_cast<std::byte *>(
          std::aligned_alloc(4096, (total + 4095) & ~size_t(4095))),
      &std::free);
  if (!buffer)
    return rt::Status::outOfMemory(
        "the bandwidth measurement needs a buffer of " +
        std::to_string(total >> 20) + " MiB");
  // Each thread touches its own part first, so that it lies near the thread.
  timeTogether(threads, 1, [&](unsigned t) {
    std::memset(buffer.get() + t * part, 1, part);
  });
  // Small buffers are read several times in a pass, so that starting the
  // threads does not count.
  const size_t repeats = std::max<size_t>(1, (size_t(64) << 20) / total);
  const ReadFunction readAll = chooseReadLoop();
  double seconds = timeTogether(threads, 5, [&](unsigned t) {
    for (size_t i = 0; i < repeats; ++i)
      readAll(buffer.get() + t * part, part);
  });
  return double(total) * double(repeats) / seconds;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

// Enough independent sums to fill the pipelines (latency 4, two per cycle).
static constexpr int kSums = 12;

#if defined(__x86_64__)

// The instruction is written out because no compiler would be trusted to pick
// it in a loop whose result is not used. The operands are zero, which costs the
// same time as other numbers.
#define WEFT_FLOPS_LOOP(NAME, TARGET, BYTES, INSTRUCTION)                      \
  __attribute__((target(TARGET))) static void NAME(int64_t rounds) {           \
    typedef float Vector __attribute__((vector_size(BYTES)));                  \
    Vector sums[kSums] = {}, a = {}, b = {};                                   \
    for (int64_t i = 0; i < rounds; ++i) {                                     \
      _Pragma("GCC unroll 12") for (int j = 0; j < kSums; ++j) asm volatile(   \
          INSTRUCTION " %2, %1, %0" : "+v"(sums[j]) : "v"(a), "v"(b));         \
    }                                                                          \
    keep(sums);                                                                \
  }

WEFT_FLOPS_LOOP(runFma256, "avx2,fma", 32, "vfmadd231ps")
WEFT_FLOPS_LOOP(runFma512, "avx512f", 64, "vfmadd231ps")
WEFT_FLOPS_LOOP(runDotBf16, "avx512f,avx512bf16", 64, "vdpbf16ps")

#undef WEFT_FLOPS_LOOP
#endif

/// Multiply and add as two operations, for processors without the above.
static void runMultiplyAdd(int64_t rounds) {
  typedef float Vector __attribute__((vector_size(16)));
  Vector sums[kSums] = {}, a = {}, b = {};
  keep(a);
  keep(b);
  for (int64_t i = 0; i < rounds; ++i) {
    for (int j = 0; j < kSums; ++j)
      sums[j] = sums[j] * a + b;
    // Without this, equal rounds would be merged.
    for (int j = 0; j < kSums; ++j)
      keep(sums[j]);
  }
}

static double measureLoop(unsigned threads, void (*run)(int64_t),
                          double flopsPerInstruction) {
  constexpr int64_t rounds = 2000000;
  double seconds = timeTogether(threads, 5, [&](unsigned) { run(rounds); });
  return double(rounds) * kSums * flopsPerInstruction * threads / seconds;
}

PeakFlops weft::measurePeakFlops(unsigned threads) {
  PeakFlops peak;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) {
    peak.f32 = measureLoop(threads, runFma512, 32);
    peak.instructions = "avx512f";
    if (__builtin_cpu_supports("avx512bf16")) {
      peak.bf16 = measureLoop(threads, runDotBf16, 64);
      peak.instructions += " avx512bf16";
    }
    return peak;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    peak.f32 = measureLoop(threads, runFma256, 16);
    peak.instructions = "avx2 fma";
    return peak;
  }
#endif
  peak.f32 = measureLoop(threads, runMultiplyAdd, 8);
  peak.instructions = "128-bit multiply and add";
  return peak;
}
