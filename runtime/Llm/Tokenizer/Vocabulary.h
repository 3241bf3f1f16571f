//===- Vocabulary.h - Token strings and their ids -------------------------===//

#ifndef WEFT_RUNTIME_LLM_TOKENIZER_VOCABULARY_H
#define WEFT_RUNTIME_LLM_TOKENIZER_VOCABULARY_H

#include "runtime/Format/Status.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::rt {

/// Token strings and their ids, both ways. Ids may have gaps.
class Vocabulary {
public:
  /// Ids at or above this are refused, so that a small file cannot ask for a
  /// large table.
  static constexpr int64_t idLimit = 1 << 24;

  Vocabulary() = default;
  Vocabulary(Vocabulary &&) = default;
  Vocabulary &operator=(Vocabulary &&) = default;

  /// Makes room for `count` tokens.
  void reserve(size_t count) { ids.reserve(count); }
  /// Adds a token. Fails when the id is out of range, or when the id or (unless
  /// `allowEqual`, where the later one wins) the string is taken.
  Status add(std::string_view token, int64_t id, bool allowEqual = false);

  std::optional<int32_t> find(std::string_view token) const {
    auto entry = ids.find(token);
    if (entry == ids.end())
      return std::nullopt;
    return entry->second;
  }
  /// The string of an id; nothing for a gap or an id out of range.
  std::optional<std::string_view> get(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= byId.size() || !byId[id].data())
      return std::nullopt;
    return byId[id];
  }
  /// One more than the largest id.
  int32_t size() const { return static_cast<int32_t>(byId.size()); }
  /// Bytes of the longest token.
  size_t longest() const { return longestToken; }
  /// The ids of "<0x00>" ... "<0xFF>"; nothing unless all 256 exist.
  std::optional<std::vector<int32_t>> byteTokens() const;

private:
  std::deque<std::string> storage; ///< Owns the strings; never moves them.
  std::vector<std::string_view> byId;
  std::unordered_map<std::string_view, int32_t> ids;
  size_t longestToken = 0;
};

/// Byte strings and a value for each, for longest and common prefix searches.
class ByteTrie {
public:
  /// One key; the keys must be distinct and not empty.
  struct Entry {
    std::string_view key;
    int32_t value;
  };
  ByteTrie() = default;
  explicit ByteTrie(std::vector<Entry> entries);

  bool empty() const { return nodes.empty(); }

  /// Calls visit(length, value) for every key that `text` starts with,
  /// shortest first.
  template <typename Visit>
  void forEachPrefix(std::string_view text, Visit visit) const {
    if (nodes.empty())
      return;
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<uint8_t>(text[i]));
      if (node == 0)
        return;
      if (nodes[node].value >= 0)
        visit(i + 1, nodes[node].value);
    }
  }

private:
  struct Node {
    uint32_t firstChild = 0; ///< Children lie side by side, by label.
    uint16_t childCount = 0;
    uint8_t label = 0;
    int32_t value = -1;
  };

  /// 0 when there is no such child (the root is nobody's child).
  uint32_t child(uint32_t node, uint8_t label) const {
    const Node &parent = nodes[node];
    uint32_t low = parent.firstChild, high = low + parent.childCount;
    if (parent.childCount == 256)
      return low + label;
    while (low < high) {
      uint32_t middle = (low + high) / 2;
      if (nodes[middle].label < label)
        low = middle + 1;
      else
        high = middle;
    }
    bool found = low < parent.firstChild + parent.childCount &&
                 nodes[low].label == label;
    return found ? low : 0;
  }

  std::vector<Node> nodes;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_TOKENIZER_VOCABULARY_H
