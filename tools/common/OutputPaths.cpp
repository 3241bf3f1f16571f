//===- OutputPaths.cpp - Outputs that would replace what they come from ---===//

#include "tools/common/OutputPaths.h"

#include <filesystem>

using namespace weft;
namespace fs = std::filesystem;

/// Whether a path names a regular file, one that may come to be included.
static bool isFile(const std::string &path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return !path.empty() && path != "-" &&
         (fs::is_regular_file(status) || !fs::exists(status));
}

bool tools::isSameFile(const std::string &first, const std::string &second) {
  if (!isFile(first) || !isFile(second))
    return false;
  std::error_code error;
  if (fs::equivalent(first, second, error))
    return true;
  const fs::path one = fs::weakly_canonical(first, error);
  if (error)
    return false;
  const fs::path other = fs::weakly_canonical(second, error);
  return !error && one == other;
}

rt::Status tools::checkOutputPaths(std::span<const NamedPath> inputs,
                                   std::span<const NamedPath> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NamedPath &output = outputs[i];
    for (const NamedPath &input : inputs)
      if (isSameFile(output.path, input.path))
        return rt::Status::invalid(output.name + " '" + output.path +
                                   "' would replace " + input.name + " '" +
                                   input.path + "'; give another file");
    for (const NamedPath &other : outputs.first(i))
      if (isSameFile(output.path, other.path))
        return rt::Status::invalid(other.name + " and " + output.name +
                                   " are both '" + output.path +
                                   "'; give two files");
  }
  return rt::Status::ok();
}
