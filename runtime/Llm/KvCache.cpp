//===- KvCache.cpp - Which cache block holds which positions --------------===//

#include "runtime/Llm/KvCache.h"

#include <algorithm>

using namespace weft::rt;

Result<KvCache> KvCache::create(int64_t blockCount, int64_t blockSize) {
  if (blockCount < 1 || blockSize < 1 || blockCount > INT32_MAX / blockSize)
    return Status::invalid(
        "a cache of " + std::to_string(blockCount) + " blocks of " +
        std::to_string(blockSize) +
        " positions cannot be made; both must be positive and the product "
        "below 2^31");
  return KvCache(blockCount, blockSize);
}

Result<KvCache::Sequence *> KvCache::find(SequenceId id) {
  auto it = sequences.find(id);
  if (it == sequences.end())
    return Status::notFound("there is no sequence " + std::to_string(id) +
                            " in the cache; it was removed or never added");
  return &it->second;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// A free block; there must be one.
int32_t KvCache::takeBlock() {
  if (pool.getFreeCount() == 0) {
    std::optional<int32_t> evicted = tree.evict();
    assert(evicted && "more blocks are taken than are free");
    pool.release(*evicted);
  }
  return *pool.allocate();
}

/// One holder more. The tree's own reference does not make a block used.
void KvCache::hold(int32_t block) {
  if (tree.contains(block) && pool.getReferences(block) == 1)
    tree.markUsed(block);
  pool.retain(block);
}

void KvCache::letGo(int32_t block) {
  const uint32_t left = pool.release(block);
  if (left == 1 && tree.contains(block))
    tree.markUnused(block);
  if (left > 0 || copies.empty())
    return;
  // The copy would go to a block that somebody else may have by then.
  auto stale = std::ranges::find(copies, block, &BlockCopy::to);
  if (stale == copies.end())
    return;
  const int32_t source = stale->from;
  copies.erase(stale);
  letGo(source);
}

/// Lets go of blocks from the last one on, as the prefix tree wants it.
void KvCache::shorten(Sequence &sequence, int64_t keptBlocks) {
  while (int64_t(sequence.blocks.size()) > keptBlocks) {
    const int32_t block = sequence.blocks.back();
    sequence.blocks.pop_back();
    letGo(block);
  }
  sequence.sharedBlocks = std::min(sequence.sharedBlocks, keptBlocks);
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

SequenceId KvCache::addSequence() {
  sequences.try_emplace(nextId);
  return nextId++;
}

Result<SequenceId> KvCache::fork(SequenceId id) {
  Result<Sequence *> found = find(id);
  if (!found)
    return found.getStatus();
  for (int32_t block : (*found)->blocks)
    hold(block);
  sequences.emplace(nextId, **found);
  return nextId++;
}

/// Whether the next position lies in a block that others hold, too.
bool KvCache::mustCopyLast(const Sequence &sequence) const {
  return sequence.length % blockSize != 0 &&
         pool.getReferences(sequence.blocks.back()) > 1;
}

int64_t KvCache::countNewBlocks(SequenceId id, int64_t count) const {
  const Sequence &sequence = sequences.at(id);
  return countBlocks(sequence.length + count) -
         int64_t(sequence.blocks.size()) +
         (count > 0 && mustCopyLast(sequence) ? 1 : 0);
}

int64_t KvCache::getRoom(SequenceId id, int64_t freeBlocks) const {
  const Sequence &sequence = sequences.at(id);
  if (mustCopyLast(sequence) && freeBlocks-- == 0)
    return 0;
  return (int64_t(sequence.blocks.size()) + freeBlocks) * blockSize -
         sequence.length;
}

Status KvCache::append(SequenceId id, int64_t count) {
  Result<Sequence *> found = find(id);
  if (!found)
    return found.getStatus();
  Sequence &sequence = **found;
  if (count < 0 || count > getBlockCount() * blockSize)
    return Status::limit("cannot append " + std::to_string(count) +
                         " positions: the cache holds " +
                         std::to_string(getBlockCount() * blockSize));
  const int64_t needed = countNewBlocks(id, count);
  if (needed > getFreeBlockCount())
    return Status::limit(
        "the cache has " + std::to_string(getFreeBlockCount()) + " of " +
        std::to_string(getBlockCount()) + " blocks free and " +
        std::to_string(needed) +
        " are needed; remove sequences or give the session more cache");
  if (count > 0 && mustCopyLast(sequence)) {
    // The reference that the sequence had keeps the source as it is.
    BlockCopy copy = {sequence.blocks.back(), takeBlock()};
    copies.push_back(copy);
    sequence.blocks.back() = copy.to;
    sequence.sharedBlocks =
        std::min(sequence.sharedBlocks, int64_t(sequence.blocks.size()) - 1);
  }
  sequence.length += count;
  while (int64_t(sequence.blocks.size()) < countBlocks(sequence.length))
    sequence.blocks.push_back(takeBlock());
  return Status::ok();
}

Status KvCache::rewind(SequenceId id, int64_t length) {
  Result<Sequence *> found = find(id);
  if (!found)
    return found.getStatus();
  Sequence &sequence = **found;
  if (length < 0 || length > sequence.length)
    return Status::invalid("cannot rewind a sequence of " +
                           std::to_string(sequence.length) + " positions to " +
                           std::to_string(length));
  shorten(sequence, countBlocks(length));
  sequence.length = length;
  return Status::ok();
}

Status KvCache::removeSequence(SequenceId id) {
  Result<Sequence *> found = find(id);
  if (!found)
    return found.getStatus();
  shorten(**found, 0);
  sequences.erase(id);
  return Status::ok();
}

void KvCache::clearPendingCopies() {
  std::vector<BlockCopy> made;
  made.swap(copies);
  for (const BlockCopy &copy : made)
    letGo(copy.from);
}

int32_t KvCache::getSlot(SequenceId id, int64_t position) const {
  const Sequence &sequence = sequences.at(id);
  assert(position >= 0 && position < sequence.length);
  return int32_t(sequence.blocks[position / blockSize] * blockSize +
                 position % blockSize);
}

//===----------------------------------------------------------------------===//
// Prefixes
//===----------------------------------------------------------------------===//

int64_t KvCache::reusePrefix(SequenceId id, int64_t space,
                             std::span<const int32_t> tokens) {
  Sequence &sequence = sequences.at(id);
  assert(sequence.length == 0 && "only an empty sequence takes a prefix");
  int32_t parent = PrefixTree::root;
  while (sequence.length + blockSize <= int64_t(tokens.size())) {
    std::optional<int32_t> block =
        tree.find(parent, space, tokens.subspan(sequence.length, blockSize));
    if (!block)
      break;
    hold(*block);
    sequence.blocks.push_back(*block);
    sequence.length += blockSize;
    parent = *block;
  }
  sequence.sharedBlocks = int64_t(sequence.blocks.size());
  return sequence.length;
}

void KvCache::sharePrefix(SequenceId id, int64_t space,
                          std::span<const int32_t> tokens) {
  Sequence &sequence = sequences.at(id);
  assert(int64_t(tokens.size()) == sequence.length);
  int64_t &next = sequence.sharedBlocks;
  for (; (next + 1) * blockSize <= sequence.length; ++next) {
    const int32_t parent =
        next == 0 ? PrefixTree::root : sequence.blocks[next - 1];
    const std::span<const int32_t> part =
        tokens.subspan(next * blockSize, blockSize);
    int32_t &block = sequence.blocks[next];
    if (std::optional<int32_t> known = tree.find(parent, space, part)) {
      hold(*known);
      letGo(block);
      block = *known;
      continue;
    }
    // A fork that holds the block may hold others than these before it, and a
    // block of the tree has no holder who does not hold its ancestors.
    if (pool.getReferences(block) > 1)
      break;
    tree.insert(parent, space, part, block);
    pool.retain(block);
  }
}

//===----------------------------------------------------------------------===//
// Consistency
//===----------------------------------------------------------------------===//

Status KvCache::verify() const {
  std::vector<uint32_t> holders(getBlockCount(), 0);
  bool sound = true;
  for (const auto &[id, sequence] : sequences) {
    sound = sound &&
            int64_t(sequence.blocks.size()) == countBlocks(sequence.length) &&
            sequence.sharedBlocks <= int64_t(sequence.blocks.size());
    for (int32_t block : sequence.blocks)
      ++holders[block];
    // Ancestors of what a sequence holds are what it holds before.
    for (int64_t i = 0; sound && i < sequence.sharedBlocks; ++i)
      sound = tree.contains(sequence.blocks[i]) &&
              tree.getParent(sequence.blocks[i]) ==
                  (i == 0 ? PrefixTree::root : sequence.blocks[i - 1]);
  }
  for (const BlockCopy &copy : copies)
    ++holders[copy.from];
  int64_t unused = 0, members = 0, free = 0;
  for (int32_t block = 0; block < int32_t(holders.size()); ++block) {
    const bool isMember = tree.contains(block);
    sound = sound && pool.getReferences(block) == holders[block] + isMember;
    members += isMember;
    unused += isMember && holders[block] == 0;
    free += !isMember && holders[block] == 0;
  }
  sound = sound && members == tree.getSize() &&
          unused == tree.getUnusedCount() && free == pool.getFreeCount() &&
          std::ranges::all_of(pool.getFree(), [&](int32_t block) {
            return pool.getReferences(block) == 0;
          });
  return sound ? Status::ok()
               : Status::internal("the cache's block lists contradict each "
                                  "other: a block is lost or has a holder too "
                                  "many");
}
