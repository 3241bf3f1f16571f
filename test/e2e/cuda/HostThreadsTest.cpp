// The simulator of threads itself: small kernels, right ones that must run in
// every order and wrong ones whose mistake it has to name.

#include "test/e2e/cuda/HostKernels.h"
#include "test/reference/Scratch.h"

#include <functional>
#include <map>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;
using testing::ContainsRegex;
using testing::HasSubstr;

namespace {

constexpr uint64_t seeds = 24;

/// A block of 64 threads: warp 1 copies two pieces through a ring of one slot,
/// warp 0 doubles what it gets. Barriers lie at 1024 (full) and 1032 (empty).
constexpr const char *ring = R"(
extern "C" __global__ void NAME(const float *x, float *y, i64 items) {
  if (threadIdx.x == 0) {
    mbarrier_init(1024, 1);
    mbarrier_init(1032, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  const int lane = threadIdx.x % 32;
  if (threadIdx.x >= 32) {
    wait_dependency();
    for (int n = 0; n < 3; ++n) {
      mbarrier_wait(1032, n + 1 & 1);
      if (lane == 0)
        mbarrier_expect(1024, 128);
      __syncwarp();
      if (lane < 2)
        copy_bulk(lane * 64, x + n * 32 + lane * 16, 64, 1024);
    }
  } else {
    wait_dependency();
    for (int n = 0; n < 3; ++n) {
      mbarrier_wait(1024, n & 1);
      y[n * 32 + lane] = 2 * load_shared<float>(lane * 4);
      __syncwarp();
      if (lane == 0)
        mbarrier_arrive(1032);
    }
  }
}
)";

/// Two blocks of 64 threads: those of warp 0 get what the other block has
/// stored, twice; warp 1 takes part in the barrier only.
constexpr const char *pair = R"(
extern "C" __global__ void NAME(const float *x, float *y, i64 items) {
  wait_dependency();
  const u32 rank = cluster_rank();
  const int i = threadIdx.x;
  cluster_arrive_relaxed();
  if (i < 32) {
    for (int n = 0; n < 2; ++n) {
      cluster_wait();
      store_shared<float>(i * 4, x[n * 64 + rank * 32 + i]);
      cluster_arrive();
      cluster_wait();
      y[n * 64 + rank * 32 + i] = load_cluster<float>(map_cluster(0, 1 - rank) + i * 4);
      cluster_arrive();
    }
  } else {
    for (int n = 0; n < 4; ++n) {
      cluster_wait();
      cluster_arrive_relaxed();
    }
  }
  __syncthreads();
  cluster_wait();
}
)";

/// 64 threads: groups of copies into two slots, the next one under way.
constexpr const char *groups = R"(
extern "C" __global__ void NAME(const float *x, float *y, i64 items) {
  wait_dependency();
  const int i = threadIdx.x;
  copy_async<4>(i * 4, x + i);
  commit_copies();
  for (int n = 0; n < 3; ++n) {
    if (n < 2)
      copy_async<4>((n + 1) % 2 * 256 + i * 4, x + (n + 1) * 64 + i);
    commit_copies();
    wait_copies<1>();
    __syncthreads();
    y[n * 64 + i] = load_shared<float>(n % 2 * 256 + (63 - i) * 4);
    __syncthreads();
  }
}
)";

/// A named barrier of the first 64 of 96 threads.
constexpr const char *named = R"(
extern "C" __global__ void NAME(const float *x, float *y, i64 items) {
  wait_dependency();
  const int i = threadIdx.x;
  if (i < 64) {
    store_shared<float>(i * 4, x[i]);
    named_barrier<1, 64>();
    y[i] = load_shared<float>((63 - i) * 4);
  }
}
)";

