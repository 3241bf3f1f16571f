//===- StepEngine.cpp - Cache, step inputs and logits of one model --------===//

#include "runtime/Llm/StepEngine.h"

#include <algorithm>

using namespace weft::rt;

Result<StepEngine> StepEngine::create(StepRunner &runner, int64_t blockSize) {
  StepLimits limits = runner.getLimits();
  for (int64_t limit : {limits.tokens, limits.sequences, limits.logits,
                        limits.tableWidth, limits.cacheBlocks})
    if (limit < 1)
      return Status::invalid(
          "the session takes no tokens, sequences, logits or cache blocks; "
          "make it with limits of at least 1");
  Result<KvCache> cache = KvCache::create(limits.cacheBlocks, blockSize);
  if (!cache)
    return cache.getStatus();
  return StepEngine(runner, cache.take(), limits);
}

StepEngine::StepEngine(StepRunner &runner, KvCache cache, StepLimits limits)
    : runner(&runner), cache(std::move(cache)), limits(limits),
      builder(limits.hasRopeChoice, limits.leastLogits,
              limits.padTableWidth ? limits.tableWidth : 0, limits.samples),
      vocabularySize(runner.getVocabularySize()) {}

/// Whether somebody reads logits of the piece.
static bool wantsLogits(const SequencePiece &piece) {
  return piece.logits == SequencePiece::Logits::All ||
         (piece.logits == SequencePiece::Logits::Last && !piece.sampling);
}

Status StepEngine::extendAndRun(std::span<const SequencePiece> pieces,
                                bool hasLogits) {
  for (const SequencePiece &piece : pieces)
    if (Status s = cache.append(piece.sequence, int64_t(piece.tokens.size()));
        !s)
      return s;
  if (Status s = builder.build(cache, pieces); !s)
    return s;
  if (!cache.getPendingCopies().empty()) {
    if (Status s = runner->copyBlocks(cache.getPendingCopies()); !s)
      return s;
    cache.clearPendingCopies();
  }
  const size_t rows = builder.getInputs().logitRows.size();
  // Growing again writes to memory; so it stays as large as it has been.
  logits.resize(std::max(logits.size(), rows * vocabularySize));
  ids.resize(limits.samples ? rows : 0);
  return runner->run(
      builder.getInputs(),
      {std::span(logits).first(rows * vocabularySize), ids, hasLogits});
}

Result<StepResults> StepEngine::run(std::span<const SequencePiece> pieces) {
  lengthsBefore.clear();
  for (const SequencePiece &piece : pieces) {
    if (!cache.contains(piece.sequence))
      return Status::notFound("there is no sequence " +
                              std::to_string(piece.sequence) +
                              " in the cache; it was removed or never added");
    lengthsBefore.push_back(cache.getLength(piece.sequence));
  }
  const bool hasLogits = std::ranges::any_of(pieces, wantsLogits);
  if (Status s = extendAndRun(pieces, hasLogits); !s) {
    for (size_t i = 0; i < pieces.size(); ++i)
      if (Status undo = cache.rewind(pieces[i].sequence, lengthsBefore[i]);
          !undo)
        return undo;
    return s;
  }
  assert(cache.verify().isOk());
  StepResults results;
  if (hasLogits)
    results.logits = std::span(logits).first(
        builder.getInputs().logitRows.size() * vocabularySize);
  results.ids = ids;
  results.vocabularySize = vocabularySize;
  return results;
}

StepPacker::StepPacker(const StepEngine &engine, int64_t budget)
    : engine(engine), tokens(std::min(engine.getLimits().tokens, budget)),
      sequences(engine.getLimits().sequences),
      logits(engine.getLimits().logits),
      freeBlocks(engine.getCache().getFreeBlockCount()) {}

int64_t StepPacker::fit(SequenceId id, int64_t wanted,
                        SequencePiece::Logits rows) const {
  if (sequences == 0)
    return 0;
  const int64_t room = engine.getCache().getRoom(id, freeBlocks);
  int64_t count = std::min({wanted, tokens, room});
  if (rows == SequencePiece::Logits::All)
    return std::min(count, logits);
  // A piece that reaches the end needs a row; one that does not stays silent.
  if (rows == SequencePiece::Logits::Last && count == wanted && logits == 0)
    --count;
  return count;
}

void StepPacker::add(const SequencePiece &piece) {
  int64_t count = int64_t(piece.tokens.size());
  tokens -= count;
  --sequences;
  if (piece.logits == SequencePiece::Logits::All)
    logits -= count;
  else if (piece.logits == SequencePiece::Logits::Last)
    --logits;
  freeBlocks -= engine.getCache().countNewBlocks(piece.sequence, count);
  pieces.push_back(piece);
}

void StepPacker::add(SequenceId id, std::span<const int32_t> tokens,
                     bool isLast, const TokenSequence &sequence,
                     Continuation &continuation) {
  SequencePiece piece = {id, tokens, SequencePiece::Logits::None,
                         sequence.ropeChoice};
  if (isLast) {
    continuation.prepareChoice(sequence, engine.getLimits());
    piece.logits = SequencePiece::Logits::Last;
    piece.sampling = continuation.getSampling();
    piece.adjustments = continuation.getAdjustments();
  }
  add(piece);
}
