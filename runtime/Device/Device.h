//===- Device.h - Where tensors live and kernels run ----------------------===//
//
// The executor talks to this interface only. `Cpu` runs kernels on a thread
// pool; `Cuda` on an NVIDIA GPU; `Null` accepts everything, runs nothing and
// counts, for tests of planning and for measuring what the executor itself
// costs.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_DEVICE_DEVICE_H
#define WEFT_RUNTIME_DEVICE_DEVICE_H

#include "runtime/Format/Plan.h"
#include "runtime/Format/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// A constant to be made usable by kernels.
struct Constant {
  std::string purpose; ///< For messages: "parameter embed".
  /// Empty if the values are generated.
  std::span<const std::byte> bytes;
  size_t size = 0; ///< In bytes.
  DType dtype = DType::F32;
  GeneratedValues generated = {};
};

/// Work of a stream that was recorded once and can be run again at a lower
/// price than issuing it. Must not outlive its stream.
class Recording {
public:
  virtual ~Recording();
  /// Device memory that it takes, as far as the device tells.
  virtual uint64_t getBytes() const = 0;
};

/// A queue of work on a device: what is issued takes effect in the order of
/// issue. The calls may return before the work is done; `synchronize` waits for
/// it. Errors of work that was issued earlier may be reported by any later
/// call. Must not outlive its device; destroying it waits for its work.
///
/// Threading: one call at a time. Streams of one device are independent.
class Stream {
public:
  virtual ~Stream();

  /// Runs `kernel`, which the stream's device loaded. Buffers and symbols must
  /// be as many as the kernel declares.
  virtual Status launch(LoadedKernel &kernel, const LaunchInfo &info) = 0;
  /// Both ranges lie in memory of the device and do not overlap.
  virtual Status copy(void *destination, const void *source, size_t size) = 0;
  virtual Status fill(void *destination, uint8_t value, size_t size) = 0;
  /// Between memory of the device and of the host. The host's range must stay
  /// as it is until the work is done; memory of allocateStaging is fastest.
  virtual Status upload(void *device, const void *host, size_t size) = 0;
  virtual Status download(void *host, const void *device, size_t size) = 0;

  virtual Status synchronize() = 0;

  /// Notes in slot `slot` (small numbers) when all work issued so far was done.
  virtual Status markTime(size_t slot) = 0;
  /// The noted time in nanoseconds of std::chrono::steady_clock, if slot 0 was
  /// marked before `slot` and all work was waited for. Differences are exact to
  /// what the device measures.
  virtual Result<int64_t> getTime(size_t slot) = 0;

  /// Whether `record` and `replay` exist.
  virtual bool canRecord() const { return false; }
  /// Records what `work` issues to this stream, without running it. `work` must
  /// not synchronize. Its addresses and sizes are those of every replay.
  virtual Result<std::unique_ptr<Recording>>
  record(const std::function<Status()> &work);
  virtual Status replay(Recording &recording);
};

/// Threading: all methods may be called from any thread.
class Device {
public:
  virtual ~Device();

  /// Every allocation is aligned to this many bytes.
  static constexpr size_t alignment = 64;

  /// "cpu", "null" or "cuda".
  virtual std::string_view getName() const = 0;
  /// Threads, instruction sets and the like, one line for people.
  virtual std::string describe() const = 0;
  /// Copies of a kernel's scratch memory that exist at once.
  virtual unsigned getWorkerCount() const = 0;

  /// Whether the host can read and write the device's memory in place. If not,
  /// pointers to it are for the device's streams only.
  virtual bool isHostMemory() const { return true; }

  /// Memory that was allocated through the device (now and at most), that is
  /// free on it and that it has, in bytes; 0 if unknown.
  struct MemoryUse {
    uint64_t used = 0, peak = 0, free = 0, total = 0;
  };
  virtual MemoryUse getMemoryUse() { return {}; }

  /// Bytes per second that kernels can read at most, measured over about
  /// `bytes` bytes of memory. Unsupported if the device does not tell.
  virtual Result<double> measureReadBandwidth(size_t bytes);
  /// FLOP/s with the fastest instructions for the type that accumulate in f32,
  /// by the device's specification; 0 if unknown.
  virtual double getPeakFlops(DType type) { return 0; }

  /// Zeroed memory of `size` bytes; `purpose` ("state cache.0.key") is for
  /// the message of OutOfMemory. A size of 0 gives memory of no use that is
  /// not null.
  virtual Result<DeviceMemory> allocate(size_t size,
                                        std::string_view purpose) = 0;

  /// Memory of the host for Stream::upload and download. Must not outlive the
  /// device.
  virtual Result<std::shared_ptr<std::byte>>
  allocateStaging(size_t size, std::string_view purpose) = 0;

  /// Makes constants of the host usable by kernels, one result for each: by
  /// reference where the device can read host memory (then the bytes must stay
  /// alive and unchanged for the life of the result), else as a copy.
  virtual Result<std::vector<DeviceMemory>>
  importConstants(std::span<const Constant> constants) = 0;

  /// Whether a kernel has code that runs on the device as it is, code that can
  /// be made to, or neither.
  enum class CodeFit : uint8_t { None, Source, Binary };
  virtual CodeFit findCode(const Kernel &kernel) const {
    return CodeFit::Binary;
  }

  /// Chooses the code that fits the device best and loads it. `kernel` must
  /// outlive the result. Unsupported if
  /// no code fits: the message names what each code needs and lacks.
  virtual Result<std::unique_ptr<LoadedKernel>>
  loadKernel(const Kernel &kernel) = 0;
  /// The same for several kernels, at the same time where the device compiles
  /// them. The first failure in their order.
  virtual Result<std::vector<std::unique_ptr<LoadedKernel>>>
  loadKernels(std::span<const Kernel *const> kernels);

  virtual Result<std::unique_ptr<Stream>> createStream() = 0;

private:
  friend class DeviceMemory;
  /// Frees what `allocate` or `importConstants` made.
  virtual void release(void *data, size_t size) = 0;
};

/// What is common to all checks of a launch: counts and a grid in range.
Status checkLaunch(const Kernel &kernel, const LaunchInfo &info);

/// Grids larger than this are a fault of the plan; the limit leaves room for
/// the arithmetic of work splitting.
constexpr int64_t maxGrid = int64_t(1) << 48;

/// The name of the device that runs the plans of a target: "cpu", or "cuda" for
/// "cuda:sm_90a".
std::string getDeviceForTarget(std::string_view target);

/// NotFound, with the names that exist, for what cannot name a device: "cpu",
/// "null", "cuda" (the first GPU) and "cuda:N" do.
Status checkDeviceName(std::string_view name);

/// Makes a device by name. `threads` of a CPU: 0 for one per usable core.
/// Errors: as checkDeviceName; Unsupported if there is no such GPU or no driver
/// for it, with what was looked for and what to do.
Result<std::shared_ptr<Device>> createDevice(std::string_view name,
                                             unsigned threads);

} // namespace weft::rt

#endif // WEFT_RUNTIME_DEVICE_DEVICE_H
