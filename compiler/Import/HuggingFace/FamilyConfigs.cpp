//===- FamilyConfigs.cpp - What each family's config means ----------------===//

#include "compiler/Import/HuggingFace/FamilyConfigs.h"

#include "compiler/Import/HuggingFace/FamilyParser.h"
#include "compiler/Import/HuggingFace/RopeConfig.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace weft {

namespace {

/// Parses one config into one ModelConfig.
class Parser : public FamilyParser {
public:
  using FamilyParser::FamilyParser;

  ModelConfig parse(Family family);

private:
  void parseLlama();
  void parseMistral();
  void parseMixtral();
  void parseQwenLayers();
  void parseQwen2();
  void parseQwen3();
  void parseQwen3Moe();
  void parseGemma2();
  void parseGemma3();
  void parseGemmaCommon();
  void parsePhi3();
  void parseGpt2();
  void parseGptNeox();
  void parseBert();
};

} // namespace

void Parser::parseLlama() {
  readSizes({32000, 4096, 11008, 32, 32, 0, 0, 2048, 1e-6, false, 1, {}, {2}},
            {});
  config.qkvBias = config.attentionOutputBias =
      reader.getBool("attention_bias", false);
  config.mlpBias = reader.getBool("mlp_bias", false);
  requireFalse("rope_interleaved", "pairs are the two halves of a head");
  // SmolLM2 says what its model_type says.
  reader.markKnown({"is_llama_config"});
  setAllLayers(std::nullopt);
  parseRope(reader, {}, config);
}

void Parser::parseMistral() {
  readSizes({32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-6, false, 1, {}, {2}},
            {});
  std::optional<int64_t> window =
      reader.getOptionalInt("sliding_window", 4096, 1, maxConfigPositions);
  setAllLayers(window);
  parseRope(reader, {}, config);
}

void Parser::parseMixtral() {
  readSizes({32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-5, false, 1, {}, {2}},
            {});
  readMoe("intermediate_size", 14336, 8, 2, /*normalize=*/true);
  setAllLayers(
      reader.getOptionalInt("sliding_window", {}, 1, maxConfigPositions));
  RopeDefaults rope;
  rope.theta = 1e6;
  parseRope(reader, rope, config);
}

/// qwen2 and qwen3: the layers from max_window_layers on slide, if any do.
void Parser::parseQwenLayers() {
  bool slides = reader.getBool("use_sliding_window", false);
  std::optional<int64_t> window =
      reader.getOptionalInt("sliding_window", 4096, 1, maxConfigPositions);
  if (!slides)
    window.reset();
  int64_t fullLayers =
      reader.getInt("max_window_layers", 28, 0, maxConfigLayers);
  readLayerTypes(window,
                 [&](int64_t layer) { return window && layer >= fullLayers; });
  parseRope(reader, {}, config);
}

void Parser::parseQwen2() {
  readSizes(
      {151936, 4096, 22016, 32, 32, 32, 0, 32768, 1e-6, false, {}, {}, {}}, {});
  config.qkvBias = true;
  requireFalse("use_mrope", "multi-dimensional RoPE is not supported");
  parseQwenLayers();
}

void Parser::parseQwen3() {
  readSizes(
      {151936, 4096, 22016, 32, 32, 32, 128, 32768, 1e-6, false, {}, {}, {}},
      {});
  config.qkvBias = config.attentionOutputBias =
      reader.getBool("attention_bias", false);
  parseQwenLayers();
}

void Parser::parseQwen3Moe() {
  readSizes({151936, 2048, 6144, 24, 32, 4, 0, 32768, 1e-6, false, {}, {}, {}},
            {});
  config.qkvBias = config.attentionOutputBias =
      reader.getBool("attention_bias", false);
  readMoe("moe_intermediate_size", 768, 128, 8,
          reader.getBool("norm_topk_prob", false));
  int64_t step = reader.getInt("decoder_sparse_step", 1, 1, maxConfigLayers);
  std::vector<int64_t> dense = reader.getInts("mlp_only_layers");
  for (int64_t i = 0; i < config.layerCount; ++i)
    config.moe->sparseLayers[i] =
        !is_contained(dense, i) && (i + 1) % step == 0;

  std::optional<int64_t> window =
      reader.getOptionalInt("sliding_window", 4096, 1, maxConfigPositions);
  if (!reader.getBool("use_sliding_window", false))
    window.reset();
  else if (reader.has("max_window_layers"))
    reader.reject("max_window_layers", "no such key with use_sliding_window",
                  "versions of transformers disagree on its meaning for "
                  "qwen3_moe");
  reader.markKnown({"max_window_layers"});
  setAllLayers(window);
  parseRope(reader, {}, config);
}

