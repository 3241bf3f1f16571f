//===- CompileOptions.h - What a compilation is asked to do -----*- C++ -*-===//

#ifndef WEFT_COMPILER_COMPILEOPTIONS_H
#define WEFT_COMPILER_COMPILEOPTIONS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace weft {

struct CompileOptions {
  /// CPU levels to make code for, baseline first; see passes/Kernel/CpuLevel.h.
  std::vector<std::string> cpuLevels;
  /// Several operations may share a kernel. Without it every operation of the
  /// model is a kernel of its own, for finding a wrong one.
  bool fuse = true;
};

/// The levels that a --target value asks for: "cpu" is the baseline and this
/// machine's level, "cpu:LEVEL[,LEVEL...]" the levels named.
llvm::Expected<std::vector<std::string>> parseTarget(llvm::StringRef target);

} // namespace weft

#endif // WEFT_COMPILER_COMPILEOPTIONS_H
