//===- Handles.h - What the handles of the C interface hold ---------------===//
//
// Internal to the library: shared by the implementations of weft.h and llm.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_CORE_HANDLES_H
#define WEFT_RUNTIME_CORE_HANDLES_H

#include "runtime/Exec/Program.h"
#include "runtime/Exec/Session.h"
#include "runtime/Exec/Trace.h"
#include "runtime/Format/Reader.h"
#include "runtime/include/weft/weft.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// Thread-safe: everything but `program` is immutable after opening.
struct weft_plan {
  std::shared_ptr<const weft::rt::Artifact> artifact;
  std::string deviceName;
  unsigned threads = 0; ///< 0: one per usable core.
  /// Shape texts that weft_tensor_info points to: per entry (states last), per
  /// buffer.
  std::vector<std::vector<std::string>> shapeTexts;

  /// Loads kernels on first use, so that a plan can be inspected on machines
  /// that cannot run it.
  weft::rt::Result<std::shared_ptr<weft::rt::Program>> getProgram();

private:
  std::mutex mutex;
  std::shared_ptr<weft::rt::Program> program;
};

struct weft_session {
  /// Held during a call; a call that does not get it is refused.
  std::mutex mutex;
  // The session comes after the trace, so that its hook goes first.
  std::unique_ptr<weft::rt::Trace> trace;
  uint32_t traceHook = 0;
  std::unique_ptr<weft::rt::Session> session;
  // Arguments of a run, kept so that runs do not allocate.
  std::vector<weft::rt::Argument> inputs, outputs;
  std::vector<weft::rt::SymbolValue> symbols;
};

namespace weft::rt {

/// Keeps the message for weft_last_error of this thread and converts the code.
weft_status report(const Status &status) noexcept;

/// Reports the exception that is being handled.
weft_status reportException() noexcept;

/// Runs a function that returns a Status and reports the result. An exception
/// (of the standard library: out of memory) becomes a status as well.
template <typename Function> weft_status guard(Function function) noexcept {
  try {
    return report(function());
  } catch (...) {
    return reportException();
  }
}

/// Checks and converts an array of symbol values. `values` is cleared first;
/// the names still belong to the caller.
Status convertSymbols(const weft_symbol *symbols, size_t count,
                      std::vector<SymbolValue> &values);

} // namespace weft::rt

#endif // WEFT_RUNTIME_CORE_HANDLES_H
