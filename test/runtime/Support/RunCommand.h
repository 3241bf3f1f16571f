//===- RunCommand.h - Runs a program and catches what it says -------------===//

#ifndef WEFT_TEST_RUNTIME_SUPPORT_RUNCOMMAND_H
#define WEFT_TEST_RUNTIME_SUPPORT_RUNCOMMAND_H

#include <string>

namespace weft::test {

struct CommandResult {
  std::string output; ///< Standard output and standard error, as they came.
  int exitCode;       ///< -1 if a signal ended the program.
};

/// Runs a shell command.
CommandResult runCommand(const std::string &command);

} // namespace weft::test

#endif // WEFT_TEST_RUNTIME_SUPPORT_RUNCOMMAND_H
