//===- PrefixTree.h - Cache blocks by the tokens that they hold -----------===//
//
// A radix tree over token ids whose digit is a whole block of them: a path from
// the root spells a prefix, and each node is the cache block with the keys and
// values of the last part of it. Sequences that begin alike hold the same
// blocks (RadixAttention; Zheng et al., "SGLang: Efficient execution of
// structured language model programs", NeurIPS 2024).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_PREFIXTREE_H
#define WEFT_RUNTIME_LLM_PREFIXTREE_H

#include "runtime/Llm/BlockPool.h"

#include <span>
#include <unordered_map>
#include <vector>

namespace weft::rt {

/// Which blocks are in the tree and which of them nobody else holds. The tree
/// has one reference of the pool to each of its blocks. Blocks are given by
/// their number in the pool. Not thread-safe.
///
/// Whoever holds a block of the tree holds its ancestors, too, and lets go of
/// them after it. So the block that has been unused for longest has no children
/// in the tree and can be evicted.
class PrefixTree {
public:
  /// The parent of first blocks.
  static constexpr int32_t root = -1;

  PrefixTree(int64_t blockCount, int64_t blockSize)
      : blockSize(blockSize), nodes(blockCount) {}

  bool contains(int32_t block) const { return nodes[block].isMember; }
  int64_t getSize() const { return size; }
  /// Blocks that nobody but the tree holds.
  int64_t getUnusedCount() const { return unused; }

  /// The child of `parent` for these blockSize tokens. `space` tells trees of
  /// equal tokens with different contents apart; it counts at the root only.
  std::optional<int32_t> find(int32_t parent, int64_t space,
                              std::span<const int32_t> tokens) const;

  /// Makes `block`, which is not in the tree, that child. There must be none
  /// yet. It counts as used; the tree's reference is the caller's to add.
  void insert(int32_t parent, int64_t space, std::span<const int32_t> tokens,
              int32_t block);

  /// Says that a block of the tree has no other holder any more, or one again.
  void markUnused(int32_t block);
  void markUsed(int32_t block);

  /// Takes out the block that has been unused for longest; nothing if all are
  /// used. The tree's reference is the caller's to release.
  std::optional<int32_t> evict();

  /// For KvCache::verify: the parent of a block of the tree.
  int32_t getParent(int32_t block) const { return nodes[block].parent; }

private:
  struct Node {
    bool isMember = false, isUnused = false;
    int32_t parent = root;
    int32_t children = 0;
    int32_t before = -1, after = -1; ///< In the list of unused blocks.
    int64_t space = 0;
    uint64_t hash = 0;
    std::vector<int32_t> tokens;
  };

  uint64_t hash(int32_t parent, int64_t space,
                std::span<const int32_t> tokens) const;
  void unlink(int32_t block);

  int64_t blockSize;
  std::vector<Node> nodes; ///< By block.
  /// Children by hash; equality is decided by the tokens themselves.
  std::unordered_multimap<uint64_t, int32_t> children;
  int32_t oldest = -1, newest = -1;
  int64_t size = 0, unused = 0;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_PREFIXTREE_H
