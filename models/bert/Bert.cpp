//===- Bert.cpp - Weights of bert -----------------------------------------===//

#include "models/common/WeightCatalog.h"

namespace weft {

void describeBert(WeightCatalog &catalog, const ModelConfig &config,
                  ModelWeights &weights) {
  int64_t hidden = config.hiddenSize, inner = config.intermediateSize;
  std::string prefix =
      catalog.findPrefix({"", "bert."}, "embeddings.word_embeddings.weight");
  auto embedding = [&](llvm::StringRef name, int64_t rows) {
    return catalog.use(llvm::Twine(prefix) + "embeddings." + name + ".weight",
                       {rows, hidden}, TensorRole::Embedding);
  };
  weights.tokenEmbedding = embedding("word_embeddings", config.vocabSize);
  weights.positionEmbedding =
      embedding("position_embeddings", config.maxPositions);
  weights.typeEmbedding =
      embedding("token_type_embeddings", config.typeVocabSize);
  weights.embeddingNorm =
      catalog.useNorm(prefix + "embeddings.LayerNorm", hidden, true);
  for (int64_t i = 0; i < config.layerCount; ++i) {
    LayerWeights layer;
    layer.name = "layers." + std::to_string(i);
    std::string name = prefix + "encoder.layer." + std::to_string(i) + ".";
    layer.query =
        catalog.useLinear(name + "attention.self.query", hidden, hidden, true);
    layer.key =
        catalog.useLinear(name + "attention.self.key", hidden, hidden, true);
    layer.value =
        catalog.useLinear(name + "attention.self.value", hidden, hidden, true);
    layer.output = catalog.useLinear(name + "attention.output.dense", hidden,
                                     hidden, true);
    layer.attentionNorm =
        catalog.useNorm(name + "attention.output.LayerNorm", hidden, true);
    layer.up =
        catalog.useLinear(name + "intermediate.dense", inner, hidden, true);
    layer.down = catalog.useLinear(name + "output.dense", hidden, inner, true);
    layer.mlpNorm = catalog.useNorm(name + "output.LayerNorm", hidden, true);
    weights.layers.push_back(std::move(layer));
  }
  weights.ignored = {"*position_ids", "cls.*", prefix + "pooler.*"};
}

} // namespace weft
