//===- HostBarriers.cpp - What orders threads -----------------------------===//

#include "test/e2e/cuda/HostCluster.h"

using namespace weft::host;

/// What the thread has done and knows becomes known to who takes the join.
void Cluster::release(ClockJoin &join) {
  join.add(mine().known);
  join.add(event());
  ++mine().now;
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

void Cluster::inWarp(const char *name, const void *given, void *result,
                     Collective compute) {
  Thread &thread = mine();
  uint32_t first = current / warpSize * warpSize;
  thread.collective = name;
  thread.given = given;
  thread.result = result;
  const void *all[warpSize];
  void *results[warpSize];
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    const Thread &other = threads[first + lane];
    if (first + lane != current && (other.state != Thread::State::Waiting ||
                                    other.at != Thread::Place::Warp)) {
      wait(Thread::Place::Warp);
      return;
    }
    if (other.collective != name) {
      report(nameThread(current) + " is in " + name + " while " +
             nameThread(first + lane) + " of its warp is in " +
             other.collective);
      giveUp();
    }
    all[lane] = other.given;
    results[lane] = other.result;
  }
  if (compute)
    compute(all, results);
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    if (first + lane != current)
      wake(first + lane);
}

void Cluster::warpBarrier() {
  struct Member {
    Cluster *cluster;
    uint32_t thread;
  };
  Member member = {this, current};
  inWarp("__syncwarp", &member, nullptr,
         [](const void *const *given, void *const *) {
           auto get = [&](uint32_t lane) {
             return static_cast<const Member *>(given[lane]);
           };
           Cluster &cluster = *get(0)->cluster;
           ClockJoin join;
           for (uint32_t lane = 0; lane < warpSize; ++lane) {
             Thread &thread = cluster.threads[get(lane)->thread];
             join.add(thread.known);
             join.add(Epoch{get(lane)->thread, thread.now++});
           }
           Clock known = join.take();
           for (uint32_t lane = 0; lane < warpSize; ++lane)
             cluster.threads[get(lane)->thread].known = known;
         });
}

//===----------------------------------------------------------------------===//
// Blocks and clusters
//===----------------------------------------------------------------------===//

void Cluster::blockBarrier(unsigned id, unsigned count) {
  ThreadBarrier &barrier = blockBarriers[place.rank][id];
  unsigned expected = count ? count : launch.threads;
  if (!barrier.waiting.empty() && barrier.expected != expected) {
    report(nameThread(current) + " comes to barrier " + std::to_string(id) +
           " of " + std::to_string(expected) +
           " threads, where others wait for " +
           std::to_string(barrier.expected));
    giveUp();
  }
  barrier.expected = expected;
  barrier.waiting.push_back(current);
  if (barrier.waiting.size() < barrier.expected)
    return wait(Thread::Place::Block, id);
  ClockJoin join;
  for (uint32_t thread : barrier.waiting) {
    join.add(threads[thread].known);
    join.add(Epoch{thread, threads[thread].now++});
  }
  Clock known = join.take();
  for (uint32_t thread : barrier.waiting) {
    threads[thread].known = known;
    if (thread != current)
      wake(thread);
  }
  barrier.waiting.clear();
}

void Cluster::arriveAtCluster(bool isRelaxed) {
  yieldSometimes();
  if (mine().hasArrived) {
    report(nameThread(current) + " arrives at the barrier of the cluster "
                                 "again, without a wait between");
    giveUp();
  }
  mine().hasArrived = true;
  ++mine().arrivals;
  if (!isRelaxed)
    release(whole.known);
  --whole.pending;
  completePhaseIfDone();
}

void Cluster::waitForCluster() {
  yieldSometimes();
  if (!mine().hasArrived) {
    report(nameThread(current) +
           " waits at the barrier of the cluster without having arrived");
    giveUp();
  }
  while (whole.phase < mine().arrivals) {
    whole.waiting.push_back(current);
    wait(Thread::Place::Cluster);
  }
  mine().hasArrived = false;
  mine().known = memo.join(mine().known, whole.done);
}

void Cluster::completePhaseIfDone() {
  if (whole.pending != 0 || whole.threads == 0)
    return;
  ++whole.phase;
  whole.pending = whole.threads;
  whole.done = whole.known.take();
  for (uint32_t thread : whole.waiting)
    wake(thread);
  whole.waiting.clear();
}

/// The barrier of the cluster waits for those only that have not ended.
void Cluster::endThread() {
  --whole.threads;
  if (mine().arrivals == whole.phase)
    --whole.pending;
  completePhaseIfDone();
  uint32_t block = blockOf(current);
  if (--blocks[block].threads == 0)
    endBlock(block);
}

