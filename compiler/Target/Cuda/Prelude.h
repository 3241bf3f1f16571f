//===- Prelude.h - Helpers that printed kernels use -------------*- C++ -*-===//

#ifndef WEFT_COMPILER_TARGET_CUDA_PRELUDE_H
#define WEFT_COMPILER_TARGET_CUDA_PRELUDE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace weft {

/// Collects the helpers of a source and prints them in the order in which they
/// need each other. A helper is a type, or a function around PTX instructions.
class Prelude {
public:
  Prelude();

  /// Notes that the source uses a helper of the table, and what that needs.
  /// The name of an unknown helper is a programming error.
  void use(llvm::StringRef name);

  std::string print() const;

  /// Whether C++, CUDA or the prelude use a name.
  static bool isReserved(llvm::StringRef name);

private:
  std::vector<bool> used;
};

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CUDA_PRELUDE_H
