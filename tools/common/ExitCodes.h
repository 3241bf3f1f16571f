//===- ExitCodes.h - What the tools return --------------------------------===//

#ifndef WEFT_TOOLS_COMMON_EXITCODES_H
#define WEFT_TOOLS_COMMON_EXITCODES_H

#include "runtime/Format/Status.h"

namespace weft {

/// The same for all tools.
enum ExitCode : int {
  kExitOk = 0,
  kExitError = 1,     ///< Diagnosed on standard error.
  kExitUsage = 2,     ///< Wrong command line.
  kExitInternal = 70, ///< A bug in Weft.
};

inline int getExitCode(const rt::Status &status) {
  if (status.isOk())
    return kExitOk;
  return status.getCode() == rt::StatusCode::Internal ? kExitInternal
                                                      : kExitError;
}

} // namespace weft

#endif // WEFT_TOOLS_COMMON_EXITCODES_H
