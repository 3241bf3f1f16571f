//===- CudaKernel.h - Kernels on a GPU ------------------------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_CUDAKERNEL_H
#define WEFT_RUNTIME_DEVICE_CUDA_CUDAKERNEL_H

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Device.h"

namespace weft::rt::cuda {

/// A function on a GPU and how it is launched. Thread-safe.
class CudaKernel final : public LoadedKernel {
public:
  /// Loads a cubin. `code` says how it is launched (it is the cubin's, or the
  /// source's that it was made from); both it and `kernel` must outlive the
  /// result. Errors name the kernel: Corrupt for a cubin that has no such
  /// function or one with other parameters, Unsupported if a block needs more
  /// than the GPU has.
  static Result<std::unique_ptr<CudaKernel>>
  load(std::shared_ptr<CudaContext> context, const Kernel &kernel,
       const rt::Code &code, std::span<const uint8_t> cubin,
       std::string target);

  ~CudaKernel() override;

  const Kernel &getKernel() const { return kernel; }
  Function getFunction() const { return function; }
  const LaunchShape &getShape() const { return shape; }
  /// Blocks in x for a number of work items; a multiple of the cluster size.
  int64_t getGrid(int64_t items) const;

private:
  CudaKernel(std::shared_ptr<CudaContext> context, const Kernel &kernel,
             const LaunchShape &shape, Module module, std::string target);

  Status prepare(const rt::Code &code);
  Status checkParameters() const;

  std::shared_ptr<CudaContext> context;
  const Kernel &kernel;
  LaunchShape shape;
  Module module;
  Function function = nullptr;
  int64_t persistentBlocks = 0; ///< 0: one block for each item.
};

} // namespace weft::rt::cuda

#endif // WEFT_RUNTIME_DEVICE_CUDA_CUDAKERNEL_H
