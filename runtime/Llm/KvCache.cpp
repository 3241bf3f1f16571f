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

KvCache::KvCache(int64_t blockCount, int64_t blockSize)
    : blockCount(blockCount), blockSize(blockSize) {
  freeBlocks.reserve(blockCount);
  for (int64_t block = blockCount; block-- > 0;)
    freeBlocks.push_back(int32_t(block));
}

Result<KvCache::Sequence *> KvCache::find(SequenceId id) {
  auto it = sequences.find(id);
  if (it == sequences.end())
    return Status::notFound("there is no sequence " + std::to_string(id) +
                            " in the cache; it was removed or never added");
  return &it->second;
}

SequenceId KvCache::addSequence() {
  sequences.try_emplace(nextId);
  return nextId++;
}

Status KvCache::append(SequenceId id, int64_t count) {
  Result<Sequence *> found = find(id);
  if (!found)
    return found.getStatus();
  Sequence &sequence = **found;
  if (count < 0 || count > blockCount * blockSize)
    return Status::limit("cannot append " + std::to_string(count) +
                         " positions: the cache holds " +
                         std::to_string(blockCount * blockSize));
  int64_t needed =
      blocksFor(sequence.length + count) - int64_t(sequence.blocks.size());
  if (needed > getFreeBlockCount())
    return Status::limit(
        "the cache has " + std::to_string(getFreeBlockCount()) + " of " +
        std::to_string(blockCount) + " blocks free and " +
        std::to_string(needed) +
        " are needed; remove sequences or give the session more cache");
  for (; needed > 0; --needed) {
    sequence.blocks.push_back(freeBlocks.back());
    freeBlocks.pop_back();
  }
  sequence.length += count;
  return Status::ok();
}

void KvCache::release(Sequence &sequence, int64_t keptBlocks) {
  while (int64_t(sequence.blocks.size()) > keptBlocks) {
    freeBlocks.push_back(sequence.blocks.back());
    sequence.blocks.pop_back();
  }
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
  release(sequence, blocksFor(length));
  sequence.length = length;
  return Status::ok();
}

Status KvCache::removeSequence(SequenceId id) {
  Result<Sequence *> found = find(id);
  if (!found)
    return found.getStatus();
  release(**found, 0);
  sequences.erase(id);
  return Status::ok();
}

int32_t KvCache::getSlot(SequenceId id, int64_t position) const {
  const Sequence &sequence = sequences.at(id);
  assert(position >= 0 && position < sequence.length);
  return int32_t(sequence.blocks[position / blockSize] * blockSize +
                 position % blockSize);
}

int64_t KvCache::getRoom(SequenceId id) const {
  const Sequence &sequence = sequences.at(id);
  return (int64_t(sequence.blocks.size()) + getFreeBlockCount()) * blockSize -
         sequence.length;
}

Status KvCache::verify() const {
  std::vector<uint8_t> owners(blockCount, 0);
  auto claim = [&](int32_t block) {
    return block >= 0 && block < blockCount && owners[block]++ == 0;
  };
  bool sound = std::all_of(freeBlocks.begin(), freeBlocks.end(), claim);
  for (const auto &[id, sequence] : sequences)
    sound = sound &&
            int64_t(sequence.blocks.size()) == blocksFor(sequence.length) &&
            std::all_of(sequence.blocks.begin(), sequence.blocks.end(), claim);
  sound = sound && std::count(owners.begin(), owners.end(), 1) == blockCount;
  return sound ? Status::ok()
               : Status::internal("the cache's block lists contradict each "
                                  "other: a block is lost or owned twice");
}
