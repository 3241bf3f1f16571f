//===- Qwen.cpp - Weights of qwen2, qwen3 and qwen3_moe -------------------===//

#include "models/common/WeightCatalog.h"

namespace weft {

void describeQwen(WeightCatalog &catalog, const ModelConfig &config,
                  ModelWeights &weights) {
  describeLlamaDecoder(
      catalog, config, weights,
      [&](int64_t index, const std::string &prefix, LayerWeights &layer) {
        describeLlamaAttention(catalog, config, prefix, layer);
        if (config.family != Family::Qwen2) {
          layer.queryNorm = catalog.use(prefix + "self_attn.q_norm.weight",
                                        config.headSize, TensorRole::Norm);
          layer.keyNorm = catalog.use(prefix + "self_attn.k_norm.weight",
                                      config.headSize, TensorRole::Norm);
        }
        layer.mlpNorm = catalog.useNorm(prefix + "post_attention_layernorm",
                                        config.hiddenSize, false);
        if (config.moe && config.moe->sparseLayers[index])
          describeExperts(catalog, config, prefix + "mlp.", "gate_proj",
                          "up_proj", "down_proj", layer);
        else
          describeLlamaMlp(catalog, config, prefix, layer);
      });
}

} // namespace weft
