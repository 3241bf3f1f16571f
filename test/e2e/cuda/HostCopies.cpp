//===- HostCopies.cpp - Memory, and copies that take their time -----------===//

#include "test/e2e/cuda/HostCluster.h"

#include <cstring>

using namespace weft::host;

static constexpr uint32_t chunkBytes = 16;

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void Cluster::record(const void *address, size_t bytes, bool isWrite,
                     Epoch event, bool isBulk, const char *what) {
  if (!launch.findsRaces)
    return;
  auto at = reinterpret_cast<uintptr_t>(address);
  bool isShared = false;
  for (const std::vector<char> &block : memory)
    isShared |= at - reinterpret_cast<uintptr_t>(block.data()) < block.size();
  Access access = {at,     bytes, isWrite, isShared,
                   isBulk, event, current, mine().known};
  std::optional<Conflict> conflict = shadow.record(access);
  if (!conflict)
    return;
  std::string text =
      nameThread(current) + " " + what + " " + nameMemory(address) + ", which ";
  const char *did = conflict->otherWrote ? " wrote" : " read";
  switch (conflict->kind) {
  case Conflict::Kind::OtherCluster:
    text += std::string("a block of another cluster") + did;
    break;
  case Conflict::Kind::Unfenced:
    text += nameEvent(conflict->other) + " wrote without fence_async";
    break;
  case Conflict::Kind::Unordered:
    text += nameEvent(conflict->other) +
            (conflict->other.count == Shadow::underWay ||
                     conflict->other.source >= threads.size()
                 ? (conflict->otherWrote ? " writes" : " reads")
                 : did) +
            " without a barrier";
    break;
  }
  report(text);
}

/// The host's address of bytes of shared memory.
char *Cluster::resolve(uint32_t address, uint32_t bytes, bool cluster,
                       const char *what) {
  uint32_t rank = address >> 24, at = address & 0xffffff;
  bool isLegal = cluster ? rank <= launch.clusterSize : rank == 0;
  if (!isLegal || uint64_t(at) + bytes > launch.sharedBytes) {
    report(nameThread(current) + " " + what + " " + std::to_string(bytes) +
           " bytes at " + std::to_string(at) + " of " +
           (isLegal
                ? std::to_string(launch.sharedBytes) + " bytes of shared memory"
                : "the cluster with an instruction for its own block"));
    giveUp();
  }
  uint32_t block = rank ? rank - 1 : place.rank;
  if (block != place.rank)
    accessOther(block, what);
  return memory[block].data() + at;
}

/// The memory of another block of the cluster, which must not have ended.
void Cluster::accessOther(uint32_t block, const char *what) {
  BlockUse &use = blocks[block];
  if (use.threads == 0) {
    report(nameThread(current) + " " + what + " shared memory of block " +
           std::to_string(firstBlock + block) + ", which has ended");
    giveUp();
  }
  use.accesses[current] = mine().now;
}

static bool isAligned(uintptr_t address, uint64_t bytes) {
  return address % bytes == 0;
}

char *Cluster::accessShared(uint32_t address, unsigned bytes, bool isWrite,
                            bool cluster) {
  yieldSometimes();
  const char *what = isWrite ? "writes" : "reads";
  char *at = resolve(address, bytes, cluster, what);
  if (!isAligned(address & 0xffffff, bytes)) {
    report(nameThread(current) + " " + what + " " + std::to_string(bytes) +
           " bytes at " + std::to_string(address & 0xffffff) +
           " of shared memory, which is not aligned");
    giveUp();
  }
  record(at, bytes, isWrite, event(), false, what);
  if (!error.empty())
    giveUp();
  return at;
}

void Cluster::accessGlobal(const void *address, size_t bytes, bool isWrite) {
  const char *what = isWrite ? "writes" : "reads";
  if (!isAligned(reinterpret_cast<uintptr_t>(address), bytes)) {
    report(nameThread(current) + " " + what + " " + std::to_string(bytes) +
           " bytes of " + nameMemory(address) + ", which is not aligned");
    giveUp();
  }
  accessAny(address, bytes, isWrite);
}

