//===- HostCluster.h - The state of a cluster that runs ---------*- C++ -*-===//
//
// Behind HostThreads.h. Threads of a cluster are numbered through, those of a
// warp and of a block consecutively; barriers are sources of events behind
// them: a phase that is complete is one event.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTCLUSTER_H
#define WEFT_TEST_E2E_CUDA_HOSTCLUSTER_H

#include "test/e2e/cuda/HostFibers.h"
#include "test/e2e/cuda/HostShadow.h"
#include "test/e2e/cuda/HostThreads.h"

#include <bitset>
#include <map>
#include <string>
#include <unordered_map>

namespace weft::host {

constexpr unsigned warpSize = 32;

/// Steele, Lea and Flood 2014: splitmix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  size_t below(size_t bound) { return next() % bound; }
  bool oneIn(size_t count) { return below(count) == 0; }

private:
  uint64_t state;
};

/// A copy of a thread's group, or one that a barrier counts.
struct Copy {
  char *to = nullptr;
  const char *from = nullptr; ///< Null: zeros.
  uint32_t bytes = 0;         ///< That are still to be written.
  uint32_t barrier = 0;       ///< Number of the mbarrier.
  uint32_t group = 0;         ///< Of the thread's.
  uint32_t size = 0;
  std::vector<char> content; ///< Of a store.
};

struct Thread {
  enum class State { Ready, Waiting, Done };
  enum class Place { Warp, Block, Cluster, MBarrier };
  State state = State::Ready;
  Place at = Place::Warp; ///< What it waits at.
  uint32_t barrier = 0;   ///< Its number there,
  uint32_t phase = 0;     ///< and the phase of an mbarrier.
  Clock known;            ///< Of others.
  uint32_t now = 1;
  bool waitedForOthers = false; ///< For earlier kernels.
  uint32_t arrivals = 0;        ///< At the barrier of the cluster,
  bool hasArrived = false;      ///< the last of which it has not waited for.
  // In a step of its warp.
  const char *collective = nullptr;
  const void *given = nullptr;
  void *result = nullptr;
  // Copies that no barrier counts.
  std::vector<Copy> copies;
  uint32_t group = 0;
};

/// Of a number of threads, used again and again.
struct ThreadBarrier {
  unsigned expected = 0;
  std::vector<uint32_t> waiting;
};

/// PTX ISA, "barrier.cluster": of all threads of a cluster that have not ended.
struct ClusterBarrier {
  uint32_t phase = 0;   ///< Phases that are complete.
  uint32_t threads = 0; ///< That have not ended,
  uint32_t pending = 0; ///< and those of them that have not arrived.
  ClockJoin known;      ///< What those know that arrived in this phase.
  Clock done;           ///< The same of the last phase that is complete.
  std::vector<uint32_t> waiting;
};

/// Who uses the shared memory of a block.
struct BlockUse {
  uint32_t threads = 0; ///< Of the block, that have not ended.
  /// The last event of each thread of other blocks that accessed it.
  std::map<uint32_t, uint32_t> accesses;
};

/// PTX ISA, "Parallel Synchronization and Communication: mbarrier".
struct MBarrier {
  uint32_t number = 0, block = 0, address = 0;
  uint32_t count = 0, pending = 0;
  uint32_t phase = 0;    ///< Phases that are complete.
  int64_t bytes = 0;     ///< Expected and not there.
  int64_t unclaimed = 0; ///< Expected and in no copy yet.
  Epoch made, lastExpected;
  bool isFenced = false;
  ClockJoin known; ///< What those know that arrived in this phase.
  Clock done;      ///< The same of the last phase that is complete.
  std::map<uint32_t, uint32_t> waitedFor; ///< Phases, by thread.
  std::vector<uint32_t> waiting;
};

class Cluster {
public:
  const char *run(Body body, const Launch &launch, long long clusters);
  void startStep() { written.clear(); }

