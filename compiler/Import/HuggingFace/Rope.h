//===- Rope.h - RoPE frequencies of Hugging Face configs ------------------===//
//
// Rotary position embedding (Su et al., arXiv 2104.09864) and its context
// extensions, as functions from parameters to frequencies, in double.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_HUGGINGFACE_ROPE_H
#define WEFT_COMPILER_IMPORT_HUGGINGFACE_ROPE_H

#include "models/common/ModelConfig.h"

namespace weft {

enum class RopeType { Default, Linear, Dynamic, Yarn, Llama3, Longrope };

/// Parameters of one table. Which of them a type uses:
///   linear    factor: positions are divided by it.
///   dynamic   factor, maxPositions, contextLength: for contexts longer than
///             maxPositions the base grows (NTK-aware scaling). One table is
///             made for the compiled context length; unlike in implementations
///             that recompute it as a sequence grows, results do not depend on
///             how a sequence was cut into steps.
///   yarn      factor, originalMaxPositions, attentionFactor, betaFast,
///             betaSlow, mscale, mscaleAllDim, truncate (arXiv 2309.00071).
///   llama3    factor, originalMaxPositions, lowFrequencyFactor,
///             highFrequencyFactor (Llama 3.1).
///   longrope  factor, originalMaxPositions, attentionFactor, shortFactors,
///             longFactors (arXiv 2402.13753). Short factors apply to sequences
///             up to originalMaxPositions, long ones to longer sequences.
struct RopeParameters {
  RopeType type = RopeType::Default;
  double theta = 10000.0;
  int64_t rotarySize = 0; ///< Even, positive.
  int64_t maxPositions = 0;
  int64_t contextLength = 0;
  double factor = 1.0;
  int64_t originalMaxPositions = 0;
  std::optional<double> attentionFactor = {}; ///< Wins over the formula.
  double betaFast = 32.0;
  double betaSlow = 1.0;
  double mscale = 0.0;       ///< 0: not given.
  double mscaleAllDim = 0.0; ///< 0: not given.
  bool truncate = true;
  double lowFrequencyFactor = 1.0;
  double highFrequencyFactor = 4.0;
  std::vector<double> shortFactors = {}; ///< rotarySize / 2 of them.
  std::vector<double> longFactors = {};  ///< rotarySize / 2 of them.
};

llvm::StringRef getName(RopeType type);

/// The table for parameters that are valid: positive sizes, theta > 1,
/// factor > 0, factor lists of the right length.
RopeTable computeRopeTable(const RopeParameters &parameters);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_HUGGINGFACE_ROPE_H