/// Some thread of a block has to know that others are through with its memory.
void Cluster::endBlock(uint32_t block) {
  for (auto [foreign, count] : blocks[block].accesses) {
    Epoch access = {foreign, count};
    auto first = threads.begin() + block * launch.threads;
    if (std::none_of(first, first + launch.threads, [&](const Thread &thread) {
          return covers(thread.known, access);
        }))
      return report("block " + std::to_string(firstBlock + block) +
                    " ends without a barrier behind accesses of " +
                    nameThread(foreign) + " to its shared memory");
  }
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

void Cluster::initMBarrier(uint32_t address, uint32_t count) {
  if (count == 0 || count >= 1u << 20 || address % 8 != 0 ||
      address + 8 > launch.sharedBytes) {
    report(nameThread(current) + " makes an mbarrier at " +
           std::to_string(address) + " with count " + std::to_string(count));
    giveUp();
  }
  auto [entry, isNew] =
      mbarriers.try_emplace({place.rank, address}, MBarrier());
  MBarrier &barrier = entry->second;
  if (!isNew) {
    report(nameThread(current) + " makes " + name(barrier) + " again");
    giveUp();
  }
  barrier.number = uint32_t(mbarrierNumbers.size());
  barrier.block = place.rank;
  barrier.address = address;
  barrier.count = barrier.pending = count;
  barrier.made = event();
  mbarrierNumbers.push_back(&barrier);
}

void Cluster::fenceMBarrierInit() {
  for (MBarrier *barrier : mbarrierNumbers)
    if (barrier->made.source == current)
      barrier->isFenced = true;
}

/// An mbarrier whose making is known to the thread.
MBarrier &Cluster::findMBarrier(uint32_t address, bool cluster,
                                const char *use) {
  uint32_t rank = cluster && address >> 24 ? (address >> 24) - 1 : place.rank;
  uint32_t at = address & 0xffffff;
  auto found = mbarriers.find({rank, at});
  bool isForeign = address >> 24 && !cluster;
  if (found == mbarriers.end() || isForeign) {
    report(nameThread(current) + " " + use + " an mbarrier at " +
           std::to_string(at) + " of block " +
           std::to_string(firstBlock + rank) +
           (isForeign ? ", which is not in its own block"
                      : ", where none has been made"));
    giveUp();
  }
  MBarrier &barrier = found->second;
  bool isKnown =
      barrier.made.source == current || covers(mine().known, barrier.made);
  if (!isKnown || (rank != place.rank && !barrier.isFenced)) {
    report(nameThread(current) + " " + use + " " + name(barrier) +
           (isKnown ? ", whose making is not fenced"
                    : " without a barrier behind its making"));
    giveUp();
  }
  return barrier;
}

void Cluster::completeIfDone(MBarrier &barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  Epoch complete = {uint32_t(threads.size()) + barrier.number, barrier.phase};
  barrier.known.add(complete);
  barrier.done = barrier.known.take();
  for (uint32_t thread : barrier.waiting)
    wake(thread);
  barrier.waiting.clear();
}

void Cluster::expectBytes(uint32_t address, uint32_t bytes) {
  yieldSometimes();
  MBarrier &barrier = findMBarrier(address, false, "expects bytes at");
  barrier.bytes += bytes;
  barrier.unclaimed += bytes;
  barrier.lastExpected = event();
  if (barrier.bytes >= 1 << 20) {
    report(nameThread(current) + " expects " + std::to_string(barrier.bytes) +
           " bytes at " + name(barrier) + ", which counts up to 1048575");
    giveUp();
  }
  arrive(address);
}

void Cluster::arrive(uint32_t address) {
  yieldSometimes();
  MBarrier &barrier = findMBarrier(address, false, "arrives at");
  if (barrier.pending == 0) {
    report(nameThread(current) + " arrives at " + name(barrier) +
           ", where all " + std::to_string(barrier.count) +
           " arrivals of phase " + std::to_string(barrier.phase + 1) +
           " have been");
    giveUp();
  }
  --barrier.pending;
  release(barrier.known);
  completeIfDone(barrier);
}

/// A thread waits for the phases of a barrier one after the other, so the
/// parity says which one it means.
void Cluster::waitMBarrier(uint32_t address, uint32_t parity) {
  yieldSometimes();
  MBarrier &barrier = findMBarrier(address, false, "waits at");
  uint32_t &phase = barrier.waitedFor[current];
  phase += phase % 2 == (parity & 1);
  while (barrier.phase < phase) {
    barrier.waiting.push_back(current);
    wait(Thread::Place::MBarrier, barrier.number, phase);
  }
  if (barrier.phase > phase) {
    report(nameThread(current) + " waits for phase " + std::to_string(phase) +
           " of " + name(barrier) + ", which has completed phase " +
           std::to_string(barrier.phase) + " already");
    giveUp();
  }
  mine().known = memo.join(mine().known, barrier.done);
}
