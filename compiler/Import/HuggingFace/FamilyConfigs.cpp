//===- FamilyConfigs.cpp - What each family's config means ----------------===//

#include "compiler/Import/HuggingFace/FamilyConfigs.h"

#include "compiler/Import/HuggingFace/RopeConfig.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace llvm;

namespace weft {

namespace {

/// Limits far above anything real, so that products of two sizes cannot
/// overflow.
constexpr int64_t maxSize = int64_t(1) << 24;
constexpr int64_t maxPositionLimit = int64_t(1) << 31;
constexpr int64_t maxLayers = 4096;

/// Defaults of a family's config class for the keys that all families have.
struct FamilyDefaults {
  int64_t vocabSize, hiddenSize, intermediateSize, layerCount, headCount;
  int64_t kvHeadCount; ///< 0: as many as query heads.
  int64_t headSize;    ///< 0: hidden size / heads.
  int64_t maxPositions;
  double epsilon;
  bool tied;
  std::optional<int64_t> bos, pad;
  std::vector<int64_t> eos;
};

/// The names under which a family's config keeps common values.
struct FamilyKeys {
  StringRef hidden = "hidden_size";
  StringRef intermediate = "intermediate_size";
  StringRef layers = "num_hidden_layers";
  StringRef heads = "num_attention_heads";
  StringRef positions = "max_position_embeddings";
  StringRef epsilon = "rms_norm_eps";
  StringRef activation = "hidden_act";
  StringRef defaultActivation = "silu";
};

/// Parses one config into one ModelConfig.
class Parser {
public:
  Parser(ConfigReader &reader, const ConfigOptions &options)
      : reader(reader), options(options) {}

  void parse(Family family);
  ModelConfig config;

private:
  void readSizes(const FamilyDefaults &defaults, const FamilyKeys &keys);
  void readActivation(StringRef key, StringRef absent);
  void readDtype();
  void readTokens(const FamilyDefaults &defaults);
  void readUnsupportedFlags();
  void readContextLength();
  void setAllLayers(std::optional<int64_t> window);
  void readLayerTypes(std::optional<int64_t> window,
                      function_ref<bool(int64_t)> isSlidingByDefault);
  void readMoe(StringRef intermediateKey, int64_t intermediateSize,
               int64_t expertCount, int64_t expertsPerToken, bool normalize);
  StringRef pickName(StringRef own, StringRef common);
  void requireFalse(StringRef key, const Twine &advice);

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