/// What lanes exchange, and stored matrices that are loaded again, transposed.
constexpr const char *lanes = R"(
extern "C" __global__ void NAME(const float *x, float *y, i64 items) {
  wait_dependency();
  const int i = threadIdx.x;
  y[i] = __shfl_xor_sync(0xffffffff, x[i], 5);
  y[32 + i] = __shfl_sync(0xffffffff, x[i], i / 2);
  Vec<int, 1> value = {int(2 * i | (2 * i + 1) << 16)};
  store_matrix<1>(i % 8 * 16, value);
  __syncwarp();
  const Vec<int, 1> turned = load_matrix_transposed<1>(i % 8 * 16);
  y[64 + 2 * i] = turned[0] & 0xffff;
  y[65 + 2 * i] = turned[0] >> 16;
}
)";

/// What the others read, 0, 1, 2, ..., is written by a kernel before.
constexpr const char *writer = R"(
extern "C" __global__ void NAME(const float *x, float *y, i64 items) {
  wait_dependency();
  for (int i = threadIdx.x; i < 256; i += 32)
    y[i] = i;
}
)";

struct Shape {
  const char *text;
  rt::LaunchShape launch;
};

rt::LaunchShape shape(uint32_t threads, uint32_t cluster = 1) {
  return {threads, 2048, cluster, 0, true};
}

const std::map<std::string, Shape> &shapes() {
  static const std::map<std::string, Shape> all = {
      {"ring", {ring, shape(64)}},     {"pair", {pair, shape(64, 2)}},
      {"groups", {groups, shape(64)}}, {"named", {named, shape(96)}},
      {"lanes", {lanes, shape(32)}},   {"writer", {writer, shape(32)}},
  };
  return all;
}

void replace(std::string &text, const std::string &from,
             const std::string &by) {
  size_t at = text.find(from);
  if (at == std::string::npos)
    throw std::runtime_error("the kernel has no '" + from + "'");
  text.replace(at, from.size(), by);
}

/// A mistake: the kernel, what is replaced by what, and what is reported.
struct Mistake {
  const char *name, *kernel, *from, *by, *report;
};

