#include "test/reference/Config.h"
#include "test/reference/Checkpoint.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace weft::reference;
using nlohmann::json;

namespace {

/// Typed access to an object; null counts as absent, as in the files that
/// transformers writes.
class Reader {
public:
  Reader(const json &object, std::string where)
      : object(object), where(std::move(where)) {}

  bool has(const char *key) const {
    return object.contains(key) && !object[key].is_null();
  }
  bool isNull(const char *key) const {
    return object.contains(key) && object[key].is_null();
  }

  int64_t integer(const char *key, std::optional<int64_t> fallback = {}) const {
    if (!has(key) && fallback)
      return *fallback;
    if (!has(key) || !object[key].is_number_integer())
      fail(key, "an integer");
    return object[key].get<int64_t>();
  }
  int64_t positive(const char *key,
                   std::optional<int64_t> fallback = {}) const {
    int64_t value = integer(key, fallback);
    // Keeps products of sizes in 64 bits.
    if (value < 1 || value > (int64_t(1) << 28))
      fail(key, "an integer from 1 to 2^28");
    return value;
  }
  double number(const char *key, std::optional<double> fallback = {}) const {
    if (!has(key) && fallback)
      return *fallback;
    if (!has(key) || !object[key].is_number())
      fail(key, "a number");
    return object[key].get<double>();
  }
  bool boolean(const char *key, bool fallback) const {
    if (!has(key))
      return fallback;
    if (!object[key].is_boolean())
      fail(key, "true or false");
    return object[key].get<bool>();
  }
  std::string string(const char *key,
                     std::optional<std::string> fallback = {}) const {
    if (!has(key) && fallback)
      return *fallback;
    if (!has(key) || !object[key].is_string())
      fail(key, "a string");
    return object[key].get<std::string>();
  }
  template <typename T> std::vector<T> list(const char *key) const {
    try {
      return object.at(key).get<std::vector<T>>();
    } catch (const json::exception &) {
      fail(key, "a list");
    }
  }
  [[noreturn]] void fail(const char *key, const std::string &expected) const {
    throw Error(
        where + ": '" + key + "' is " +
        (object.contains(key)
             ? object[key].dump(-1, ' ', true, json::error_handler_t::replace)
             : "missing") +
        ", expected " + expected);
  }

private:
  const json &object;
  std::string where;
};

} // namespace

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

static std::vector<double> readFactors(const Reader &reader, const char *key,
                                       int64_t count) {
  std::vector<double> factors = reader.list<double>(key);
  if (int64_t(factors.size()) != count ||
      std::any_of(factors.begin(), factors.end(),
                  [](double factor) { return !(factor > 0); }))
    reader.fail(key, "a list of " + std::to_string(count) +
                         " positive numbers, one for each rotated pair");
  return factors;
}

