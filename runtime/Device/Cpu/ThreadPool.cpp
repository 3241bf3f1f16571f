//===- ThreadPool.cpp -----------------------------------------------------===//

#include "runtime/Device/Cpu/ThreadPool.h"

#include <algorithm>
#include <system_error>

using namespace weft::rt;

namespace {

/// How long a thread polls before it gives its core away. Longer than the gap
/// between two launches of a step, shorter than what the owner of a battery
/// would notice between two requests.
constexpr auto spinTime = std::chrono::microseconds(50);

inline void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Polls `ready` for spinTime. Reading the clock costs as much as a handful
/// of polls, so it is read only now and then.
template <typename Ready> bool spinUntil(Ready ready) {
  auto deadline = std::chrono::steady_clock::time_point();
  for (unsigned round = 0;; ++round) {
    for (unsigned i = 0; i < 32; ++i) {
      if (ready())
        return true;
      pauseCpu();
    }
    auto now = std::chrono::steady_clock::now();
    if (round == 0)
      deadline = now + spinTime;
    else if (now >= deadline)
      return false;
  }
}

} // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(unsigned threads) {
  if (threads == 0 || threads > maxThreads)
    return Status::invalid("a thread pool of " + std::to_string(threads) +
                           " threads was asked for; expected 1 to " +
                           std::to_string(maxThreads));
  std::unique_ptr<ThreadPool> pool(new ThreadPool());
  pool->workers.reserve(threads - 1);
  try {
    for (unsigned i = 1; i < threads; ++i)
      pool->workers.emplace_back([p = pool.get(), i] { p->work(i); });
  } catch (const std::system_error &error) {
    // The destructor joins those that did start.
    return Status::outOfMemory("the system gave only " +
                               std::to_string(pool->workers.size() + 1) +
                               " of " + std::to_string(threads) + " threads (" +
                               error.what() + "); ask for fewer threads");
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  stopping.store(true, std::memory_order_seq_cst);
  alarm.fetch_add(1, std::memory_order_seq_cst);
  alarm.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::takeChunks(unsigned worker) {
  const Job current = job;
  for (;;) {
    int64_t begin = next.fetch_add(current.chunk, std::memory_order_relaxed);
    if (begin >= current.items)
      return;
    int64_t end = std::min(begin + current.chunk, current.items);
    current.body(current.context, begin, end, worker);
  }
}

void ThreadPool::runInline(int64_t items, Body body, void *context) {
  if (items <= 0)
    return;
  // Scratch memory belongs to a worker number, so number 0 is taken by one
  // caller at a time also here.
  std::lock_guard lock(runMutex);
  body(context, 0, items, 0);
}

void ThreadPool::run(int64_t items, int64_t grain, Body body, void *context) {
  grain = std::max<int64_t>(grain, 1);
  if (items <= grain || workers.empty())
    return runInline(items, body, context);

  std::lock_guard lock(runMutex);
  // About eight chunks per thread even out threads that lose their core for a
  // while, and keep the counter cheap for large grids.
  int64_t chunks = int64_t(getThreadCount()) * 8;
  job = {body, context, items, std::max(grain, items / chunks)};
  next.store(0, std::memory_order_relaxed);
  uint64_t epoch = (state.load(std::memory_order_relaxed) >> epochShift) + 1;
  // Sequentially consistent with the load of `sleepers`: either this thread
  // sees the sleeper, or the sleeper sees the new state before it sleeps.
  state.store(epoch << epochShift | openBit, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0) {
    alarm.fetch_add(1, std::memory_order_seq_cst);
    alarm.notify_all();
  }

  takeChunks(0);

  // All items are taken. Close the job, then wait for those still inside;
  // workers that did not arrive in time stay out.
  state.fetch_and(~openBit, std::memory_order_acq_rel);
  auto empty = [this] {
    return (state.load(std::memory_order_acquire) & insideMask) == 0;
  };
  // A worker that is inside may have lost its core: after a while, offer ours.
  if (!spinUntil(empty))
    while (!empty())
      std::this_thread::yield();
}

bool ThreadPool::hasNews(uint64_t seenEpoch) const {
  if (stopping.load(std::memory_order_seq_cst))
    return true;
  uint64_t now = state.load(std::memory_order_seq_cst);
  return (now & openBit) != 0 && now >> epochShift != seenEpoch;
}

bool ThreadPool::tryJoin(uint64_t &seenEpoch) {
  uint64_t now = state.load(std::memory_order_acquire);
  while ((now & openBit) != 0 && now >> epochShift != seenEpoch) {
    if (state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      seenEpoch = now >> epochShift;
      return true;
    }
  }
  return false;
}

void ThreadPool::waitForNews(uint64_t seenEpoch) {
  if (spinUntil([&] { return hasNews(seenEpoch); }))
    return;
  uint32_t before = alarm.load(std::memory_order_seq_cst);
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (!hasNews(seenEpoch))
    alarm.wait(before, std::memory_order_seq_cst);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void ThreadPool::work(unsigned worker) {
  uint64_t seenEpoch = 0;
  while (!stopping.load(std::memory_order_acquire)) {
    if (!tryJoin(seenEpoch)) {
      waitForNews(seenEpoch);
      continue;
    }
    takeChunks(worker);
    state.fetch_sub(1, std::memory_order_acq_rel);
  }
}