constexpr Mistake mistakes[] = {
    {"MissingArrive", "ring", "if (lane == 0)\n        mbarrier_arrive(1032);",
     "",
     "nothing can go on; threads 0-31 of block 0: waiting for phase 2 of the "
     "mbarrier at 1024 .*threads 32-63 of block 0: waiting for phase 1 of "
     "the mbarrier at 1032 of block 0, of which 1 of 1 arrivals and 0 bytes "
     "are "
     "missing"},
    {"EveryLaneArrives", "ring",
     "if (lane == 0)\n        mbarrier_arrive(1032);", "mbarrier_arrive(1032);",
     "arrives at the mbarrier at 1032|starts a copy into|has completed phase"},
    {"WrongCount", "ring", "mbarrier_init(1032, 1)", "mbarrier_init(1032, 2)",
     "waiting for phase 1 of the mbarrier at 1032 of block 0, of which 1 of 2 "
     "arrivals"},
    {"ReleasedBeforeItIsRead", "ring",
     "y[n * 32 + lane] = 2 * load_shared<float>(lane * 4);\n      "
     "__syncwarp();\n      if (lane == 0)\n        mbarrier_arrive(1032);",
     "if (lane == 0)\n        mbarrier_arrive(1032);\n      __syncwarp();\n"
     "      y[n * 32 + lane] = 2 * load_shared<float>(lane * 4);",
     "starts a copy into shared memory at .* read without a barrier|reads "
     "shared memory at .*a bulk copy .* writes without a barrier|has completed "
     "phase"},
    {"ReleasedByOneLaneForAll", "ring", "__syncwarp();\n      if (lane == 0)\n",
     "if (lane == 0)\n",
     "starts a copy into shared memory at .* read without a barrier|reads "
     "shared memory at .*a bulk copy .* writes without a barrier|has completed "
     "phase"},
    {"NotWaitedFor", "ring", "mbarrier_wait(1024, n & 1);", "",
     "thread .* of block 0 (reads|starts a copy into) shared memory at .*, "
     "which (a bulk copy that the mbarrier at 1024 of block 0 counts writes|"
     "thread .* read) without a barrier|already"},
    {"FilledBeforeItIsFree", "ring", "mbarrier_wait(1032, n + 1 & 1);", "",
     "starts a copy into shared memory|arrives at the mbarrier at 1024 of "
     "block "
     "0, where all 1 arrivals of phase . have been"},
    {"TooFewBytesExpected", "ring", "mbarrier_expect(1024, 128)",
     "mbarrier_expect(1024, 64)",
     "copies 64 bytes to complete at the mbarrier at 1024 of block 0, which "
     "expects 0 more in phase 1"},
    {"TooManyBytesExpected", "ring", "mbarrier_expect(1024, 128)",
     "mbarrier_expect(1024, 144)",
     "threads 0-31 of block 0: waiting for phase 1 of the mbarrier at 1024 of "
     "block 0, of which 0 of 1 arrivals and 16 bytes are missing"},
    {"ExpectedWithoutABarrier", "ring",
     "mbarrier_expect(1024, 128);\n      __syncwarp();",
     "mbarrier_expect(1024, 128);",
     "copies 64 bytes to complete at the mbarrier at 1024 of block 0, which "
     "expects"},
    {"CopyOfOddSize", "ring", "lane * 16, 64, 1024", "lane * 16, 60, 1024",
     "copies 60 bytes from buffer 0 at byte .*; a bulk copy has multiples of "
     "16"},
    {"CopyOfOddSource", "ring", "x + n * 32", "x + 1 + n * 32",
     "copies 64 bytes from buffer 0 at byte .*; a bulk copy has multiples of "
     "16"},
    {"CopyBehindTheEnd", "ring", "copy_bulk(lane * 64", "copy_bulk(2000",
     "copies 64 bytes at 2000 of 2048 bytes of shared memory"},
    {"NoBarrierBehindMaking", "ring", "__syncthreads();", "",
     "the mbarrier at 10(24|32) of block 0 without a barrier behind its making|"
     "where none has been made"},
    {"MakingNotFenced", "ring", "fence_mbarrier_init();", "",
     "lets a copy complete at the mbarrier at 1024 of block 0, whose making is "
     "not fenced"},
    {"MadeTwice", "ring", "mbarrier_init(1032, 1);",
     "mbarrier_init(1032, 1); mbarrier_init(1032, 1);",
     "makes the mbarrier at 1032 of block 0 again"},
    {"WrongParity", "ring", "mbarrier_wait(1024, n & 1)",
     "mbarrier_wait(1024, 1)",
     "thread .* of block 0 (reads|starts a copy into) "
     "shared memory at|already"},
    {"WriteNotFenced", "ring", "mbarrier_wait(1032, n + 1 & 1);",
     "mbarrier_wait(1032, n + 1 & 1);\n"
     "      store_shared<float>(lane * 4, 0.0f);\n      __syncwarp();",
     "starts a copy into shared memory at .* wrote without fence_async"},
    {"TouchedTooEarly", "ring", "  } else {\n    wait_dependency();",
     "  } else {\n    y[lane] = 0;\n    wait_dependency();",
     "writes buffer 1 at byte .* before the wait for earlier kernels"},
    {"CopiedTooEarly", "ring", "wait_dependency();\n    for",
     "for (int once = 0; once < 0; ++once) wait_dependency();\n    for",
     "copies buffer 0 at byte (0|64) before the wait for earlier kernels, one "
     "of which writes it"},
    {"ReadTooEarly", "named",
     "wait_dependency();\n  const int i = threadIdx.x;",
     "const int i = threadIdx.x;\n  const float early = x[i];\n"
     "  wait_dependency();\n  y[i] = early;",
     "reads buffer 0 at byte .* before the wait for earlier kernels, one of "
     "which writes it"},
    {"NeverWaitedForOthers", "named", "wait_dependency();",
     "if (threadIdx.x < 64) wait_dependency();",
     "ends without the wait for earlier kernels"},
    {"EndsWithACopy", "ring", "n < 3; ++n) {\n      mbarrier_wait(1032",
     "n < 4; ++n) {\n      mbarrier_wait(1032",
     "the blocks end while a copy writes shared memory at"},

    {"BarrierOfAnother", "ring", "mbarrier_arrive(1032)",
     "mbarrier_arrive(map_cluster(1032, 0))", "which is not in its own block"},
    {"ArrivesRelaxed", "pair", "cluster_arrive();\n      cluster_wait();",
     "cluster_arrive_relaxed();\n      cluster_wait();",
     "reads shared memory at .* of block ., which thread .* of block . wrote "
     "without a barrier"},
    {"ReadRelaxed", "pair", "cluster_arrive();\n    }",
     "cluster_arrive_relaxed();\n    }",
     "writes shared memory at .* of block ., which thread .* of block . read "
     "without a barrier"},
    {"ArrivesBeforeItStores", "pair",
     "store_shared<float>(i * 4, x[n * 64 + rank * 32 + i]);\n"
     "      cluster_arrive();",
     "cluster_arrive();\n"
     "      store_shared<float>(i * 4, x[n * 64 + rank * 32 + i]);",
     "(reads|writes) shared memory at .* of block ., which thread .* of block "
     ". (wrote|read) without a barrier"},
    {"ReadsBeforeItWaits", "pair",
     "cluster_wait();\n      y[n * 64 + rank * 32 + i] = "
     "load_cluster<float>(map_cluster(0, 1 - rank) + i * 4);",
     "y[n * 64 + rank * 32 + i] = "
     "load_cluster<float>(map_cluster(0, 1 - rank) + i * 4);\n"
     "      cluster_wait();",
     "(reads|writes) shared memory at .* of block ., which thread .* of block "
     ". (wrote|read) without a barrier"},
    {"WarpMissesArrivals", "pair", "n < 4", "n < 2",
     "nothing can go on; threads 0-31 of block 0: waiting at the barrier of "
     "the cluster, where 64 of 128 threads have not arrived; threads 32-63 of "
     "block 0: waiting at barrier 0 with 32 of 64 threads"},
    {"ArrivesTwice", "pair", "cluster_wait();\n      cluster_arrive_relaxed();",
     "cluster_arrive_relaxed();",
     "thread .* arrives at the barrier of the cluster again, without a wait "
     "between"},
    {"NeverArrives", "pair", "cluster_arrive_relaxed();\n  if", "if",
     "thread .* waits at the barrier of the cluster without having arrived"},
    {"EndsBeforeItIsRead", "pair", "__syncthreads();\n  cluster_wait();", "",
     "block . ends without a barrier behind accesses of thread .* to its "
     "shared memory|reads shared memory of block ., which has ended"},
    {"MappedWrongly", "pair", "map_cluster(0, 1 - rank)",
     "map_cluster(0, 2 - rank)", "maps address 0 to block 2 of a cluster of 2"},
    {"OwnInstruction", "pair", "load_cluster<float>(map_cluster(0, 1 - rank)",
     "load_shared<float>(map_cluster(0, 1 - rank)",
     "with an instruction for its own block"},

    {"GroupNotWaitedFor", "groups", "wait_copies<1>()", "wait_copies<2>()",
     "reads shared memory at .*, which an unfinished copy of thread .* writes "
     "without a barrier"},
    {"NoBarrierBehindGroups", "groups",
     "wait_copies<1>();\n    __syncthreads()", "wait_copies<1>()",
     "(reads|starts a copy into) shared memory at .* without a barrier"},
    {"SlotFilledTooEarly", "groups", "* 4);\n    __syncthreads();", "* 4);",
     "starts a copy into shared memory at .*, which thread .* read without a "
     "barrier|reads shared memory at .*, which an unfinished copy of thread .* "
     "writes without a barrier"},
    {"GroupOfOddAddress", "groups", "copy_async<4>(i * 4, x + i)",
     "copy_async<16>(i * 4, x + i)", "which is not aligned"},
    {"GroupLeftOver", "groups", "__syncthreads();\n  }",
     "__syncthreads();\n  }\n  copy_async<4>(i * 4, x + i);",
     "ends while a copy of its writes shared memory at"},

    {"WrongThreadCount", "named", "named_barrier<1, 64>",
     "named_barrier<1, 96>",
     "threads 0-63 of block 0: waiting at barrier 1 with 64 of 96 threads; "
     "threads 64-95 of block 0: ended"},
    {"WrongBarrier", "named", "named_barrier<1, 64>()",
     "if (i < 32) named_barrier<1, 64>(); else named_barrier<2, 64>()",
     "threads 0-31 of block 0: waiting at barrier 1 with 32 of 64 threads; "
     "threads 32-63 of block 0: waiting at barrier 2"},
    {"TwoThreadCounts", "named", "named_barrier<1, 64>()",
     "if (i < 32) named_barrier<1, 64>(); else named_barrier<1, 32>()",
     "comes to barrier 1 of .. threads, where others wait for|(reads|writes) "
     "shared memory at .* without a barrier"},
    {"NoBarrier", "named", "named_barrier<1, 64>();", "",
     "(reads|writes) shared memory at .*, which thread .* (read|wrote) without "
     "a "
     "barrier"},
    {"NotAllThreads", "named", "if (i < 64) {",
     "if (i < 64) {\n  "
     "if (i == 5) return;",
     "threads 0-4, 6-63 of block 0: waiting at barrier 1 with 63 of 64 "
     "threads; "
     "threads 5, 64-95 of block 0: ended"},

    {"NotAllLanes", "lanes", "y[i] = __shfl_xor_sync(0xffffffff, x[i], 5)",
     "if (i < 31) y[i] = __shfl_xor_sync(0xffffffff, x[i], 5)",
     "is in __shfl_(sync|xor_sync) while thread .* of its warp is in __shfl_"},
    {"LanesThatEnd", "lanes", "const int i = threadIdx.x;",
     "const int i = threadIdx.x; if (i == 7) return;",
     "threads 0-6, 8-31 of block 0: waiting for the warp in __shfl_xor_sync; "
     "thread 7 of block 0: ended"},
    {"MatrixNotAligned", "lanes", "load_matrix_transposed<1>(i % 8 * 16)",
     "load_matrix_transposed<1>(i % 8 * 16 + 8)",
     "reads 16 bytes at .* of shared memory, which is not aligned"},
};

