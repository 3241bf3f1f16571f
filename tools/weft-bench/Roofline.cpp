//===- Roofline.cpp - What this machine can do at most --------------------===//

#include "tools/weft-bench/Roofline.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#include <unistd.h>

using namespace weft;
using Clock = std::chrono::steady_clock;

/// Runs `work(thread)` on all threads at once, `passes` times, and `prepare`
/// before each; the shortest time from the first start to the last end, in
/// seconds. Every thread looks at the clock itself: on a machine with other
/// work the caller wakes up late.
static double timeTogether(
    unsigned threads, int passes, const std::function<void(unsigned)> &work,
    const std::function<void()> &prepare = [] {}) {
  std::barrier<> barrier(threads + 1);
  std::vector<std::thread> workers;
  std::vector<Clock::time_point> begins(threads), ends(threads);
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      for (int pass = 0; pass < passes; ++pass) {
        barrier.arrive_and_wait();
        begins[t] = Clock::now();
        work(t);
        ends[t] = Clock::now();
        barrier.arrive_and_wait();
      }
    });
  double best = 1e300;
  for (int pass = 0; pass < passes; ++pass) {
    prepare();
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
    std::chrono::duration<double> elapsed =
        *std::max_element(ends.begin(), ends.end()) -
        *std::min_element(begins.begin(), begins.end());
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

/// Whether the second level caches of the threads' cores hold so many bytes.
static bool fitsPrivateCaches(unsigned threads, size_t bytes) {
  constexpr long usual = 1 << 20;
  const long known = sysconf(_SC_LEVEL2_CACHE_SIZE); // 0 if it is not known.
  return bytes <= threads * size_t(known > 0 ? known : usual);
}

rt::Result<double> weft::measureReadBandwidth(unsigned threads, size_t bytes) {
  // The threads take the next piece whenever they are done with one, as they
  // do with the work items of a kernel. Where each can keep a share in a cache
  // of its own, it does: that is the most that a model of this size can get.
  constexpr size_t pieceBytes = 64 << 10;
  const bool hasShares = fitsPrivateCaches(threads, bytes);
  const size_t pieces = std::max<size_t>(bytes / pieceBytes, threads);
  const size_t total = pieces * pieceBytes;
  constexpr size_t hugePage = 2 << 20;
  std::unique_ptr<std::byte, decltype(&std::free)> buffer(
      static_cast<std::byte *>(std::aligned_alloc(
          hugePage, (total + hugePage - 1) & ~(hugePage - 1))),
      &std::free);
  if (!buffer)
    return rt::Status::outOfMemory(
        "the bandwidth measurement needs a buffer of " +
        std::to_string(total >> 20) + " MiB");
#if defined(__linux__)
  madvise(buffer.get(), total, MADV_HUGEPAGE); // Fewer address translations.
#endif
  std::atomic<size_t> next = 0;
  auto forPieces = [&](unsigned thread, size_t repeats, auto &&work) {
    if (hasShares) {
      const size_t first = pieces * thread / threads,
                   end = pieces * (thread + 1) / threads;
      for (size_t pass = 0; pass < repeats; ++pass)
        for (size_t i = first; i < end; ++i)
          work(buffer.get() + i * pieceBytes, pieceBytes);
      return;
    }
    for (size_t i = next++; i < pieces * repeats; i = next++)
      work(buffer.get() + i % pieces * pieceBytes, pieceBytes);
  };
  timeTogether(threads, 1, [&](unsigned thread) {
    forPieces(thread, 1,
              [](std::byte *data, size_t size) { std::memset(data, 1, size); });
  });
  const ReadFunction readAll = chooseReadLoop();
  // The best of many passes: other programs, and other machines of the same
  // host, take bandwidth away for tens of milliseconds at a time. Small buffers
  // are read several times in a pass, so that starting threads does not count.
  // A pass takes a millisecond or more and less than a time slice.
  const size_t repeats = std::max<size_t>(1, (size_t(128) << 20) / total);
  const int passes = int(std::clamp<size_t>((size_t(8) << 30) / total, 8, 64));
  double seconds = timeTogether(
      threads, passes,
      [&](unsigned thread) { forPieces(thread, repeats, readAll); },
      [&] { next = 0; });
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
  // About a millisecond each: some are not disturbed.
  constexpr int64_t rounds = 500000;
  double seconds = timeTogether(threads, 40, [&](unsigned) { run(rounds); });
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
