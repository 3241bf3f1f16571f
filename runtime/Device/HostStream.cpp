//===- HostStream.cpp -----------------------------------------------------===//

#include "runtime/Device/HostStream.h"

#include "runtime/Device/HostMemory.h"
#include "runtime/Device/RandomValues.h"

#include <chrono>
#include <cstring>

using namespace weft::rt;

namespace {

class HostStream final : public Stream {
public:
  explicit HostStream(HostDevice &device) : device(device) {}

  Status launch(LoadedKernel &kernel, const LaunchInfo &info) override {
    return device.launch(kernel, info);
  }
  Status copy(void *destination, const void *source, size_t size) override {
    return device.copy(destination, source, size);
  }
  Status fill(void *destination, uint8_t value, size_t size) override {
    return device.fill(destination, value, size);
  }
  Status upload(void *destination, const void *source, size_t size) override {
    return device.copy(destination, source, size);
  }
  Status download(void *destination, const void *source, size_t size) override {
    return device.copy(destination, source, size);
  }
  Status synchronize() override { return device.synchronize(); }

  Status markTime(size_t slot) override {
    if (slot >= times.size())
      times.resize(slot + 1);
    times[slot] = std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count();
    return Status::ok();
  }
  Result<int64_t> getTime(size_t slot) override { return times[slot]; }

private:
  HostDevice &device;
  std::vector<int64_t> times;
};

} // namespace

Result<std::shared_ptr<std::byte>>
HostDevice::allocateStaging(size_t size, std::string_view purpose) {
  Result<void *> data = allocateHostMemory(size, purpose);
  if (!data)
    return data.getStatus();
  return std::shared_ptr<std::byte>(
      static_cast<std::byte *>(*data),
      [size](std::byte *memory) { freeHostMemory(memory, size); });
}

Result<std::vector<DeviceMemory>>
HostDevice::importConstants(std::span<const Constant> constants) {
  std::vector<DeviceMemory> results;
  for (const Constant &constant : constants) {
    const std::span<const std::byte> bytes = constant.bytes;
    const bool isAligned =
        reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0;
    if (!constant.generated.isUsed && isAligned) {
      results.push_back(DeviceMemory(
          nullptr, const_cast<std::byte *>(bytes.data()), bytes.size()));
      continue;
    }
    Result<DeviceMemory> memory = allocate(constant.size, constant.purpose);
    if (!memory)
      return memory.getStatus();
    if (constant.generated.isUsed)
      fillRandom({static_cast<std::byte *>(memory->getData()), constant.size},
                 constant.dtype, constant.generated);
    else if (!bytes.empty())
      std::memcpy(memory->getData(), bytes.data(), bytes.size());
    results.push_back(memory.take());
  }
  return results;
}

Result<std::unique_ptr<Stream>> HostDevice::createStream() {
  return std::unique_ptr<Stream>(std::make_unique<HostStream>(*this));
}
