#include "test/reference/RandomCheckpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

using namespace weft::reference;
using nlohmann::json;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

RandomOptions RandomOptions::parse(const json &document) {
  RandomOptions options;
  if (!document.is_object())
    throw Error("expected a JSON object of options");
  for (const auto &[key, value] : document.items()) {
    auto set = [&, &name = key, &from = value](const char *member, auto &to) {
      if (name != member)
        return false;
      from.get_to(to);
      return true;
    };
    try {
      if (key == "storeHead") {
        options.storeHead = value.get<bool>();
        continue;
      }
      if (key == "elementType") {
        std::string type = value.get<std::string>();
        if (type == "F32")
          options.elementType = ElementType::F32;
        else if (type == "F16")
          options.elementType = ElementType::F16;
        else if (type == "BF16")
          options.elementType = ElementType::BF16;
        else
          throw Error("elementType '" + type + "', expected F32, F16 or BF16");
        continue;
      }
      bool known =
          set("family", options.family) ||
          set("vocabulary", options.vocabulary) ||
          set("hidden", options.hidden) || set("layers", options.layers) ||
          set("heads", options.heads) || set("kvHeads", options.kvHeads) ||
          set("headSize", options.headSize) ||
          set("intermediate", options.intermediate) ||
          set("maxPositions", options.maxPositions) ||
          set("window", options.window) || set("experts", options.experts) ||
          set("expertsPerToken", options.expertsPerToken) ||
          set("expertIntermediate", options.expertIntermediate) ||
          set("normalizeExpertWeights", options.normalizeExpertWeights) ||
          set("attentionBias", options.attentionBias) ||
          set("mlpBias", options.mlpBias) || set("tied", options.tied) ||
          set("oldSpelling", options.oldSpelling) ||
          set("shards", options.shards) || set("seed", options.seed);
      if (key == "rope")
        options.rope = value;
      else if (key == "config")
        options.config = value;
      else if (!known)
        throw Error("unknown option '" + key +
                    "'; RandomOptions in RandomCheckpoint.h lists them");
    } catch (const json::exception &error) {
      throw Error("option '" + key + "': " + error.what());
    }
  }
  return options;
}

static bool isAnyOf(const std::string &family,
                    std::initializer_list<const char *> names) {
  return std::find(names.begin(), names.end(), family) != names.end();
}

static bool isGemma(const RandomOptions &options) {
  return isAnyOf(options.family, {"gemma2", "gemma3_text"});
}

//===----------------------------------------------------------------------===//
// config.json
//===----------------------------------------------------------------------===//

static json baseConfig(const RandomOptions &options) {
  return {{"model_type", options.family},
          {"vocab_size", options.vocabulary},
          {"tie_word_embeddings", options.tied},
          {"bos_token_id", 1},
          {"eos_token_id", 2}};
}

static json makeGpt2Config(const RandomOptions &options) {
  json config = baseConfig(options);
  config.update({{"architectures", {"GPT2LMHeadModel"}},
                 {"n_embd", options.hidden},
                 {"n_layer", options.layers},
                 {"n_head", options.heads},
                 {"n_positions", options.maxPositions},
                 {"n_inner", options.intermediate},
                 {"activation_function", "gelu_new"},
                 {"layer_norm_epsilon", 1e-5}});
  return config;
}

static json makeBertConfig(const RandomOptions &options) {
  json config = baseConfig(options);
  config.update({{"architectures", {"BertModel"}},
                 {"hidden_size", options.hidden},
                 {"num_hidden_layers", options.layers},
                 {"num_attention_heads", options.heads},
                 {"intermediate_size", options.intermediate},
                 {"max_position_embeddings", options.maxPositions},
                 {"type_vocab_size", 2},
                 {"hidden_act", "gelu"},
                 {"layer_norm_eps", 1e-12}});
  return config;
}

