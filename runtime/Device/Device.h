//===- Device.h - Where tensors live and kernels run ----------------------===//
//
// The executor talks to this interface only. `Cpu` runs kernels on a thread
// pool; `Null` accepts everything, runs nothing and counts, for tests of
// planning and for measuring what the executor itself costs.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_DEVICE_DEVICE_H
#define WEFT_RUNTIME_DEVICE_DEVICE_H

#include "runtime/Format/Plan.h"
#include "runtime/Format/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weft::rt {

class Device;

/// Memory of a device, zeroed when it was made. Owns it unless it refers to
/// memory of the host that the device can use in place. Must not outlive its
/// device. Moveable, not copyable.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(Device *owner, void *data, size_t size)
      : owner(owner), data(data), size(size) {}
  DeviceMemory(DeviceMemory &&other) noexcept { swap(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    DeviceMemory old(std::move(*this));
    swap(other);
    return *this;
  }
  ~DeviceMemory();

  void *getData() const { return data; }
  size_t getSize() const { return size; }

private:
  void swap(DeviceMemory &other) noexcept {
    std::swap(owner, other.owner);
    std::swap(data, other.data);
    std::swap(size, other.size);
  }

  Device *owner = nullptr; ///< Null: the memory is somebody else's.
  void *data = nullptr;
  size_t size = 0;
};

/// A kernel that is ready to be launched on the device that made it. Must not
/// outlive the device.
class LoadedKernel {
public:
  virtual ~LoadedKernel();

  /// Target of the code that was chosen: "x86-64-v4", "sm_90a", "null".
  const std::string &getTarget() const { return target; }

protected:
  explicit LoadedKernel(std::string target) : target(std::move(target)) {}

private:
  std::string target;
};

/// One launch. The spans are only read during the call.
struct LaunchInfo {
  std::span<void *const> buffers;
  std::span<const int64_t> symbols;
  /// Number of independent work items; nothing runs for 0.
  int64_t grid = 0;
  /// FLOPs and bytes of the whole launch, 0 if unknown. Only a hint: a device
  /// may keep a launch on one thread if it is smaller than a fork.
  int64_t flops = 0, bytes = 0;
};

/// Threading: allocate, free and loadKernel may be called from any thread.
/// launch, copy and fill of one device are serialised by the device; those
/// issued by one thread take effect in order.
class Device {
public:
  virtual ~Device();

  /// Every allocation is aligned to this many bytes.
  static constexpr size_t alignment = 64;

  /// "cpu" or "null".
  virtual std::string_view getName() const = 0;
  /// Threads, instruction sets and the like, one line for people.
  virtual std::string describe() const = 0;
  /// Copies of a kernel's scratch memory that exist at once.
  virtual unsigned getWorkerCount() const = 0;

  /// Zeroed memory of `size` bytes; `purpose` ("state cache.0.key") is for
  /// the message of OutOfMemory. A size of 0 gives memory of no use that is
  /// not null.
  virtual Result<DeviceMemory> allocate(size_t size,
                                        std::string_view purpose) = 0;

  /// Makes constants of the host usable by kernels: by reference where the
  /// device can read host memory (then `bytes` must stay alive and unchanged
  /// for the life of the result), else as a copy.
  virtual Result<DeviceMemory> importConstant(std::span<const std::byte> bytes,
                                              std::string_view purpose) = 0;

  /// Chooses the code that fits the device best and loads it. `kernel` must
  /// outlive the result. Unsupported if
  /// no code fits: the message names what each code needs and lacks.
  virtual Result<std::unique_ptr<LoadedKernel>>
  loadKernel(const Kernel &kernel) = 0;

  /// Runs `kernel`, which this device loaded. Buffers and symbols must be as
  /// many as the kernel declares.
  virtual Status launch(LoadedKernel &kernel, const LaunchInfo &info) = 0;
  /// The ranges must not overlap.
  virtual Status copy(void *destination, const void *source, size_t size) = 0;
  virtual Status fill(void *destination, uint8_t value, size_t size) = 0;

private:
  friend class DeviceMemory;
  /// Frees what `allocate` or `importConstant` made.
  virtual void release(void *data, size_t size) = 0;
};

/// What is common to all checks of a launch: counts and a grid in range.
Status checkLaunch(const Kernel &kernel, const LaunchInfo &info);

/// Grids larger than this are a fault of the plan; the limit leaves room for
/// the arithmetic of work splitting.
constexpr int64_t maxGrid = int64_t(1) << 48;

/// Makes a device by name. `threads`: 0 for one per usable core. NotFound for
/// an unknown name, with the names that exist.
Result<std::shared_ptr<Device>> createDevice(std::string_view name,
                                             unsigned threads);

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_DEVICE_H
