//===- FamilyParser.cpp - What the configs of all families share ----------===//

#include "compiler/Import/HuggingFace/FamilyParser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace llvm;

namespace weft {

void FamilyParser::readSizes(const FamilyDefaults &defaults,
                             const FamilyKeys &keys) {
  // Files always have these. Where one has lost them, the default seldom fits
  // the weights, and their shapes alone would not tell why.
  for (auto [key, absent] :
       {std::pair(StringRef("vocab_size"), defaults.vocabSize),
        {keys.hidden, defaults.hiddenSize},
        {keys.layers, defaults.layerCount},
        {keys.heads, defaults.headCount}})
    if (!reader.has(key))
      reader.getReport().warning(
          reader.getWhere() + ": " + key, "no such key", "a number",
          "the family's default, " + Twine(absent) + ", is used");
  config.vocabSize =
      reader.getInt("vocab_size", defaults.vocabSize, 1, maxConfigSize);
  config.hiddenSize =
      reader.getInt(keys.hidden, defaults.hiddenSize, 1, maxConfigSize);
  config.layerCount =
      reader.getInt(keys.layers, defaults.layerCount, 1, maxConfigLayers);
  config.headCount =
      reader.getInt(keys.heads, defaults.headCount, 1, maxConfigSize);
  config.intermediateSize = reader.getInt(
      keys.intermediate, defaults.intermediateSize, 1, maxConfigSize);
  config.maxPositions = reader.getInt(keys.positions, defaults.maxPositions, 1,
                                      maxConfigPositions);
  config.normEpsilon = reader.getPositive(keys.epsilon, defaults.epsilon);
  config.tiedEmbeddings = reader.getBool("tie_word_embeddings", defaults.tied);

  // A null number of key heads means one for each query head.
  int64_t kvAbsent =
      defaults.kvHeadCount ? defaults.kvHeadCount : config.headCount;
  config.kvHeadCount =
      reader.getOptionalInt("num_key_value_heads", kvAbsent, 1, maxConfigSize)
          .value_or(config.headCount);
  if (config.headCount % config.kvHeadCount != 0)
    reader.reject("num_key_value_heads", "a divisor of " +
                                             Twine(config.headCount) +
                                             ", the number of query heads");

  std::optional<int64_t> headSize;
  if (defaults.headSize)
    headSize = defaults.headSize;
  headSize = reader.getOptionalInt("head_dim", headSize, 1, maxConfigSize);
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

void FamilyParser::readActivation(StringRef key, StringRef absent) {
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

void FamilyParser::readDtype() {
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

void FamilyParser::readTokens(const FamilyDefaults &defaults) {
  constexpr int64_t min = -1, max = INT32_MAX;
  config.bosTokenId =
      reader.getOptionalInt("bos_token_id", defaults.bos, min, max);
  // Llama 2 and others write -1 for "there is none".
  config.padTokenId =
      reader.getOptionalInt("pad_token_id", defaults.pad, min, max);
  bool present = reader.isPresent("eos_token_id");
  config.eosTokenIds =
      reader.getIntOrInts("eos_token_id", min, max)
          .value_or(present ? std::vector<int64_t>() : defaults.eos);
}

/// A flag that must be false, as it is when it is absent.
void FamilyParser::requireFalse(StringRef key, const Twine &advice) {
  if (reader.getBool(key, false))
    reader.reject(key, "false", advice);
}

void FamilyParser::readUnsupportedFlags() {
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

void FamilyParser::readContextLength() {
  config.contextLength =
      options.contextLength ? options.contextLength : config.maxPositions;
  bool learned = config.family == Family::Gpt2 || config.family == Family::Bert;
  if (config.contextLength < 1 || config.contextLength > maxContextLength ||
      (learned && config.contextLength > config.maxPositions))
    reader.getReport().error(
        "context length", Twine(config.contextLength),
        "a number from 1 to " +
            Twine(learned ? config.maxPositions : maxContextLength),
        learned ? "the model has a learned embedding for each position"
                : "choose one with --context");
}

/// All layers attend to a window, or all attend to everything. Where the config
/// has layer_types all the same they must agree, because some versions of
/// transformers would follow them.
void FamilyParser::setAllLayers(std::optional<int64_t> window) {
  config.slidingWindow = window.value_or(0);
  LayerKind kind = window ? LayerKind::Sliding : LayerKind::Full;
  config.layerKinds.assign(config.layerCount, kind);
  StringRef name = window ? "sliding_attention" : "full_attention";
  std::vector<std::string> types = reader.getStrings("layer_types");
  bool agrees =
      types.empty() || static_cast<int64_t>(types.size()) == config.layerCount;
  if (!agrees || any_of(types, [&](StringRef type) { return type != name; }))
    reader.reject("layer_types",
                  name + " for each of the " + Twine(config.layerCount) +
                      " layers",
                  "layers of this family are all of one kind");
}

void FamilyParser::readLayerTypes(
    std::optional<int64_t> window,
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

void FamilyParser::readMoe(StringRef intermediateKey, int64_t intermediateSize,
                           int64_t expertCount, int64_t expertsPerToken,
                           bool normalize) {
  MoeConfig moe;
  // Both names of the number of experts are in use.
  bool older = reader.has("num_experts");
  bool newer = reader.has("num_local_experts");
  moe.expertCount = reader.getInt(newer ? "num_local_experts" : "num_experts",
                                  expertCount, 1, maxConfigExperts);
  if (older && newer &&
      reader.getInt("num_experts", expertCount, 1, maxConfigExperts) !=
          moe.expertCount)
    reader.reject("num_experts", "the same number as num_local_experts");
  reader.markKnown({"num_experts", "num_local_experts"});
  moe.expertsPerToken =
      reader.getInt("num_experts_per_tok", expertsPerToken, 1, maxConfigSize);
  if (moe.expertsPerToken > moe.expertCount)
    reader.reject("num_experts_per_tok", "at most " + Twine(moe.expertCount) +
                                             ", the number of experts");
  moe.intermediateSize =
      reader.getInt(intermediateKey, intermediateSize, 1, maxConfigSize);
  moe.normalizeWeights = normalize;
  moe.sparseLayers.assign(config.layerCount, true);
  config.moe = std::move(moe);
}

/// A value that goes by a family's own name or by the common one. Where both
/// are given they must agree.
StringRef FamilyParser::pickName(StringRef own, StringRef common) {
  if (!reader.has(own))
    return common;
  if (reader.has(common) && *reader.get(own) != *reader.get(common))
    reader.reject(common, "the same value as " + own);
  return own;
}

double FamilyParser::readSoftcap(StringRef key, std::optional<double> absent) {
  return reader.getOptionalPositive(key, absent).value_or(0);
}

} // namespace weft
