//===- HostBlock.cpp - A block of CUDA threads on the host ----------------===//

#include "test/e2e/cuda/HostBlock.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#ifndef __x86_64__
#error "the switch between fibers is written for x86-64"
#endif

Dim3 threadIdx, blockIdx, gridDim;
alignas(1024) char shared_memory[256 * 1024];

// void switchStack(void **save, void *load): System V ABI, AMD64 supplement,
// keeps the registers that belong to the caller.
extern "C" void switchStack(void **save, void *load);
asm(R"(
.text
.local switchStack
.type switchStack, @function
switchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size switchStack, . - switchStack
)");

namespace {

constexpr unsigned warpSize = 32;
constexpr size_t stackBytes = 64 * 1024;

enum class State { Ready, AtWarp, AtBarrier, Done };

struct Lane {
  void *stack = nullptr;
  State state = State::Ready;
  unsigned given = 0, taken = 0, mask = 0;
  unsigned numbers[8] = {};
};

/// Who accessed two bytes last. Numbers of phases are never reused, so what is
/// left from earlier ones does no harm.
struct Access {
  uintptr_t address = 0; ///< Divided by the granule.
  uint64_t writePhase = 0, readPhase = 0;
  unsigned writer = 0, reader = 0;
};

constexpr unsigned severalReaders = ~0u;

class Grid {
public:
  const char *run(weft::host::Body kernel, unsigned threads, unsigned shared,
                  long long blocks);
  void stop(State state);
  unsigned exchange(unsigned bits, unsigned mask);
  weft::host::WarpNumbers gather(const unsigned *numbers, unsigned count);
  void access(uintptr_t address, size_t size, bool isWrite);

private:
  static void enter();
  void prepare(unsigned threads);
  void runBlock();
  void runWarp(unsigned first);
  void fail(const std::string &what) {
    if (error.empty())
      error = "block " + std::to_string(blockIdx.x) + ": " + what;
  }

