//===- CommandLine.h - Parsing options with the project's exit codes ------===//

#ifndef WEFT_TOOLS_COMMON_COMMANDLINE_H
#define WEFT_TOOLS_COMMON_COMMANDLINE_H

#include "tools/common/ExitCodes.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

namespace weft::tools {

/// Parses the arguments. Gives the exit code if the program is to end: Ok after
/// --help (on standard output), Usage after a wrong option, whose message says
/// where help is (on standard error).
inline std::optional<int> parseCommandLine(CLI::App &app, int argc,
                                           char **argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, std::cout, std::cerr);
      return exitOk;
    }
    std::cerr << app.get_name() << ": " << error.what() << "\nRun '"
              << app.get_name() << " --help' for the options.\n";
    return exitUsage;
  }
}

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_COMMANDLINE_H
