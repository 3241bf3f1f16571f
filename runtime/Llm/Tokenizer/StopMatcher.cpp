//===- StopMatcher.cpp - Ends a text stream at stop strings ---------------===//

#include "runtime/Llm/Tokenizer/StopMatcher.h"

#include <algorithm>

namespace weft::rt {

std::optional<uint32_t> StopMatcher::child(uint32_t node, uint8_t label) const {
  const auto &children = nodes[node].children;
  auto entry = std::lower_bound(children.begin(), children.end(),
                                std::pair<uint8_t, uint32_t>(label, 0));
  if (entry == children.end() || entry->first != label)
    return std::nullopt;
  return entry->second;
}

StopMatcher::StopMatcher(const std::vector<std::string> &stops) : nodes(1) {
  for (size_t i = 0; i < stops.size(); ++i) {
    uint32_t node = 0;
    for (char c : stops[i]) {
      auto label = static_cast<uint8_t>(c);
      if (auto next = child(node, label)) {
        node = *next;
        continue;
      }
      auto added = static_cast<uint32_t>(nodes.size());
      nodes.emplace_back().depth = nodes[node].depth + 1;
      auto &children = nodes[node].children;
      children.insert(std::lower_bound(children.begin(), children.end(),
                                       std::pair<uint8_t, uint32_t>(label, 0)),
                      {label, added});
      node = added;
    }
    if (node != 0 && nodes[node].stopLength == 0) {
      nodes[node].stopLength = nodes[node].depth;
      nodes[node].stop = i;
    }
  }
  // Fallbacks point to shorter strings, so breadth first they are known.
  std::vector<uint32_t> order = {0};
  for (size_t i = 0; i < order.size(); ++i) {
    uint32_t parent = order[i];
    for (auto [label, node] : nodes[parent].children) {
      order.push_back(node);
      uint32_t fallback = 0;
      for (uint32_t at = parent; at != 0;) {
        at = nodes[at].fallback;
        if (auto next = child(at, label)) {
          fallback = *next;
          break;
        }
      }
      nodes[node].fallback = fallback;
      if (nodes[node].stopLength == 0) {
        nodes[node].stopLength = nodes[fallback].stopLength;
        nodes[node].stop = nodes[fallback].stop;
      }
    }
  }
}

std::optional<size_t> StopMatcher::push(std::string_view text,
                                        std::string &out) {
  if (found)
    return found;
  held += text;
  size_t start = held.size() - text.size();
  for (size_t i = start; i < held.size(); ++i) {
    auto label = static_cast<uint8_t>(held[i]);
    auto next = child(current, label);
    while (!next && current != 0) {
      current = nodes[current].fallback;
      next = child(current, label);
    }
    current = next.value_or(0);
    if (uint32_t length = nodes[current].stopLength) {
      out.append(held, heldBegin, i + 1 - length - heldBegin);
      held.clear();
      heldBegin = 0;
      found = nodes[current].stop;
      return found;
    }
  }
  // The path to the current node is all that can still become a stop string.
  size_t keep = held.size() - nodes[current].depth;
  out.append(held, heldBegin, keep - heldBegin);
  heldBegin = keep;
  // Moving the rest to the front only now and then keeps this linear.
  if (heldBegin >= held.size() - heldBegin) {
    held.erase(0, heldBegin);
    heldBegin = 0;
  }
  return std::nullopt;
}

void StopMatcher::finish(std::string &out) {
  out.append(held, heldBegin);
  held.clear();
  heldBegin = 0;
  current = 0;
}

} // namespace weft::rt
