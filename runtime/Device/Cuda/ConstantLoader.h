//===- ConstantLoader.h - Fills a GPU with constants ----------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_CONSTANTLOADER_H
#define WEFT_RUNTIME_DEVICE_CUDA_CONSTANTLOADER_H

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Device.h"

#include <span>
#include <vector>

namespace weft::rt::cuda {

/// A constant and the memory of the GPU that it goes to.
struct ConstantPlace {
  Constant constant;
  void *memory;
};

/// Stored constants are read by several threads (the file is mapped, so reading
/// is a memcpy) into page-locked chunks whose transfers overlap with the
/// reading of others; the host never holds more than the chunks. Generated
/// constants are copies of one block of random values that is uploaded for each
/// type and deviation. Returns when everything is there.
Status loadConstants(std::shared_ptr<CudaContext> context, Device &device,
                     std::span<const ConstantPlace> places);

} // namespace weft::rt::cuda

#endif // WEFT_RUNTIME_DEVICE_CUDA_CONSTANTLOADER_H
