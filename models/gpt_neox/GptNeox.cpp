//===- GptNeox.cpp - Weights of gpt_neox ----------------------------------===//

#include "models/common/WeightCatalog.h"

namespace weft {

void describeGptNeox(WeightCatalog &catalog, const ModelConfig &config,
                     ModelWeights &weights) {
  int64_t hidden = config.hiddenSize, inner = config.intermediateSize;
  std::string prefix = catalog.findPrefix({"gpt_neox.", ""}, "embed_in.weight");
  weights.tokenEmbedding =
      catalog.use(prefix + "embed_in.weight", {config.vocabSize, hidden},
                  TensorRole::Embedding);
  for (int64_t i = 0; i < config.layerCount; ++i) {
    LayerWeights layer;
    layer.name = "layers." + std::to_string(i);
    std::string name = prefix + layer.name + ".";
    layer.attentionNorm =
        catalog.useNorm(name + "input_layernorm", hidden, true);
    // Head by head: its query rows, its key rows, its value rows.
    auto slice = [&](int64_t part) {
      RowRange range;
      range.start = part * config.headSize;
      range.block = config.headSize;
      range.stride = 3 * config.headSize;
      range.count = config.headCount;
      return catalog.useRows(name + "attention.query_key_value", range,
                             3 * hidden, hidden, config.qkvBias);
    };
    layer.query = slice(0);
    layer.key = slice(1);
    layer.value = slice(2);
    layer.output = catalog.useLinear(name + "attention.dense", hidden, hidden,
                                     config.attentionOutputBias);
    layer.mlpNorm =
        catalog.useNorm(name + "post_attention_layernorm", hidden, true);
    layer.up =
        catalog.useLinear(name + "mlp.dense_h_to_4h", inner, hidden, true);
    layer.down =
        catalog.useLinear(name + "mlp.dense_4h_to_h", hidden, inner, true);
    weights.layers.push_back(std::move(layer));
  }
  weights.finalNorm =
      catalog.useNorm(prefix + "final_layer_norm", hidden, true);
  weights.head = describeHead(catalog, config, weights, "embed_out.weight");
  // Masks and frequencies, which older versions stored.
  weights.ignored = {"*.attention.bias", "*.attention.masked_bias",
                     "*.rotary_emb.inv_freq"};
}

} // namespace weft
