//===- KvCache.h - Which cache block holds which positions ----------------===//
//
// The keys and values of all sequences live in one pool of equal blocks of
// blockSize positions (the plan's cache states; docs/architecture.md). This
// class hands the blocks out and knows nothing of their content. Paging after
// Kwon et al., "Efficient memory management for large language model serving
// with PagedAttention" (SOSP 2023).
//
// Sequences share blocks: a fork holds those of its origin, and a sequence that
// begins with tokens that the cache has already holds the blocks that have
// them. A shared block is never written to: whoever appends to a sequence whose
// last block is shared gets a copy of that block.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_KVCACHE_H
#define WEFT_RUNTIME_LLM_KVCACHE_H

#include "runtime/Format/Status.h"
#include "runtime/Llm/BlockPool.h"
#include "runtime/Llm/PrefixTree.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace weft::rt {

/// Names a sequence; never used again after the sequence is removed.
using SequenceId = int64_t;

/// Not thread-safe. Lengths and positions count tokens.
class KvCache {
public:
  /// Both at least 1, their product below 2^31 (slots are i32).
  static Result<KvCache> create(int64_t blockCount, int64_t blockSize);

  /// A new sequence of length 0; takes no block yet.
  SequenceId addSequence();

  /// A new sequence that shares all blocks of `id` and takes none.
  Result<SequenceId> fork(SequenceId id);

  /// Makes room for `count` more positions. LimitExceeded, with nothing
  /// changed, if the pool has too few free blocks. Blocks that only the prefix
  /// tree holds are free: the one that has been unused for longest goes first.
  Status append(SequenceId id, int64_t count);

  /// Shortens the sequence to `length` and lets go of the blocks behind it.
  /// InvalidArgument if it is shorter already.
  Status rewind(SequenceId id, int64_t length);

  /// Lets go of the sequence and its blocks.
  Status removeSequence(SequenceId id);

  /// Gives a sequence of length 0 the blocks that hold a prefix of `tokens`, as
  /// many whole blocks as the prefix tree has; returns its length. Contents
  /// count as equal in equal spaces only.
  int64_t reusePrefix(SequenceId id, int64_t space,
                      std::span<const int32_t> tokens);

  /// Lets other sequences reuse the whole blocks of this one, which hold the
  /// `tokens`, as many as the sequence is long. Where the tree has such a block
  /// already the sequence holds that one from now on. Blocks from the first one
  /// on that is new to the tree and held by a fork stay out of it.
  void sharePrefix(SequenceId id, int64_t space,
                   std::span<const int32_t> tokens);

  /// Copies that must be made, in this order, before the next step writes.
  /// Their sources stay as they are until then.
  const std::vector<BlockCopy> &getPendingCopies() const { return copies; }
  /// The pending copies are made.
  void clearPendingCopies();

  bool contains(SequenceId id) const { return sequences.contains(id); }
  /// The rest need an id that `contains`.
  int64_t getLength(SequenceId id) const { return sequences.at(id).length; }
  /// Blocks in the order of the positions they hold.
  std::span<const int32_t> getBlocks(SequenceId id) const {
    return sequences.at(id).blocks;
  }
  /// Where the key and value of `position` (below the length) go:
  /// block x blockSize + offset in the block.
  int32_t getSlot(SequenceId id, int64_t position) const;
  /// How many more positions `append` could give this sequence now.
  int64_t getRoom(SequenceId id) const {
    return getRoom(id, getFreeBlockCount());
  }
  /// The same with another number of free blocks.
  int64_t getRoom(SequenceId id, int64_t freeBlocks) const;
  /// Free blocks that `append` of `count` positions takes.
  int64_t countNewBlocks(SequenceId id, int64_t count) const;
  /// Blocks that `length` positions need.
  int64_t countBlocks(int64_t length) const {
    return (length + blockSize - 1) / blockSize;
  }

  int64_t getBlockSize() const { return blockSize; }
  int64_t getBlockCount() const { return pool.getCount(); }
  /// That `append` can hand out.
  int64_t getFreeBlockCount() const {
    return pool.getFreeCount() + tree.getUnusedCount();
  }
  /// Blocks of which the prefix tree knows the tokens.
  int64_t getSharedBlockCount() const { return tree.getSize(); }

  /// Checks that each block has as many references as it has holders, that
  /// each sequence has exactly the blocks its length needs, and the order of
  /// the prefix tree. Internal if not; for debug builds, tests and fuzzing.
  Status verify() const;

private:
  struct Sequence {
    int64_t length = 0;
    std::vector<int32_t> blocks;
    /// Its first blocks that are in the prefix tree.
    int64_t sharedBlocks = 0;
  };

  KvCache(int64_t blockCount, int64_t blockSize)
      : blockSize(blockSize), pool(blockCount), tree(blockCount, blockSize) {}

  Result<Sequence *> find(SequenceId id);
  bool mustCopyLast(const Sequence &sequence) const;
  int32_t takeBlock();
  void hold(int32_t block);
  void letGo(int32_t block);
  void shorten(Sequence &sequence, int64_t keptBlocks);

  int64_t blockSize;
  BlockPool pool;
  PrefixTree tree;
  /// Each holds a reference to its source.
  std::vector<BlockCopy> copies;
  std::map<SequenceId, Sequence> sequences;
  SequenceId nextId = 0;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_KVCACHE_H
