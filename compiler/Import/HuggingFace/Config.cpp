//===- Config.cpp - Hugging Face config.json to ModelConfig ---------------===//

#include "compiler/Import/HuggingFace/Config.h"

#include "compiler/Import/HuggingFace/FamilyConfigs.h"
#include "compiler/Import/HuggingFace/Recommendations.h"
#include "compiler/Import/Json.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace weft {

/// Keys of any family that say how a model is trained, stored, called or
/// decoded, but not what its forward pass computes.
static constexpr StringRef harmlessKeys[] = {
    // Origin and storage.
    "_name_or_path", "max_sequence_length", "_commit_hash",
    "_from_model_config", "architectures", "auto_map", "model_type",
    "transformers_version", "tokenizer_class", "finetuning_task",
    "task_specific_params", "unsloth_version", "unsloth_fixed", "name_or_path",
    "transformers.js_config",
    // Training.
    "attention_dropout", "attention_probs_dropout_prob", "attn_pdrop",
    "classifier_dropout", "embd_pdrop", "gradient_checkpointing",
    "hidden_dropout", "hidden_dropout_prob", "initializer_range", "resid_pdrop",
    "router_aux_loss_coef", "router_jitter_noise",
    // Heads that are not imported.
    "_num_labels", "id2label", "label2id", "num_labels", "problem_type",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
    "summary_type", "summary_use_proj",
    // How transformers computes the same values.
    "_attn_implementation", "_attn_implementation_autoset",
    "attn_implementation", "cache_implementation", "chunk_size_feed_forward",
    "output_attentions", "output_hidden_states", "output_router_logits",
    "pretraining_tp", "return_dict", "torchscript", "use_bfloat16", "use_cache",
    // Defaults of decoding, which generation_config.json has too.
    "bad_words_ids", "begin_suppress_tokens", "decoder_start_token_id",
    "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty",
    "forced_bos_token_id", "forced_eos_token_id", "length_penalty",
    "max_length", "min_length", "no_repeat_ngram_size", "num_beam_groups",
    "num_beams", "num_return_sequences", "output_past", "output_scores",
    "prefix", "remove_invalid_values", "repetition_penalty",
    "return_dict_in_generate", "sep_token_id", "suppress_tokens", "temperature",
    "top_k", "top_p", "typical_p"};

static constexpr struct {
  StringRef modelType;
  Family family;
} families[] = {
    {"llama", Family::Llama},     {"mistral", Family::Mistral},
    {"mixtral", Family::Mixtral}, {"qwen2", Family::Qwen2},
    {"qwen3", Family::Qwen3},     {"qwen3_moe", Family::Qwen3Moe},
    {"gemma2", Family::Gemma2},   {"gemma3_text", Family::Gemma3},
    {"gemma3", Family::Gemma3},   {"phi3", Family::Phi3},
    {"gpt2", Family::Gpt2},       {"gpt_neox", Family::GptNeox},
    {"bert", Family::Bert},
};

static std::optional<Family> readFamily(ConfigReader &reader) {
  std::string modelType = reader.getString("model_type", "");
  for (const auto &entry : families)
    if (entry.modelType == modelType)
      return entry.family;
  std::string known;
  for (const auto &entry : families)
    known += (known.empty() ? "" : " ") + entry.modelType.str();
  reader.reject("model_type", "one of " + known,
                "models of this architecture are not supported");
  return std::nullopt;
}

/// The class that a checkpoint was saved from says which head it has.
static void checkArchitectures(ConfigReader &reader, Family family) {
  for (StringRef name : reader.getStrings("architectures")) {
    bool lm = name.ends_with("ForCausalLM") || name.ends_with("LMHeadModel") ||
              name.ends_with("ForConditionalGeneration");
    bool headless = name.ends_with("Model") && !name.ends_with("LMHeadModel");
    if (family == Family::Bert) {
      if (!headless)
        reader.getReport().warning(
            reader.getWhere() + ": architectures", name, "BertModel",
            "only the encoder is compiled, not the head");
    } else if (!lm && !headless) {
      reader.reject("architectures",
                    "a class for text generation (...ForCausalLM)",
                    "other heads are not supported");
    }
  }
}

/// The config of the text model inside a config of gemma3 with images. What
/// both levels have is taken from the inner one.
static std::optional<json::Object> extractTextConfig(ConfigReader &reader) {
  const json::Object *text = reader.getObject("text_config");
  if (!text) {
    reader.reject("text_config", "an object with the config of the text model",
                  "a config of the text model alone has the model_type "
                  "gemma3_text");
    return std::nullopt;
  }
  if (reader.has("vision_config"))
    reader.getReport().warning(reader.getWhere() + ": vision_config",
                               "a config for images", "text only",
                               "only the text model is compiled");
  reader.markKnown({"vision_config", "mm_tokens_per_image", "boi_token_index",
                    "eoi_token_index", "image_token_index", "boi_token_id",
                    "eoi_token_id", "image_token_id", "text_config"});
  json::Object merged = *text;
  for (StringRef key : {"dtype", "torch_dtype", "eos_token_id", "bos_token_id",
                        "pad_token_id", "tie_word_embeddings"})
    if (const json::Value *outer = reader.get(key); outer && !merged.get(key))
      merged[key] = *outer;
  return merged;
}

