#include "test/reference/Transformer.h"

using namespace weft::reference;

namespace {

/// Reads weights by name; `prefix` is put before each.
class Loader {
public:
  Loader(const Checkpoint &checkpoint, std::string prefix)
      : checkpoint(checkpoint), prefix(std::move(prefix)) {}

  Loader operator/(const std::string &part) const {
    return {checkpoint, prefix + part + "."};
  }
  Tensor tensor(const std::string &name, std::vector<int64_t> shape) const {
    return checkpoint.read(prefix + name, shape);
  }
  std::vector<float> vector(const std::string &name, int64_t size) const {
    return tensor(name, {size}).values;
  }
  Linear linear(const std::string &name, int64_t in, int64_t out,
                bool bias) const {
    return {in, out, tensor(name + ".weight", {out, in}).values,
            bias ? vector(name + ".bias", out) : std::vector<float>()};
  }
  /// GPT-2 stores its matrices as [in, out].
  Linear transposed(const std::string &name, int64_t in, int64_t out) const {
    std::vector<float> stored = tensor(name + ".weight", {in, out}).values;
    Linear result{in, out, std::vector<float>(stored.size()),
                  vector(name + ".bias", out)};
    for (int64_t i = 0; i < in; ++i)
      for (int64_t o = 0; o < out; ++o)
        result.weight[size_t(o * in + i)] = stored[size_t(i * out + o)];
    return result;
  }
  Norm rmsNorm(const std::string &name, int64_t size) const {
    return {vector(name + ".weight", size), {}};
  }
  /// BERT's first checkpoints spell weight and bias gamma and beta.
  Norm layerNorm(const std::string &name, int64_t size) const {
    bool isOld = checkpoint.has(prefix + name + ".gamma");
    return {vector(name + (isOld ? ".gamma" : ".weight"), size),
            vector(name + (isOld ? ".beta" : ".bias"), size)};
  }

private:
  const Checkpoint &checkpoint;
  std::string prefix;
};

} // namespace

/// Output rows [first, first + count) of a fused matrix.
static Linear sliceRows(const Linear &fused, int64_t first, int64_t count) {
  auto weight = fused.weight.begin() + first * fused.in;
  Linear result{fused.in, count, {weight, weight + count * fused.in}, {}};
  if (!fused.bias.empty())
    result.bias.assign(fused.bias.begin() + first,
                       fused.bias.begin() + first + count);
  return result;
}

static void appendRows(Linear &to, const Linear &rows) {
  to.in = rows.in;
  to.out += rows.out;
  to.weight.insert(to.weight.end(), rows.weight.begin(), rows.weight.end());
  to.bias.insert(to.bias.end(), rows.bias.begin(), rows.bias.end());
}

