//===- Device.cpp ---------------------------------------------------------===//

#include "runtime/Device/Device.h"

#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Device/Null/NullDevice.h"

using namespace weft::rt;

Device::~Device() = default;
LoadedKernel::~LoadedKernel() = default;

DeviceMemory::~DeviceMemory() {
  if (owner)
    owner->release(data, size);
}

Status weft::rt::checkLaunch(const Kernel &kernel, const LaunchInfo &info) {
  if (info.buffers.size() != kernel.bufferCount ||
      info.symbols.size() != kernel.symbolCount)
    return Status::invalid(
        "kernel '" + kernel.name + "' was launched with " +
        std::to_string(info.buffers.size()) + " buffers and " +
        std::to_string(info.symbols.size()) + " symbols; it takes " +
        std::to_string(kernel.bufferCount) + " and " +
        std::to_string(kernel.symbolCount));
  if (info.grid < 0 || info.grid > maxGrid)
    return Status::invalid("kernel '" + kernel.name +
                           "' was launched with a grid of " +
                           std::to_string(info.grid) +
                           " items; expected 0 to " + std::to_string(maxGrid));
  return Status::ok();
}

Result<std::shared_ptr<Device>> weft::rt::createDevice(std::string_view name,
                                                       unsigned threads) {
  if (name == "cpu") {
    Result<std::shared_ptr<CpuDevice>> cpu = CpuDevice::create(threads);
    if (!cpu)
      return cpu.getStatus();
    return std::shared_ptr<Device>(cpu.take());
  }
  if (name == "null")
    return std::shared_ptr<Device>(std::make_shared<NullDevice>());
  return Status::notFound("there is no device '" + std::string(name) +
                          "'; this build has 'cpu' and 'null'");
}
