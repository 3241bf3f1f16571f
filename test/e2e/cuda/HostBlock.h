//===- HostBlock.h - A block of CUDA threads on the host --------*- C++ -*-===//
//
// Runs the threads of a block as fibers of one thread of the host, each up to
// its next barrier or shuffle. Reports what would hang or be undefined on a
// GPU: threads that do not all reach a barrier, lanes that do not all take part
// in a shuffle, and two threads that access the same memory without a barrier
// in between, one of them to write it. For the last the code of the kernels is
// compiled with -fsanitize=thread, whose calls are implemented here.
//
// Linked with the kernels' text into one shared library (HostCudaDevice.h). The
// names of CUDA are those that the text uses, so they are global.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_E2E_CUDA_HOSTBLOCK_H
#define WEFT_TEST_E2E_CUDA_HOSTBLOCK_H

struct Dim3 {
  unsigned x, y, z;
};
extern Dim3 threadIdx, blockIdx, gridDim;
extern "C" char shared_memory[];

void __syncthreads();
void __syncwarp();

namespace weft::host {

/// The bits that the lane with number `lane ^ mask` of the warp gives.
unsigned exchange(unsigned bits, unsigned mask);

/// Numbers that the lanes of a warp give each other, at most 8 each.
struct WarpNumbers {
  unsigned lanes[32][8];
};

/// What every lane of the warp gives.
WarpNumbers gather(const unsigned *numbers, unsigned count);

/// The kernel's call with all its arguments.
struct Body {
  void (*call)(const void *arguments);
  const void *arguments;
};

/// Runs one block after another. Null, or what was wrong first; the text lives
/// until the next call.
const char *runGrid(Body body, unsigned threads, unsigned sharedBytes,
                    long long blocks);

} // namespace weft::host

#endif // WEFT_TEST_E2E_CUDA_HOSTBLOCK_H
