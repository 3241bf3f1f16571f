//===- Llama.cpp - Weights of llama and mistral ---------------------------===//

#include "models/common/WeightCatalog.h"

namespace weft {

void describeLlama(WeightCatalog &catalog, const ModelConfig &config,
                   ModelWeights &weights) {
  describeLlamaDecoder(
      catalog, config, weights,
      [&](int64_t, const std::string &prefix, LayerWeights &layer) {
        describeLlamaAttention(catalog, config, prefix, layer);
        layer.mlpNorm = catalog.useNorm(prefix + "post_attention_layernorm",
                                        config.hiddenSize, false);
        describeLlamaMlp(catalog, config, prefix, layer);
      });
}

} // namespace weft
