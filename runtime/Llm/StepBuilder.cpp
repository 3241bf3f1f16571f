//===- StepBuilder.cpp - Pack pieces of sequences into one ragged step ----===//

#include "runtime/Llm/StepBuilder.h"

#include <algorithm>
#include <bit>

using namespace weft::rt;

static Status verifyPiece(const KvCache &cache, const SequencePiece &piece) {
  if (piece.tokens.empty())
    return Status::invalid("a step has no tokens for sequence " +
                           std::to_string(piece.sequence));
  if (!cache.contains(piece.sequence))
    return Status::invalid("a step names sequence " +
                           std::to_string(piece.sequence) +
                           ", which is not in the cache");
  if (int64_t(piece.tokens.size()) > cache.getLength(piece.sequence))
    return Status::invalid("a step has " + std::to_string(piece.tokens.size()) +
                           " tokens for sequence " +
                           std::to_string(piece.sequence) +
                           ", whose length in the cache is " +
                           std::to_string(cache.getLength(piece.sequence)));
  return Status::ok();
}

Status StepBuilder::build(const KvCache &cache,
                          std::span<const SequencePiece> pieces) {
  if (pieces.empty())
    return Status::invalid("a step needs at least one sequence");
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (Status s = verifyPiece(cache, pieces[i]); !s)
      return s;
    for (size_t j = 0; j < i; ++j)
      if (pieces[i].sequence == pieces[j].sequence)
        return Status::invalid("a step names sequence " +
                               std::to_string(pieces[i].sequence) + " twice");
  }

  StepInputs &in = inputs;
  for (auto *list :
       {&in.tokens, &in.positions, &in.sequenceIds, &in.slots,
        &in.sequenceStarts, &in.contextLengths, &in.logitRows, &in.ropeChoice})
    list->clear();
  in.tableWidth = 0;
  for (const SequencePiece &piece : pieces)
    in.tableWidth = std::max(in.tableWidth,
                             int64_t(cache.getBlocks(piece.sequence).size()));
  const auto padded = int64_t(std::bit_ceil(uint64_t(in.tableWidth)));
  in.tableWidth = std::max(in.tableWidth, std::min(padded, widestTable));
  // Entries behind a sequence's last block are never read; 0 is a valid block.
  in.blockTable.assign(pieces.size() * in.tableWidth, 0);

  in.sequenceStarts.push_back(0);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const SequencePiece &piece = pieces[i];
    const int64_t length = cache.getLength(piece.sequence);
    const int64_t count = int64_t(piece.tokens.size());
    for (int64_t j = 0; j < count; ++j) {
      const int64_t position = length - count + j;
      const bool last = j + 1 == count;
      if (piece.logits == SequencePiece::Logits::All ||
          (piece.logits == SequencePiece::Logits::Last && last))
        in.logitRows.push_back(int32_t(in.tokens.size()));
      in.tokens.push_back(piece.tokens[j]);
      in.positions.push_back(int32_t(position));
      in.sequenceIds.push_back(int32_t(i));
      in.slots.push_back(cache.getSlot(piece.sequence, position));
      if (hasRopeChoice)
        in.ropeChoice.push_back(piece.ropeChoice);
    }
    in.sequenceStarts.push_back(int32_t(in.tokens.size()));
    in.contextLengths.push_back(int32_t(length));
    std::span<const int32_t> blocks = cache.getBlocks(piece.sequence);
    std::copy(blocks.begin(), blocks.end(),
              in.blockTable.begin() + i * in.tableWidth);
  }
  while (int64_t(in.logitRows.size()) < leastLogits)
    in.logitRows.push_back(int32_t(in.tokens.size()) - 1);
  return Status::ok();
}
