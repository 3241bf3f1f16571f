//===- StepBuilder.h - Pack pieces of sequences into one ragged step ------===//

#ifndef WEFT_RUNTIME_LLM_STEPBUILDER_H
#define WEFT_RUNTIME_LLM_STEPBUILDER_H

#include "runtime/Llm/KvCache.h"
#include "runtime/Llm/StepRunner.h"

namespace weft::rt {

/// The next tokens of one sequence. Their positions are the last
/// `tokens.size()` of the sequence's length in the cache, which has been
/// extended before.
struct SequencePiece {
  enum class Logits : uint8_t { None, Last, All };

  SequenceId sequence = 0;
  std::span<const int32_t> tokens = {};
  Logits logits = Logits::Last;
  int32_t ropeChoice = 0;
  /// How the model chooses the id of the last token's logits; null: it does
  /// not, and the logits are wanted. `adjustments` have different ids.
  const RowSampling *sampling = nullptr;
  std::span<const LogitAdjustment> adjustments = {};
};

/// Fills StepInputs; keeps its memory between steps, so that a decoding loop
/// does not allocate once it runs. Not thread-safe.
class StepBuilder {
public:
  /// See StepLimits. Where fewer than `leastLogits` rows are wanted, the
  /// step's last row is asked for as often as needed, behind the wanted ones.
  /// With `widestTable` other than 0, tables are as wide as the next power of
  /// two, but not wider than that, and adjustments are as many as the next
  /// power of two: those behind the wanted ones name row -1.
  StepBuilder(bool hasRopeChoice, int64_t leastLogits, int64_t widestTable = 0,
              bool samples = false)
      : hasRopeChoice(hasRopeChoice), samples(samples),
        leastLogits(leastLogits), widestTable(widestTable) {}

  /// The rows of a piece's logits are consecutive and in the order of the
  /// pieces. InvalidArgument for an empty step, an empty piece, a sequence
  /// that is not in the cache or appears twice, or more tokens than positions.
  Status build(const KvCache &cache, std::span<const SequencePiece> pieces);

  const StepInputs &getInputs() const { return inputs; }

private:
  void addSampling(const SequencePiece &piece, bool isLast);

  bool hasRopeChoice, samples;
  int64_t leastLogits, widestTable;
  StepInputs inputs;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_STEPBUILDER_H
