//===- StepRunner.h - One ragged step of a decoder ------------------------===//
//
// The boundary between the generation loop and whatever computes logits: a
// compiled plan (SessionRunner) or a fake model in tests.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_STEPRUNNER_H
#define WEFT_RUNTIME_LLM_STEPRUNNER_H

#include "runtime/Format/Plan.h"
#include "runtime/Format/Status.h"
#include "runtime/Llm/BlockPool.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::rt {

/// The inputs of the entry `step` as docs/architecture.md defines them.
struct StepInputs {
  std::vector<int32_t> tokens, positions, sequenceIds, slots; ///< [tokens]
  std::vector<int32_t> sequenceStarts; ///< [sequences + 1]
  std::vector<int32_t> contextLengths; ///< [sequences]
  std::vector<int32_t> blockTable;     ///< [sequences, tableWidth]
  std::vector<int32_t> logitRows;      ///< [logits], ascending
  std::vector<int32_t> ropeChoice; ///< [tokens]; empty if the model has one.
  int64_t tableWidth = 0;
  // For models that choose ids, else empty; weft.sample and weft.adjust_logits
  // (docs/reference/dialect-weft.md) say what the numbers mean.
  std::vector<int32_t> samplingCounts; ///< [logits, 2]: top-k, ids.
  /// [logits, 4]: temperature, top-p, min-p, uniform number.
  std::vector<float> samplingOptions;
  /// [adjustments, 2]: a row of the logits (not of the tokens) and an id.
  std::vector<int32_t> adjustmentPlaces;
  std::vector<float> adjustmentValues; ///< [adjustments, 2]: penalty, bias.
};

/// An input of the entry by its name: i32 or f32.
struct StepInputField {
  /// Of the block table: as many columns as it has.
  static constexpr int64_t tableColumns = -1;

  std::string_view name;
  int64_t columns = 0; ///< Of a matrix; 0: a vector.
  std::vector<int32_t> StepInputs::*integers = nullptr;
  std::vector<float> StepInputs::*floats = nullptr;

  DType getType() const { return integers ? DType::I32 : DType::F32; }
  size_t getRank() const { return columns == 0 ? 1 : 2; }
  /// Elements, all of 4 bytes, and sizes of the dimensions in `inputs`.
  const void *getData(const StepInputs &inputs) const;
  std::array<int64_t, 2> getShape(const StepInputs &inputs) const;
};
/// All inputs that an entry `step` may have; a model takes those it needs.
std::span<const StepInputField> getStepInputFields();

/// How the id of one row of logits is chosen; the defaults take the largest
/// logit of id 0 alone, for rows whose id nobody asks for.
struct RowSampling {
  int32_t topK = 0;
  int32_t ids = 1; ///< Ids from here on are not chosen.
  float temperature = 0, topP = 1, minP = 0;
  float uniform = 0; ///< In [0, 1).
};

/// A logit that is changed before an id is chosen.
struct LogitAdjustment {
  int32_t id = 0;
  float repetition = 1; ///< Penalty.
  float bias = 0;       ///< Added afterwards.
};

/// Where a step writes what it computes.
struct StepOutputs {
  std::span<float> logits; ///< [logits, vocabulary], f32.
  /// [logits], empty if the model chooses no ids: -1 - id for a row in which
  /// the logit of `id` is not a finite number.
  std::span<int32_t> ids;
  /// Without it, what `logits` holds afterwards is undefined.
  bool wantsLogits = true;
};

/// What one step can take. Sizes are at least 1 where nothing else is said.
struct StepLimits {
  int64_t tokens = 1;
  int64_t sequences = 1;
  int64_t logits = 1;
  int64_t tableWidth = 1; ///< Blocks of one sequence.
  int64_t cacheBlocks = 1;
  /// Logit rows that a step must ask for; 0 if it may ask for none.
  int64_t leastLogits = 0;
  /// Whether steps should come in few different table widths, because the
  /// device records runs by their sizes.
  bool padTableWidth = false;
  /// Whether the model has the input `rope_choice`.
  bool hasRopeChoice = false;
  /// Whether the model chooses ids, and the adjustments that a step takes.
  bool samples = false;
  int64_t adjustments = 0;
};

class StepRunner {
public:
  virtual ~StepRunner() = default;
  virtual StepLimits getLimits() const = 0;
  /// Width of a row of logits.
  virtual int64_t getVocabularySize() const = 0;
  /// Runs the step: writes the keys and values of all tokens to the cache, the
  /// wanted rows of logits, after their adjustments, and the ids that the
  /// model chooses. The inputs are within the limits. On an error the cache
  /// content of the step's own slots is undefined and all other content
  /// unchanged.
  virtual Status run(const StepInputs &inputs, const StepOutputs &outputs) = 0;
  /// Copies blocks of all layers' caches, one after the other, before the next
  /// step. The blocks exist.
  virtual Status copyBlocks(std::span<const BlockCopy> copies) = 0;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_STEPRUNNER_H
