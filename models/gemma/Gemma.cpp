//===- Gemma.cpp - Weights of gemma2 and gemma3 ---------------------------===//

#include "models/common/WeightCatalog.h"

namespace weft {

void describeGemma(WeightCatalog &catalog, const ModelConfig &config,
                   ModelWeights &weights) {
  describeLlamaDecoder(
      catalog, config, weights,
      [&](int64_t, const std::string &prefix, LayerWeights &layer) {
        auto norm = [&](llvm::StringRef name) {
          return catalog.useNorm(llvm::Twine(prefix) + name, config.hiddenSize,
                                 false, TensorRole::NormOffset);
        };
        describeLlamaAttention(catalog, config, prefix, layer);
        if (config.family == Family::Gemma3) {
          layer.queryNorm =
              catalog.use(prefix + "self_attn.q_norm.weight", config.headSize,
                          TensorRole::NormOffset);
          layer.keyNorm = catalog.use(prefix + "self_attn.k_norm.weight",
                                      config.headSize, TensorRole::NormOffset);
        }
        layer.attentionOutputNorm = norm("post_attention_layernorm");
        layer.mlpNorm = norm("pre_feedforward_layernorm");
        layer.mlpOutputNorm = norm("post_feedforward_layernorm");
        describeLlamaMlp(catalog, config, prefix, layer);
      });
  // Models with an image part: only the text model is compiled.
  if (config.family == Family::Gemma3)
    for (const char *part :
         {"vision_tower.*", "multi_modal_projector.*", "model.vision_tower.*",
          "model.multi_modal_projector.*"})
      weights.ignored.push_back(part);
}

} // namespace weft