/// Before the wait for earlier kernels only what those of the step have not
/// written may be read, and nothing be written.
void Cluster::requireWait(const void *address, size_t bytes, bool isWrite,
                          const char *what) {
  bool isEarly = launch.dependent && !mine().waitedForOthers;
  if (!isEarly && !isWrite)
    return;
  constexpr uintptr_t unit = 2, units = 2048;
  auto begin = reinterpret_cast<uintptr_t>(address);
  bool isWrong = isEarly && isWrite;
  for (uintptr_t at = begin / unit; at * unit < begin + bytes; ++at) {
    if (isWrite)
      written[at / units].set(at % units);
    else if (auto page = written.find(at / units); page != written.end())
      isWrong |= page->second.test(at % units);
  }
  if (!isWrong)
    return;
  report(nameThread(current) + " " + what + " " + nameMemory(address) +
         " before the wait for earlier kernels" +
         (isWrite ? "" : ", one of which writes it"));
  giveUp();
}

void Cluster::accessAny(const void *address, size_t bytes, bool isWrite) {
  auto at = reinterpret_cast<uintptr_t>(address);
  if (fibers.isOnStack(at) ||
      at - reinterpret_cast<uintptr_t>(&place) < sizeof(place))
    return;
  const char *what = isWrite ? "writes" : "reads";
  requireWait(address, bytes, isWrite, what);
  record(address, bytes, isWrite, event(), false, what);
  if (!error.empty())
    giveUp();
}

uint32_t Cluster::mapCluster(uint32_t address, uint32_t rank) {
  if (address >> 24 || rank >= launch.clusterSize) {
    report(nameThread(current) + " maps address " + std::to_string(address) +
           " to block " + std::to_string(rank) + " of a cluster of " +
           std::to_string(launch.clusterSize));
    giveUp();
  }
  return address | (rank + 1) << 24;
}

//===----------------------------------------------------------------------===//
// Copies that a barrier counts
//===----------------------------------------------------------------------===//

/// The barrier that counts a copy's bytes, which it has to expect.
MBarrier &Cluster::claimBytes(uint32_t address, uint32_t bytes, bool cluster) {
  MBarrier &barrier = findMBarrier(address, cluster, "lets a copy complete at");
  bool isKnown = barrier.lastExpected.source == current ||
                 covers(mine().known, barrier.lastExpected);
  if (!barrier.isFenced) {
    report(nameThread(current) + " lets a copy complete at " + name(barrier) +
           ", whose making is not fenced");
    giveUp();
  }
  if (barrier.unclaimed < bytes || !isKnown) {
    report(nameThread(current) + " copies " + std::to_string(bytes) +
           " bytes to complete at " + name(barrier) + ", which expects " +
           (barrier.unclaimed < bytes
                ? std::to_string(barrier.unclaimed) + " more in phase " +
                      std::to_string(barrier.phase + 1)
                : "them without a barrier"));
    giveUp();
  }
  barrier.unclaimed -= bytes;
  return barrier;
}

void Cluster::copyBulk(uint32_t to, const void *from, uint32_t bytes,
                       uint32_t address) {
  yieldSometimes();
  char *target = resolve(to, bytes, true, "copies");
  if (bytes == 0 || bytes % chunkBytes != 0 || to % chunkBytes != 0 ||
      !isAligned(reinterpret_cast<uintptr_t>(from), chunkBytes)) {
    report(nameThread(current) + " copies " + std::to_string(bytes) +
           " bytes from " + nameMemory(from) + " to " +
           std::to_string(to & 0xffffff) +
           " of shared memory; a bulk copy has multiples of 16");
    giveUp();
  }
  MBarrier &barrier = claimBytes(address, bytes, true);
  // Who may touch the memory knows that the phase is complete.
  Epoch end = {uint32_t(threads.size()) + barrier.number, barrier.phase + 1};
  record(target, bytes, true, end, true, "starts a copy into");
  accessBulkSource(from, bytes, end);
  if (!error.empty())
    giveUp();
  flying.push_back({target,
                    static_cast<const char *>(from),
                    bytes,
                    barrier.number,
                    0,
                    bytes,
                    {}});
}

