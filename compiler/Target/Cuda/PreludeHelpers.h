//===- PreludeHelpers.h - Text of the helpers -------------------*- C++ -*-===//

#ifndef WEFT_COMPILER_TARGET_CUDA_PRELUDEHELPERS_H
#define WEFT_COMPILER_TARGET_CUDA_PRELUDEHELPERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace weft {

/// A type or function of device code.
struct PreludeHelper {
  std::string name;
  llvm::StringRef needs; ///< Names of other helpers, separated by blanks.
  std::string text;
};

/// All helpers; what one needs comes before it. Thread-safe.
llvm::ArrayRef<PreludeHelper> getPreludeHelpers();

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CUDA_PRELUDEHELPERS_H