  // What the running thread does.
  void inWarp(const char *name, const void *given, void *result,
              Collective compute);
  void warpBarrier();
  void blockBarrier(unsigned id, unsigned threads);
  void arriveAtCluster(bool isRelaxed);
  void waitForCluster();
  char *accessShared(uint32_t address, unsigned bytes, bool isWrite,
                     bool cluster);
  void accessGlobal(const void *address, size_t bytes, bool isWrite);
  /// Any memory, as the host's code names it; stacks do not count.
  void accessAny(const void *address, size_t bytes, bool isWrite);
  uint32_t mapCluster(uint32_t address, uint32_t rank);
  void initMBarrier(uint32_t address, uint32_t count);
  void fenceMBarrierInit();
  void expectBytes(uint32_t address, uint32_t bytes);
  void arrive(uint32_t address);
  void waitMBarrier(uint32_t address, uint32_t parity);
  void copyBulk(uint32_t to, const void *from, uint32_t bytes,
                uint32_t barrier);
  void storeAsync(uint32_t to, uint32_t barrier, const void *value,
                  unsigned bytes);
  void copyAsync(uint32_t to, const void *from, unsigned bytes, bool valid);
  void commitCopies() { ++mine().group; }
  void waitCopies(unsigned pending);
  void fenceAsync();
  void waitDependency() { mine().waitedForOthers = true; }

  /// What is wrong, for run(); the first report counts. A thread gives up in a
  /// statement of its own, so that nothing is left on a stack that no one goes
  /// back to.
  void report(const std::string &what);
  void giveUp();

private:
  static void enter();

  // Scheduling (HostCluster.cpp).
  void prepare(long long cluster);
  void runCluster();
  void runWarp(uint32_t warp);
  void runThread(uint32_t thread);
  void wait(Thread::Place at, uint32_t barrier = 0, uint32_t phase = 0);
  void wake(uint32_t thread);
  void yieldSometimes();
  void reportDeadlock();
  void reportEnd();
  Thread &mine() { return threads[current]; }
  uint32_t blockOf(uint32_t thread) const { return thread / launch.threads; }
  std::string nameThread(uint32_t thread) const;
  std::string nameThreads(const std::vector<uint32_t> &list) const;
  std::string nameMemory(const void *address) const;
  std::string nameEvent(Epoch event) const;
  std::string name(const MBarrier &barrier) const;
  std::string describeWait(const Thread &thread, uint32_t block) const;

  // Order (HostBarriers.cpp).
  Epoch event() { return {current, mine().now}; }
  void release(ClockJoin &join);
  void completePhaseIfDone();
  void endThread();
  void endBlock(uint32_t block);
  MBarrier &findMBarrier(uint32_t address, bool cluster, const char *use);
  void completeIfDone(MBarrier &barrier);

  // Copies (HostCopies.cpp).
  void requireWait(const void *address, size_t bytes, bool isWrite,
                   const char *what);
  void record(const void *address, size_t bytes, bool isWrite, Epoch event,
              bool isBulk, const char *what);
  MBarrier &claimBytes(uint32_t address, uint32_t bytes, bool cluster);
  void accessBulkSource(const void *from, uint32_t bytes, Epoch end);
  void landSome();
  void land(Copy &copy, uint32_t bytes);
  char *resolve(uint32_t address, uint32_t bytes, bool cluster,
                const char *what);
  void accessOther(uint32_t block, const char *what);

  Launch launch = {};
  /// Units of two bytes that kernels of the step have written, by page.
  std::unordered_map<uintptr_t, std::bitset<2048>> written;
  Body body = {};
  long long firstBlock = 0;
  Random random{0};
  Fibers fibers;
  Shadow shadow;
  ClockMemo memo;
  std::vector<std::vector<char>> memory; ///< Of each block.
  std::vector<Thread> threads;
  std::vector<uint32_t> runnable; ///< Warps with threads that are ready.
  std::vector<uint32_t> readyLanes;
  std::vector<bool> isSlow;
  std::vector<std::map<unsigned, ThreadBarrier>> blockBarriers;
  ClusterBarrier whole;
  std::vector<BlockUse> blocks;
  std::map<std::pair<uint32_t, uint32_t>, MBarrier> mbarriers;
  std::vector<MBarrier *> mbarrierNumbers;
  std::vector<Copy> flying;      ///< That barriers count.
  std::vector<uint32_t> copying; ///< Threads with copies of their own.
  uint32_t current = 0, done = 0;
  std::string error;
};

} // namespace weft::host

#endif // WEFT_TEST_E2E_CUDA_HOSTCLUSTER_H
