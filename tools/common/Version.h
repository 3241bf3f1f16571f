//===- Version.h - What --version prints ------------------------*- C++ -*-===//

#ifndef WEFT_TOOLS_COMMON_VERSION_H
#define WEFT_TOOLS_COMMON_VERSION_H

#include "runtime/include/weft/weft.h"

#include <string>

namespace weft::tools {

/// "weft-run 0.1.0".
inline std::string describeVersion(const std::string &tool) {
  return tool + " " + std::to_string(WEFT_VERSION_MAJOR) + "." +
         std::to_string(WEFT_VERSION_MINOR) + "." +
         std::to_string(WEFT_VERSION_PATCH);
}

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_VERSION_H
