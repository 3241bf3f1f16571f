//===- ExitCodes.cpp ------------------------------------------------------===//

#include "tools/common/ExitCodes.h"

#include <cstdio>
#include <new>

using namespace weft;

int tools::finish(std::string_view tool, const rt::Status &status) {
  if (status.isOk())
    return exitOk;
  bool isCancelled = status.getCode() == rt::StatusCode::Cancelled;
  std::fprintf(stderr, "%.*s: %s%s\n", int(tool.size()), tool.data(),
               isCancelled ? "" : "error: ", status.getMessage().c_str());
  if (isCancelled)
    return exitCancelled;
  return status.getCode() == rt::StatusCode::Internal ? exitInternal
                                                      : exitDiagnosed;
}

int tools::finishException(std::string_view tool) noexcept {
  int width = int(tool.size());
  try {
    throw;
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "%.*s: error: out of memory\n", width, tool.data());
    return exitDiagnosed;
  } catch (const std::exception &exception) {
    std::fprintf(stderr, "%.*s: internal error: %s; please report this\n",
                 width, tool.data(), exception.what());
  } catch (...) {
    std::fprintf(stderr, "%.*s: internal error; please report this\n", width,
                 tool.data());
  }
  return exitInternal;
}