static Layer loadLlamaLayer(const Loader &from, const Config &config,
                            int64_t index) {
  int64_t hidden = config.hidden, size = config.headSize;
  int64_t queries = config.heads * size, keys = config.kvHeads * size;
  Layer layer;
  Loader attention = from / "self_attn", mlp = from / "mlp";
  layer.attentionNorm = from.rmsNorm("input_layernorm", hidden);
  layer.output = attention.linear("o_proj", queries, hidden, config.outputBias);
  if (config.family == Family::Phi3) {
    Linear fused =
        attention.linear("qkv_proj", hidden, queries + 2 * keys, false);
    layer.query = sliceRows(fused, 0, queries);
    layer.key = sliceRows(fused, queries, keys);
    layer.value = sliceRows(fused, queries + keys, keys);
  } else {
    bool bias = config.attentionBias;
    layer.query = attention.linear("q_proj", hidden, queries, bias);
    layer.key = attention.linear("k_proj", hidden, keys, bias);
    layer.value = attention.linear("v_proj", hidden, keys, bias);
  }
  if (config.family == Family::Qwen3 || config.family == Family::Qwen3Moe ||
      config.family == Family::Gemma3) {
    layer.queryNorm = attention.rmsNorm("q_norm", size);
    layer.keyNorm = attention.rmsNorm("k_norm", size);
  }
  if (config.family == Family::Gemma2 || config.family == Family::Gemma3) {
    layer.postAttention = from.rmsNorm("post_attention_layernorm", hidden);
    layer.feedForwardNorm = from.rmsNorm("pre_feedforward_layernorm", hidden);
    layer.postFeedForward = from.rmsNorm("post_feedforward_layernorm", hidden);
  } else {
    layer.feedForwardNorm = from.rmsNorm("post_attention_layernorm", hidden);
  }

  auto network = [&](const Loader &at, int64_t inner, const char *gate,
                     const char *up, const char *down) {
    return FeedForward{at.linear(gate, hidden, inner, config.mlpBias),
                       at.linear(up, hidden, inner, config.mlpBias),
                       at.linear(down, inner, hidden, config.mlpBias)};
  };
  if (config.sparse[size_t(index)]) {
    bool isMixtral = config.family == Family::Mixtral;
    Loader block = isMixtral ? from / "block_sparse_moe" : mlp;
    layer.router = block.linear("gate", hidden, config.experts, false);
    for (int64_t e = 0; e < config.experts; ++e) {
      Loader expert = block / "experts" / std::to_string(e);
      int64_t inner = config.expertIntermediate;
      layer.experts.push_back(
          isMixtral
              ? network(expert, inner, "w1", "w3", "w2")
              : network(expert, inner, "gate_proj", "up_proj", "down_proj"));
    }
  } else if (config.family == Family::Phi3) {
    int64_t inner = config.intermediate;
    Linear fused = mlp.linear("gate_up_proj", hidden, 2 * inner, false);
    layer.network = {sliceRows(fused, 0, inner), sliceRows(fused, inner, inner),
                     mlp.linear("down_proj", inner, hidden, false)};
  } else {
    layer.network =
        network(mlp, config.intermediate, "gate_proj", "up_proj", "down_proj");
  }
  return layer;
}

static Layer loadGpt2Layer(const Loader &from, const Config &config) {
  int64_t hidden = config.hidden;
  Layer layer;
  layer.attentionNorm = from.layerNorm("ln_1", hidden);
  layer.feedForwardNorm = from.layerNorm("ln_2", hidden);
  Linear fused = from.transposed("attn.c_attn", hidden, 3 * hidden);
  layer.query = sliceRows(fused, 0, hidden);
  layer.key = sliceRows(fused, hidden, hidden);
  layer.value = sliceRows(fused, 2 * hidden, hidden);
  layer.output = from.transposed("attn.c_proj", hidden, hidden);
  layer.network = {{},
                   from.transposed("mlp.c_fc", hidden, config.intermediate),
                   from.transposed("mlp.c_proj", config.intermediate, hidden)};
  return layer;
}

static Layer loadNeoxLayer(const Loader &from, const Config &config) {
  int64_t hidden = config.hidden, size = config.headSize;
  Layer layer;
  layer.attentionNorm = from.layerNorm("input_layernorm", hidden);
  layer.feedForwardNorm = from.layerNorm("post_attention_layernorm", hidden);
  // The fused rows are ordered by head: query, key, value of head 0, and so on.
  Linear fused = from.linear("attention.query_key_value", hidden, 3 * hidden,
                             config.attentionBias);
  for (int64_t head = 0; head < config.heads; ++head) {
    int64_t first = head * 3 * size;
    appendRows(layer.query, sliceRows(fused, first, size));
    appendRows(layer.key, sliceRows(fused, first + size, size));
    appendRows(layer.value, sliceRows(fused, first + 2 * size, size));
  }
  layer.output =
      from.linear("attention.dense", hidden, hidden, config.outputBias);
  layer.network = {
      {},
      from.linear("mlp.dense_h_to_4h", hidden, config.intermediate, true),
      from.linear("mlp.dense_4h_to_h", config.intermediate, hidden, true)};
  return layer;
}

