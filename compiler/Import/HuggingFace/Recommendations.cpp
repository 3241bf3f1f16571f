//===- Recommendations.cpp - How a model wants its tokens chosen ----------===//

#include "compiler/Import/HuggingFace/Recommendations.h"

#include "compiler/Import/Json.h"

#include <cmath>

using namespace llvm;

namespace weft {

/// A recommendation that makes no sense is dropped with a warning: it does not
/// change what the model computes.
static std::optional<double>
readRecommendation(ConfigReader &reader, StringRef key, StringRef expected,
                   function_ref<bool(double)> isValid) {
  if (!reader.has(key))
    return std::nullopt;
  std::optional<double> value = reader.get(key)->getAsNumber();
  if (value && isValid(*value))
    return value;
  reader.getReport().warning(reader.getWhere() + ": " + key,
                             printJson(*reader.get(key)), expected,
                             "it is not used");
  return std::nullopt;
}

static GenerationDefaults readSampling(ConfigReader &reader) {
  GenerationDefaults defaults;
  defaults.sample = reader.getBool("do_sample", false);
  // What the runtime takes, or less.
  defaults.temperature = readRecommendation(
      reader, "temperature", "a number from 0 to 1000",
      [](double value) { return value >= 0 && value <= 1000; });
  defaults.topP =
      readRecommendation(reader, "top_p", "a number above 0 and at most 1",
                         [](double value) { return value > 0 && value <= 1; });
  defaults.minP =
      readRecommendation(reader, "min_p", "a number from 0 to 1",
                         [](double value) { return value >= 0 && value <= 1; });
  defaults.repetitionPenalty = readRecommendation(
      reader, "repetition_penalty", "a number from 0.001 to 1000",
      [](double value) { return value >= 1e-3 && value <= 1000; });
  if (auto count = readRecommendation(reader, "top_k",
                                      "a whole number from 0 to 1073741824",
                                      [](double value) {
                                        return value >= 0 &&
                                               value <= (1 << 30) &&
                                               value == std::floor(value);
                                      }))
    defaults.topK = static_cast<int64_t>(*count);
  return defaults;
}

/// Recommendations that the runtime has nothing for, with the values that ask
/// for nothing.
static void reportUnusedRecommendations(ConfigReader &reader) {
  const std::pair<StringRef, json::Value> neutralValues[] = {
      {"bad_words_ids", nullptr},
      {"begin_suppress_tokens", nullptr},
      {"diversity_penalty", 0},
      {"encoder_repetition_penalty", 1},
      {"epsilon_cutoff", 0},
      {"eta_cutoff", 0},
      {"exponential_decay_length_penalty", nullptr},
      {"forced_bos_token_id", nullptr},
      {"forced_eos_token_id", nullptr},
      {"guidance_scale", 1},
      {"min_length", 0},
      {"min_new_tokens", 0},
      {"no_repeat_ngram_size", 0},
      {"num_beams", 1},
      {"penalty_alpha", 0},
      {"sequence_bias", nullptr},
      {"suppress_tokens", nullptr},
      {"typical_p", 1}};
  for (const auto &[key, neutral] : neutralValues) {
    const json::Value *value = reader.get(key);
    if (value && *value != neutral && value->kind() != json::Value::Null)
      reader.getReport().warning(reader.getWhere() + ": " + key,
                                 printJson(*value), printJson(neutral),
                                 "the runtime does not do this");
  }
}

GenerationDefaults readRecommendations(ConfigReader &reader) {
  GenerationDefaults defaults = readSampling(reader);
  reportUnusedRecommendations(reader);
  return defaults;
}

} // namespace weft
