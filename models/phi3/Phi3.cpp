//===- Phi3.cpp - Weights of phi3 -----------------------------------------===//

#include "models/common/WeightCatalog.h"

namespace weft {

void describePhi3(WeightCatalog &catalog, const ModelConfig &config,
                  ModelWeights &weights) {
  int64_t hidden = config.hiddenSize, inner = config.intermediateSize;
  int64_t queries = config.headCount * config.headSize;
  int64_t keys = config.kvHeadCount * config.headSize;
  describeLlamaDecoder(
      catalog, config, weights,
      [&](int64_t, const std::string &prefix, LayerWeights &layer) {
        // One matrix for queries, keys and values, one for gate and up.
        auto slice = [&](llvm::StringRef name, int64_t start, int64_t size,
                         int64_t stored) {
          RowRange range;
          range.start = start;
          range.block = range.stride = size;
          range.count = 1;
          return catalog.useRows(llvm::Twine(prefix) + name, range, stored,
                                 hidden, false);
        };
        int64_t qkv = queries + 2 * keys;
        layer.query = slice("self_attn.qkv_proj", 0, queries, qkv);
        layer.key = slice("self_attn.qkv_proj", queries, keys, qkv);
        layer.value = slice("self_attn.qkv_proj", queries + keys, keys, qkv);
        layer.output = catalog.useLinear(prefix + "self_attn.o_proj", hidden,
                                         queries, false);
        layer.mlpNorm =
            catalog.useNorm(prefix + "post_attention_layernorm", hidden, false);
        layer.gate = slice("mlp.gate_up_proj", 0, inner, 2 * inner);
        layer.up = slice("mlp.gate_up_proj", inner, inner, 2 * inner);
        layer.down =
            catalog.useLinear(prefix + "mlp.down_proj", hidden, inner, false);
      });
}

} // namespace weft
