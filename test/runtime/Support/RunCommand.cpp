//===- RunCommand.cpp -----------------------------------------------------===//

#include "test/runtime/Support/RunCommand.h"

#include <cstdio>
#include <sys/wait.h>

using namespace weft::test;

CommandResult weft::test::runCommand(const std::string &command) {
  // In braces, so that the redirection of the command's own output works.
  FILE *pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (!pipe)
    return {"cannot start: " + command, -1};
  CommandResult result;
  char chunk[4096];
  while (size_t count = fread(chunk, 1, sizeof(chunk), pipe))
    result.output.append(chunk, count);
  int status = pclose(pipe);
  result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}
