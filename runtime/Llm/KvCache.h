//===- KvCache.h - Which cache block holds which positions ----------------===//
//
// The keys and values of all sequences live in one pool of equal blocks of
// blockSize positions (the plan's cache states; docs/architecture.md). This
// class hands the blocks out and knows nothing of their content. Paging after
// Kwon et al., "Efficient memory management for large language model serving
// with PagedAttention" (SOSP 2023).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_KVCACHE_H
#define WEFT_RUNTIME_LLM_KVCACHE_H

#include "runtime/Format/Status.h"

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

  /// Makes room for `count` more positions. LimitExceeded, with nothing
  /// changed, if the pool has too few free blocks.
  Status append(SequenceId id, int64_t count);

  /// Shortens the sequence to `length` and frees the blocks behind it.
  /// InvalidArgument if it is shorter already.
  Status rewind(SequenceId id, int64_t length);

  /// Frees the sequence and its blocks.
  Status removeSequence(SequenceId id);

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
  int64_t getRoom(SequenceId id) const;

  int64_t getBlockSize() const { return blockSize; }
  int64_t getBlockCount() const { return blockCount; }
  int64_t getFreeBlockCount() const { return int64_t(freeBlocks.size()); }

  /// Checks that every block is either free or in exactly one sequence and
  /// that each sequence has exactly the blocks its length needs. Internal if
  /// not; for debug builds, tests and fuzzing.
  Status verify() const;

private:
  struct Sequence {
    int64_t length = 0;
    std::vector<int32_t> blocks;
  };

  KvCache(int64_t blockCount, int64_t blockSize);
  int64_t blocksFor(int64_t length) const {
    return (length + blockSize - 1) / blockSize;
  }
  Result<Sequence *> find(SequenceId id);
  void release(Sequence &sequence, int64_t keptBlocks);

  int64_t blockCount, blockSize;
  std::vector<int32_t> freeBlocks; ///< A stack; the lowest ids on top at first.
  std::map<SequenceId, Sequence> sequences;
  SequenceId nextId = 0;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_KVCACHE_H
