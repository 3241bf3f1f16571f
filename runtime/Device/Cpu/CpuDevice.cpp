//===- CpuDevice.cpp ------------------------------------------------------===//

#include "runtime/Device/Cpu/CpuDevice.h"

#include "runtime/Device/Cpu/HostFeatures.h"
#include "runtime/Device/Cpu/ObjectLoader.h"
#include "runtime/Device/HostMemory.h"

#include <cstring>

using namespace weft::rt;

namespace {

/// The calling convention of CPU kernels, docs/architecture.md.
using KernelFunction = void (*)(void *const *buffers, const int64_t *symbols,
                                int64_t begin, int64_t end, void *scratch);

class CpuKernel final : public LoadedKernel {
public:
  CpuKernel(const Kernel &kernel, const Code &code,
            std::unique_ptr<LoadedObject> object, KernelFunction function)
      : LoadedKernel(code.target), kernel(kernel), object(std::move(object)),
        function(function) {}

  const Kernel &kernel;
  std::unique_ptr<LoadedObject> object; ///< Keeps the code mapped.
  KernelFunction function;
};

/// What one launch passes to all its chunks.
struct LaunchContext {
  const CpuKernel &kernel;
  const LaunchInfo &info;
  const std::vector<DeviceMemory> &scratch;
};

void runChunk(void *context, int64_t begin, int64_t end, unsigned worker) {
  const auto &launch = *static_cast<const LaunchContext *>(context);
  launch.kernel.function(launch.info.buffers.data(), launch.info.symbols.data(),
                         begin, end, launch.scratch[worker].getData());
}

/// Whether a launch takes less time than waking others for it, about a
/// microsecond: with what one core does in a nanosecond at least.
bool isTiny(const LaunchInfo &info) {
  constexpr int64_t flopsPerFork = 32 * 1024, bytesPerFork = 16 * 1024;
  bool known = info.flops > 0 || info.bytes > 0;
  return known && info.flops < flopsPerFork && info.bytes < bytesPerFork;
}

bool isUsable(const Code &code) {
  return code.kind == Code::Kind::Elf && hasAllFeatures(code.features);
}

/// "x86-64-v4 (lacks avx512f, avx512bw)" for each code that does not fit.
std::string explainCodes(const Kernel &kernel) {
  std::string text;
  for (const Code &code : kernel.code) {
    text += (text.empty() ? "" : "; ") + code.target;
    if (code.kind != Code::Kind::Elf) {
      text += " (not CPU code)";
      continue;
    }
    std::string missing;
    for (const std::string &feature : code.features)
      if (!hasAllFeatures({&feature, 1}))
        missing += (missing.empty() ? "" : ", ") + feature;
    text += " (this processor lacks " + missing + ")";
  }
  return text.empty() ? "none" : text;
}

} // namespace

CpuDevice::CpuDevice(std::unique_ptr<ThreadPool> pool)
    : pool(std::move(pool)), scratch(this->pool->getThreadCount()) {}

CpuDevice::~CpuDevice() = default;

Result<std::shared_ptr<CpuDevice>> CpuDevice::create(unsigned threads) {
  Result<std::unique_ptr<ThreadPool>> pool =
      ThreadPool::create(threads == 0 ? getUsableCoreCount() : threads);
  if (!pool)
    return pool.getStatus();
  return std::shared_ptr<CpuDevice>(new CpuDevice(pool.take()));
}

std::string CpuDevice::describe() const {
  std::string text = "cpu with " + std::to_string(pool->getThreadCount()) +
                     (pool->getThreadCount() == 1 ? " thread:" : " threads:");
  for (const std::string &feature : getHostFeatures())
    text += " " + feature;
  return text;
}

Result<DeviceMemory> CpuDevice::allocate(size_t size,
                                         std::string_view purpose) {
  Result<void *> data = allocateHostMemory(size, purpose);
  if (!data)
    return data.getStatus();
  return DeviceMemory(this, *data, size);
}

void CpuDevice::release(void *data, size_t size) { freeHostMemory(data, size); }

Status CpuDevice::growScratch(uint64_t bytes) {
  std::lock_guard lock(launchMutex);
  if (bytes <= scratchBytes)
    return Status::ok();
  std::vector<DeviceMemory> grown;
  for (size_t i = 0; i < scratch.size(); ++i) {
    Result<DeviceMemory> memory = allocate(bytes, "scratch of a thread");
    if (!memory)
      return memory.getStatus();
    grown.push_back(memory.take());
  }
  scratch = std::move(grown);
  scratchBytes = bytes;
  return Status::ok();
}

Result<std::unique_ptr<LoadedKernel>>
CpuDevice::loadKernel(const Kernel &kernel) {
  // Baseline first in the plan, so the last that fits is the best.
  const Code *best = nullptr;
  for (const Code &code : kernel.code)
    if (isUsable(code))
      best = &code;
  if (!best)
    return Status::unsupported(
        "kernel '" + kernel.name + "' has no code for this processor; found: " +
        explainCodes(kernel) + ". Compile the model for this machine");

  Result<std::unique_ptr<LoadedObject>> object =
      LoadedObject::load(best->bytes);
  if (!object)
    return Status(object.getStatus().getCode(),
                  "code of kernel '" + kernel.name + "' for " + best->target +
                      ": " + object.getStatus().getMessage());
  void *address = (*object)->find(best->symbol);
  if (!address)
    return Status::corrupt("code of kernel '" + kernel.name + "' for " +
                           best->target + " has no function '" + best->symbol +
                           "'");
  Status status = growScratch(kernel.scratchBytes);
  if (!status)
    return status;
  return std::unique_ptr<LoadedKernel>(std::make_unique<CpuKernel>(
      kernel, *best, object.take(), reinterpret_cast<KernelFunction>(address)));
}

Status CpuDevice::launch(LoadedKernel &kernel, const LaunchInfo &info) {
  auto &cpuKernel = static_cast<CpuKernel &>(kernel);
  Status status = checkLaunch(cpuKernel.kernel, info);
  if (!status)
    return status;
  std::lock_guard lock(launchMutex);
  LaunchContext context{cpuKernel, info, scratch};
  if (isTiny(info))
    pool->runInline(info.grid, runChunk, &context);
  else
    pool->run(info.grid, 1, runChunk, &context);
  return Status::ok();
}

Status CpuDevice::copy(void *destination, const void *source, size_t size) {
  if (size != 0)
    std::memcpy(destination, source, size);
  return Status::ok();
}

Status CpuDevice::fill(void *destination, uint8_t value, size_t size) {
  if (size != 0)
    std::memset(destination, value, size);
  return Status::ok();
}