/// All kernels in one library.
const HostKernels &getKernels() {
  static reference::Scratch scratch("cuda-host-threads");
  static const HostKernels kernels = [] {
    std::vector<HostKernelSource> sources;
    auto add = [&](const std::string &name, const Shape &shape,
                   std::string text) {
      replace(text, "NAME", name);
      sources.push_back({name, text, 2, 0, shape.launch});
    };
    for (const auto &[name, shape] : shapes())
      add(name, shape, shape.text);
    for (const Mistake &mistake : mistakes) {
      const Shape &shape = shapes().at(mistake.kernel);
      std::string text = shape.text;
      replace(text, mistake.from, mistake.by);
      add(mistake.name, shape, text);
    }
    return HostKernels(sources, scratch.path);
  }();
  return kernels;
}

constexpr size_t count = 256;

struct Outcome {
  std::string error;
  alignas(16) float y[count] = {};
};

Outcome run(const std::string &name, uint64_t seed) {
  alignas(16) float x[count] = {};
  Outcome outcome;
  HostLaunch launch;
  launch.buffers = {x, x};
  launch.items = 1;
  launch.seed = seed;
  getKernels().startStep();
  outcome.error = getKernels().run("writer", launch);
  launch.buffers = {x, outcome.y};
  if (outcome.error.empty())
    outcome.error = getKernels().run(name, launch);
  return outcome;
}

