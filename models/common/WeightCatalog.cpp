//===- WeightCatalog.cpp - Helper for describing a family's weights -------===//

#include "models/common/WeightCatalog.h"

using namespace llvm;

namespace weft {

std::string WeightCatalog::findPrefix(ArrayRef<StringRef> prefixes,
                                      StringRef name) const {
  for (StringRef prefix : prefixes)
    if (source && source->find((prefix + name).str()))
      return prefix.str();
  return prefixes.front().str();
}

void WeightCatalog::note(std::string name, ArrayRef<int64_t> shape,
                         TensorRole role) {
  if (noted.insert(name).second)
    weights.tensors.push_back(
        {std::move(name), SmallVector<int64_t, 2>(shape), role});
}

Weight WeightCatalog::use(const Twine &name, ArrayRef<int64_t> shape,
                          TensorRole role) {
  note(name.str(), shape, role);
  return {{{name.str()}}, SmallVector<int64_t, 3>(shape)};
}

LinearWeights WeightCatalog::useLinear(const Twine &name, int64_t out,
                                       int64_t in, bool hasBias,
                                       bool transposed) {
  RowRange whole;
  whole.transposed = transposed;
  return useRows(name, whole, out, in, hasBias);
}

LinearWeights WeightCatalog::useRows(const Twine &name, RowRange range,
                                     int64_t storedOut, int64_t in,
                                     bool hasBias) {
  int64_t out = range.count ? range.count * range.block : storedOut;
  LinearWeights result;
  range.name = (name + ".weight").str();
  SmallVector<int64_t, 2> stored = {storedOut, in};
  if (range.transposed)
    std::swap(stored[0], stored[1]);
  note(range.name, stored, TensorRole::Matrix);
  result.matrix = {{range}, {out, in}};
  if (hasBias) {
    range.name = (name + ".bias").str();
    range.transposed = false;
    note(range.name, storedOut, TensorRole::Bias);
    result.bias = {{range}, {out}};
  }
  return result;
}

NormWeights WeightCatalog::useNorm(const Twine &name, int64_t size,
                                   bool hasBias, TensorRole role) {
  // Checkpoints converted from TensorFlow have other names.
  bool older = source && source->find((name + ".gamma").str());
  NormWeights result;
  result.weight = use(name + (older ? ".gamma" : ".weight"), size, role);
  if (hasBias)
    result.bias =
        use(name + (older ? ".beta" : ".bias"), size, TensorRole::Bias);
  return result;
}

Weight WeightCatalog::useStack(function_ref<std::string(int64_t)> name,
                               int64_t count, int64_t out, int64_t in) {
  Weight stack;
  stack.shape = {count, out, in};
  for (int64_t i = 0; i < count; ++i)
    stack.sources.push_back(
        use(name(i), {out, in}, TensorRole::Matrix).sources.front());
  return stack;
}

void describeLlamaAttention(WeightCatalog &catalog, const ModelConfig &config,
                            const std::string &prefix, LayerWeights &layer) {
  int64_t hidden = config.hiddenSize;
  int64_t queries = config.headCount * config.headSize;
  int64_t keys = config.kvHeadCount * config.headSize;
  std::string name = prefix + "self_attn.";
  layer.query =
      catalog.useLinear(name + "q_proj", queries, hidden, config.qkvBias);
  layer.key = catalog.useLinear(name + "k_proj", keys, hidden, config.qkvBias);
  layer.value =
      catalog.useLinear(name + "v_proj", keys, hidden, config.qkvBias);
  layer.output = catalog.useLinear(name + "o_proj", hidden, queries,
                                   config.attentionOutputBias);
}

void describeLlamaMlp(WeightCatalog &catalog, const ModelConfig &config,
                      const std::string &prefix, LayerWeights &layer) {
  int64_t hidden = config.hiddenSize, inner = config.intermediateSize;
  std::string name = prefix + "mlp.";
  layer.gate =
      catalog.useLinear(name + "gate_proj", inner, hidden, config.mlpBias);
  layer.up = catalog.useLinear(name + "up_proj", inner, hidden, config.mlpBias);
  layer.down =
      catalog.useLinear(name + "down_proj", hidden, inner, config.mlpBias);
}

void describeExperts(WeightCatalog &catalog, const ModelConfig &config,
                     const std::string &prefix, StringRef gate, StringRef up,
                     StringRef down, LayerWeights &layer) {
  const MoeConfig &moe = *config.moe;
  layer.router =
      catalog.use(prefix + "gate.weight", {moe.expertCount, config.hiddenSize},
                  TensorRole::Matrix);
  auto stack = [&](StringRef part, int64_t out, int64_t in) {
    return catalog.useStack(
        [&](int64_t expert) {
          return (Twine(prefix) + "experts." + Twine(expert) + "." + part +
                  ".weight")
              .str();
        },
        moe.expertCount, out, in);
  };
  layer.expertGate = stack(gate, moe.intermediateSize, config.hiddenSize);
  layer.expertUp = stack(up, moe.intermediateSize, config.hiddenSize);
  layer.expertDown = stack(down, config.hiddenSize, moe.intermediateSize);
}

Weight describeHead(WeightCatalog &catalog, const ModelConfig &config,
                    const ModelWeights &weights, const Twine &name) {
  if (config.tiedEmbeddings)
    return weights.tokenEmbedding;
  return catalog.use(name, {config.vocabSize, config.hiddenSize},
                     TensorRole::Matrix);
}

void describeLlamaDecoder(
    WeightCatalog &catalog, const ModelConfig &config, ModelWeights &weights,
    function_ref<void(int64_t, const std::string &, LayerWeights &)> addLayer) {
  // The second and third form are those of models with an image part, the
  // last is that of a model saved without its head.
  std::string prefix = catalog.findPrefix(
      {"model.", "language_model.model.", "model.language_model.", ""},
      "embed_tokens.weight");
  weights.tokenEmbedding =
      catalog.use(prefix + "embed_tokens.weight",
                  {config.vocabSize, config.hiddenSize}, TensorRole::Embedding);
  TensorRole normRole =
      config.normOffset == 0 ? TensorRole::Norm : TensorRole::NormOffset;
  for (int64_t i = 0; i < config.layerCount; ++i) {
    LayerWeights layer;
    layer.name = "layers." + std::to_string(i);
    std::string layerPrefix = prefix + layer.name + ".";
    layer.attentionNorm = catalog.useNorm(layerPrefix + "input_layernorm",
                                          config.hiddenSize, false, normRole);
    addLayer(i, layerPrefix, layer);
    weights.layers.push_back(std::move(layer));
  }
  weights.finalNorm =
      catalog.useNorm(prefix + "norm", config.hiddenSize, false, normRole);
  std::string headPrefix =
      catalog.findPrefix({"", "language_model."}, "lm_head.weight");
  weights.head =
      describeHead(catalog, config, weights, headPrefix + "lm_head.weight");
  weights.ignored = {"*.rotary_emb.inv_freq"};
}

} // namespace weft
