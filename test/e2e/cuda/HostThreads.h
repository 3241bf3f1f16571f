//===- HostThreads.h - Clusters of CUDA threads on the host -----*- C++ -*-===//
//
// Runs the threads of the blocks of a cluster as fibers of one thread of the
// host, in a random order that a seed repeats. Asynchronous copies write their
// bytes piece by piece at random later moments. Reported is what would hang or
// be undefined on a GPU:
//
// * nothing can go on: who waits for which barrier, and what is missing;
// * lanes of a warp that are at different instructions;
// * a barrier that gets more arrivals or bytes than it waits for, that runs
//   ahead of a thread by a phase, or is used before its making is known;
// * two threads that access the same memory, one of them to write it, and
//   nothing that orders them: barriers of a warp, a block or a cluster,
//   mbarriers, copies that were waited for. Ordinary code of
//   the kernels is compiled with -fsanitize=thread, whose calls are implemented
//   here;
// * copies and vectors that are not aligned, addresses outside of the shared
//   memory of the launch, copies that are under way when a block ends;
// * arrivals at the barrier of a cluster and waits that do not alternate, and a
//   block that may end while others still access its shared memory;
// * memory that kernels of the step have written, read before the wait for
//   earlier kernels, anything written before it, and threads that end without
//   it.
//
// Not modelled: loads that a GPU moves ahead of others where the order of
// threads allows both, the L1 cache, and sizes of what hardware can hold.
//
// Linked with the kernels' text into one shared library (HostKernels.h), each
// of which has its own state. The names of CUDA are those that the text uses,
// so they are global. Not thread-safe.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTTHREADS_H
#define WEFT_TEST_E2E_CUDA_HOSTTHREADS_H

#include <cstdint>

extern "C" char shared_memory[];

namespace weft::host {

struct Dim3 {
  unsigned x, y, z;
};

/// Where the thread that runs stands.
struct Place {
  Dim3 thread, block, grid;
  unsigned rank; ///< Of the block in its cluster.
};
extern Place place;

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

/// The kernel's call with all its arguments.
struct Body {
  void (*call)(const void *arguments);
  const void *arguments;
};

struct Launch {
  unsigned threads, sharedBytes, clusterSize;
  /// Starts while the kernels before still run: what those of the step have
  /// written may not be touched before the wait for them.
  bool dependent;
  /// To name memory in messages.
  void *const *buffers;
  unsigned bufferCount;
  uint64_t seed;
  /// Whether accesses that nothing orders are looked for, which takes most of
  /// the time.
  bool findsRaces;
};

/// The kernels from here on start when all before are done.
void startStep();

/// Runs one cluster after another. Null, or what was wrong first; the text
/// lives until the next call.
const char *runGrid(Body body, const Launch &launch, long long clusters);

//===----------------------------------------------------------------------===//
// What threads do
//===----------------------------------------------------------------------===//

/// A step that all lanes of a warp take together: `compute` gets what each lane
/// gives and sets what each gets. `name` tells instructions apart.
using Collective = void (*)(const void *const *given, void *const *results);
void inWarp(const char *name, const void *given, void *result,
            Collective compute);

void warpBarrier();
/// For all threads of the block if `threads` is 0.
void blockBarrier(unsigned id, unsigned threads);
/// What the thread did before is known to the others behind their waits, unless
/// the arrival is relaxed.
void arriveAtCluster(bool isRelaxed);
void waitForCluster();

/// Addresses of shared memory are numbers of 32 bits, those of a cluster have
/// the rank of the block in the upper part.
uint32_t mapCluster(uint32_t address, uint32_t rank);
void readShared(void *to, uint32_t address, unsigned bytes, bool cluster);
void writeShared(uint32_t address, const void *from, unsigned bytes,
                 bool cluster);
void readGlobal(void *to, const void *from, unsigned bytes);
void writeGlobal(void *to, const void *from, unsigned bytes);

void initMBarrier(uint32_t address, uint32_t count);
void fenceMBarrierInit();
void expectBytes(uint32_t address, uint32_t bytes);
void arrive(uint32_t address);
void waitMBarrier(uint32_t address, uint32_t parity);

void copyBulk(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier);
void storeAsync(uint32_t to, uint32_t barrier, const void *value,
                unsigned bytes);
void copyAsync(uint32_t to, const void *from, unsigned bytes, bool valid);
void commitCopies();
void waitCopies(unsigned pending);
void fenceAsync();

void waitDependency();

} // namespace weft::host

#endif // WEFT_TEST_E2E_CUDA_HOSTTHREADS_H
