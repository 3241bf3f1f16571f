//===- StopMatcher.h - Ends a text stream at stop strings -----------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_STOPMATCHER_H
#define WEFT_RUNTIME_LLM_TOKENIZER_STOPMATCHER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::rt {

/// Looks for the first of several stop strings in a text that arrives in
/// pieces. Text is given out as soon as it can no longer be part of a stop
/// string, and never any part of one. The stop that ends first wins; of those
/// that end at the same byte the longest (which begins first).
/// Where stop strings and texts are valid UTF-8, so is what is given out.
/// An Aho-Corasick automaton: time linear in the text, whatever the strings.
class StopMatcher {
public:
  /// Empty strings are ignored: they would stop every text at once.
  explicit StopMatcher(const std::vector<std::string> &stops);

  /// Takes more text and appends what may be given out to `out`. Returns the
  /// index of the stop string when one is complete; what comes before it has
  /// been given out, and further calls take nothing and return the same.
  std::optional<size_t> push(std::string_view text, std::string &out);
  /// The text ends: appends what was held as a possible start of a stop.
  void finish(std::string &out);

private:
  struct Node {
    std::vector<std::pair<uint8_t, uint32_t>> children; ///< Sorted by label.
    uint32_t fallback = 0; ///< Longest proper suffix that is in the trie.
    uint32_t depth = 0;
    uint32_t stopLength = 0; ///< Longest stop string that ends here, or 0.
    size_t stop = 0;
  };
  std::optional<uint32_t> child(uint32_t node, uint8_t label) const;

  std::vector<Node> nodes;
  uint32_t current = 0;
  std::string held; ///< From heldBegin on: the bytes of the path to `current`.
  size_t heldBegin = 0;
  std::optional<size_t> found;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_STOPMATCHER_H
