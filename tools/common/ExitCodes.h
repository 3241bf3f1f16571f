//===- ExitCodes.h - How every tool ends ----------------------------------===//

#ifndef WEFT_TOOLS_COMMON_EXITCODES_H
#define WEFT_TOOLS_COMMON_EXITCODES_H

#include "runtime/Format/Status.h"

#include <exception>
#include <string_view>

namespace weft::tools {

enum ExitCode : int {
  exitOk = 0,
  exitDiagnosed = 1,   ///< Bad input, explained on standard error.
  exitUsage = 2,       ///< Wrong options.
  exitInternal = 70,   ///< A bug in Weft.
  exitCancelled = 130, ///< Ended by Ctrl-C, as shells count it.
};

/// Prints "TOOL: error: SENTENCE" to standard error and returns the exit code
/// that fits the status: Internal for a bug, Cancelled, else Diagnosed; Ok
/// prints nothing.
int finish(std::string_view tool, const rt::Status &status);

/// The same for an exception that reached main.
int finishException(std::string_view tool) noexcept;

/// Runs the body of a main function, so that no exception ends a tool without
/// a message.
template <typename Function>
int runMain(std::string_view tool, Function function) noexcept {
  try {
    return function();
  } catch (...) {
    return finishException(tool);
  }
}

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_EXITCODES_H
