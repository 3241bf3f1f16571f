//===- CudaDevice.h - Runs kernels on an NVIDIA GPU -----------------------===//
//
// docs/architecture.md says how a CUDA kernel is called. Each session has a
// stream of its own; memory, kernels and the context are shared. The driver is
// opened when a device is made, so that programs start without it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define WEFT_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/Device/Device.h"
#include "runtime/Nvrtc/KernelCache.h"

#include <memory>
#include <mutex>
#include <string>

namespace weft::rt {

namespace cuda {
class CodeCompiler;
class CudaContext;
class CudaStream;
} // namespace cuda

/// Where a CudaDevice finds what it opens; tests give other places.
struct CudaOptions {
  std::string driver = "libcuda.so.1";
  /// File of NVRTC; empty: see Nvrtc::load.
  std::string nvrtc = {};
  /// Folder of code that was compiled here; empty: none is kept.
  std::string cacheFolder = KernelCache::getDefaultFolder();
};

class CudaDevice final : public Device {
public:
  /// The GPU with the given number. Errors: as Api::load and
  /// CudaContext::create.
  static Result<std::shared_ptr<CudaDevice>>
  create(int number, const CudaOptions &options = {});

  ~CudaDevice() override;

  std::string_view getName() const override { return "cuda"; }
  std::string describe() const override;
  /// Scratch memory is not used on GPUs.
  unsigned getWorkerCount() const override { return 0; }
  bool isHostMemory() const override { return false; }
  MemoryUse getMemoryUse() override;
  Result<double> measureReadBandwidth(size_t bytes) override;
  double getPeakFlops(DType type) override;

  Result<DeviceMemory> allocate(size_t size, std::string_view purpose) override;
  /// Page-locked.
  Result<std::shared_ptr<std::byte>>
  allocateStaging(size_t size, std::string_view purpose) override;
  /// Copies through a ring of page-locked chunks, several threads reading while
  /// others' chunks are under way.
  Result<std::vector<DeviceMemory>>
  importConstants(std::span<const Constant> constants) override;
  CodeFit findCode(const Kernel &kernel) const override;
  /// The code for exactly this GPU, else for an earlier one of the same major
  /// version, else the source, compiled here with NVRTC and kept in the cache
  /// folder.
  Result<std::unique_ptr<LoadedKernel>>
  loadKernel(const Kernel &kernel) override;
  /// Compiles on several threads.
  Result<std::vector<std::unique_ptr<LoadedKernel>>>
  loadKernels(std::span<const Kernel *const> kernels) override;
  Result<std::unique_ptr<Stream>> createStream() override;

private:
  CudaDevice(std::shared_ptr<cuda::CudaContext> context,
             std::unique_ptr<cuda::CudaStream> stream,
             std::unique_ptr<cuda::CodeCompiler> compiler);

  void release(void *data, size_t size) override;
  Result<DeviceMemory> allocateLocked(size_t size, std::string_view purpose);
  Status explainShortage(size_t size, std::string_view purpose,
                         const Status &failure);

  std::shared_ptr<cuda::CudaContext> context;
  std::unique_ptr<cuda::CodeCompiler> compiler;
  std::mutex mutex; ///< Guards what follows.
  /// Memory is allocated and freed in the order of this stream.
  std::unique_ptr<cuda::CudaStream> stream;
  uint64_t usedBytes = 0, peakBytes = 0;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