  weft::host::Body body = {};
  std::vector<Lane> lanes;
  std::vector<char> stacks;
  std::vector<Access> accesses = std::vector<Access>(1 << 18);
  void *scheduler = nullptr;
  unsigned current = 0;
  uint64_t phase = 0; ///< Between two barriers.
  std::string error;
};

Grid grid;

void Grid::enter() {
  grid.body.call(grid.body.arguments);
  grid.stop(State::Done);
}

/// Stacks that look as if switchStack had been called at the start of enter.
void Grid::prepare(unsigned threads) {
  lanes.assign(threads, Lane());
  stacks.resize(threads * stackBytes + 16);
  auto base =
      (reinterpret_cast<uintptr_t>(stacks.data()) + 15) & ~uintptr_t(15);
  for (unsigned t = 0; t < threads; ++t) {
    auto *top = reinterpret_cast<void **>(base + (t + 1) * stackBytes);
    top[-2] = reinterpret_cast<void *>(&Grid::enter);
    lanes[t].stack = top - 8;
  }
}

void Grid::stop(State state) {
  Lane &lane = lanes[current];
  lane.state = state;
  switchStack(&lane.stack, scheduler);
}

unsigned Grid::exchange(unsigned bits, unsigned mask) {
  Lane &lane = lanes[current];
  lane.given = bits;
  lane.mask = mask;
  stop(State::AtWarp);
  return lane.taken;
}

weft::host::WarpNumbers Grid::gather(const unsigned *numbers, unsigned count) {
  std::copy_n(numbers, count, lanes[current].numbers);
  exchange(0, 0);
  weft::host::WarpNumbers all;
  unsigned first = current / warpSize * warpSize;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    std::copy_n(lanes[first + lane].numbers, 8, all.lanes[lane]);
  // No lane gives other numbers before all have these.
  exchange(0, 0);
  return all;
}

/// Until every lane of the warp is at a barrier or at its end.
void Grid::runWarp(unsigned first) {
  while (true) {
    unsigned atWarp = 0;
    for (unsigned i = 0; i < warpSize; ++i) {
      // Both orders, so that a value that is read too early is not always
      // there.
      current = first + (phase % 2 ? i : warpSize - 1 - i);
      threadIdx.x = current;
      if (lanes[current].state == State::Ready)
        switchStack(&scheduler, lanes[current].stack);
      atWarp += lanes[current].state == State::AtWarp;
    }
    if (atWarp == 0)
      return;
    if (atWarp != warpSize)
      fail(std::to_string(atWarp) + " of 32 lanes take part in a shuffle");
    for (unsigned i = 0; i < warpSize; ++i) {
      Lane &lane = lanes[first + i];
      if (lane.mask != lanes[first].mask)
        fail("lanes take part in different shuffles");
      lane.taken = lanes[first + (i ^ lane.mask)].given;
      if (lane.state == State::AtWarp)
        lane.state = State::Ready;
    }
  }
}

void Grid::runBlock() {
  while (true) {
    ++phase;
    unsigned done = 0;
    for (unsigned first = 0; first < lanes.size(); first += warpSize)
      runWarp(phase % 2 ? first : lanes.size() - warpSize - first);
    for (Lane &lane : lanes) {
      done += lane.state == State::Done;
      if (lane.state == State::AtBarrier)
        lane.state = State::Ready;
    }
    if (done == lanes.size())
      return;
    if (done != 0)
      fail(std::to_string(done) +
           " threads end before a barrier that the others wait at");
  }
}

const char *Grid::run(weft::host::Body kernel, unsigned threads,
                      unsigned shared, long long blocks) {
  error.clear();
  if (threads == 0 || threads % warpSize != 0 || shared > sizeof(shared_memory))
    fail("launch of " + std::to_string(threads) + " threads with " +
         std::to_string(shared) + " bytes of shared memory");
  body = kernel;
  gridDim = {unsigned(blocks), 1, 1};
  for (long long block = 0; block < blocks && error.empty(); ++block) {
    blockIdx = {unsigned(block), 0, 0};
    prepare(threads);
    // Not a number in every type, so that nothing works that is not written.
    std::memset(shared_memory, 0xff, shared);
    runBlock();
  }
  return error.empty() ? nullptr : error.c_str();
}

void Grid::access(uintptr_t address, size_t size, bool isWrite) {
  auto stack = reinterpret_cast<uintptr_t>(stacks.data());
  if (address >= stack && address < stack + stacks.size())
    return;
  constexpr uintptr_t granule = 2;
  for (uintptr_t at = address / granule; at * granule < address + size; ++at) {
    Access &entry = accesses[(at ^ (at >> 18)) % accesses.size()];
    if (entry.address != at)
      entry = {at, 0, 0, 0, 0};
    bool written = entry.writePhase == phase, read = entry.readPhase == phase;
    if ((written && entry.writer != current) ||
        (isWrite && read && entry.reader != current))
      fail("thread " + std::to_string(current) +
           (isWrite ? " writes" : " reads") + " memory that thread " +
           (written ? std::to_string(entry.writer) + " wrote"
            : entry.reader == severalReaders
                ? std::string("another reads")
                : std::to_string(entry.reader) + " read") +
           " without a barrier");
    if (isWrite) {
      entry.writePhase = phase;
      entry.writer = current;
    } else {
      entry.reader = read && entry.reader != current ? severalReaders : current;
      entry.readPhase = phase;
    }
  }
}

} // namespace

void __syncthreads() { grid.stop(State::AtBarrier); }
void __syncwarp() { grid.exchange(0, 0); }

unsigned weft::host::exchange(unsigned bits, unsigned mask) {
  return grid.exchange(bits, mask);
}

weft::host::WarpNumbers weft::host::gather(const unsigned *numbers,
                                           unsigned count) {
  return grid.gather(numbers, count);
}

const char *weft::host::runGrid(Body body, unsigned threads,
                                unsigned sharedBytes, long long blocks) {
  return grid.run(body, threads, sharedBytes, blocks);
}

// What code compiled with -fsanitize=thread calls.
#define ACCESS(size)                                                           \
  void __tsan_read##size(void *p) {                                            \
    grid.access(reinterpret_cast<uintptr_t>(p), size, false);                  \
  }                                                                            \
  void __tsan_write##size(void *p) {                                           \
    grid.access(reinterpret_cast<uintptr_t>(p), size, true);                   \
  }                                                                            \
  void __tsan_unaligned_read##size(void *p) { __tsan_read##size(p); }          \
  void __tsan_unaligned_write##size(void *p) { __tsan_write##size(p); }
extern "C" {
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void *__tsan_memcpy(void *to, const void *from, size_t size) {
  grid.access(reinterpret_cast<uintptr_t>(from), size, false);
  grid.access(reinterpret_cast<uintptr_t>(to), size, true);
  return std::memcpy(to, from, size);
}
void *__tsan_memset(void *to, int value, size_t size) {
  grid.access(reinterpret_cast<uintptr_t>(to), size, true);
  return std::memset(to, value, size);
}
}
