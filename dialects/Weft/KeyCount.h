//===- KeyCount.h - Numbers of keys that attention works on -----*- C++ -*-===//
//
// Costs of attention depend on the positions of the tokens, which are data.
// They enter polynomials as symbols whose names say what is counted.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_WEFT_KEYCOUNT_H
#define WEFT_DIALECTS_WEFT_KEYCOUNT_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

/// What is visible is defined by AttentionOp.
struct KeyCount {
  enum class Kind {
    Seen, ///< Sum over all tokens of the keys that each sees.
    Read, ///< Sum over all sequences of the keys that any of its tokens sees.
  };
  Kind kind = Kind::Seen;
  bool isCausal = false;
  int64_t window = 0; ///< 0: none.

  bool operator==(const KeyCount &) const = default;

  /// "seen_keys", "read_keys.window_512", "seen_keys.both_sides", ...
  std::string getSymbol() const;
  /// The inverse; nothing for other symbols.
  static std::optional<KeyCount> parse(llvm::StringRef symbol);
};

} // namespace weft

#endif // WEFT_DIALECTS_WEFT_KEYCOUNT_H
