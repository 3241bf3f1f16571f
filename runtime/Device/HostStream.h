//===- HostStream.h - Streams of devices whose work is done at once -------===//

#ifndef WEFT_RUNTIME_DEVICE_HOSTSTREAM_H
#define WEFT_RUNTIME_DEVICE_HOSTSTREAM_H

#include "runtime/Device/Device.h"

#include <vector>

namespace weft::rt {

/// A device whose memory is that of the host and whose work is done when a
/// call returns. Work of several streams is serialised by the device.
class HostDevice : public Device {
public:
  virtual Status launch(LoadedKernel &kernel, const LaunchInfo &info) = 0;
  virtual Status copy(void *destination, const void *source, size_t size) = 0;
  virtual Status fill(void *destination, uint8_t value, size_t size) = 0;
  /// A stream is waited for: what it was given is done already.
  virtual Status synchronize() { return Status::ok(); }

  Result<std::shared_ptr<std::byte>>
  allocateStaging(size_t size, std::string_view purpose) override;
  Result<std::vector<DeviceMemory>>
  importConstants(std::span<const Constant> constants) override;
  Result<std::unique_ptr<Stream>> createStream() override;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_HOSTSTREAM_H
