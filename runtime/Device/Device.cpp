//===- Device.cpp ---------------------------------------------------------===//

#include "runtime/Device/Device.h"

#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Device/Null/NullDevice.h"

#include <charconv>
#include <optional>

using namespace weft::rt;

Device::~Device() = default;
LoadedKernel::~LoadedKernel() = default;
Recording::~Recording() = default;
Stream::~Stream() = default;

Result<std::unique_ptr<Recording>>
Stream::record(const std::function<Status()> &) {
  return Status::unsupported("this device records nothing");
}

Status Stream::replay(Recording &) {
  return Status::unsupported("this device records nothing");
}

Result<std::vector<std::unique_ptr<LoadedKernel>>>
Device::loadKernels(std::span<const Kernel *const> kernels) {
  std::vector<std::unique_ptr<LoadedKernel>> loaded;
  for (const Kernel *kernel : kernels) {
    Result<std::unique_ptr<LoadedKernel>> one = loadKernel(*kernel);
    if (!one)
      return one.getStatus();
    loaded.push_back(one.take());
  }
  return loaded;
}

Result<double> Device::measureReadBandwidth(size_t) {
  return Status::unsupported("this device does not tell its bandwidth");
}

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

namespace {

constexpr std::string_view cudaName = "cuda", cudaPrefix = "cuda:";

/// The number of "cuda" or "cuda:N".
std::optional<int> parseCudaName(std::string_view name) {
  if (name == cudaName)
    return 0;
  if (!name.starts_with(cudaPrefix))
    return std::nullopt;
  name.remove_prefix(cudaPrefix.size());
  int number = 0;
  auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0)
    return std::nullopt;
  return number;
}

} // namespace

std::string weft::rt::getDeviceForTarget(std::string_view target) {
  return std::string(target.substr(0, target.find(':')));
}

Status weft::rt::checkDeviceName(std::string_view name) {
  if (name == "cpu" || name == "null" || parseCudaName(name))
    return Status::ok();
  return Status::notFound("there is no device '" + std::string(name) +
                          "'; expected 'cpu', 'cuda', 'cuda:N' (the GPU with "
                          "that number) or 'null'");
}

Result<std::shared_ptr<Device>> weft::rt::createDevice(std::string_view name,
                                                       unsigned threads) {
  if (Status status = checkDeviceName(name); !status)
    return status;
  if (name == "null")
    return std::shared_ptr<Device>(std::make_shared<NullDevice>());
  if (std::optional<int> number = parseCudaName(name)) {
    Result<std::shared_ptr<CudaDevice>> cuda = CudaDevice::create(*number);
    if (!cuda)
      return cuda.getStatus();
    return std::shared_ptr<Device>(cuda.take());
  }
  Result<std::shared_ptr<CpuDevice>> cpu = CpuDevice::create(threads);
  if (!cpu)
    return cpu.getStatus();
  return std::shared_ptr<Device>(cpu.take());
}