class RightKernels : public testing::TestWithParam<uint64_t> {
protected:
  void expect(const std::string &name, size_t elements,
              const std::function<size_t(size_t)> &expected) {
    Outcome outcome = run(name, GetParam());
    ASSERT_EQ(outcome.error, "");
    for (size_t i = 0; i < elements; ++i)
      ASSERT_EQ(outcome.y[i], float(expected(i))) << "element " << i;
  }
};

TEST_P(RightKernels, Ring) {
  expect("ring", 96, [](size_t i) { return 2 * i; });
}
TEST_P(RightKernels, Pair) {
  expect("pair", 128, [](size_t i) { return i ^ 32; });
}
TEST_P(RightKernels, Groups) {
  expect("groups", 192, [](size_t i) { return i / 64 * 64 + 63 - i % 64; });
}
TEST_P(RightKernels, Named) {
  expect("named", 64, [](size_t i) { return 63 - i; });
}
TEST_P(RightKernels, Lanes) {
  expect("lanes", 128, [](size_t i) {
    if (i < 32)
      return i ^ 5;
    if (i < 64)
      return (i - 32) / 2;
    // Element (row, column) of the matrix is 8 * row + column.
    size_t at = i - 64;
    return at % 8 * 8 + at / 8;
  });
}

INSTANTIATE_TEST_SUITE_P(Orders, RightKernels,
                         testing::Range<uint64_t>(0, seeds));

