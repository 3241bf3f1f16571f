//===- ThreadPool.h - Fork-join over the items of a launch ----------------===//
//
// A decode step of a small model makes a few hundred launches per token, so
// what counts is the price of one fork and join. Workers wait by spinning for
// a short while and sleep after that; the calling thread takes part in the
// work; a worker that arrives after the last item was taken never delays the
// caller.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CPU_THREADPOOL_H
#define WEFT_RUNTIME_DEVICE_CPU_THREADPOOL_H

#include "runtime/Format/Status.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::rt {

/// Persistent workers that share the items of one loop at a time.
///
/// Threading: `run` may be called from any thread; concurrent calls are
/// serialised. A body must not call `run` of the same pool (no nesting).
class ThreadPool {
public:
  /// Processes items [begin, end). `worker` is 0 for the calling thread and
  /// 1 ... threads - 1 for the workers; it is the same for a whole call of the
  /// body, and no two bodies run at once with the same number.
  using Body = void (*)(void *context, int64_t begin, int64_t end,
                        unsigned worker);

  static constexpr unsigned maxThreads = 1024;

  /// `threads` counts the caller: 1 starts no worker. Fails with
  /// InvalidArgument for 0 or more than `maxThreads`, with OutOfMemory if the
  /// system does not give that many threads.
  static Result<std::unique_ptr<ThreadPool>> create(unsigned threads);

  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Calls `body` for disjoint ranges that cover [0, items) and returns when
  /// all are done. Their effects are visible to the caller then. Ranges have
  /// at least `grain` items except the last one.
  void run(int64_t items, int64_t grain, Body body, void *context);

  /// The same, on the calling thread only. For work that is smaller than the
  /// price of a fork.
  void runInline(int64_t items, Body body, void *context);

  unsigned getThreadCount() const { return unsigned(workers.size()) + 1; }

private:
  ThreadPool() = default;

  /// The loop that is being run. Written by the caller while `state` is
  /// closed with no worker inside, read by workers that joined.
  struct Job {
    Body body = nullptr;
    void *context = nullptr;
    int64_t items = 0;
    int64_t chunk = 1;
  };

  void work(unsigned worker);
  void takeChunks(unsigned worker);
  bool tryJoin(uint64_t &seenEpoch);
  bool hasNews(uint64_t seenEpoch) const;
  void waitForNews(uint64_t seenEpoch);

  /// Bits 0-30: workers inside the job. Bit 31: open for joining. Bits 32-63:
  /// number of the job, so that a worker joins each at most once. One word,
  /// because "is it still open" and "I am in" must be one step.
  static constexpr uint64_t openBit = uint64_t(1) << 31;
  static constexpr uint64_t insideMask = openBit - 1;
  static constexpr unsigned epochShift = 32;

  // Each on a cache line of its own: `next` is hammered by all threads while
  // `state` is polled.
  alignas(64) std::atomic<uint64_t> state{0};
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<uint32_t> alarm{0};
  std::atomic<bool> stopping{false};
  alignas(64) Job job;
  std::mutex runMutex;
  std::vector<std::thread> workers;
};

/// Number of cores this process may use: its affinity mask, hyperthreads of
/// one core counted once, and not more than a cgroup v2 CPU quota allows. At
/// least 1.
unsigned getUsableCoreCount();

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_CPU_THREADPOOL_H
