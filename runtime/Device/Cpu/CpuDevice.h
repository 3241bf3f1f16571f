//===- CpuDevice.h - Runs kernels on the processor's cores ----------------===//
//
// docs/architecture.md says how a CPU kernel is called. Work items of a launch
// are independent and their results do not depend on how the grid is split, so
// chunks go to whichever thread is free.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_DEVICE_CPU_CPUDEVICE_H
#define WEFT_RUNTIME_DEVICE_CPU_CPUDEVICE_H

#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Device/HostStream.h"

#include <mutex>
#include <vector>

namespace weft::rt {

class CpuDevice final : public HostDevice {
public:
  /// `threads`: 0 for one per usable core. Errors as ThreadPool::create.
  static Result<std::shared_ptr<CpuDevice>> create(unsigned threads);

  ~CpuDevice() override;

  std::string_view getName() const override { return "cpu"; }
  std::string describe() const override;
  unsigned getWorkerCount() const override { return pool->getThreadCount(); }
  Result<DeviceMemory> allocate(size_t size, std::string_view purpose) override;
  Result<std::unique_ptr<LoadedKernel>>
  loadKernel(const Kernel &kernel) override;
  Status launch(LoadedKernel &kernel, const LaunchInfo &info) override;
  Status copy(void *destination, const void *source, size_t size) override;
  Status fill(void *destination, uint8_t value, size_t size) override;

private:
  explicit CpuDevice(std::unique_ptr<ThreadPool> pool);

  void release(void *data, size_t size) override;
  /// Makes scratch memory of at least `bytes` for each worker.
  Status growScratch(uint64_t bytes);

  std::unique_ptr<ThreadPool> pool;
  /// Guards the scratch memory. It only grows, when a kernel is loaded; a
  /// launch that is under way holds the old one until it is done.
  std::mutex launchMutex;
  std::vector<DeviceMemory> scratch; ///< One per worker.
  uint64_t scratchBytes = 0;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_CPU_CPUDEVICE_H
