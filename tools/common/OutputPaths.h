//===- OutputPaths.h - Outputs that would replace what they come from -----===//

#ifndef WEFT_TOOLS_COMMON_OUTPUTPATHS_H
#define WEFT_TOOLS_COMMON_OUTPUTPATHS_H

#include "runtime/Format/Status.h"

#include <span>
#include <string>

namespace weft::tools {

/// A file and the option that names it: "--trace", "the plan".
struct NamedPath {
  std::string name, path;
};

/// Whether both paths lead to the same file, through links of any kind. Files
/// that do not exist yet are compared by folder and name.
bool isSameFile(const std::string &first, const std::string &second);

/// Refuses an output that is one of the inputs, and two outputs that are one
/// file. "", "-" and what is no regular file (a device) are never the same.
rt::Status checkOutputPaths(std::span<const NamedPath> inputs,
                            std::span<const NamedPath> outputs);

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_OUTPUTPATHS_H
