//===- CudaContext.h - The process's context on one GPU -------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
#define WEFT_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H

#include "runtime/Device/Cuda/CudaApi.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace weft::rt::cuda {

/// Facts about a GPU.
struct GpuFacts {
  int number = 0;
  std::string name;         ///< "NVIDIA H200".
  int major = 0, minor = 0; ///< Compute capability.
  int multiprocessors = 0;
  int sharedBytesPerBlock = 0; ///< Most that a kernel can opt in to.
  int l2Bytes = 0;
  double clockHertz = 0; ///< Highest of the multiprocessors.
  size_t memoryBytes = 0;
  int driverVersion = 0; ///< 1000 x major + 10 x minor.
};

/// Retains the primary context of a GPU and turns results of the driver into
/// statuses. An error that makes the context unusable is kept: from then on
/// every check fails and says so.
///
/// Threading: all methods may be called from any thread.
class CudaContext {
public:
  /// NotFound if there is no GPU with the number.
  static Result<std::shared_ptr<CudaContext>>
  create(std::shared_ptr<const Api> api, int number);

  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  const Api &getApi() const { return *api; }
  const GpuFacts &getFacts() const { return facts; }
  DeviceNumber getDevice() const { return device; }

  /// Makes this the context of the calling thread. To be called before any
  /// other function of the driver; fails if the context is unusable.
  Status activate();

  /// What `code` means: "WHAT failed: CUDA_ERROR_...". `what` is "the launch of
  /// kernel 'k3'".
  Status check(Code code, std::string_view what);

private:
  CudaContext(std::shared_ptr<const Api> api, DeviceNumber device,
              Context context, GpuFacts facts);

  std::shared_ptr<const Api> api;
  DeviceNumber device;
  Context context;
  GpuFacts facts;
  std::atomic<bool> unusable{false};
  std::mutex mutex;
  std::string firstFailure; ///< Guarded by `mutex`.
};

} // namespace weft::rt::cuda

#endif // WEFT_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
