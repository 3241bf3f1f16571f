//===- Meta.cpp - Model facts for the runtime -----------------------------===//

#include "models/common/Meta.h"

using namespace llvm;

namespace weft {

json::Value makeGeneration(const GenerationDefaults &defaults) {
  json::Object object{{"do_sample", defaults.sample}};
  auto add = [&](StringRef key, const auto &value) {
    if (value)
      object[key] = *value;
  };
  add("temperature", defaults.temperature);
  add("top_k", defaults.topK);
  add("top_p", defaults.topP);
  add("min_p", defaults.minP);
  add("repetition_penalty", defaults.repetitionPenalty);
  return object;
}

json::Value makeMeta(const ModelConfig &config, ElementType weightType,
                     int64_t parameterCount, int64_t blockSize,
                     StringRef name) {
  json::Object meta{{"format", 1},
                    {"kind", config.isEncoder() ? "encoder" : "decoder"},
                    {"family", getName(config.family)},
                    {"name", name},
                    {"weights_dtype", getName(weightType)},
                    {"vocab_size", config.vocabSize},
                    {"context_length", config.contextLength},
                    {"hidden_size", config.hiddenSize},
                    {"layers", config.layerCount},
                    {"parameters", parameterCount},
                    {"eos_token_ids", json::Array(config.eosTokenIds)},
                    {"generation", makeGeneration(config.generation)}};
  if (!config.isEncoder())
    meta["block_size"] = blockSize;
  if (config.bosTokenId)
    meta["bos_token_id"] = *config.bosTokenId;
  if (config.padTokenId)
    meta["pad_token_id"] = *config.padTokenId;
  if (config.rope && config.rope->hasLongTable())
    meta["rope_switch_length"] = config.rope->switchLength;
  return meta;
}

} // namespace weft
