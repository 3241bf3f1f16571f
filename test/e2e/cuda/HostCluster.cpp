//===- HostCluster.cpp - Which thread runs when ---------------------------===//

#include "test/e2e/cuda/HostCluster.h"

#include <cstring>

using namespace weft::host;

Place weft::host::place;

/// How often a thread makes room for others between two steps.
static constexpr size_t yieldOneIn = 24;
/// How often copies go on, and how often slow warps do.
static constexpr size_t copyOneIn = 6, slowOneIn = 16;
static constexpr int poison = 0xff; ///< Not a number in every type.

static Cluster *running;

const char *Cluster::run(Body kernel, const Launch &shape, long long clusters) {
  error.clear();
  launch = shape;
  body = kernel;
  running = this;
  random = Random(launch.seed);
  if (launch.threads == 0 || launch.threads % warpSize != 0 ||
      launch.threads > 1024 || launch.sharedBytes > 227 * 1024 ||
      launch.clusterSize == 0 || launch.clusterSize > 16)
    report("launch of clusters of " + std::to_string(launch.clusterSize) +
           " blocks of " + std::to_string(launch.threads) + " threads with " +
           std::to_string(launch.sharedBytes) + " bytes of shared memory");
  place.grid = {unsigned(clusters * launch.clusterSize), 1, 1};
  shadow.startLaunch();
  for (long long i = 0; i < clusters && error.empty(); ++i) {
    prepare(i);
    runCluster();
  }
  return error.empty() ? nullptr : error.c_str();
}

void Cluster::prepare(long long cluster) {
  firstBlock = cluster * launch.clusterSize;
  uint32_t count = launch.threads * launch.clusterSize;
  memory.resize(launch.clusterSize);
  for (std::vector<char> &block : memory) {
    block.resize(launch.sharedBytes + 1024);
    std::memset(block.data(), poison, block.size());
  }
  shadow.startCluster(count);
  fibers.reset(count, &Cluster::enter);
  threads.assign(count, Thread());
  runnable.clear();
  readyLanes.assign(count / warpSize, 0);
  // Now and then some warps are far behind the others.
  bool hasSlow = random.oneIn(2);
  isSlow.assign(count / warpSize, false);
  for (uint32_t warp = 0; warp < count / warpSize; ++warp)
    isSlow[warp] = hasSlow && random.oneIn(3);
  for (uint32_t thread = 0; thread < count; ++thread)
    wake(thread);
  blockBarriers.assign(launch.clusterSize, {});
  whole = ClusterBarrier();
  whole.threads = whole.pending = count;
  blocks.assign(launch.clusterSize, {launch.threads, {}});
  mbarriers.clear();
  mbarrierNumbers.clear();
  flying.clear();
  copying.clear();
  done = 0;
}

void Cluster::runCluster() {
  while (error.empty() && done < threads.size()) {
    bool hasCopies = !flying.empty() || !copying.empty();
    if (hasCopies && (runnable.empty() || random.oneIn(copyOneIn))) {
      landSome();
      continue;
    }
    if (runnable.empty())
      return reportDeadlock();
    size_t index = random.below(runnable.size());
    uint32_t warp = runnable[index];
    if (isSlow[warp] && runnable.size() > 1 && !random.oneIn(slowOneIn))
      continue;
    runWarp(warp);
    if (readyLanes[warp] == 0) {
      auto found = std::ranges::find(runnable, warp);
      *found = runnable.back();
      runnable.pop_back();
    }
  }
  if (error.empty())
    reportEnd();
}

/// Every lane up to where it waits, in either order.
void Cluster::runWarp(uint32_t warp) {
  bool isAscending = random.oneIn(2);
  for (uint32_t i = 0; i < warpSize && error.empty(); ++i) {
    uint32_t thread = warp * warpSize + (isAscending ? i : warpSize - 1 - i);
    if (threads[thread].state == Thread::State::Ready)
      runThread(thread);
  }
}

void Cluster::runThread(uint32_t thread) {
  current = thread;
  uint32_t block = blockOf(thread);
  place.thread = {thread % launch.threads, 0, 0};
  place.block = {unsigned(firstBlock + block), 0, 0};
  place.rank = block;
  fibers.run(thread);
}

void Cluster::enter() {
  running->body.call(running->body.arguments);
  Thread &thread = running->mine();
  if (running->launch.dependent && !thread.waitedForOthers)
    running->report("ends without the wait for earlier kernels");
  thread.state = Thread::State::Done;
  ++running->done;
  --running->readyLanes[running->current / warpSize];
  running->endThread();
  running->fibers.leave();
}

void Cluster::wait(Thread::Place at, uint32_t barrier, uint32_t phase) {
  Thread &thread = mine();
  thread.state = Thread::State::Waiting;
  thread.at = at;
  thread.barrier = barrier;
  thread.phase = phase;
  --readyLanes[current / warpSize];
  fibers.leave();
}

void Cluster::wake(uint32_t thread) {
  threads[thread].state = Thread::State::Ready;
  if (readyLanes[thread / warpSize]++ == 0 &&
      std::ranges::find(runnable, thread / warpSize) == runnable.end())
    runnable.push_back(thread / warpSize);
}

