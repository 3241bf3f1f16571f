//===- Config.h - What config.json says about a transformer ---------------===//
//
// One description for all families, filled from the newest spelling of
// config.json ("rope_parameters", "dtype", "layer_types") and from the older
// ones ("rope_theta", "rope_scaling" with "type" or "rope_type",
// "rope_local_base_freq", "sliding_window_pattern", "rotary_pct").
// docs/families.md states every key and formula.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_REFERENCE_CONFIG_H
#define WEFT_TEST_REFERENCE_CONFIG_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft::reference {

enum class RopeKind { Default, Linear, Dynamic, Yarn, Longrope, Llama3 };

/// The rotary embedding of a layer. Lengths are in positions.
struct Rope {
  RopeKind kind = RopeKind::Default;
  double theta = 10000;
  int64_t rotaryDims = 0;   ///< Leading dimensions of a head that are rotated.
  int64_t maxPositions = 0; ///< max_position_embeddings.
  int64_t originalMaxPositions = 0; ///< Of the pretraining.
  double factor = 1;
  std::optional<double> attentionFactor;
  double betaFast = 32, betaSlow = 1;           ///< yarn
  double mscale = 0, mscaleAllDim = 0;          ///< yarn; 0: absent
  bool truncate = true;                         ///< yarn
  double lowFreqFactor = 1, highFreqFactor = 4; ///< llama3
  std::vector<double> shortFactor, longFactor;  ///< longrope
  /// Round the inverse frequencies to bfloat16, as a model does that was
  /// converted by .bfloat16().float(). Not a property of a checkpoint: set by
  /// tests that compare with recordings made that way.
  bool roundFrequencies = false;
};

/// Angle of pair i at position p: p * inverseFrequencies[i]. Cosine and sine
/// are multiplied by `scale`.
struct RopeTable {
  std::vector<double> inverseFrequencies; ///< [rotaryDims / 2]
  double scale = 1;
};

/// The table for a sequence of `length` positions; the length matters for
/// dynamic (base grows with it) and longrope (short or long factors).
RopeTable makeRopeTable(const Rope &rope, int64_t length);

enum class Activation { Silu, GeluErf, GeluTanh, Relu };

enum class Family {
  Llama,
  Mistral,
  Mixtral,
  Qwen2,
  Qwen3,
  Qwen3Moe,
  Gemma2,
  Gemma3,
  Phi3,
  Gpt2,
  GptNeox,
  Bert
};

struct Config {
  Family family = Family::Llama;
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t headSize = 0;
  int64_t intermediate = 0;
  int64_t maxPositions = 0;
  int64_t tokenTypes = 0; ///< bert
  Activation activation = Activation::Silu;
  double normEpsilon = 1e-6;
  double embeddingScale = 1;
  double attentionSoftcap = 0; ///< 0: none
  double finalSoftcap = 0;     ///< 0: none
  bool tied = false;
  bool attentionBias = false; ///< q, k, v
  bool outputBias = false;    ///< o
  bool mlpBias = false;
  bool parallelResidual = false; ///< gpt_neox

  int64_t experts = 0; ///< 0: dense
  int64_t expertsPerToken = 0;
  int64_t expertIntermediate = 0;
  bool normalizeExpertWeights = true;

  // Per layer.
  std::vector<double> attentionScale;
  std::vector<int64_t> window; ///< Keys a query sees, itself included; 0: all.
  std::vector<bool> sparse;    ///< Mixture of experts.
  std::vector<Rope> rope;      ///< rotaryDims 0: none.

  bool isEncoder() const { return family == Family::Bert; }
};

/// Reads config.json. Throws Error for a missing or mistyped key and for a
/// value that the reference does not implement.
Config parseConfig(const nlohmann::json &json);

} // namespace weft::reference

#endif // WEFT_TEST_REFERENCE_CONFIG_H
