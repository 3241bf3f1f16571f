//===- ModelConfig.h - What a model is, independent of its file format ----===//
//
// Filled in by the importers (compiler/Import), read by the model builders.
// Everything is checked when it is filled in: sizes are positive and fit
// together, and derived values (RoPE frequencies, scales) are final.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_MODELS_COMMON_MODELCONFIG_H
#define WEFT_MODELS_COMMON_MODELCONFIG_H

#include "models/common/WeightSource.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

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
  Bert,
};

/// "llama", "qwen3_moe", ...: the model_type of Hugging Face configs, with
/// "gemma3" for the text model of Gemma 3.
llvm::StringRef getName(Family family);

enum class ActivationKind {
  Silu,
  Gelu,     ///< Exact: x * Phi(x), with erf.
  GeluTanh, ///< The tanh approximation.
  Relu,
  QuickGelu, ///< x * sigmoid(1.702 x).
};

llvm::StringRef getName(ActivationKind activation);

enum class LayerKind {
  Full,    ///< Attends to all earlier positions (encoder: to all positions).
  Sliding, ///< Attends to the last `slidingWindow` positions, itself included.
};

/// Rotary position embedding of one kind of layer: the pair i of the first
/// `rotarySize` elements of a head, (x[i], x[i + rotarySize / 2]), is rotated
/// by position * inverseFrequencies[i]; cosine and sine are multiplied by
/// `scale`. The other elements pass unchanged.
struct RopeTable {
  std::string type = "default"; ///< Name in the config; for reports.
  int64_t rotarySize = 0;
  std::vector<double> inverseFrequencies; ///< rotarySize / 2 of them.
  double scale = 1.0;
  /// longrope only: frequencies for sequences longer than `switchLength`,
  /// unless the compiled context is too short for such sequences.
  std::vector<double> longInverseFrequencies;
  int64_t switchLength = 0;

  bool hasLongTable() const { return !longInverseFrequencies.empty(); }
  bool operator==(const RopeTable &) const = default;
};

/// Mixture-of-experts feed-forward layers.
struct MoeConfig {
  int64_t expertCount = 0;
  int64_t expertsPerToken = 0;
  int64_t intermediateSize = 0;
  /// Scale the weights of the chosen experts so that their sum is 1. The
  /// router's softmax is over all experts in either case.
  bool normalizeWeights = true;
  /// Per layer: whether it has experts (else a dense feed-forward layer).
  std::vector<bool> sparseLayers;
};

/// How a checkpoint recommends to choose tokens.
struct GenerationDefaults {
  bool sample = false; ///< Else the most likely token.
  std::optional<double> temperature, topP, minP, repetitionPenalty;
  std::optional<int64_t> topK;
};

struct ModelConfig {
  Family family = Family::Llama;
  ElementType dtype = ElementType::F32; ///< Of the weights: f32, f16 or bf16.

  int64_t hiddenSize = 0;
  int64_t layerCount = 0;
  int64_t headCount = 0;
  int64_t kvHeadCount = 0;
  int64_t headSize = 0;
  int64_t intermediateSize = 0; ///< Of dense feed-forward layers.
  int64_t vocabSize = 0;
  int64_t typeVocabSize = 0; ///< bert: kinds of segments.
  /// Longest sequence the model was made for.
  int64_t maxPositions = 0;
  /// Longest sequence this compilation is for.
  int64_t contextLength = 0;

  double normEpsilon = 1e-6;
  double normOffset = 0; ///< Added to stored norm weights; gemma: 1.
  ActivationKind activation = ActivationKind::Silu;
  bool tiedEmbeddings = false; ///< The output head is the token embedding.
  bool qkvBias = false;
  bool attentionOutputBias = false;
  bool mlpBias = false;
  bool parallelResidual = false; ///< gpt_neox: attention and MLP side by side.

  std::vector<LayerKind> layerKinds; ///< One per layer.
  int64_t slidingWindow = 0;         ///< Positions, itself included; 0: none.
  /// Of each layer: queries times keys are multiplied by this.
  std::vector<double> attentionScales;
  double attentionSoftcap = 0; ///< c * tanh(x / c) before the mask; 0: none.
  double logitSoftcap = 0;     ///< The same on the final logits; 0: none.
  double embeddingScale = 1.0; ///< Token embeddings are multiplied by this.

  /// Absent for models with learned positions (gpt2, bert).
  std::optional<RopeTable> rope;        ///< Of full layers.
  std::optional<RopeTable> slidingRope; ///< Of sliding layers, if it differs.

  std::optional<MoeConfig> moe;

  /// Token ids. Generation stops at any of `eosTokenIds`.
  std::vector<int64_t> eosTokenIds;
  std::optional<int64_t> bosTokenId;
  std::optional<int64_t> padTokenId;

  GenerationDefaults generation;

  bool isEncoder() const { return family == Family::Bert; }
  /// The table of a layer. Only for models with RoPE.
  const RopeTable &getRope(int64_t layer) const {
    return layerKinds[layer] == LayerKind::Sliding && slidingRope ? *slidingRope
                                                                  : *rope;
  }
};

} // namespace weft

#endif // WEFT_MODELS_COMMON_MODELCONFIG_H