static json makeLlamaLikeConfig(const RandomOptions &options) {
  const std::string &family = options.family;
  json config = baseConfig(options);
  config.update({{"hidden_size", options.hidden},
                 {"num_hidden_layers", options.layers},
                 {"num_attention_heads", options.heads},
                 {"intermediate_size", options.intermediate},
                 {"max_position_embeddings", options.maxPositions}});
  if (family == "gpt_neox") {
    config.update({{"hidden_act", "gelu"},
                   {"layer_norm_eps", 1e-5},
                   {"use_parallel_residual", true}});
    return config;
  }
  config["num_key_value_heads"] = options.kvHeads;
  config["head_dim"] = options.headSize;
  config["rms_norm_eps"] = 1e-6;
  config[isGemma(options) ? "hidden_activation" : "hidden_act"] =
      isGemma(options) ? "gelu_pytorch_tanh" : "silu";
  if (isAnyOf(family, {"llama", "qwen3", "qwen3_moe", "gemma2", "gemma3_text"}))
    config["attention_bias"] = options.attentionBias;
  if (family == "llama")
    config["mlp_bias"] = options.mlpBias;
  else
    config["sliding_window"] = options.window     ? json(options.window)
                               : isGemma(options) ? json(options.maxPositions)
                                                  : json(nullptr);
  if (isAnyOf(family, {"qwen2", "qwen3", "qwen3_moe"})) {
    config["use_sliding_window"] = options.window != 0;
    if (family != "qwen3_moe")
      config["max_window_layers"] = options.layers / 2;
  }
  if (isGemma(options))
    config["query_pre_attn_scalar"] = options.headSize;
  if (family == "gemma2")
    config.update(
        {{"attn_logit_softcapping", 50.0}, {"final_logit_softcapping", 30.0}});
  if (isAnyOf(family, {"mixtral", "qwen3_moe"})) {
    config[family == "qwen3_moe" && options.oldSpelling ? "num_experts"
                                                        : "num_local_experts"] =
        options.experts;
    config["num_experts_per_tok"] = options.expertsPerToken;
  }
  if (family == "qwen3_moe")
    config.update({{"moe_intermediate_size", options.expertIntermediate},
                   {"norm_topk_prob", options.normalizeExpertWeights},
                   {"decoder_sparse_step", 1}});
  return config;
}

// The layers that slide by the older rule of each family, spelled out.
static json makeLayerTypes(const RandomOptions &options) {
  json types = json::array();
  for (int64_t i = 0; i < options.layers; ++i) {
    bool slides = options.family == "gemma2" ? i % 2 == 0
                  : options.family == "gemma3_text"
                      ? (i + 1) % 3 != 0
                      : options.window != 0 && i >= options.layers / 2;
    types.push_back(slides ? "sliding_attention" : "full_attention");
  }
  return types;
}

static void addNewSpelling(const RandomOptions &options, json &config) {
  json rope = {{"rope_type", "default"}, {"rope_theta", 10000.0}};
  rope.update(options.rope);
  config["dtype"] = options.elementType == ElementType::F32   ? "float32"
                    : options.elementType == ElementType::F16 ? "float16"
                                                              : "bfloat16";
  if (isAnyOf(options.family, {"gpt2", "bert"}))
    return;
  if (options.family == "gpt_neox" && !rope.contains("partial_rotary_factor"))
    rope["partial_rotary_factor"] = 0.25;
  if (isAnyOf(options.family, {"qwen2", "qwen3", "gemma2", "gemma3_text"}))
    config["layer_types"] = makeLayerTypes(options);
  if (options.family == "gemma3_text")
    config["rope_parameters"] = {
        {"full_attention", rope},
        {"sliding_attention",
         {{"rope_type", "default"}, {"rope_theta", 10000.0}}}};
  else
    config["rope_parameters"] = rope;
}

static void addOldSpelling(const RandomOptions &options, json &config) {
  config["torch_dtype"] = options.elementType == ElementType::F32 ? "float32"
                          : options.elementType == ElementType::F16
                              ? "float16"
                              : "bfloat16";
  if (isAnyOf(options.family, {"gpt2", "bert"}))
    return;
  json rope = options.rope;
  bool isNeox = options.family == "gpt_neox";
  config[isNeox ? "rotary_emb_base" : "rope_theta"] =
      rope.value("rope_theta", 10000.0);
  if (isNeox || rope.contains("partial_rotary_factor"))
    config[isNeox ? "rotary_pct" : "partial_rotary_factor"] =
        rope.value("partial_rotary_factor", 0.25);
  if (options.family == "gemma3_text") {
    config["rope_local_base_freq"] = 10000.0;
    config["sliding_window_pattern"] = 3;
  }
  std::string kind = rope.value("rope_type", "default");
  for (const char *key : {"rope_theta", "partial_rotary_factor", "rope_type"})
    rope.erase(key);
  rope["type"] = kind;
  config["rope_scaling"] = kind == "default" ? json(nullptr) : rope;
}

