//===- StepEngine.h - Cache, step inputs and logits of one model ----------===//

#ifndef WEFT_RUNTIME_LLM_STEPENGINE_H
#define WEFT_RUNTIME_LLM_STEPENGINE_H

#include "runtime/Llm/Continuation.h"
#include "runtime/Llm/KvCache.h"
#include "runtime/Llm/StepBuilder.h"
#include "runtime/Llm/StepRunner.h"

#include <span>
#include <vector>

namespace weft::rt {

/// What a step has computed, valid until the next one.
struct StepResults {
  std::span<const float> logits; ///< [rows, vocabulary]; empty if not wanted.
  /// [rows], empty if the model chooses no ids; see StepOutputs.
  std::span<const int32_t> ids;
  int64_t vocabularySize = 0;

  /// Of one row; nothing and 0 where there is none.
  std::span<const float> getLogits(size_t row) const {
    return logits.empty()
               ? logits
               : logits.subspan(row * vocabularySize, vocabularySize);
  }
  int32_t getChoice(size_t row) const { return ids.empty() ? 0 : ids[row]; }
};

/// Runs steps as transactions: the cache is extended, the step runs, and if
/// anything fails the cache's lengths are what they were before. Not
/// thread-safe.
class StepEngine {
public:
  /// `runner` must outlive the engine.
  static Result<StepEngine> create(StepRunner &runner, int64_t blockSize);

  /// Extends the sequences of `pieces` by their tokens and runs the step.
  /// Logits are wanted unless the model chooses the ids of all rows.
  Result<StepResults> run(std::span<const SequencePiece> pieces);

  KvCache &getCache() { return cache; }
  const KvCache &getCache() const { return cache; }
  const StepLimits &getLimits() const { return limits; }
  int64_t getVocabularySize() const { return vocabularySize; }

private:
  StepEngine(StepRunner &runner, KvCache cache, StepLimits limits);

  Status extendAndRun(std::span<const SequencePiece> pieces, bool hasLogits);

  StepRunner *runner;
  KvCache cache;
  StepLimits limits;
  StepBuilder builder;
  int64_t vocabularySize;
  std::vector<float> logits;
  std::vector<int32_t> ids;
  std::vector<int64_t> lengthsBefore;
};

/// Fills one step with pieces in order until a limit is reached.
class StepPacker {
public:
  /// Takes at most `budget` tokens, and no more than the step's limit.
  explicit StepPacker(const StepEngine &engine, int64_t budget = INT64_MAX);

  /// How many of `wanted` tokens of a sequence still fit, 0 if none: limited
  /// by the tokens, sequences, logit rows and free cache blocks that are left.
  /// `logits` is what the piece asks for once all wanted tokens fit (Last) or
  /// for every token (All).
  int64_t fit(SequenceId id, int64_t wanted,
              SequencePiece::Logits logits) const;

  /// Takes a piece whose size `fit` allowed.
  void add(const SequencePiece &piece);
  /// Takes the next tokens of a text; `isLast`: they are all that is known, so
  /// that the next id is chosen behind them.
  void add(SequenceId id, std::span<const int32_t> tokens, bool isLast,
           const TokenSequence &sequence, Continuation &continuation);
  const std::vector<SequencePiece> &getPieces() const { return pieces; }

private:
  const StepEngine &engine;
  int64_t tokens, sequences, logits, freeBlocks;
  std::vector<SequencePiece> pieces;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_STEPENGINE_H