/// What gemma2 and gemma3 share, after the sizes.
void Parser::parseGemmaCommon() {
  config.qkvBias = config.attentionOutputBias =
      reader.getBool("attention_bias", false);
  config.embeddingScale = std::sqrt(double(config.hiddenSize));
  config.normOffset = 1;
  double scalar = reader.getPositive("query_pre_attn_scalar", 256);
  config.attentionScales.assign(config.layerCount, 1.0 / std::sqrt(scalar));
  requireFalse("use_bidirectional_attention",
               "bidirectional attention is not supported for this family");
  // Only hidden_activation counts; transformers keeps hidden_act for show.
  if (reader.has("hidden_act") &&
      reader.getString("hidden_act", "") !=
          reader.getString("hidden_activation", "gelu_pytorch_tanh"))
    reader.getReport().warning(
        reader.getWhere() + ": hidden_act", reader.getString("hidden_act", ""),
        "the same as hidden_activation", "hidden_activation is used");
  reader.markKnown({"hidden_act"});
}

void Parser::parseGemma2() {
  FamilyKeys keys;
  keys.activation = "hidden_activation";
  keys.defaultActivation = "gelu_pytorch_tanh";
  readSizes({256000, 2304, 9216, 26, 8, 4, 256, 8192, 1e-6, true, 2, 0, {1}},
            keys);
  parseGemmaCommon();
  config.attentionSoftcap = readSoftcap("attn_logit_softcapping", 50.0);
  config.logitSoftcap = readSoftcap("final_logit_softcapping", 30.0);
  std::optional<int64_t> window =
      reader.getOptionalInt("sliding_window", 4096, 1, maxConfigPositions);
  readLayerTypes(window, [](int64_t layer) { return layer % 2 == 0; });
  parseRope(reader, {}, config);
}

void Parser::parseGemma3() {
  FamilyKeys keys;
  keys.activation = "hidden_activation";
  keys.defaultActivation = "gelu_pytorch_tanh";
  readSizes({262208, 2304, 9216, 26, 8, 4, 256, 131072, 1e-6, true, 2, 0, {1}},
            keys);
  parseGemmaCommon();
  if (reader.has("attn_logit_softcapping"))
    reader.reject("attn_logit_softcapping", "null",
                  "gemma3 normalises queries and keys instead of capping");
  reader.markKnown({"attn_logit_softcapping"});
  config.logitSoftcap = readSoftcap("final_logit_softcapping", {});
  std::optional<int64_t> window =
      reader.getOptionalInt("sliding_window", 4096, 1, maxConfigPositions);
  // Both spellings: the newer one writes the key with an underscore.
  int64_t pattern =
      reader.getInt("_sliding_window_pattern", 6, 1, maxConfigLayers);
  pattern =
      reader.getInt("sliding_window_pattern", pattern, 1, maxConfigLayers);
  readLayerTypes(window,
                 [&](int64_t layer) { return (layer + 1) % pattern != 0; });
  RopeDefaults rope;
  rope.theta = 1e6;
  rope.hasLocalTheta = true;
  parseRope(reader, rope, config);
}

void Parser::parsePhi3() {
  readSizes(
      {32064, 3072, 8192, 32, 32, 0, 0, 4096, 1e-5, false, 1, 32000, {32000}},
      {});
  setAllLayers(
      reader.getOptionalInt("sliding_window", {}, 1, maxConfigPositions));
  // Published configs have these with the only values that there are.
  for (StringRef key : {"attention_bias", "mlp_bias", "lm_head_bias"})
    requireFalse(key, "phi3 has no biases");
  for (StringRef key : {"full_attn_mod", "interpolate_factor"})
    if (reader.getInt(key, 1, INT32_MIN, INT32_MAX) != 1)
      reader.reject(key, "1");
  RopeDefaults rope;
  rope.allowsPartial = true;
  rope.originalMaxPositions = reader.getInt("original_max_position_embeddings",
                                            4096, 2, maxConfigPositions);
  parseRope(reader, rope, config);
}

