//===- CommandHook.h - Looking at a run command by command ----------------===//

#ifndef WEFT_RUNTIME_EXEC_COMMANDHOOK_H
#define WEFT_RUNTIME_EXEC_COMMANDHOOK_H

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
  /// Target of the kernel's code ("x86-64-v4"); empty if this is no launch.
  std::string_view target;
  /// All buffers of the entry, by buffer index, and their sizes in bytes.
  /// Temps hold what the plan says only between their first and last use.
  std::span<void *const> bufferData;
  std::span<const int64_t> bufferBytes;
  /// Values of all symbols of the plan, for evaluating shapes.
  std::span<const int64_t> symbols;
  int64_t grid, flops, bytes;
  /// Nanoseconds of a clock that never goes back (std::chrono::steady_clock).
  int64_t beginTime, endTime;
};

/// Called on the thread that runs the entry, after the command is done. A
/// status that is not Ok ends the run, which returns it; states then hold what
/// the commands so far wrote.
using CommandHook = std::function<Status(const CommandEvent &)>;

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_COMMANDHOOK_H
