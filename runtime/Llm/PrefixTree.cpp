//===- PrefixTree.cpp - Cache blocks by the tokens that they hold ---------===//

#include "runtime/Llm/PrefixTree.h"

#include <algorithm>

using namespace weft::rt;

/// The finaliser of MurmurHash3 (Appleby), which spreads all bits.
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCD;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53;
  return x ^ (x >> 33);
}

uint64_t PrefixTree::hash(int32_t parent, int64_t space,
                          std::span<const int32_t> tokens) const {
  uint64_t value =
      parent == root ? mix(uint64_t(space) * 2 + 1) : mix(uint64_t(parent) * 2);
  for (int32_t token : tokens)
    value = mix(value ^ uint32_t(token));
  return value;
}

std::optional<int32_t> PrefixTree::find(int32_t parent, int64_t space,
                                        std::span<const int32_t> tokens) const {
  assert(int64_t(tokens.size()) == blockSize);
  auto [begin, end] = children.equal_range(hash(parent, space, tokens));
  for (auto it = begin; it != end; ++it) {
    const Node &node = nodes[it->second];
    if (node.parent == parent && (parent != root || node.space == space) &&
        std::ranges::equal(node.tokens, tokens))
      return it->second;
  }
  return std::nullopt;
}

void PrefixTree::insert(int32_t parent, int64_t space,
                        std::span<const int32_t> tokens, int32_t block) {
  assert(!contains(block) && !find(parent, space, tokens));
  assert(parent == root || contains(parent));
  Node &node = nodes[block];
  node.isMember = true;
  node.parent = parent;
  node.space = space;
  node.tokens.assign(tokens.begin(), tokens.end());
  node.hash = hash(parent, space, tokens);
  children.emplace(node.hash, block);
  if (parent != root)
    ++nodes[parent].children;
  ++size;
}

void PrefixTree::markUnused(int32_t block) {
  Node &node = nodes[block];
  assert(node.isMember && !node.isUnused);
  node.isUnused = true;
  node.before = newest;
  node.after = -1;
  (newest < 0 ? oldest : nodes[newest].after) = block;
  newest = block;
  ++unused;
}

void PrefixTree::unlink(int32_t block) {
  Node &node = nodes[block];
  (node.before < 0 ? oldest : nodes[node.before].after) = node.after;
  (node.after < 0 ? newest : nodes[node.after].before) = node.before;
  node.isUnused = false;
  --unused;
}

void PrefixTree::markUsed(int32_t block) {
  assert(nodes[block].isMember && nodes[block].isUnused);
  unlink(block);
}

std::optional<int32_t> PrefixTree::evict() {
  if (oldest < 0)
    return std::nullopt;
  const int32_t block = oldest;
  Node &node = nodes[block];
  assert(node.children == 0 && "a used block has an ancestor that is not");
  unlink(block);
  if (node.parent != root)
    --nodes[node.parent].children;
  auto [begin, end] = children.equal_range(node.hash);
  children.erase(std::find_if(
      begin, end, [&](const auto &entry) { return entry.second == block; }));
  node.isMember = false;
  --size;
  return block;
}
