//===- StepRunner.h - One ragged step of a decoder ------------------------===//
//
// The boundary between the generation loop and whatever computes logits: a
// compiled plan (SessionRunner) or a fake model in tests.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LLM_STEPRUNNER_H
#define WEFT_RUNTIME_LLM_STEPRUNNER_H

#include "runtime/Format/Status.h"

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
};

/// An input of the entry by its name.
struct StepInputField {
  std::string_view name;
  std::vector<int32_t> StepInputs::*values;
  size_t rank;
};
/// All inputs that an entry `step` may have; a model takes those it needs.
std::span<const StepInputField> getStepInputFields();

/// What one step can take. All are at least 1.
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
};

class StepRunner {
public:
  virtual ~StepRunner() = default;
  virtual StepLimits getLimits() const = 0;
  /// Width of a row of logits.
  virtual int64_t getVocabularySize() const = 0;
  /// Runs the step: writes the keys and values of all tokens to the cache and
  /// the wanted rows to `logits` [logitRows.size(), vocabulary], f32. The
  /// inputs are within the limits. On an error the cache content of the step's
  /// own slots is undefined and all other content unchanged.
  virtual Status run(const StepInputs &inputs, std::span<float> logits) = 0;
};

} // namespace weft::rt

#endif // WEFT_RUNTIME_LLM_STEPRUNNER_H
