//===- CommandHook.h - Looking at a run command by command ----------------===//

#ifndef WEFT_RUNTIME_EXEC_COMMANDHOOK_H
#define WEFT_RUNTIME_EXEC_COMMANDHOOK_H

#include "runtime/Device/Device.h"
#include "runtime/Format/Plan.h"

#include <cstdint>
#include <functional>
#include <span>

namespace weft::rt {

/// What happened, told after each command. All references are valid during the
/// call only.
struct CommandEvent {
  const Plan &plan;
  const Entry &entry;
  uint32_t commandIndex;
  const Command &command;
  uint32_t kernel; ///< Of a launch: that of the variant for these sizes.
  /// Target of the kernel's code ("x86-64-v4"); empty if this is no launch.
  std::string_view target;
  /// All buffers of the entry, by buffer index, and their sizes in bytes.
  /// Temps hold what the plan says only between their first and last use. The
  /// pointers are the device's: unless it has the host's memory
  /// (Device::isHostMemory) use readBuffer.
  std::span<void *const> bufferData;
  std::span<const int64_t> bufferBytes;
  /// Values of all symbols of the plan, for evaluating shapes.
  std::span<const int64_t> symbols;
  int64_t grid, flops, bytes; ///< Work as the keys of this run make it.
  /// Nanoseconds of a clock that never goes back (std::chrono::steady_clock).
  int64_t beginTime, endTime;
  Stream &stream; ///< That the entry runs on.

  /// Copies the start of a buffer to memory of the host, as the last command
  /// left it; `to` is at most as large as the buffer.
  Status readBuffer(uint32_t buffer, std::span<std::byte> to) const {
    if (Status status =
            stream.download(to.data(), bufferData[buffer], to.size());
        !status)
      return status;
    return stream.synchronize();
  }
};

/// Called on the thread that runs the entry, after the command is done. A
/// status that is not Ok ends the run, which returns it; states then hold what
/// the commands so far wrote.
using CommandHook = std::function<Status(const CommandEvent &)>;

/// What a hook needs of the run.
enum class HookKind : uint8_t {
  /// Buffers as they are after each command: the device does one command at a
  /// time, which takes longer than a run without hooks.
  Buffers,
  /// Only times and sizes: devices that work ahead go on doing so, and the hook
  /// is called for all commands when the run is done. Its status is then too
  /// late to end the run.
  Times,
};

/// A hook of a session.
struct RegisteredHook {
  uint32_t id;
  HookKind kind;
  CommandHook function;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_COMMANDHOOK_H