  ConfigReader &reader;
  const ConfigOptions &options;
};

} // namespace

void Parser::readSizes(const FamilyDefaults &defaults, const FamilyKeys &keys) {
  config.vocabSize =
      reader.getInt("vocab_size", defaults.vocabSize, 1, maxSize);
  config.hiddenSize =
      reader.getInt(keys.hidden, defaults.hiddenSize, 1, maxSize);
  config.layerCount =
      reader.getInt(keys.layers, defaults.layerCount, 1, maxLayers);
  config.headCount = reader.getInt(keys.heads, defaults.headCount, 1, maxSize);
  config.intermediateSize =
      reader.getInt(keys.intermediate, defaults.intermediateSize, 1, maxSize);
  config.maxPositions =
      reader.getInt(keys.positions, defaults.maxPositions, 1, maxPositionLimit);
  config.normEpsilon = reader.getDouble(keys.epsilon, defaults.epsilon);
  if (!(config.normEpsilon > 0) || !std::isfinite(config.normEpsilon))
    reader.reject(keys.epsilon, "a positive number");
  config.tiedEmbeddings = reader.getBool("tie_word_embeddings", defaults.tied);

  // A null number of key heads means one for each query head.
  int64_t kvAbsent =
      defaults.kvHeadCount ? defaults.kvHeadCount : config.headCount;
  config.kvHeadCount =
      reader.getOptionalInt("num_key_value_heads", kvAbsent, 1, maxSize)
          .value_or(config.headCount);
  if (config.headCount % config.kvHeadCount != 0)
    reader.reject("num_key_value_heads", "a divisor of " +
                                             Twine(config.headCount) +
                                             ", the number of query heads");

  std::optional<int64_t> headSize;
  if (defaults.headSize)
    headSize = defaults.headSize;
  headSize = reader.getOptionalInt("head_dim", headSize, 1, maxSize);
  if (!headSize && config.hiddenSize % config.headCount != 0)
    reader.reject(keys.hidden, "a multiple of " + Twine(config.headCount) +
                                   ", the number of heads");
  config.headSize = headSize.value_or(config.hiddenSize / config.headCount);
  config.attentionScales.assign(config.layerCount,
                                1.0 / std::sqrt(double(config.headSize)));
  readActivation(keys.activation, keys.defaultActivation);
  readContextLength();
  readDtype();
  readTokens(defaults);
  readUnsupportedFlags();
}

void Parser::readActivation(StringRef key, StringRef absent) {
  std::string name = reader.getString(key, absent);
  auto activation = StringSwitch<std::optional<ActivationKind>>(name)
                        .Cases({"silu", "swish"}, ActivationKind::Silu)
                        .Cases({"gelu", "gelu_python"}, ActivationKind::Gelu)
                        .Cases({"gelu_new", "gelu_pytorch_tanh", "gelu_fast"},
                               ActivationKind::GeluTanh)
                        .Case("relu", ActivationKind::Relu)
                        .Case("quick_gelu", ActivationKind::QuickGelu)
                        .Default(std::nullopt);
  if (!activation)
    reader.reject(key, "one of silu swish gelu gelu_python gelu_new "
                       "gelu_pytorch_tanh gelu_fast relu quick_gelu");
  config.activation = activation.value_or(ActivationKind::Silu);
}

void Parser::readDtype() {
  // transformers 5 writes dtype, older versions torch_dtype.
  StringRef key = reader.has("dtype") ? "dtype" : "torch_dtype";
  reader.markKnown({"dtype", "torch_dtype"});
  StringRef name;
  std::string text = reader.getString(key, "float32");
  name = text;
  name.consume_front("torch.");
  auto type = StringSwitch<std::optional<ElementType>>(name)
                  .Case("float32", ElementType::F32)
                  .Case("float16", ElementType::F16)
                  .Case("bfloat16", ElementType::BF16)
                  .Default(std::nullopt);
  if (!type)
    reader.reject(key, "one of float32 float16 bfloat16");
  config.dtype = type.value_or(ElementType::F32);
}

void Parser::readTokens(const FamilyDefaults &defaults) {
  constexpr int64_t min = -1, max = INT32_MAX;
  config.bosTokenId =
      reader.getOptionalInt("bos_token_id", defaults.bos, min, max);
  // Llama 2 and others write -1 for "there is none".
  config.padTokenId =
      reader.getOptionalInt("pad_token_id", defaults.pad, min, max);
  bool present = reader.isPresent("eos_token_id");
  config.eosTokenIds =
      reader.getIntOrInts("eos_token_id")
          .value_or(present ? std::vector<int64_t>() : defaults.eos);
}

/// A flag that must be false, as it is when it is absent.
void Parser::requireFalse(StringRef key, const Twine &advice) {
  if (reader.getBool(key, false))
    reader.reject(key, "false", advice);
}

void Parser::readUnsupportedFlags() {
  requireFalse("is_encoder_decoder",
               "encoder-decoder models are not supported");
  requireFalse("add_cross_attention", "cross attention is not supported");
  requireFalse("tie_encoder_decoder",
               "encoder-decoder models are not supported");
  if (reader.has("cross_attention_hidden_size"))
    reader.reject("cross_attention_hidden_size", "null",
                  "cross attention is not supported");
  if (const json::Object *pruned = reader.getObject("pruned_heads");
      pruned && !pruned->empty())
    reader.reject("pruned_heads", "{}", "pruned heads are not supported");
  if (reader.has("quantization_config"))
    reader.reject("quantization_config", "no such key",
                  "quantized checkpoints are not supported: use the original "
                  "one in float32, float16 or bfloat16");
  reader.markKnown({"cross_attention_hidden_size", "quantization_config"});
  if (config.isEncoder())
    requireFalse("is_decoder", "bert as a decoder is not supported");
  // Decoders are decoders whatever this says.
  reader.markKnown({"is_decoder"});
}

void Parser::readContextLength() {
  config.contextLength =
      options.contextLength ? options.contextLength : config.maxPositions;
  bool learned = config.family == Family::Gpt2 || config.family == Family::Bert;
  if (config.contextLength < 1 || config.contextLength > maxPositionLimit ||
      (learned && config.contextLength > config.maxPositions))
    reader.getReport().error(
        "context length", Twine(config.contextLength),
        "a number from 1 to " +
            Twine(learned ? config.maxPositions : maxPositionLimit),
        learned ? "the model has a learned embedding for each position" : "");
}

/// All layers attend to a window, or all attend to everything. Where the config
/// has layer_types all the same they must agree, because some versions of
/// transformers would follow them.
void Parser::setAllLayers(std::optional<int64_t> window) {
  config.slidingWindow = window.value_or(0);
  LayerKind kind = window ? LayerKind::Sliding : LayerKind::Full;
  config.layerKinds.assign(config.layerCount, kind);
  StringRef name = window ? "sliding_attention" : "full_attention";
  for (StringRef type : reader.getStrings("layer_types"))
    if (type != name)
      return reader.reject("layer_types", name + " for all layers",
                           "layers of this family are all of one kind");
}

void Parser::readLayerTypes(std::optional<int64_t> window,
                            function_ref<bool(int64_t)> isSlidingByDefault) {
  config.slidingWindow = window.value_or(0);
  std::vector<std::string> types = reader.getStrings("layer_types");
  if (types.empty()) {
    for (int64_t i = 0; i < config.layerCount; ++i)
      config.layerKinds.push_back(isSlidingByDefault(i) ? LayerKind::Sliding
                                                        : LayerKind::Full);
  } else {
    for (StringRef type : types)
      config.layerKinds.push_back(
          type == "sliding_attention" ? LayerKind::Sliding : LayerKind::Full);
    bool known = all_of(types, [](StringRef type) {
      return type == "sliding_attention" || type == "full_attention";
    });
    if (!known || static_cast<int64_t>(types.size()) != config.layerCount)
      reader.reject("layer_types",
                    "one of full_attention sliding_attention for each of the " +
                        Twine(config.layerCount) + " layers");
    config.layerKinds.resize(config.layerCount, LayerKind::Full);
  }
  if (!window && is_contained(config.layerKinds, LayerKind::Sliding))
    reader.reject("sliding_window", "a number of positions, because there are "
                                    "layers with sliding attention");
}

void Parser::readMoe(StringRef intermediateKey, int64_t intermediateSize,
                     int64_t expertCount, int64_t expertsPerToken,
                     bool normalize) {
  MoeConfig moe;
  // Both names of the number of experts are in use.
  bool older = reader.has("num_experts");
  bool newer = reader.has("num_local_experts");
  moe.expertCount = reader.getInt(newer ? "num_local_experts" : "num_experts",
                                  expertCount, 1, maxSize);
  if (older && newer &&
      reader.getInt("num_experts", expertCount, 1, maxSize) != moe.expertCount)
    reader.reject("num_experts", "the same number as num_local_experts");
  reader.markKnown({"num_experts", "num_local_experts"});
  moe.expertsPerToken =
      reader.getInt("num_experts_per_tok", expertsPerToken, 1, maxSize);
  if (moe.expertsPerToken > moe.expertCount)
    reader.reject("num_experts_per_tok", "at most " + Twine(moe.expertCount) +
                                             ", the number of experts");
  moe.intermediateSize =
      reader.getInt(intermediateKey, intermediateSize, 1, maxSize);
  moe.normalizeWeights = normalize;
  moe.sparseLayers.assign(config.layerCount, true);
  config.moe = std::move(moe);
}

/// A value that goes by a family's own name or by the common one. Where both
/// are given they must agree.
StringRef Parser::pickName(StringRef own, StringRef common) {
  if (!reader.has(own))
    return common;
  if (reader.has(common) && *reader.get(own) != *reader.get(common))
    reader.reject(common, "the same value as " + own);
  return own;
}

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
      reader.getOptionalInt("sliding_window", 4096, 1, maxPositionLimit);
  setAllLayers(window);
  parseRope(reader, {}, config);
}

