//===- RopeConfig.h - The RoPE part of a config ---------------------------===//

#ifndef WEFT_COMPILER_IMPORT_HUGGINGFACE_ROPECONFIG_H
#define WEFT_COMPILER_IMPORT_HUGGINGFACE_ROPECONFIG_H

#include "compiler/Import/HuggingFace/ConfigReader.h"
#include "compiler/Import/HuggingFace/Rope.h"

namespace weft {

/// What a family says about RoPE besides its config.
struct RopeDefaults {
  double theta = 10000.0;        ///< Without rope_theta.
  double slidingTheta = 10000.0; ///< gemma3: of sliding layers.
  double partialFactor = 1.0;    ///< Share of a head that is rotated.
  llvm::StringRef thetaKey = "rope_theta";
  llvm::StringRef partialKey = "partial_rotary_factor";
  /// Whether less than a whole head may be rotated.
  bool allowsPartial = false;
  /// gemma3: older configs have rope_local_base_freq for sliding layers, to
  /// which rope_scaling does not apply.
  bool hasLocalTheta = false;
  /// phi3: original_max_position_embeddings stands beside the RoPE parameters
  /// and has this default; "su" and "yarn" are old names of longrope.
  std::optional<int64_t> originalMaxPositions;
};

/// Reads rope_parameters, or rope_theta and rope_scaling, in any spelling, and
/// sets `config.rope` and `config.slidingRope`. Needs headSize, maxPositions,
/// contextLength and layerKinds of `config`.
void parseRope(ConfigReader &reader, const RopeDefaults &defaults,
               ModelConfig &config);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_HUGGINGFACE_ROPECONFIG_H
