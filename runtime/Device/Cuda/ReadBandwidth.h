//===- ReadBandwidth.h - How fast a GPU reads its memory ------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_READBANDWIDTH_H
#define WEFT_RUNTIME_DEVICE_CUDA_READBANDWIDTH_H

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Device.h"

namespace weft::rt::cuda {

/// Bytes per second of a kernel that only reads, best of several passes over
/// about `bytes` bytes. Much more than the L2 cache should be asked for. The
/// kernel is PTX that the driver compiles; Unsupported if it does not.
Result<double> measureReadBandwidth(std::shared_ptr<CudaContext> context,
                                    Device &device, size_t bytes);

} // namespace weft::rt::cuda

#endif // WEFT_RUNTIME_DEVICE_CUDA_READBANDWIDTH_H