// `dict` is the dict of a layer type in its newest or older spelling, or an
// empty object; `top` is config.json, which holds what the older spelling keeps
// outside the dict.
static Rope parseRope(const json &dict, const Reader &top, Family family,
                      int64_t headSize, double theta, double partial) {
  Reader reader(dict, "config.json: rope parameters");
  Rope rope;
  std::string kind =
      reader.string("rope_type", reader.string("type", "default"));
  // Phi-3's first spellings of longrope.
  if (family == Family::Phi3 && (kind == "su" || kind == "yarn"))
    kind = "longrope";
  static const std::map<std::string, RopeKind> kinds = {
      {"default", RopeKind::Default},   {"linear", RopeKind::Linear},
      {"dynamic", RopeKind::Dynamic},   {"yarn", RopeKind::Yarn},
      {"longrope", RopeKind::Longrope}, {"llama3", RopeKind::Llama3}};
  auto found = kinds.find(kind);
  if (found == kinds.end())
    reader.fail("rope_type",
                "default, linear, dynamic, yarn, longrope or llama3");
  rope.kind = found->second;
  rope.theta = reader.number("rope_theta", theta);
  partial = reader.number("partial_rotary_factor", partial);
  rope.rotaryDims = int64_t(double(headSize) * partial);
  if (!(rope.theta > 1) || rope.rotaryDims < 2 || rope.rotaryDims > headSize ||
      rope.rotaryDims % 2)
    throw Error("config.json: rope theta " + std::to_string(rope.theta) +
                " over " + std::to_string(rope.rotaryDims) + " of " +
                std::to_string(headSize) +
                " dimensions, expected theta above 1 and an even number of "
                "dimensions");
  rope.maxPositions = top.positive("max_position_embeddings");
  rope.originalMaxPositions =
      reader.positive("original_max_position_embeddings", rope.maxPositions);
  bool scaled = rope.kind == RopeKind::Yarn ||
                rope.kind == RopeKind::Longrope ||
                rope.kind == RopeKind::Llama3;
  // Phi-3 keeps it outside the dict, with a default.
  if (scaled && family == Family::Phi3)
    rope.originalMaxPositions =
        top.positive("original_max_position_embeddings", 4096);
  else if (scaled && top.has("original_max_position_embeddings"))
    rope.originalMaxPositions =
        top.positive("original_max_position_embeddings");
  if (rope.kind == RopeKind::Yarn || rope.kind == RopeKind::Longrope)
    rope.factor =
        reader.number("factor", double(rope.maxPositions) /
                                    double(rope.originalMaxPositions));
  else if (rope.kind != RopeKind::Default)
    rope.factor = reader.number("factor");
  if (!(rope.factor > 0))
    reader.fail("factor", "a positive number");
  if (rope.kind == RopeKind::Dynamic && rope.rotaryDims == 2)
    throw Error(
        "config.json: dynamic rope needs more than 2 rotated dimensions");
  if (reader.has("attention_factor"))
    rope.attentionFactor = reader.number("attention_factor");
  switch (rope.kind) {
  case RopeKind::Yarn:
    // 0 counts as absent, as in transformers.
    if (double beta = reader.number("beta_fast", 0.0); beta != 0)
      rope.betaFast = beta;
    if (double beta = reader.number("beta_slow", 0.0); beta != 0)
      rope.betaSlow = beta;
    rope.mscale = reader.number("mscale", 0.0);
    rope.mscaleAllDim = reader.number("mscale_all_dim", 0.0);
    rope.truncate = reader.boolean("truncate", true);
    break;
  case RopeKind::Llama3:
    rope.lowFreqFactor = reader.number("low_freq_factor");
    rope.highFreqFactor = reader.number("high_freq_factor");
    if (!(rope.highFreqFactor > rope.lowFreqFactor))
      reader.fail("high_freq_factor", "a number above low_freq_factor");
    break;
  case RopeKind::Longrope:
    rope.shortFactor = readFactors(reader, "short_factor", rope.rotaryDims / 2);
    rope.longFactor = readFactors(reader, "long_factor", rope.rotaryDims / 2);
    break;
  default:
    break;
  }
  return rope;
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

static Family parseFamily(const Reader &top) {
  static const std::map<std::string, Family> families = {
      {"llama", Family::Llama},      {"mistral", Family::Mistral},
      {"mixtral", Family::Mixtral},  {"qwen2", Family::Qwen2},
      {"qwen3", Family::Qwen3},      {"qwen3_moe", Family::Qwen3Moe},
      {"gemma2", Family::Gemma2},    {"gemma3_text", Family::Gemma3},
      {"phi3", Family::Phi3},        {"gpt2", Family::Gpt2},
      {"gpt_neox", Family::GptNeox}, {"bert", Family::Bert}};
  auto found = families.find(top.string("model_type"));
  if (found == families.end())
    top.fail("model_type",
             "llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, gemma2, "
             "gemma3_text, phi3, gpt2, gpt_neox or bert");
  return found->second;
}

static Activation parseActivation(const Reader &top, const char *key,
                                  const std::string &fallback) {
  static const std::map<std::string, Activation> names = {
      {"silu", Activation::Silu},
      {"swish", Activation::Silu},
      {"gelu", Activation::GeluErf},
      {"gelu_python", Activation::GeluErf},
      {"gelu_new", Activation::GeluTanh},
      {"gelu_pytorch_tanh", Activation::GeluTanh},
      {"gelu_fast", Activation::GeluTanh},
      {"relu", Activation::Relu}};
  auto found = names.find(top.string(key, fallback));
  if (found == names.end())
    top.fail(key, "silu, gelu, gelu_new, gelu_pytorch_tanh or relu");
  return found->second;
}

// Which layers slide: layer_types where the family has it, else the family's
// older rule. Families without per-layer types slide in all layers or none.
static std::vector<bool> slidingLayers(const Reader &top,
                                       const Config &config) {
  bool alternates =
      config.family == Family::Gemma2 || config.family == Family::Gemma3 ||
      config.family == Family::Qwen2 || config.family == Family::Qwen3;
  if (!alternates)
    return std::vector<bool>(size_t(config.layers), true);
  if (top.has("layer_types")) {
    std::vector<bool> slides;
    for (const std::string &type : top.list<std::string>("layer_types")) {
      if (type != "sliding_attention" && type != "full_attention")
        top.fail("layer_types", "full_attention or sliding_attention");
      slides.push_back(type == "sliding_attention");
    }
    if (int64_t(slides.size()) != config.layers)
      top.fail("layer_types", "one type for each of " +
                                  std::to_string(config.layers) + " layers");
    return slides;
  }
  int64_t pattern = 2; // gemma2: every second layer sees everything.
  if (config.family == Family::Gemma3)
    pattern = top.positive("sliding_window_pattern",
                           top.positive("_sliding_window_pattern", 6));
  int64_t firstSliding = top.integer("max_window_layers", 28);
  std::vector<bool> slides;
  for (int64_t i = 0; i < config.layers; ++i)
    slides.push_back(config.family == Family::Qwen2 ||
                             config.family == Family::Qwen3
                         ? i >= firstSliding
                         : (i + 1) % pattern != 0);
  return slides;
}

static void parseWindows(const Reader &top, Config &config) {
  static const std::map<Family, int64_t> defaults = {
      {Family::Mistral, 4096}, {Family::Gemma2, 4096}, {Family::Gemma3, 4096},
      {Family::Qwen2, 4096},   {Family::Qwen3, 4096},  {Family::Qwen3Moe, 4096},
      {Family::Mixtral, 0},    {Family::Phi3, 0}};
  config.window.assign(size_t(config.layers), 0);
  auto found = defaults.find(config.family);
  if (found == defaults.end())
    return;
  // An explicit null switches the window off; only an absent key means the
  // family's default.
  int64_t size = found->second;
  if (top.has("sliding_window"))
    size = top.positive("sliding_window");
  else if (top.isNull("sliding_window"))
    size = 0;
  bool isQwen = config.family == Family::Qwen2 ||
                config.family == Family::Qwen3 ||
                config.family == Family::Qwen3Moe;
  if (isQwen && !top.boolean("use_sliding_window", false))
    size = 0;
  std::vector<bool> slides = slidingLayers(top, config);
  bool isGemma =
      config.family == Family::Gemma2 || config.family == Family::Gemma3;
  bool isSpelledOut = isQwen && top.has("layer_types");
  if ((isGemma || isSpelledOut) && !size &&
      std::find(slides.begin(), slides.end(), true) != slides.end())
    top.fail("sliding_window", "a number, as there are layers that slide");
  for (int64_t i = 0; i < config.layers; ++i)
    config.window[size_t(i)] = slides[size_t(i)] ? size : 0;
}

static void parseRopes(const json &document, const Reader &top,
                       Config &config) {
  config.rope.assign(size_t(config.layers), Rope());
  if (config.family == Family::Gpt2 || config.family == Family::Bert)
    return;
  json dict = json::object();
  for (const char *key : {"rope_parameters", "rope_scaling"})
    if (top.has(key)) {
      if (!document[key].is_object())
        top.fail(key, "an object");
      if (!document[key].empty())
        dict = document[key];
    }
  auto parse = [&](const json &layerDict, double theta, double partial) {
    return parseRope(layerDict, top, config.family, config.headSize, theta,
                     partial);
  };
  bool isNested =
      dict.contains("full_attention") || dict.contains("sliding_attention");
  if (config.family != Family::Gemma3) {
    if (isNested)
      throw Error("config.json: rope parameters per layer type are read for "
                  "gemma3_text only");
    bool isNeox = config.family == Family::GptNeox;
    double theta = top.number(isNeox ? "rotary_emb_base" : "rope_theta",
                              config.family == Family::Mixtral ? 1e6 : 1e4);
    double partial = top.number(isNeox ? "rotary_pct" : "partial_rotary_factor",
                                isNeox ? 0.25 : 1.0);
    config.rope.assign(size_t(config.layers), parse(dict, theta, partial));
    return;
  }
  // Gemma 3: the local layers have a base of their own and are never scaled.
  json local = json::object(), global = json::object();
  if (isNested) {
    local = dict.value("sliding_attention", json::object());
    global = dict.value("full_attention", json::object());
    if (!local.is_object() || !global.is_object())
      top.fail("rope_parameters", "an object for each layer type");
  } else if (top.has("rope_parameters")) {
    top.fail("rope_parameters",
             "the dicts 'full_attention' and 'sliding_attention'");
  } else {
    global = dict;
  }
  Rope localRope = parse(local, top.number("rope_local_base_freq", 1e4), 1.0);
  Rope globalRope = parse(global, top.number("rope_theta", 1e6), 1.0);
  std::vector<bool> slides = slidingLayers(top, config);
  for (int64_t i = 0; i < config.layers; ++i)
    config.rope[size_t(i)] = slides[size_t(i)] ? localRope : globalRope;
}

static void parseExperts(const Reader &top, Config &config) {
  config.sparse.assign(size_t(config.layers), false);
  if (config.family == Family::Mixtral) {
    config.experts = top.positive("num_local_experts", 8);
    config.expertsPerToken = top.positive("num_experts_per_tok", 2);
    config.expertIntermediate = config.intermediate;
    config.sparse.assign(size_t(config.layers), true);
  } else if (config.family == Family::Qwen3Moe) {
    config.experts =
        top.positive("num_experts", top.positive("num_local_experts", 128));
    config.expertsPerToken = top.positive("num_experts_per_tok", 8);
    config.expertIntermediate = top.positive("moe_intermediate_size", 768);
    config.normalizeExpertWeights = top.boolean("norm_topk_prob", false);
    int64_t step = top.positive("decoder_sparse_step", 1);
    std::vector<int64_t> dense;
    if (top.has("mlp_only_layers"))
      dense = top.list<int64_t>("mlp_only_layers");
    for (int64_t i = 0; i < config.layers; ++i)
      config.sparse[size_t(i)] =
          (i + 1) % step == 0 &&
          std::find(dense.begin(), dense.end(), i) == dense.end();
  }
  if (config.expertsPerToken > config.experts)
    top.fail("num_experts_per_tok", "at most the number of experts");
}

static void refuse(const Reader &top, const char *key) {
  if (top.boolean(key, false))
    top.fail(key, "false");
}

static void parseAttention(const Reader &top, Config &config) {
  bool isGemma =
      config.family == Family::Gemma2 || config.family == Family::Gemma3;
  // What an absent head_dim means differs: a division, or the class's default.
  bool hasDefaultSize = isGemma || config.family == Family::Qwen3;
  if (top.has("head_dim") || hasDefaultSize)
    config.headSize = top.positive("head_dim", isGemma ? 256 : 128);
  else if (config.hidden % config.heads)
    throw Error("config.json: hidden size " + std::to_string(config.hidden) +
                " is not a multiple of " + std::to_string(config.heads) +
                " heads, and there is no 'head_dim'");
  else
    config.headSize = config.hidden / config.heads;
  if (config.heads % config.kvHeads)
    top.fail("num_key_value_heads", "a divisor of num_attention_heads (" +
                                        std::to_string(config.heads) + ")");
  double scale = 1 / std::sqrt(double(config.headSize));
  if (isGemma) {
    scale = 1 / std::sqrt(top.number("query_pre_attn_scalar", 256.0));
    auto softcap = [&](const char *key, double fallback) {
      return top.isNull(key) ? 0 : top.number(key, fallback);
    };
    bool isSecond = config.family == Family::Gemma2;
    config.attentionSoftcap = softcap("attn_logit_softcapping", isSecond * 50);
    config.finalSoftcap = softcap("final_logit_softcapping", isSecond * 30);
    // transformers reads the key for Gemma 3 but never applies it.
    if (!isSecond && config.attentionSoftcap != 0)
      top.fail("attn_logit_softcapping", "null");
    config.embeddingScale = std::sqrt(double(config.hidden));
    refuse(top, "use_bidirectional_attention");
  }
  if (config.family == Family::Gpt2 && !top.boolean("scale_attn_weights", true))
    scale = 1;
  config.attentionScale.assign(size_t(config.layers), scale);
  if (config.family == Family::Gpt2 &&
      top.boolean("scale_attn_by_inverse_layer_idx", false))
    for (int64_t i = 0; i < config.layers; ++i)
      config.attentionScale[size_t(i)] /= double(i + 1);
}

Config weft::reference::parseConfig(const json &document) {
  Reader top(document, "config.json");
  Config config;
  config.family = parseFamily(top);
  if (top.has("quantization_config"))
    top.fail("quantization_config", "none: the weights are not plain matrices");
  Family family = config.family;
  bool isGpt2 = family == Family::Gpt2;
  auto key = [&](const char *general, const char *gpt2) {
    return isGpt2 ? gpt2 : general;
  };
  config.vocabulary = top.positive("vocab_size");
  config.hidden = top.positive(key("hidden_size", "n_embd"));
  config.layers = top.positive(key("num_hidden_layers", "n_layer"));
  if (config.layers > 65536)
    top.fail(key("num_hidden_layers", "n_layer"), "at most 65536");
  config.heads = top.positive(key("num_attention_heads", "n_head"));
  config.maxPositions =
      top.positive(key("max_position_embeddings", "n_positions"));
  config.intermediate = top.positive(
      key("intermediate_size", "n_inner"),
      isGpt2 ? std::optional<int64_t>(4 * config.hidden) : std::nullopt);
  // GPT-2, GPT-NeoX and BERT have no grouped heads, whatever the file says.
  bool isOld = isGpt2 || family == Family::GptNeox || family == Family::Bert;
  static const std::map<Family, int64_t> absentKvHeads = {
      {Family::Mistral, 8}, {Family::Mixtral, 8},  {Family::Qwen2, 32},
      {Family::Qwen3, 32},  {Family::Qwen3Moe, 4}, {Family::Gemma2, 4},
      {Family::Gemma3, 4}};
  auto absent = absentKvHeads.find(family);
  bool usesDefault = absent != absentKvHeads.end() &&
                     !document.contains("num_key_value_heads");
  config.kvHeads =
      isOld ? config.heads
            : top.positive("num_key_value_heads",
                           usesDefault ? absent->second : config.heads);

  bool isGemma = family == Family::Gemma2 || family == Family::Gemma3;
  config.activation =
      isGemma  ? parseActivation(top, "hidden_activation", "gelu_pytorch_tanh")
      : isGpt2 ? parseActivation(top, "activation_function", "gelu_new")
               : parseActivation(top, "hidden_act", isOld ? "gelu" : "silu");
  const char *epsilon = isGpt2  ? "layer_norm_epsilon"
                        : isOld ? "layer_norm_eps"
                                : "rms_norm_eps";
  double fallback =
      family == Family::Bert                                         ? 1e-12
      : isOld || family == Family::Mixtral || family == Family::Phi3 ? 1e-5
                                                                     : 1e-6;
  config.normEpsilon = top.number(epsilon, fallback);
  config.tied = top.boolean("tie_word_embeddings",
                            isGemma || isGpt2 || family == Family::Bert);
  if (family == Family::Bert) {
    config.tokenTypes = top.positive("type_vocab_size", 2);
    if (top.string("position_embedding_type", "absolute") != "absolute")
      top.fail("position_embedding_type", "absolute");
    refuse(top, "is_decoder");
  }
  if (isGpt2 || family == Family::Bert)
    refuse(top, "add_cross_attention");

  bool attentionBias = top.boolean("attention_bias", isOld);
  bool hasKey = family == Family::Llama || family == Family::Qwen3 ||
                family == Family::Qwen3Moe || isGemma ||
                family == Family::GptNeox;
  bool alwaysBias = isGpt2 || family == Family::Bert;
  config.attentionBias =
      alwaysBias || family == Family::Qwen2 || (hasKey && attentionBias);
  config.outputBias = alwaysBias || (hasKey && attentionBias);
  config.mlpBias =
      isOld || (family == Family::Llama && top.boolean("mlp_bias", false));
  config.parallelResidual =
      family == Family::GptNeox && top.boolean("use_parallel_residual", true);
  parseAttention(top, config);
  parseWindows(top, config);
  parseRopes(document, top, config);
  parseExperts(top, config);
  return config;
}