void Parser::parseMixtral() {
  readSizes({32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-5, false, 1, {}, {2}},
            {});
  readMoe("intermediate_size", 14336, 8, 2, /*normalize=*/true);
  setAllLayers(
      reader.getOptionalInt("sliding_window", {}, 1, maxPositionLimit));
  RopeDefaults rope;
  rope.theta = 1e6;
  parseRope(reader, rope, config);
}

/// qwen2 and qwen3: the layers from max_window_layers on slide, if any do.
void Parser::parseQwenLayers() {
  bool slides = reader.getBool("use_sliding_window", false);
  std::optional<int64_t> window =
      reader.getOptionalInt("sliding_window", 4096, 1, maxPositionLimit);
  if (!slides)
    window.reset();
  int64_t fullLayers = reader.getInt("max_window_layers", 28, 0, maxLayers);
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
  int64_t step = reader.getInt("decoder_sparse_step", 1, 1, maxLayers);
  std::vector<int64_t> dense = reader.getInts("mlp_only_layers");
  for (int64_t i = 0; i < config.layerCount; ++i)
    config.moe->sparseLayers[i] =
        !is_contained(dense, i) && (i + 1) % step == 0;

  std::optional<int64_t> window =
      reader.getOptionalInt("sliding_window", 4096, 1, maxPositionLimit);
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
  double scalar = reader.getDouble("query_pre_attn_scalar", 256);
  if (!(scalar > 0) || !std::isfinite(scalar))
    reader.reject("query_pre_attn_scalar", "a positive number");
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

/// A softcap that is absent by null; zero is not a cap.
static double readSoftcap(ConfigReader &reader, StringRef key,
                          std::optional<double> absent) {
  std::optional<double> cap = reader.getOptionalDouble(key, absent);
  if (cap && (!(*cap > 0) || !std::isfinite(*cap)))
    reader.reject(key, "null or a positive number");
  return cap.value_or(0);
}

void Parser::parseGemma2() {
  FamilyKeys keys;
  keys.activation = "hidden_activation";
  keys.defaultActivation = "gelu_pytorch_tanh";
  readSizes({256000, 2304, 9216, 26, 8, 4, 256, 8192, 1e-6, true, 2, 0, {1}},
            keys);
  parseGemmaCommon();
  config.attentionSoftcap = readSoftcap(reader, "attn_logit_softcapping", 50.0);
  config.logitSoftcap = readSoftcap(reader, "final_logit_softcapping", 30.0);
  std::optional<int64_t> window =
      reader.getOptionalInt("sliding_window", 4096, 1, maxPositionLimit);
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
  config.logitSoftcap = readSoftcap(reader, "final_logit_softcapping", {});
  std::optional<int64_t> window =
      reader.getOptionalInt("sliding_window", 4096, 1, maxPositionLimit);
  // Both spellings: the newer one writes the key with an underscore.
  int64_t pattern = reader.getInt("_sliding_window_pattern", 6, 1, maxLayers);
  pattern = reader.getInt("sliding_window_pattern", pattern, 1, maxLayers);
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
      reader.getOptionalInt("sliding_window", {}, 1, maxPositionLimit));
  // Published configs have these with the only values that there are.
  for (StringRef key : {"attention_bias", "mlp_bias", "lm_head_bias"})
    requireFalse(key, "phi3 has no biases");
  for (StringRef key : {"full_attn_mod", "interpolate_factor"})
    if (reader.getInt(key, 1, INT32_MIN, INT32_MAX) != 1)
      reader.reject(key, "1");
  RopeDefaults rope;
  rope.allowsPartial = true;
  rope.originalMaxPositions = reader.getInt("original_max_position_embeddings",
                                            4096, 2, maxPositionLimit);
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
  if (reader.getInt("n_ctx", config.maxPositions, 1, maxPositionLimit) !=
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
  config.typeVocabSize = reader.getInt("type_vocab_size", 2, 1, maxSize);
  config.qkvBias = config.attentionOutputBias = config.mlpBias = true;
  // Of the pooler, which is not compiled, and of the training data.
  reader.markKnown({"directionality", "pooler_fc_size",
                    "pooler_num_attention_heads", "pooler_num_fc_layers",
                    "pooler_size_per_head", "pooler_type"});
  if (reader.getString("position_embedding_type", "absolute") != "absolute")
    reader.reject("position_embedding_type", "absolute");
  setAllLayers(std::nullopt);
}

void Parser::parse(Family family) {
  config.family = family;
  switch (family) {
  case Family::Llama:
    return parseLlama();
  case Family::Mistral:
    return parseMistral();
  case Family::Mixtral:
    return parseMixtral();
  case Family::Qwen2:
    return parseQwen2();
  case Family::Qwen3:
    return parseQwen3();
  case Family::Qwen3Moe:
    return parseQwen3Moe();
  case Family::Gemma2:
    return parseGemma2();
  case Family::Gemma3:
    return parseGemma3();
  case Family::Phi3:
    return parsePhi3();
  case Family::Gpt2:
    return parseGpt2();
  case Family::GptNeox:
    return parseGptNeox();
  case Family::Bert:
    return parseBert();
  }
}

ModelConfig parseFamilyConfig(ConfigReader &reader, Family family,
                              const ConfigOptions &options) {
  Parser parser(reader, options);
  parser.parse(family);
  return std::move(parser.config);
}

} // namespace weft