void Cluster::accessBulkSource(const void *from, uint32_t bytes, Epoch end) {
  requireWait(from, bytes, false, "copies");
  record(from, bytes, false, end, true, "starts a copy of");
}

void Cluster::storeAsync(uint32_t to, uint32_t address, const void *value,
                         unsigned bytes) {
  yieldSometimes();
  char *target = resolve(to, bytes, true, "stores");
  MBarrier &barrier = claimBytes(address, bytes, true);
  Epoch end = {uint32_t(threads.size()) + barrier.number, barrier.phase + 1};
  record(target, bytes, true, end, false, "starts a store into");
  if (!error.empty())
    giveUp();
  auto *first = static_cast<const char *>(value);
  flying.push_back({target, nullptr, bytes, barrier.number, 0, bytes,
                    std::vector<char>(first, first + bytes)});
}

/// Writes the next bytes of a copy.
void Cluster::land(Copy &copy, uint32_t bytes) {
  uint32_t start = copy.size - copy.bytes;
  if (!copy.content.empty())
    std::memcpy(copy.to + start, copy.content.data() + start, bytes);
  else if (copy.from)
    std::memcpy(copy.to + start, copy.from + start, bytes);
  else
    std::memset(copy.to + start, 0, bytes);
  copy.bytes -= bytes;
}

/// A piece of a copy, or one of a thread's.
void Cluster::landSome() {
  size_t which = random.below(flying.size() + copying.size());
  if (which >= flying.size()) {
    std::vector<Copy> &copies = threads[copying[which - flying.size()]].copies;
    Copy &copy = copies[random.below(copies.size())];
    land(copy, copy.bytes);
    return;
  }
  Copy &copy = flying[which];
  uint32_t bytes = copy.bytes;
  if (bytes > chunkBytes && !random.oneIn(3))
    bytes = uint32_t(1 + random.below(bytes / chunkBytes)) * chunkBytes;
  land(copy, bytes);
  MBarrier &barrier = *mbarrierNumbers[copy.barrier];
  if (copy.bytes == 0) {
    flying[which] = std::move(flying.back());
    flying.pop_back();
  }
  barrier.bytes -= bytes;
  completeIfDone(barrier);
}

//===----------------------------------------------------------------------===//
// Copies of a thread's groups
//===----------------------------------------------------------------------===//

void Cluster::copyAsync(uint32_t to, const void *from, unsigned bytes,
                        bool valid) {
  char *target = resolve(to, bytes, false, "copies");
  if (!isAligned(to, bytes) ||
      (valid && !isAligned(reinterpret_cast<uintptr_t>(from), bytes))) {
    report(nameThread(current) + " copies " + std::to_string(bytes) +
           " bytes from " + nameMemory(from) + " to " + std::to_string(to) +
           " of shared memory, which is not aligned");
    giveUp();
  }
  if (valid)
    accessAny(from, bytes, false);
  record(target, bytes, true, {current, Shadow::underWay}, false,
         "starts a copy into");
  if (!error.empty())
    giveUp();
  if (mine().copies.empty())
    copying.push_back(current);
  mine().copies.push_back({target,
                           valid ? static_cast<const char *>(from) : nullptr,
                           bytes,
                           0,
                           mine().group,
                           bytes,
                           {}});
}

void Cluster::waitCopies(unsigned pending) {
  yieldSometimes();
  Thread &thread = mine();
  std::erase_if(thread.copies, [&](Copy &copy) {
    if (copy.group + pending >= thread.group)
      return false;
    land(copy, copy.bytes);
    shadow.finishCopy(reinterpret_cast<uintptr_t>(copy.to), copy.size, event());
    return true;
  });
  if (thread.copies.empty())
    std::erase(copying, current);
}

void Cluster::fenceAsync() {
  shadow.fence(event());
  ++mine().now;
}
