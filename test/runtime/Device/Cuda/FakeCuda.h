//===- FakeCuda.h - A CUDA driver without a GPU ---------------------------===//
//
// A shared library with the functions that the runtime uses, on memory of the
// host. It is opened the same way as the driver. Its addresses cannot be read
// by the host (they have a bit set that no address of the host has), so a test
// fails where the runtime touches memory of the device.
//
// A "cubin" is any text that starts with "FAKE"; its functions are those of
// ToyKernels.c and ToyDecoderKernels.c, "toy_fault", which accesses what it
// must not, and those that a test adds.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_RUNTIME_DEVICE_CUDA_FAKECUDA_H
#define WEFT_TEST_RUNTIME_DEVICE_CUDA_FAKECUDA_H

#include "runtime/Device/Cuda/CudaApi.h"

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace weft::rt::test {

/// A launch as the driver got it.
struct FakeLaunch {
  std::string function;
  unsigned blocks = 0, threads = 0, sharedBytes = 0, cluster = 1;
  bool isDependent = false, isCaptured = false;
};

/// A function of any cubin. `run` sees memory of the host; what it returns the
/// launch fails with.
struct FakeKernel {
  uint32_t buffers = 0, symbols = 0;
  std::function<cuda::Code(std::span<void *const> buffers,
                           std::span<const int64_t> symbols, int64_t items)>
      run;
};

/// What tests set and read. Guarded by `mutex` inside the driver; tests read
/// when nothing runs.
struct FakeCuda {
  std::mutex mutex;

  int deviceCount = 1, major = 9, minor = 0, multiprocessors = 4;
  int sharedBytesPerBlock = 232448, occupancy = 2;
  size_t memoryBytes = size_t(1) << 30;
  cuda::Code initResult = cuda::Code::Success;
  /// Functions that fail the next time they are called.
  std::map<std::string, cuda::Code> failures;
  /// Kernels that a test adds, by the name of their function.
  std::map<std::string, FakeKernel> kernels;

  std::vector<FakeLaunch> launches;
  size_t usedBytes = 0, pinnedBytes = 0;
  size_t uploads = 0, downloads = 0, uploadedBytes = 0;
  size_t captures = 0, graphLaunches = 0, liveGraphs = 0, liveStreams = 0;
  size_t modules = 0, largestUpload = 0;
  /// Set by a fault; every call fails with it from then on.
  cuda::Code sticky = cuda::Code::Success;
};

/// Opens the library (once) and puts everything back to how it starts.
FakeCuda &resetFakeCuda();

} // namespace weft::rt::test

#endif // WEFT_TEST_RUNTIME_DEVICE_CUDA_FAKECUDA_H
