//===- RunEntry.h - weft-run: any entry on tensors from .npy files --------===//

#ifndef WEFT_TOOLS_WEFTRUN_RUNENTRY_H
#define WEFT_TOOLS_WEFTRUN_RUNENTRY_H

#include "runtime/Format/Status.h"

#include <string>
#include <utility>
#include <vector>

namespace weft {

struct EntryOptions {
  std::string plan, entry;
  /// (name, path) of tensors.
  std::vector<std::pair<std::string, std::string>> inputs, outputs;
  /// Sizes that no input shows: (symbol, value).
  std::vector<std::pair<std::string, int64_t>> symbols;
  unsigned threads = 0;
  std::string device; ///< Empty: that of the plan's target.
  std::string tracePath;
};

/// Runs the entry once. Output files appear whole or not at all, and only if
/// the run succeeded; outputs that are not asked for are dropped.
rt::Status runEntry(const EntryOptions &options);

} // namespace weft

#endif // WEFT_TOOLS_WEFTRUN_RUNENTRY_H
