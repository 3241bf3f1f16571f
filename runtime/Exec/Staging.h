//===- Staging.h - Inputs and outputs of devices with memory of their own -===//
//
// The caller's tensors are in memory of the host. The small ones of a run are
// packed into one block that goes to the device in one copy, and back likewise;
// large ones are copied one by one.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_EXEC_STAGING_H
#define WEFT_RUNTIME_EXEC_STAGING_H

#include "runtime/Device/Device.h"
#include "runtime/Exec/Binder.h"

#include <memory>
#include <span>
#include <vector>

namespace weft::rt {

/// Memory for the arguments of one entry at its largest sizes. Not thread-safe.
class Staging {
public:
  /// Arguments of at most this many bytes are packed.
  static constexpr uint64_t packedBytes = 1 << 20;
  /// Of each argument on the device.
  static constexpr uint64_t alignment = 256;

  /// Memory for every input and output of `entry`, whose sizes for the largest
  /// symbol values are `maximumBytes` (by buffer). OutOfMemory from the device.
  static Result<std::unique_ptr<Staging>>
  create(Device &device, const Entry &entry,
         std::span<const int64_t> maximumBytes);

  /// Places the arguments for the sizes of a run and writes their addresses on
  /// the device to `data` (both by buffer). Corrupt if they need more than the
  /// largest sizes did.
  Status place(std::span<const int64_t> bytes, std::span<void *> data);

  /// Copies the caller's packed inputs to the host's side of the block.
  void packInputs(const Binder &binder);
  /// Issues the copies of large inputs and outputs.
  Status uploadLarge(const Binder &binder, Stream &stream);
  Status downloadLarge(const Binder &binder, Stream &stream);
  /// Issues the copies of the blocks. They have the same addresses and sizes
  /// for equal sizes of the arguments, so they can be recorded.
  Status uploadPacked(Stream &stream);
  Status downloadPacked(Stream &stream);
  /// Copies packed outputs to the caller, after the download is done.
  void unpackOutputs(const Binder &binder);

  uint64_t getBytes() const { return memory.getSize(); }

private:
  /// One argument.
  struct Item {
    uint32_t buffer = 0;
    bool isInput = false, isPacked = false;
    uint64_t offset = 0, bytes = 0; ///< On the device; of this run.
  };
  /// The packed arguments of one direction, which lie together.
  struct Block {
    uint64_t offset = 0;   ///< On the device.
    uint64_t capacity = 0; ///< At the largest sizes.
    uint64_t bytes = 0;    ///< Of this run.
    std::shared_ptr<std::byte> host;
  };

  Staging() = default;

  Block &getBlock(const Item &item) { return item.isInput ? inputs : outputs; }
  std::byte *getHostData(const Item &item) {
    Block &block = getBlock(item);
    return block.host.get() + (item.offset - block.offset);
  }
  std::byte *getDeviceData(uint64_t offset) const {
    return static_cast<std::byte *>(memory.getData()) + offset;
  }

  std::vector<Item> items;
  Block inputs, outputs;
  DeviceMemory memory;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_STAGING_H