static Layer loadBertLayer(const Loader &from, const Config &config) {
  int64_t hidden = config.hidden;
  Layer layer;
  layer.query = from.linear("attention.self.query", hidden, hidden, true);
  layer.key = from.linear("attention.self.key", hidden, hidden, true);
  layer.value = from.linear("attention.self.value", hidden, hidden, true);
  layer.output = from.linear("attention.output.dense", hidden, hidden, true);
  layer.attentionNorm = from.layerNorm("attention.output.LayerNorm", hidden);
  layer.network = {
      {},
      from.linear("intermediate.dense", hidden, config.intermediate, true),
      from.linear("output.dense", config.intermediate, hidden, true)};
  layer.feedForwardNorm = from.layerNorm("output.LayerNorm", hidden);
  return layer;
}

Transformer::Transformer(const Checkpoint &checkpoint, Config modified)
    : settings(std::move(modified)) {
  const Config &config = settings;
  int64_t hidden = config.hidden, vocabulary = config.vocabulary;
  Loader root(checkpoint, "");
  // GPT-2 and BERT checkpoints exist with and without the model's prefix.
  auto optionalPrefix = [&](const std::string &prefix, const char *probe) {
    return checkpoint.has(prefix + "." + probe) ? root / prefix : root;
  };
  std::string headName = "lm_head.weight";
  switch (config.family) {
  case Family::Gpt2: {
    Loader model = optionalPrefix("transformer", "wte.weight");
    embedding = model.tensor("wte.weight", {vocabulary, hidden});
    positionEmbedding =
        model.tensor("wpe.weight", {config.maxPositions, hidden});
    for (int64_t i = 0; i < config.layers; ++i)
      layers.push_back(loadGpt2Layer(model / "h" / std::to_string(i), config));
    finalNorm = model.layerNorm("ln_f", hidden);
    break;
  }
  case Family::GptNeox: {
    Loader model = root / "gpt_neox";
    headName = "embed_out.weight";
    embedding = model.tensor("embed_in.weight", {vocabulary, hidden});
    for (int64_t i = 0; i < config.layers; ++i)
      layers.push_back(
          loadNeoxLayer(model / "layers" / std::to_string(i), config));
    finalNorm = model.layerNorm("final_layer_norm", hidden);
    break;
  }
  case Family::Bert: {
    Loader model = optionalPrefix("bert", "embeddings.word_embeddings.weight");
    Loader embeddings = model / "embeddings";
    embedding =
        embeddings.tensor("word_embeddings.weight", {vocabulary, hidden});
    positionEmbedding = embeddings.tensor("position_embeddings.weight",
                                          {config.maxPositions, hidden});
    typeEmbedding = embeddings.tensor("token_type_embeddings.weight",
                                      {config.tokenTypes, hidden});
    embeddingNorm = embeddings.layerNorm("LayerNorm", hidden);
    for (int64_t i = 0; i < config.layers; ++i)
      layers.push_back(loadBertLayer(
          model / "encoder" / "layer" / std::to_string(i), config));
    return;
  }
  default: {
    Loader model = root / "model";
    embedding = model.tensor("embed_tokens.weight", {vocabulary, hidden});
    for (int64_t i = 0; i < config.layers; ++i)
      layers.push_back(
          loadLlamaLayer(model / "layers" / std::to_string(i), config, i));
    finalNorm = model.rmsNorm("norm", hidden);
    break;
  }
  }
  head = {hidden, vocabulary, {}, {}};
  if (!config.tied && !checkpoint.has(headName))
    throw Error("config.json says that the embedding is not tied, but the "
                "checkpoint has no '" +
                headName + "'");
  if (!config.tied) {
    head.weight = root.tensor(headName, {vocabulary, hidden}).values;
    return;
  }
  head.weight = embedding.values;
  ignoredHead =
      checkpoint.has(headName) &&
      root.tensor(headName, {vocabulary, hidden}).values != embedding.values;
}
