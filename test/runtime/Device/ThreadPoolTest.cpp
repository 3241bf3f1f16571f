//===- ThreadPoolTest.cpp -------------------------------------------------===//

#include "runtime/Device/Cpu/ThreadPool.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::rt;
using testing::HasSubstr;

namespace {

std::unique_ptr<ThreadPool> makePool(unsigned threads) {
  Result<std::unique_ptr<ThreadPool>> pool = ThreadPool::create(threads);
  EXPECT_TRUE(pool.isOk()) << pool.getStatus().getMessage();
  return pool.take();
}

/// Runs any callable `(begin, end, worker)`.
template <typename F>
void runWith(ThreadPool &pool, int64_t items, F function) {
  pool.run(
      items, 1,
      [](void *context, int64_t begin, int64_t end, unsigned worker) {
        (*static_cast<F *>(context))(begin, end, worker);
      },
      &function);
}

TEST(ThreadPool, RunsEveryItemExactlyOnce) {
  for (unsigned threads : {1u, 2u, 3u, 8u}) {
    std::unique_ptr<ThreadPool> pool = makePool(threads);
    EXPECT_EQ(pool->getThreadCount(), threads);
    for (int64_t items : {0, 1, 2, 7, 63, 64, 65, 1000, 4097}) {
      std::vector<std::atomic<int>> counts(items);
      runWith(*pool, items, [&](int64_t begin, int64_t end, unsigned) {
        for (int64_t i = begin; i < end; ++i)
          ++counts[i];
      });
      for (int64_t i = 0; i < items; ++i)
        ASSERT_EQ(counts[i], 1) << threads << " threads, item " << i;
    }
  }
}

TEST(ThreadPool, EffectsAreVisibleToTheCallerAfterManyShortJobs) {
  std::unique_ptr<ThreadPool> pool = makePool(4);
  // Plain memory: a missing ordering shows here, and under TSan.
  std::vector<int64_t> values(64, 0);
  for (int64_t round = 1; round <= 2000; ++round) {
    runWith(*pool, 64, [&](int64_t begin, int64_t end, unsigned) {
      for (int64_t i = begin; i < end; ++i)
        values[i] += i;
    });
    ASSERT_EQ(values[63], round * 63);
  }
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(values[i], 2000 * i);
}

TEST(ThreadPool, WorkerNumbersAreNotSharedByBodiesThatRunAtOnce) {
  std::unique_ptr<ThreadPool> pool = makePool(4);
  std::vector<std::atomic<int>> users(4);
  std::atomic<int> conflicts{0};
  for (int round = 0; round < 200; ++round)
    runWith(*pool, 256, [&](int64_t, int64_t, unsigned worker) {
      if (worker >= 4 || users[worker].fetch_add(1) != 0)
        ++conflicts;
      users[worker].fetch_sub(1);
    });
  EXPECT_EQ(conflicts, 0);
}

TEST(ThreadPool, CallersOnSeveralThreadsTakeTurns) {
  std::unique_ptr<ThreadPool> pool = makePool(3);
  std::atomic<int> inside{0}, worst{0};
  std::atomic<int64_t> total{0};
  auto caller = [&] {
    for (int round = 0; round < 200; ++round) {
      int64_t sum = 0;
      std::atomic<int64_t> shared{0};
      runWith(*pool, 100, [&](int64_t begin, int64_t end, unsigned worker) {
        if (worker == 0) {
          int now = ++inside;
          if (now > worst)
            worst = now;
          --inside;
        }
        for (int64_t i = begin; i < end; ++i)
          shared += i;
      });
      sum = shared;
      total += sum;
    }
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back(caller);
  for (std::thread &thread : callers)
    thread.join();
  EXPECT_EQ(worst, 1);
  EXPECT_EQ(total, 3 * 200 * (99 * 100 / 2));
}

TEST(ThreadPool, WorkersThatFellAsleepWakeUp) {
  std::unique_ptr<ThreadPool> pool = makePool(2);
  for (int round = 0; round < 20; ++round) {
    // Longer than the time that workers poll.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<bool> workerCame{false};
    runWith(*pool, 16, [&](int64_t, int64_t, unsigned worker) {
      if (worker != 0)
        workerCame = true;
      // The caller may only finish alone if no worker ever comes.
      auto deadline =
          std::chrono::steady_clock::now() + std::chrono::seconds(5);
      while (!workerCame && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    });
    ASSERT_TRUE(workerCame) << "round " << round;
  }
}

TEST(ThreadPool, StartsAndStopsQuicklyInEveryState) {
  for (int round = 0; round < 50; ++round) {
    std::unique_ptr<ThreadPool> pool = makePool(3);
    if (round % 2)
      runWith(*pool, 10, [](int64_t, int64_t, unsigned) {});
    if (round % 3 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

TEST(ThreadPool, RefusesThreadCountsThatMakeNoSense) {
  for (unsigned threads : {0u, ThreadPool::maxThreads + 1, 4000000000u}) {
    Result<std::unique_ptr<ThreadPool>> pool = ThreadPool::create(threads);
    ASSERT_FALSE(pool.isOk());
    EXPECT_EQ(pool.getStatus().getCode(), StatusCode::InvalidArgument);
    EXPECT_THAT(pool.getStatus().getMessage(), HasSubstr("1 to 1024"));
  }
}

TEST(ThreadPool, GrainIsTheSmallestRangeButTheLast) {
  std::unique_ptr<ThreadPool> pool = makePool(2);
  struct Context {
    std::atomic<int> shortRanges{0};
    std::atomic<int64_t> items{0};
  } context;
  pool->run(
      1001, 100,
      [](void *opaque, int64_t begin, int64_t end, unsigned) {
        auto &c = *static_cast<Context *>(opaque);
        c.items += end - begin;
        if (end - begin < 100)
          ++c.shortRanges;
      },
      &context);
  EXPECT_EQ(context.items, 1001);
  EXPECT_LE(context.shortRanges, 1);
}

TEST(ThreadPool, UsableCoresAreAtLeastOneAndNotMoreThanTheMachineHas) {
  EXPECT_GE(getUsableCoreCount(), 1u);
  EXPECT_LE(getUsableCoreCount(), std::thread::hardware_concurrency());
}

} // namespace
