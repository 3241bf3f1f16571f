//===- KeyCount.cpp - Numbers of keys that attention works on -------------===//

#include "dialects/Weft/KeyCount.h"

using namespace weft;

static constexpr llvm::StringLiteral seenKeys = "seen_keys",
                                     readKeys = "read_keys",
                                     bothSides = ".both_sides",
                                     windowPrefix = ".window_";

std::string KeyCount::getSymbol() const {
  std::string name = (kind == Kind::Seen ? seenKeys : readKeys).str();
  if (!isCausal)
    name += bothSides;
  if (window)
    name += windowPrefix.str() + std::to_string(window);
  return name;
}

std::optional<KeyCount> KeyCount::parse(llvm::StringRef symbol) {
  KeyCount count;
  if (symbol.consume_front(readKeys))
    count.kind = Kind::Read;
  else if (!symbol.consume_front(seenKeys))
    return std::nullopt;
  count.isCausal = !symbol.consume_front(bothSides);
  if (symbol.consume_front(windowPrefix) &&
      (symbol.consumeInteger(10, count.window) || count.window < 1))
    return std::nullopt;
  if (!symbol.empty())
    return std::nullopt;
  return count;
}
