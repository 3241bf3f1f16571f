//===- Vocabulary.cpp - Token strings and their ids -----------------------===//

#include "runtime/Llm/Tokenizer/Vocabulary.h"

#include <algorithm>

namespace weft::rt {

Status Vocabulary::add(std::string_view token, int64_t id, bool allowEqual) {
  if (id < 0 || id >= idLimit)
    return Status::corrupt("token \"" + std::string(token) + "\" has id " +
                           std::to_string(id) + "; ids must be from 0 to " +
                           std::to_string(idLimit - 1));
  auto index = static_cast<size_t>(id);
  if (index >= byId.size())
    byId.resize(index + 1);
  if (byId[index].data())
    return Status::corrupt("tokens \"" + std::string(byId[index]) +
                           "\" and \"" + std::string(token) +
                           "\" have the same id " + std::to_string(id));
  std::string_view stored = storage.emplace_back(token);
  byId[index] = stored;
  longestToken = std::max(longestToken, token.size());
  auto [entry, isNew] = ids.try_emplace(stored, static_cast<int32_t>(id));
  if (isNew)
    return Status::ok();
  if (!allowEqual)
    return Status::corrupt("token \"" + std::string(token) +
                           "\" has two ids, " + std::to_string(entry->second) +
                           " and " + std::to_string(id));
  entry->second = static_cast<int32_t>(id);
  return Status::ok();
}

std::optional<std::vector<int32_t>> Vocabulary::byteTokens() const {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::vector<int32_t> result;
  for (int b = 0; b < 256; ++b) {
    std::string name = {'<', '0', 'x', digits[b >> 4], digits[b & 15], '>'};
    auto id = find(name);
    if (!id)
      return std::nullopt;
    result.push_back(*id);
  }
  return result;
}

ByteTrie::ByteTrie(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.key < b.key; });
  // Keys with a common prefix of `depth` bytes are a range; each node is made
  // from its range, breadth first, so that siblings lie side by side.
  struct Range {
    size_t begin, end, depth;
  };
  std::vector<Range> ranges = {{0, entries.size(), 0}};
  nodes.emplace_back();
  for (size_t n = 0; n < nodes.size(); ++n) {
    auto [begin, end, depth] = ranges[n];
    if (begin < end && entries[begin].key.size() == depth)
      nodes[n].value = entries[begin++].value;
    nodes[n].firstChild = static_cast<uint32_t>(nodes.size());
    while (begin < end) {
      char label = entries[begin].key[depth];
      size_t stop = begin;
      while (stop < end && entries[stop].key[depth] == label)
        ++stop;
      Node node;
      node.label = static_cast<uint8_t>(label);
      nodes.push_back(node);
      ranges.push_back({begin, stop, depth + 1});
      ++nodes[n].childCount;
      begin = stop;
    }
  }
}

} // namespace weft::rt