void Parser::parseGpt2() {
  FamilyKeys keys;
  keys.hidden = pickName("n_embd", "hidden_size");
  keys.layers = pickName("n_layer", "num_hidden_layers");
  keys.heads = pickName("n_head", "num_attention_heads");
  keys.positions = pickName("n_positions", "max_position_embeddings");
  keys.intermediate = "n_inner";
  keys.epsilon = "layer_norm_epsilon";
  keys.activation = "activation_function";
  keys.defaultActivation = "gelu_new";
  readSizes(
      {50257, 768, 3072, 12, 12, 0, 0, 1024, 1e-5, true, 50256, {}, {50256}},
      keys);
  if (!reader.has("n_inner"))
    config.intermediateSize = 4 * config.hiddenSize;
  if (config.kvHeadCount != config.headCount)
    reader.reject("num_key_value_heads", "no such key: gpt2 has none");
  config.qkvBias = config.attentionOutputBias = config.mlpBias = true;
  bool scaled = reader.getBool("scale_attn_weights", true);
  bool byLayer = reader.getBool("scale_attn_by_inverse_layer_idx", false);
  for (int64_t i = 0; i < config.layerCount; ++i)
    config.attentionScales[i] =
        (scaled ? config.attentionScales[i] : 1.0) / (byLayer ? i + 1 : 1);
  // The order of the same operations; the attention here is in f32 anyway.
  reader.markKnown({"reorder_and_upcast_attn"});
  // An older name of n_positions.
  if (reader.getInt("n_ctx", config.maxPositions, 1, maxConfigPositions) !=
      config.maxPositions)
    reader.reject("n_ctx", "the same number as n_positions");
  setAllLayers(std::nullopt);
}

void Parser::parseGptNeox() {
  FamilyKeys keys;
  keys.epsilon = "layer_norm_eps";
  keys.defaultActivation = "gelu";
  readSizes({50432, 6144, 24576, 44, 64, 0, 0, 2048, 1e-5, false, 0, {}, {2}},
            keys);
  // transformers' gpt_neox reads neither of these: its projection of queries,
  // keys and values always has a key head for each query head.
  config.kvHeadCount = config.headCount;
  config.headSize = config.hiddenSize / config.headCount;
  config.qkvBias = config.attentionOutputBias =
      reader.getBool("attention_bias", true);
  config.mlpBias = true;
  config.parallelResidual = reader.getBool("use_parallel_residual", true);
  setAllLayers(std::nullopt);
  RopeDefaults rope;
  rope.allowsPartial = true;
  rope.partialFactor = 0.25;
  rope.thetaKey = pickName("rotary_emb_base", "rope_theta");
  rope.partialKey = pickName("rotary_pct", "partial_rotary_factor");
  parseRope(reader, rope, config);
}

void Parser::parseBert() {
  FamilyKeys keys;
  keys.epsilon = "layer_norm_eps";
  keys.defaultActivation = "gelu";
  readSizes({30522, 768, 3072, 12, 12, 0, 0, 512, 1e-12, true, {}, 0, {}},
            keys);
  config.typeVocabSize = reader.getInt("type_vocab_size", 2, 1, maxConfigSize);
  config.qkvBias = config.attentionOutputBias = config.mlpBias = true;
  // Of the pooler, which is not compiled, and of the training data.
  reader.markKnown({"directionality", "pooler_fc_size",
                    "pooler_num_attention_heads", "pooler_num_fc_layers",
                    "pooler_size_per_head", "pooler_type"});
  if (reader.getString("position_embedding_type", "absolute") != "absolute")
    reader.reject("position_embedding_type", "absolute");
  setAllLayers(std::nullopt);
}

ModelConfig Parser::parse(Family family) {
  config.family = family;
  switch (family) {
  case Family::Llama:
    parseLlama();
    break;
  case Family::Mistral:
    parseMistral();
    break;
  case Family::Mixtral:
    parseMixtral();
    break;
  case Family::Qwen2:
    parseQwen2();
    break;
  case Family::Qwen3:
    parseQwen3();
    break;
  case Family::Qwen3Moe:
    parseQwen3Moe();
    break;
  case Family::Gemma2:
    parseGemma2();
    break;
  case Family::Gemma3:
    parseGemma3();
    break;
  case Family::Phi3:
    parsePhi3();
    break;
  case Family::Gpt2:
    parseGpt2();
    break;
  case Family::GptNeox:
    parseGptNeox();
    break;
  case Family::Bert:
    parseBert();
    break;
  }
  return std::move(config);
}

ModelConfig parseFamilyConfig(ConfigReader &reader, Family family,
                              const ConfigOptions &options) {
  return Parser(reader, options).parse(family);
}

} // namespace weft
