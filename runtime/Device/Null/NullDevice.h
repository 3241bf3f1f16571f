//===- NullDevice.h - A device that runs nothing and counts ---------------===//

#ifndef WEFT_RUNTIME_DEVICE_NULL_NULLDEVICE_H
#define WEFT_RUNTIME_DEVICE_NULL_NULLDEVICE_H

#include "runtime/Device/HostStream.h"

#include <atomic>

namespace weft::rt {

/// Accepts every kernel whatever its code, and runs none: outputs keep what
/// they held. Memory is real, so that buffers can be looked at.
class NullDevice final : public HostDevice {
public:
  struct Counts {
    uint64_t allocations = 0, liveBytes = 0, peakBytes = 0;
    uint64_t kernels = 0, launches = 0, workItems = 0;
    uint64_t copies = 0, copiedBytes = 0, fills = 0, filledBytes = 0;
  };
  Counts getCounts() const;

  std::string_view getName() const override { return "null"; }
  std::string describe() const override;
  unsigned getWorkerCount() const override { return 1; }
  Result<DeviceMemory> allocate(size_t size, std::string_view purpose) override;
  Result<std::unique_ptr<LoadedKernel>>
  loadKernel(const Kernel &kernel) override;
  Status launch(LoadedKernel &kernel, const LaunchInfo &info) override;
  Status copy(void *destination, const void *source, size_t size) override;
  Status fill(void *destination, uint8_t value, size_t size) override;

private:
  void release(void *data, size_t size) override;

  std::atomic<uint64_t> allocations{0}, liveBytes{0}, peakBytes{0};
  std::atomic<uint64_t> kernels{0}, launches{0}, workItems{0};
  std::atomic<uint64_t> copies{0}, copiedBytes{0}, fills{0}, filledBytes{0};
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_NULL_NULLDEVICE_H
