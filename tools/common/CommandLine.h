//===- CommandLine.h - Parsing options with the project's exit codes ------===//

#ifndef WEFT_TOOLS_COMMON_COMMANDLINE_H
#define WEFT_TOOLS_COMMON_COMMANDLINE_H

#include "tools/common/ExitCodes.h"
#include "tools/common/Version.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace weft::tools {

/// A whole number as the user wrote it; nothing for other text and for numbers
/// that 64 bits do not hold (CLI11 2.1 would take the nearest one).
inline std::optional<int64_t> parseWholeNumber(std::string_view text) {
  int64_t value = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end)
    return std::nullopt;
  return value;
}

/// The check of an option that takes a whole number of `least` to `most`.
inline CLI::Validator
wholeNumber(int64_t least, int64_t most = std::numeric_limits<int64_t>::max()) {
  auto check = [least, most](const std::string &text) -> std::string {
    std::optional<int64_t> value = parseWholeNumber(text);
    if (value && *value >= least && *value <= most)
      return "";
    std::string range =
        most == std::numeric_limits<int64_t>::max()
            ? "at least " + std::to_string(least)
            : std::to_string(least) + " to " + std::to_string(most);
    return "found '" + text + "', expected a whole number of " + range;
  };
  return CLI::Validator(check, "");
}

/// The check of an option that takes text and is absent where that is empty: an
/// empty one, such as that of an unset variable, would be ignored.
inline CLI::Validator notEmpty() {
  return CLI::Validator(
      [](const std::string &text) -> std::string {
        return text.empty() ? "found an empty text" : "";
      },
      "");
}

/// The check of an option that takes a seed: any number of 64 bits.
inline CLI::Validator seedNumber() {
  auto check = [](const std::string &text) -> std::string {
    uint64_t value = 0;
    const char *end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && rest == end && !text.empty())
      return "";
    return "found '" + text +
           "', expected a whole number of 0 to 18446744073709551615";
  };
  return CLI::Validator(check, "");
}

/// Parses the arguments. Gives the exit code if the program is to end: Ok after
/// --help and --version (on standard output; Diagnosed if that takes nothing),
/// Usage after a wrong option, whose message says where help is (on standard
/// error).
inline std::optional<int> parseCommandLine(CLI::App &app, int argc,
                                           char **argv) {
  app.set_version_flag("--version", describeVersion(app.get_name()));
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, std::cout, std::cerr);
      if (std::cout.flush())
        return exitOk;
      std::cerr << app.get_name() << ": error: cannot write standard output\n";
      return exitDiagnosed;
    }
    std::cerr << app.get_name() << ": " << error.what() << "\nRun '"
              << app.get_name() << " --help' for the options.\n";
    return exitUsage;
  }
}

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_COMMANDLINE_H