void Cluster::yieldSometimes() {
  if (random.oneIn(yieldOneIn))
    fibers.leave();
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

void Cluster::report(const std::string &what) {
  if (error.empty())
    error = what + " (seed " + std::to_string(launch.seed) + ")";
}

void Cluster::giveUp() {
  mine().state = Thread::State::Waiting;
  --readyLanes[current / warpSize];
  fibers.leave();
}

std::string Cluster::nameThread(uint32_t thread) const {
  return "thread " + std::to_string(thread % launch.threads) + " of block " +
         std::to_string(firstBlock + blockOf(thread));
}

/// Threads of one block.
std::string Cluster::nameThreads(const std::vector<uint32_t> &list) const {
  std::string text;
  for (size_t i = 0; i < list.size();) {
    size_t last = i;
    while (last + 1 < list.size() && list[last + 1] == list[last] + 1)
      ++last;
    text += (i ? ", " : "") + std::to_string(list[i] % launch.threads);
    if (last > i)
      text += "-" + std::to_string(list[last] % launch.threads);
    i = last + 1;
  }
  return (list.size() == 1 ? "thread " : "threads ") + text + " of block " +
         std::to_string(firstBlock + blockOf(list.front()));
}

std::string Cluster::nameMemory(const void *address) const {
  auto *at = static_cast<const char *>(address);
  for (size_t block = 0; block < memory.size(); ++block)
    if (size_t(at - memory[block].data()) < memory[block].size())
      return "shared memory at " + std::to_string(at - memory[block].data()) +
             " of block " + std::to_string(firstBlock + block);
  int nearest = -1;
  for (unsigned i = 0; i < launch.bufferCount; ++i) {
    auto *buffer = static_cast<const char *>(launch.buffers[i]);
    if (buffer <= at && (nearest < 0 || buffer > static_cast<const char *>(
                                                     launch.buffers[nearest])))
      nearest = int(i);
  }
  if (nearest < 0)
    return "memory";
  return "buffer " + std::to_string(nearest) + " at byte " +
         std::to_string(at -
                        static_cast<const char *>(launch.buffers[nearest]));
}

std::string Cluster::nameEvent(Epoch event) const {
  if (event.source < threads.size())
    return (event.count == Shadow::underWay ? "an unfinished copy of " : "") +
           nameThread(event.source);
  return "a bulk copy that " +
         name(*mbarrierNumbers[event.source - threads.size()]) + " counts";
}

std::string Cluster::name(const MBarrier &barrier) const {
  return "the mbarrier at " + std::to_string(barrier.address) + " of block " +
         std::to_string(firstBlock + barrier.block);
}

std::string Cluster::describeWait(const Thread &thread, uint32_t block) const {
  switch (thread.at) {
  case Thread::Place::Warp:
    return std::string("waiting for the warp in ") + thread.collective;
  case Thread::Place::Cluster:
    return "waiting at the barrier of the cluster, where " +
           std::to_string(whole.pending) + " of " +
           std::to_string(whole.threads) + " threads have not arrived";
  case Thread::Place::Block: {
    const ThreadBarrier &barrier = blockBarriers[block].at(thread.barrier);
    return "waiting at barrier " + std::to_string(thread.barrier) + " with " +
           std::to_string(barrier.waiting.size()) + " of " +
           std::to_string(barrier.expected) + " threads";
  }
  case Thread::Place::MBarrier:
    break;
  }
  const MBarrier &barrier = *mbarrierNumbers[thread.barrier];
  return "waiting for phase " + std::to_string(thread.phase) + " of " +
         name(barrier) + ", of which " + std::to_string(barrier.pending) +
         " of " + std::to_string(barrier.count) + " arrivals and " +
         std::to_string(barrier.bytes) + " bytes are missing";
}

void Cluster::reportDeadlock() {
  struct Group {
    uint32_t block;
    std::string state;
    std::vector<uint32_t> threads;
  };
  std::vector<Group> groups;
  for (uint32_t i = 0; i < threads.size(); ++i) {
    uint32_t block = blockOf(i);
    std::string state = threads[i].state == Thread::State::Done
                            ? "ended"
                            : describeWait(threads[i], block);
    auto found = std::ranges::find_if(groups, [&](const Group &group) {
      return group.block == block && group.state == state;
    });
    if (found == groups.end())
      found = groups.insert(found, {block, state, {}});
    found->threads.push_back(i);
  }
  std::string text = "nothing can go on";
  for (const Group &group : groups)
    text += "; " + nameThreads(group.threads) + ": " + group.state;
  report(text);
}

/// What must not be left over when all threads have ended.
void Cluster::reportEnd() {
  if (!flying.empty())
    report("block " + std::to_string(firstBlock) +
           ": the blocks end while a copy writes " +
           nameMemory(flying.front().to));
  if (!copying.empty())
    report(nameThread(copying.front()) + " ends while a copy of its writes " +
           nameMemory(threads[copying.front()].copies.front().to));
}
