//===- Gpt2.cpp - Weights of gpt2 -----------------------------------------===//

#include "models/common/WeightCatalog.h"

namespace weft {

void describeGpt2(WeightCatalog &catalog, const ModelConfig &config,
                  ModelWeights &weights) {
  int64_t hidden = config.hiddenSize, inner = config.intermediateSize;
  std::string prefix = catalog.findPrefix({"transformer.", ""}, "wte.weight");
  weights.tokenEmbedding = catalog.use(
      prefix + "wte.weight", {config.vocabSize, hidden}, TensorRole::Embedding);
  weights.positionEmbedding =
      catalog.use(prefix + "wpe.weight", {config.maxPositions, hidden},
                  TensorRole::Embedding);
  for (int64_t i = 0; i < config.layerCount; ++i) {
    LayerWeights layer;
    layer.name = "layers." + std::to_string(i);
    std::string name = prefix + "h." + std::to_string(i) + ".";
    layer.attentionNorm = catalog.useNorm(name + "ln_1", hidden, true);
    // Stored [in, out], with queries, keys and values side by side.
    auto slice = [&](int64_t part) {
      RowRange range;
      range.start = part * hidden;
      range.block = range.stride = hidden;
      range.count = 1;
      range.transposed = true;
      return catalog.useRows(name + "attn.c_attn", range, 3 * hidden, hidden,
                             true);
    };
    layer.query = slice(0);
    layer.key = slice(1);
    layer.value = slice(2);
    layer.output =
        catalog.useLinear(name + "attn.c_proj", hidden, hidden, true, true);
    layer.mlpNorm = catalog.useNorm(name + "ln_2", hidden, true);
    layer.up = catalog.useLinear(name + "mlp.c_fc", inner, hidden, true, true);
    layer.down =
        catalog.useLinear(name + "mlp.c_proj", hidden, inner, true, true);
    weights.layers.push_back(std::move(layer));
  }
  weights.finalNorm = catalog.useNorm(prefix + "ln_f", hidden, true);
  weights.head = describeHead(catalog, config, weights, "lm_head.weight");
  // Causal masks, which older versions stored.
  weights.ignored = {"*.attn.bias", "*.attn.masked_bias"};
}

} // namespace weft