json weft::reference::makeConfig(const RandomOptions &options) {
  if (!isAnyOf(options.family,
               {"llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe",
                "gemma2", "gemma3_text", "phi3", "gpt2", "gpt_neox", "bert"}))
    throw Error("unknown family '" + options.family + "'");
  json config = options.family == "gpt2"   ? makeGpt2Config(options)
                : options.family == "bert" ? makeBertConfig(options)
                                           : makeLlamaLikeConfig(options);
  if (options.oldSpelling)
    addOldSpelling(options, config);
  else
    addNewSpelling(options, config);
  // Phi-3 reads it here, not in the dict.
  const char *original = "original_max_position_embeddings";
  if (options.family == "phi3" && options.rope.contains(original))
    config[original] = options.rope[original];
  config.merge_patch(options.config);
  return config;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {

class Generator {
public:
  Generator(uint64_t seed, double normCentre)
      : state(seed), normCentre(normCentre) {}

  void matrix(const std::string &name, std::vector<int64_t> shape, int64_t in) {
    add(name, std::move(shape), 0, 1 / std::sqrt(double(in)));
  }
  void linear(const std::string &name, int64_t out, int64_t in, bool bias) {
    matrix(name + ".weight", {out, in}, in);
    if (bias)
      add(name + ".bias", {out}, 0, 0.1);
  }
  /// As GPT-2 stores it.
  void transposed(const std::string &name, int64_t in, int64_t out) {
    matrix(name + ".weight", {in, out}, in);
    add(name + ".bias", {out}, 0, 0.1);
  }
  void rmsNorm(const std::string &name, int64_t size) {
    add(name + ".weight", {size}, normCentre, 0.2);
  }
  void layerNorm(const std::string &name, int64_t size) {
    rmsNorm(name, size);
    add(name + ".bias", {size}, 0, 0.1);
  }
  std::vector<NamedTensor> take() { return std::move(tensors); }

private:
  // splitmix64, http://prng.di.unimi.it/splitmix64.c: the same numbers
  // everywhere, unlike the distributions of the standard library.
  double uniform() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  void add(const std::string &name, std::vector<int64_t> shape, double centre,
           double deviation) {
    NamedTensor tensor{name, std::move(shape), {}};
    int64_t count = 1;
    for (int64_t dim : tensor.shape)
      count *= dim;
    double halfWidth = deviation * std::sqrt(3.0);
    for (int64_t i = 0; i < count; ++i)
      tensor.values.push_back(float(centre + halfWidth * (2 * uniform() - 1)));
    tensors.push_back(std::move(tensor));
  }

  uint64_t state;
  double normCentre;
  std::vector<NamedTensor> tensors;
};

} // namespace

static void addGpt2(const RandomOptions &options, Generator &to) {
  int64_t hidden = options.hidden;
  to.matrix("transformer.wte.weight", {options.vocabulary, hidden}, hidden);
  to.matrix("transformer.wpe.weight", {options.maxPositions, hidden}, hidden);
  for (int64_t i = 0; i < options.layers; ++i) {
    std::string layer = "transformer.h." + std::to_string(i) + ".";
    to.layerNorm(layer + "ln_1", hidden);
    to.transposed(layer + "attn.c_attn", hidden, 3 * hidden);
    to.transposed(layer + "attn.c_proj", hidden, hidden);
    to.layerNorm(layer + "ln_2", hidden);
    to.transposed(layer + "mlp.c_fc", hidden, options.intermediate);
    to.transposed(layer + "mlp.c_proj", options.intermediate, hidden);
  }
  to.layerNorm("transformer.ln_f", hidden);
}

static void addNeox(const RandomOptions &options, Generator &to) {
  int64_t hidden = options.hidden;
  to.matrix("gpt_neox.embed_in.weight", {options.vocabulary, hidden}, hidden);
  for (int64_t i = 0; i < options.layers; ++i) {
    std::string layer = "gpt_neox.layers." + std::to_string(i) + ".";
    to.layerNorm(layer + "input_layernorm", hidden);
    to.layerNorm(layer + "post_attention_layernorm", hidden);
    to.linear(layer + "attention.query_key_value", 3 * hidden, hidden, true);
    to.linear(layer + "attention.dense", hidden, hidden, true);
    to.linear(layer + "mlp.dense_h_to_4h", options.intermediate, hidden, true);
    to.linear(layer + "mlp.dense_4h_to_h", hidden, options.intermediate, true);
  }
  to.layerNorm("gpt_neox.final_layer_norm", hidden);
}

static void addBert(const RandomOptions &options, Generator &to) {
  int64_t hidden = options.hidden;
  std::string embeddings = "embeddings.";
  to.matrix(embeddings + "word_embeddings.weight", {options.vocabulary, hidden},
            hidden);
  to.matrix(embeddings + "position_embeddings.weight",
            {options.maxPositions, hidden}, hidden);
  to.matrix(embeddings + "token_type_embeddings.weight", {2, hidden}, hidden);
  to.layerNorm(embeddings + "LayerNorm", hidden);
  for (int64_t i = 0; i < options.layers; ++i) {
    std::string layer = "encoder.layer." + std::to_string(i) + ".";
    for (const char *name : {"query", "key", "value"})
      to.linear(layer + "attention.self." + name, hidden, hidden, true);
    to.linear(layer + "attention.output.dense", hidden, hidden, true);
    to.layerNorm(layer + "attention.output.LayerNorm", hidden);
    to.linear(layer + "intermediate.dense", options.intermediate, hidden, true);
    to.linear(layer + "output.dense", hidden, options.intermediate, true);
    to.layerNorm(layer + "output.LayerNorm", hidden);
  }
}

static void addLlamaLikeNetwork(const RandomOptions &options, Generator &to,
                                const std::string &layer) {
  int64_t hidden = options.hidden, inner = options.intermediate;
  auto network = [&](const std::string &at, int64_t size, const char *gate,
                     const char *up, const char *down, bool bias) {
    to.linear(at + gate, size, hidden, bias);
    to.linear(at + up, size, hidden, bias);
    to.linear(at + down, hidden, size, bias);
  };
  if (options.family == "phi3") {
    to.linear(layer + "mlp.gate_up_proj", 2 * inner, hidden, false);
    to.linear(layer + "mlp.down_proj", hidden, inner, false);
  } else if (isAnyOf(options.family, {"mixtral", "qwen3_moe"})) {
    bool isMixtral = options.family == "mixtral";
    std::string block = layer + (isMixtral ? "block_sparse_moe." : "mlp.");
    to.linear(block + "gate", options.experts, hidden, false);
    for (int64_t e = 0; e < options.experts; ++e) {
      std::string expert = block + "experts." + std::to_string(e) + ".";
      if (isMixtral)
        network(expert, inner, "w1", "w3", "w2", false);
      else
        network(expert, options.expertIntermediate, "gate_proj", "up_proj",
                "down_proj", false);
    }
  } else {
    network(layer + "mlp.", inner, "gate_proj", "up_proj", "down_proj",
            options.mlpBias && options.family == "llama");
  }
}

static void addLlamaLike(const RandomOptions &options, Generator &to) {
  const std::string &family = options.family;
  int64_t hidden = options.hidden, size = options.headSize;
  int64_t queries = options.heads * size, keys = options.kvHeads * size;
  bool hasBiasKey =
      isAnyOf(family, {"llama", "qwen3", "qwen3_moe", "gemma2", "gemma3_text"});
  bool outputBias = options.attentionBias && hasBiasKey;
  bool bias = outputBias || family == "qwen2";
  to.matrix("model.embed_tokens.weight", {options.vocabulary, hidden}, hidden);
  for (int64_t i = 0; i < options.layers; ++i) {
    std::string layer = "model.layers." + std::to_string(i) + ".";
    to.rmsNorm(layer + "input_layernorm", hidden);
    if (family == "phi3") {
      to.linear(layer + "self_attn.qkv_proj", queries + 2 * keys, hidden,
                false);
    } else {
      to.linear(layer + "self_attn.q_proj", queries, hidden, bias);
      to.linear(layer + "self_attn.k_proj", keys, hidden, bias);
      to.linear(layer + "self_attn.v_proj", keys, hidden, bias);
    }
    to.linear(layer + "self_attn.o_proj", hidden, queries, outputBias);
    if (isAnyOf(family, {"qwen3", "qwen3_moe", "gemma3_text"})) {
      to.rmsNorm(layer + "self_attn.q_norm", size);
      to.rmsNorm(layer + "self_attn.k_norm", size);
    }
    to.rmsNorm(layer + "post_attention_layernorm", hidden);
    if (isGemma(options)) {
      to.rmsNorm(layer + "pre_feedforward_layernorm", hidden);
      to.rmsNorm(layer + "post_feedforward_layernorm", hidden);
    }
    addLlamaLikeNetwork(options, to, layer);
  }
  to.rmsNorm("model.norm", hidden);
}

std::vector<NamedTensor>
weft::reference::makeTensors(const RandomOptions &options) {
  Generator generator(options.seed, isGemma(options) ? 0 : 1);
  std::string head = "lm_head.weight";
  if (options.family == "gpt2") {
    addGpt2(options, generator);
  } else if (options.family == "gpt_neox") {
    addNeox(options, generator);
    head = "embed_out.weight";
  } else if (options.family == "bert") {
    addBert(options, generator);
    return generator.take();
  } else {
    addLlamaLike(options, generator);
  }
  // Last, so that the other tensors do not depend on whether it is there.
  if (options.storeHead.value_or(!options.tied))
    generator.matrix(head, {options.vocabulary, options.hidden},
                     options.hidden);
  return generator.take();
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

void weft::reference::writeFile(const fs::path &file, std::string_view bytes) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(bytes.data(), std::streamsize(bytes.size()));
  stream.close();
  if (!stream)
    throw Error("cannot write '" + file.string() + "'");
}

void weft::reference::writeSafetensors(const fs::path &file,
                                       const std::vector<NamedTensor> &tensors,
                                       ElementType elementType) {
  json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const NamedTensor &tensor : tensors) {
    size_t begin = data.size();
    for (float value : tensor.values) {
      char bytes[4];
      uint16_t half = elementType == ElementType::F16 ? floatToHalf(value)
                                                      : floatToBfloat(value);
      if (elementType == ElementType::F32)
        std::memcpy(bytes, &value, 4);
      else
        std::memcpy(bytes, &half, 2);
      data.append(bytes, size_t(sizeInBytes(elementType)));
    }
    header[tensor.name] = {{"dtype", spelling(elementType)},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' '); // Aligns the data.
  uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char *>(&length), 8);
  writeFile(file, bytes + text + data);
}

void weft::reference::writeRandomCheckpoint(const fs::path &folder,
                                            const RandomOptions &options) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error("cannot create '" + folder.string() + "': " + error.message());
  writeFile(folder / "config.json", makeConfig(options).dump(2) + "\n");
  std::vector<NamedTensor> tensors = makeTensors(options);
  if (options.shards <= 1) {
    writeSafetensors(folder / "model.safetensors", tensors,
                     options.elementType);
    return;
  }
  json weightMap = json::object();
  auto number = [](int64_t value) {
    std::string digits = std::to_string(value);
    return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
  };
  std::vector<std::vector<NamedTensor>> shards(size_t(options.shards));
  for (size_t i = 0; i < tensors.size(); ++i)
    shards[i * shards.size() / tensors.size()].push_back(tensors[i]);
  for (size_t i = 0; i < shards.size(); ++i) {
    std::string name = "model-" + number(int64_t(i) + 1) + "-of-" +
                       number(options.shards) + ".safetensors";
    writeSafetensors(folder / name, shards[i], options.elementType);
    for (const NamedTensor &tensor : shards[i])
      weightMap[tensor.name] = name;
  }
  json index = {{"metadata", json::object()}, {"weight_map", weightMap}};
  writeFile(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}
