//===- BlockPool.h - Cache blocks with reference counts -------------------===//

#ifndef WEFT_RUNTIME_LLM_BLOCKPOOL_H
#define WEFT_RUNTIME_LLM_BLOCKPOOL_H

#include <cassert>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::rt {

/// The content of block `to` becomes that of block `from`, in all states.
struct BlockCopy {
  int32_t from = 0, to = 0;

  bool operator==(const BlockCopy &) const = default;
};

/// Hands out the blocks 0 to count - 1. A block with one reference belongs to
/// its holder, who may write to it; one with more is shared and only read. Not
/// thread-safe.
class BlockPool {
public:
  explicit BlockPool(int64_t count) : references(count, 0) {
    free.reserve(count);
    for (int64_t block = count; block-- > 0;)
      free.push_back(int32_t(block));
  }

  int64_t getCount() const { return int64_t(references.size()); }
  int64_t getFreeCount() const { return int64_t(free.size()); }
  /// 0: the block is free.
  uint32_t getReferences(int32_t block) const { return references[block]; }

  /// A free block with one reference; nothing if there is none.
  std::optional<int32_t> allocate() {
    if (free.empty())
      return std::nullopt;
    int32_t block = free.back();
    free.pop_back();
    references[block] = 1;
    return block;
  }

  /// One reference more to a block that is not free.
  void retain(int32_t block) {
    assert(references[block] > 0 && "a free block has no holder to share it");
    ++references[block];
  }

  /// One reference less; returns those that are left. Without any the block is
  /// free.
  uint32_t release(int32_t block) {
    assert(references[block] > 0 && "a block is released once too often");
    if (--references[block] == 0)
      free.push_back(block);
    return references[block];
  }

  /// The blocks that are free, in no order that means something.
  const std::vector<int32_t> &getFree() const { return free; }

private:
  std::vector<uint32_t> references;
  std::vector<int32_t> free; ///< A stack; the lowest ids on top at first.
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_BLOCKPOOL_H