static void readGenerationConfig(const json::Value *generation,
                                 ModelConfig &config, ImportReport &report) {
  if (!generation)
    return;
  constexpr StringRef where = "generation_config.json";
  const json::Object *object = generation->getAsObject();
  if (!object) {
    report.error(where, printJson(*generation), "an object");
    return;
  }
  ConfigReader reader(*object, where.str(), report);
  if (auto ids = reader.getIntOrInts("eos_token_id", -1, INT32_MAX))
    config.eosTokenIds = *ids;
  if (reader.has("bos_token_id"))
    config.bosTokenId =
        reader.getOptionalInt("bos_token_id", {}, -1, INT32_MAX);
  if (reader.has("pad_token_id"))
    config.padTokenId =
        reader.getOptionalInt("pad_token_id", {}, -1, INT32_MAX);
  config.generation = readRecommendations(reader);
}

/// An ignored key that is not there is a spelling mistake; one that the model
/// needs was not ignored.
static void checkIgnored(ArrayRef<std::string> keys,
                         ArrayRef<const ConfigReader *> readers,
                         ImportReport &report) {
  for (StringRef key : keys) {
    auto isPresent = [&](const ConfigReader *r) { return r->isPresent(key); };
    auto wasRead = [&](const ConfigReader *r) { return r->wasRead(key); };
    if (none_of(readers, isPresent))
      report.warning("--ignore-config-key", "'" + key + "'",
                     "a key of the config", "there is none of this name");
    else if (any_of(readers, wasRead))
      report.warning("--ignore-config-key", "'" + key + "'",
                     "a key that Weft does not know",
                     "the model needs this one, so its value is used");
  }
}

/// Some configs write -1 for "there is no such token".
static void checkTokens(ModelConfig &config, ImportReport &report) {
  erase_if(config.eosTokenIds, [](int64_t id) { return id < 0; });
  if (config.bosTokenId && *config.bosTokenId < 0)
    config.bosTokenId.reset();
  if (config.padTokenId && *config.padTokenId < 0)
    config.padTokenId.reset();
  for (int64_t id : config.eosTokenIds)
    if (id >= config.vocabSize)
      report.warning("eos_token_id", Twine(id),
                     "an id below the vocabulary size, " +
                         Twine(config.vocabSize),
                     "it will never be generated");
}

static std::optional<ModelConfig>
parseConfigObject(const json::Object &object, const ConfigOptions &options,
                  ImportReport &report, StringRef where) {
  ConfigReader reader(object, where.str(), report);
  reader.markKnown(harmlessKeys);
  for (const std::string &key : options.ignoredKeys)
    reader.markKnown({key});
  std::optional<Family> family = readFamily(reader);
  if (!family)
    return std::nullopt;
  checkArchitectures(reader, *family);

  constexpr char unknownAdvice[] =
      "if you know that this key does not change what the model computes, "
      "ignore it with --ignore-config-key";
  std::optional<ModelConfig> config;
  if (object.get("text_config") ||
      *object.getString("model_type") == "gemma3") {
    if (*family != Family::Gemma3) {
      reader.reject("text_config", "no such key for this model_type");
      return std::nullopt;
    }
    auto text = extractTextConfig(reader);
    if (!text)
      return std::nullopt;
    ConfigReader inner(*text, (where + ": text_config").str(), report);
    inner.markKnown(harmlessKeys);
    for (const std::string &key : options.ignoredKeys)
      inner.markKnown({key});
    config = parseFamilyConfig(inner, *family, options);
    inner.reportUnknown(unknownAdvice);
    checkIgnored(options.ignoredKeys, {&reader, &inner}, report);
  } else {
    config = parseFamilyConfig(reader, *family, options);
    checkIgnored(options.ignoredKeys, {&reader}, report);
  }
  reader.reportUnknown(unknownAdvice);
  return config;
}

std::optional<ModelConfig> parseHuggingFaceConfig(const json::Value &config,
                                                  const json::Value *generation,
                                                  const ConfigOptions &options,
                                                  ImportReport &report) {
  size_t errorsBefore = report.getErrorCount();
  const json::Object *object = config.getAsObject();
  if (!object) {
    report.error("config.json", printJson(config), "an object");
    return std::nullopt;
  }
  auto result = parseConfigObject(*object, options, report, "config.json");
  if (!result)
    return std::nullopt;
  readGenerationConfig(generation, *result, report);
  checkTokens(*result, report);
  if (report.getErrorCount() != errorsBefore)
    return std::nullopt;
  return result;
}

std::optional<ModelConfig>
parseHuggingFaceConfig(StringRef config, std::optional<StringRef> generation,
                       const ConfigOptions &options, ImportReport &report) {
  size_t errorsBefore = report.getErrorCount();
  Expected<json::Value> parsed = parseJson(config);
  if (!parsed)
    report.unreadable("config.json", parsed.takeError(), "JSON");
  std::optional<json::Value> parsedGeneration;
  if (generation) {
    if (Expected<json::Value> value = parseJson(*generation))
      parsedGeneration = std::move(*value);
    else
      report.unreadable("generation_config.json", value.takeError(), "JSON");
  }
  if (!parsed)
    return std::nullopt;
  auto result = parseHuggingFaceConfig(
      *parsed, parsedGeneration ? &*parsedGeneration : nullptr, options,
      report);
  if (report.getErrorCount() != errorsBefore)
    return std::nullopt;
  return result;
}

} // namespace weft
