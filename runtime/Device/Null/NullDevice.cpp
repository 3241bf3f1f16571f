//===- NullDevice.cpp -----------------------------------------------------===//

#include "runtime/Device/Null/NullDevice.h"

#include "runtime/Device/HostMemory.h"

using namespace weft::rt;

namespace {

class NullKernel final : public LoadedKernel {
public:
  explicit NullKernel(const Kernel &kernel)
      : LoadedKernel("null"), kernel(kernel) {}

  const Kernel &kernel;
};

} // namespace

std::string NullDevice::describe() const {
  return "null device: accepts every kernel and runs none";
}

NullDevice::Counts NullDevice::getCounts() const {
  return {allocations, liveBytes, peakBytes,   kernels, launches,
          workItems,   copies,    copiedBytes, fills,   filledBytes};
}

Result<DeviceMemory> NullDevice::allocate(size_t size,
                                          std::string_view purpose) {
  Result<void *> data = allocateHostMemory(size, purpose);
  if (!data)
    return data.getStatus();
  ++allocations;
  uint64_t live = liveBytes += size;
  uint64_t peak = peakBytes;
  while (live > peak && !peakBytes.compare_exchange_weak(peak, live))
    ;
  return DeviceMemory(this, *data, size);
}

void NullDevice::release(void *data, size_t size) {
  liveBytes -= size;
  freeHostMemory(data, size);
}

Result<std::unique_ptr<LoadedKernel>>
NullDevice::loadKernel(const Kernel &kernel) {
  ++kernels;
  return std::unique_ptr<LoadedKernel>(std::make_unique<NullKernel>(kernel));
}

Status NullDevice::launch(LoadedKernel &kernel, const LaunchInfo &info) {
  Status status = checkLaunch(static_cast<NullKernel &>(kernel).kernel, info);
  if (!status)
    return status;
  ++launches;
  workItems += uint64_t(info.grid);
  return Status::ok();
}

Status NullDevice::copy(void *destination, const void *source, size_t size) {
  ++copies;
  copiedBytes += size;
  return Status::ok();
}

Status NullDevice::fill(void *destination, uint8_t value, size_t size) {
  ++fills;
  filledBytes += size;
  return Status::ok();
}