class WrongKernels : public testing::TestWithParam<Mistake> {};

TEST_P(WrongKernels, AreReported) {
  const Mistake &mistake = GetParam();
  size_t reported = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    std::string error = run(mistake.name, seed).error;
    if (error.empty())
      continue;
    ++reported;
    EXPECT_TRUE(std::regex_search(error, std::regex(mistake.report)))
        << "found: " << error << "\nexpected: " << mistake.report;
    EXPECT_THAT(error, HasSubstr("(seed " + std::to_string(seed) + ")"));
  }
  EXPECT_EQ(reported, seeds);
}

INSTANTIATE_TEST_SUITE_P(All, WrongKernels, testing::ValuesIn(mistakes),
                         [](const auto &info) { return info.param.name; });

// Kernels that loop over items, and blocks of different clusters that write the
// same memory.
TEST(HostGrid, BlocksOfOtherClustersAreNeverInOrder) {
  static reference::Scratch scratch("cuda-host-grid");
  rt::LaunchShape loop = shape(32), each = shape(32);
  loop.blocksPerMultiprocessor = 1;
  const char *text = R"(
extern "C" __global__ void NAME(const float *x, float *y, i64 items) {
  wait_dependency();
  for (i64 i = blockIdx.x; i < items; i += gridDim.x)
    y[i * 32 + threadIdx.x] = x[0];
}
)";
  std::string looping = text, same = text;
  replace(looping, "NAME", "looping");
  replace(same, "NAME", "same");
  replace(same, "y[i * 32 +", "y[i * 16 +");
  HostKernelSource sources[] = {{"looping", looping, 2, 0, loop},
                                {"same", same, 2, 0, each}};
  HostKernels kernels(sources, scratch.path);
  float x[1] = {3};
  std::vector<float> y(5 * 32);
  HostLaunch launch;
  launch.buffers = {x, y.data()};
  launch.items = 5;
  EXPECT_EQ(kernels.run("looping", launch), "");
  EXPECT_EQ(y, std::vector<float>(5 * 32, 3.0f));
  EXPECT_THAT(kernels.run("same", launch),
              HasSubstr(", which a block of another cluster wrote"));
  EXPECT_EQ(kernels.run("other", launch), "no kernel 'other'");
}

// What a step begins with may be read at any time.
TEST(HostSteps, WhatEarlierStepsWroteIsReadBeforeTheWait) {
  alignas(16) float x[count] = {}, y[count] = {};
  HostLaunch launch;
  launch.items = 1;
  launch.buffers = {x, x};
  ASSERT_EQ(getKernels().run("writer", launch), "");
  launch.buffers = {x, y};
  EXPECT_THAT(getKernels().run("ReadTooEarly", launch),
              HasSubstr("before the wait for earlier kernels"));
  getKernels().startStep();
  EXPECT_EQ(getKernels().run("ReadTooEarly", launch), "");
  EXPECT_EQ(y[95], 95);
}

} // namespace
