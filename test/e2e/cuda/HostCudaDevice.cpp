//===- HostCudaDevice.cpp -------------------------------------------------===//

#include "test/e2e/cuda/HostCudaDevice.h"

#include "runtime/Device/HostMemory.h"
#include "runtime/Device/HostStream.h"
#include "test/e2e/cuda/HostKernels.h"

#include <cstring>

using namespace weft;
using namespace weft::rt;
namespace fs = std::filesystem;

namespace {

const Code *findSource(const Kernel &kernel) {
  for (const Code &code : kernel.code)
    if (code.kind == Code::Kind::CudaSource)
      return &code;
  return nullptr;
}

class HostCudaKernel final : public LoadedKernel {
public:
  HostCudaKernel(const Kernel &kernel, const Code &code)
      : LoadedKernel(code.target), kernel(kernel), symbol(code.symbol) {}

  const Kernel &kernel;
  std::string symbol;
  uint64_t launches = 0;
};

/// Launches of a kernel in which races are looked for: the first ones, then one
/// in so many.
constexpr uint64_t firstLaunches = 4, oneLaunchIn = 16;

class HostCudaDevice final : public HostDevice {
public:
  HostCudaDevice(std::shared_ptr<e2e::HostKernels> kernels, uint64_t seed)
      : kernels(std::move(kernels)), seed(seed) {}

  std::string_view getName() const override { return "cuda"; }
  std::string describe() const override { return "CUDA kernels on the host"; }
  unsigned getWorkerCount() const override { return 1; }

  Result<DeviceMemory> allocate(size_t size,
                                std::string_view purpose) override {
    Result<void *> data = allocateHostMemory(size, purpose);
    if (!data)
      return data.getStatus();
    return DeviceMemory(this, *data, size);
  }

  Result<std::unique_ptr<LoadedKernel>>
  loadKernel(const Kernel &kernel) override {
    const Code *code = findSource(kernel);
    if (!code || !kernels->has(code->symbol))
      return Status::unsupported("no kernel '" + kernel.name + "'");
    return std::unique_ptr<LoadedKernel>(
        std::make_unique<HostCudaKernel>(kernel, *code));
  }

  Status launch(LoadedKernel &kernel, const LaunchInfo &info) override {
    auto &loaded = static_cast<HostCudaKernel &>(kernel);
    if (Status status = checkLaunch(loaded.kernel, info); !status)
      return status;
    e2e::HostLaunch launch;
    launch.buffers.assign(info.buffers.begin(), info.buffers.end());
    launch.symbols.assign(info.symbols.begin(), info.symbols.end());
    launch.items = info.grid;
    launch.seed = seed++;
    uint64_t number = loaded.launches++;
    launch.findsRaces = number < firstLaunches || number % oneLaunchIn == 0;
    std::string error = kernels->run(loaded.symbol, launch);
    if (!error.empty())
      return Status(StatusCode::Internal,
                    "kernel '" + loaded.kernel.name + "': " + error);
    return Status::ok();
  }

  // A launch behind anything but a launch starts when all before is done.
  Status copy(void *destination, const void *source, size_t size) override {
    kernels->startStep();
    if (size != 0)
      std::memcpy(destination, source, size);
    return Status::ok();
  }
  Status fill(void *destination, uint8_t value, size_t size) override {
    kernels->startStep();
    if (size != 0)
      std::memset(destination, value, size);
    return Status::ok();
  }

  Status synchronize() override {
    kernels->startStep();
    return Status::ok();
  }

private:
  void release(void *data, size_t size) override { freeHostMemory(data, size); }

  std::shared_ptr<e2e::HostKernels> kernels;
  uint64_t seed;
};

} // namespace

std::shared_ptr<e2e::HostKernels>
weft::e2e::compileHostKernels(const Plan &plan, const fs::path &folder,
                              const EditKernel &edit) {
  std::vector<HostKernelSource> sources;
  for (const Kernel &kernel : plan.kernels) {
    const Code *code = findSource(kernel);
    if (!code)
      continue;
    std::string text(reinterpret_cast<const char *>(code->bytes.data()),
                     code->bytes.size());
    if (edit)
      edit(kernel, text);
    sources.push_back({code->symbol, std::move(text), kernel.bufferCount,
                       kernel.symbolCount, code->launch});
  }
  return std::make_shared<HostKernels>(sources, folder);
}

std::shared_ptr<Device>
weft::e2e::createHostCudaDevice(std::shared_ptr<HostKernels> kernels,
                                uint64_t seed) {
  return std::make_shared<HostCudaDevice>(std::move(kernels), seed);
}

std::shared_ptr<Device>
weft::e2e::createHostCudaDevice(const Plan &plan, const fs::path &folder) {
  return createHostCudaDevice(compileHostKernels(plan, folder));
}
