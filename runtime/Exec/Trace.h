//===- Trace.h - Chrome-trace file of what ran when -----------------------===//
//
// Writes the JSON object format of the Trace Event Format (complete events,
// "ph":"X"), which chrome://tracing and ui.perfetto.dev open. Each command has
// its kernel, grid, FLOPs, bytes and the rates reached.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_EXEC_TRACE_H
#define WEFT_RUNTIME_EXEC_TRACE_H

#include "runtime/Exec/CommandHook.h"
#include "runtime/Format/Status.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace weft::rt {

/// Threading: all methods may be called from any thread.
///
/// What was flushed is a complete JSON file at any time: each flush appends
/// events and the closing brackets, and the next one overwrites the brackets.
/// So a process that ends early, or a disk that is full, loses the last events
/// and never leaves a file that no viewer opens.
class Trace {
public:
  /// Creates the file or replaces an earlier trace. Io with the path and the
  /// system's reason, and for a file with other content, which stays.
  static Result<std::unique_ptr<Trace>> create(const std::string &path);

  /// Flushes; an error has nowhere to go then, call close to see it.
  ~Trace();
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  /// A hook for Session::addHook that records every command. `lane` is the row
  /// in the viewer: one per session. The trace must outlive the hook.
  CommandHook makeHook(uint32_t lane = 0);

  Status recordCommand(const CommandEvent &event, uint32_t lane);
  /// A span that encloses commands, as "prefill" or "sample"; times in
  /// nanoseconds of std::chrono::steady_clock.
  Status recordSpan(std::string_view name, std::string_view category,
                    int64_t beginTime, int64_t endTime, uint32_t lane);

  Status flush();
  /// Flushes and closes; recording afterwards is InvalidArgument.
  Status close();

private:
  Trace(int file, std::string path);

  Status append(std::string event);
  Status flushLocked();

  std::mutex mutex;
  int file;
  std::string path;
  std::string pending;    ///< Events that are not in the file yet.
  uint64_t end = 0;       ///< Where the closing brackets start.
  bool hasEvents = false; ///< Whether the next event needs a comma before it.
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_EXEC_TRACE_H
