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

/// How the id of the row of logits that comes next is chosen.
void StepBuilder::addSampling(const SequencePiece &piece, bool isLast) {
  StepInputs &in = inputs;
  const bool isUsed = isLast && piece.sampling;
  const RowSampling row = isUsed ? *piece.sampling : RowSampling();
  in.samplingCounts.insert(in.samplingCounts.end(), {row.topK, row.ids});
  in.samplingOptions.insert(in.samplingOptions.end(),
                            {row.temperature, row.topP, row.minP, row.uniform});
  if (!isUsed)
    return;
  const auto number = int32_t(in.logitRows.size());
  for (const LogitAdjustment &adjustment : piece.adjustments) {
    in.adjustmentPlaces.insert(in.adjustmentPlaces.end(),
                               {number, adjustment.id});
    in.adjustmentValues.insert(in.adjustmentValues.end(),
                               {adjustment.repetition, adjustment.bias});
  }
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
  for (auto *list : {&in.tokens, &in.positions, &in.sequenceIds, &in.slots,
                     &in.sequenceStarts, &in.contextLengths, &in.logitRows,
                     &in.ropeChoice, &in.samplingCounts, &in.adjustmentPlaces})
    list->clear();
  in.samplingOptions.clear();
  in.adjustmentValues.clear();
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
          (piece.logits == SequencePiece::Logits::Last && last)) {
        if (samples)
          addSampling(piece, last);
        in.logitRows.push_back(int32_t(in.tokens.size()));
      }
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
  while (int64_t(in.logitRows.size()) < leastLogits) {
    if (samples)
      addSampling({}, /*isLast=*/false);
    in.logitRows.push_back(int32_t(in.tokens.size()) - 1);
  }
  if (widestTable != 0 && !in.adjustmentPlaces.empty()) {
    const size_t count = std::bit_ceil(in.adjustmentPlaces.size() / 2);
    in.adjustmentPlaces.resize(2 * count, -1);
    in.adjustmentValues.resize(2 * count, 1.0f);
  }
  return Status::ok();
}
