//===- Mixtral.cpp - Weights of mixtral -----------------------------------===//

#include "models/common/WeightCatalog.h"

namespace weft {

void describeMixtral(WeightCatalog &catalog, const ModelConfig &config,
                     ModelWeights &weights) {
  describeLlamaDecoder(
      catalog, config, weights,
      [&](int64_t, const std::string &prefix, LayerWeights &layer) {
        describeLlamaAttention(catalog, config, prefix, layer);
        layer.mlpNorm = catalog.useNorm(prefix + "post_attention_layernorm",
                                        config.hiddenSize, false);
        describeExperts(catalog, config, prefix + "block_sparse_moe.", "w1",
                        "w3", "w2", layer);
      });
}

} // namespace weft
