//===- ConfigTest.cpp - Configs of all families, in old and new spelling --===//
//
// The folder configs/ has configs that transformers 5.17 wrote for tiny models
// of each family.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/HuggingFace/Config.h"
#include "compiler/Import/Json.h"
#include "test/compiler/Import/Checkpoint.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace weft;
using namespace weft::test;
using llvm::json::Object;
using llvm::json::Value;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

static Object load(const std::string &name) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) +
                     "/test/compiler/Import/configs/" + name + ".json");
  std::string text(std::istreambuf_iterator<char>(file), {});
  auto value = parseJson(text);
  EXPECT_TRUE(bool(value)) << name;
  return std::move(*value->getAsObject());
}

static ModelConfig accept(const Object &object, ConfigOptions options = {}) {
  ImportReport report;
  auto config =
      parseHuggingFaceConfig(Value(Object(object)), nullptr, options, report);
  EXPECT_TRUE(config.has_value()) << print(report);
  // Configs of tests may leave out sizes, which is told.
  for (const ImportProblem &problem : report.getProblems())
    EXPECT_EQ(problem.found, "no such key") << print(report);
  return config.value_or(ModelConfig());
}

static ModelConfig accept(llvm::StringRef text) {
  return accept(*parseJson(text)->getAsObject());
}

static std::string refuse(const Object &object, ConfigOptions options = {}) {
  ImportReport report;
  EXPECT_FALSE(
      parseHuggingFaceConfig(Value(Object(object)), nullptr, options, report));
  return print(report);
}

/// The named config with one key changed.
static Object with(const std::string &name, llvm::StringRef key, Value value) {
  Object object = load(name);
  object[key] = std::move(value);
  return object;
}

TEST(Config, ReadsAllFamilies) {
  struct {
    const char *name;
    Family family;
  } cases[] = {{"bert", Family::Bert},
               {"gemma2", Family::Gemma2},
               {"gemma3", Family::Gemma3},
               {"gpt2", Family::Gpt2},
               {"gpt_neox", Family::GptNeox},
               {"llama", Family::Llama},
               {"llama-rope-linear", Family::Llama},
               {"llama-rope-llama3", Family::Llama},
               {"llama-rope-yarn", Family::Llama},
               {"llama-tied", Family::Llama},
               {"llama-untied-bias", Family::Llama},
               {"mistral-window8", Family::Mistral},
               {"mixtral", Family::Mixtral},
               {"phi3", Family::Phi3},
               {"qwen2", Family::Qwen2},
               {"qwen3", Family::Qwen3},
               {"qwen3_moe", Family::Qwen3Moe}};
  for (auto [name, family] : cases) {
    SCOPED_TRACE(name);
    ModelConfig config = accept(load(name));
    EXPECT_EQ(config.family, family);
    EXPECT_EQ(config.hiddenSize, 64);
    EXPECT_EQ(config.headCount, 4);
    EXPECT_EQ(config.vocabSize, 320);
    EXPECT_EQ(config.layerCount, family == Family::Gemma3 ? 4 : 2);
    EXPECT_EQ(config.dtype, ElementType::F32);
    EXPECT_EQ(config.maxPositions, family == Family::Bert ? 128 : 256);
    EXPECT_EQ(config.contextLength, config.maxPositions);
    bool learned = family == Family::Bert || family == Family::Gpt2;
    EXPECT_EQ(config.rope.has_value(), !learned);
  }
}

TEST(Config, Llama) {
  ModelConfig config = accept(load("llama"));
  EXPECT_EQ(config.kvHeadCount, 2);
  EXPECT_EQ(config.headSize, 16);
  EXPECT_EQ(config.intermediateSize, 160);
  EXPECT_EQ(config.activation, ActivationKind::Silu);
  EXPECT_EQ(config.normEpsilon, 1e-6);
  EXPECT_FALSE(config.tiedEmbeddings);
  EXPECT_FALSE(config.qkvBias || config.attentionOutputBias || config.mlpBias);
  EXPECT_THAT(config.attentionScales, ElementsAre(0.25, 0.25));
  EXPECT_THAT(config.layerKinds, Each(LayerKind::Full));
  EXPECT_EQ(config.rope->rotarySize, 16);
  EXPECT_THAT(config.eosTokenIds, ElementsAre(2));
  EXPECT_EQ(config.bosTokenId, 1);
  EXPECT_EQ(config.padTokenId, 0);
  EXPECT_TRUE(accept(load("llama-tied")).tiedEmbeddings);
  ModelConfig biased = accept(load("llama-untied-bias"));
  EXPECT_TRUE(biased.qkvBias && biased.attentionOutputBias);
  EXPECT_FALSE(biased.mlpBias);
}

TEST(Config, OldAndNewSpellingOfRopeAgree) {
  for (const char *name : {"llama", "llama-rope-linear", "llama-rope-llama3",
                           "llama-rope-yarn", "phi3", "qwen2", "mixtral"}) {
    SCOPED_TRACE(name);
    Object newer = load(name);
    Object older = newer;
    Object rope = *newer.getObject("rope_parameters");
    older.erase("rope_parameters");
    older.erase("dtype");
    older["torch_dtype"] = "float32";
    older["rope_theta"] = *rope.get("rope_theta");
    rope.erase("rope_theta");
    if (const Value *partial = rope.get("partial_rotary_factor"))
      older["partial_rotary_factor"] = *partial;
    rope.erase("partial_rotary_factor");
    bool plain = rope.getString("rope_type") == "default";
    older["rope_scaling"] = plain ? Value(nullptr) : Value(Object(rope));
    EXPECT_EQ(accept(older).rope, accept(newer).rope);

    // Before "rope_type" the key was "type".
    if (!plain) {
      rope["type"] = *rope.getString("rope_type");
      rope.erase("rope_type");
      older["rope_scaling"] = Object(rope);
      EXPECT_EQ(accept(older).rope, accept(newer).rope);
    }
  }
}

TEST(Config, RopeScalingWinsOverRopeParameters) {
  ImportReport report;
  auto config = parseHuggingFaceConfig(
      Value(with("llama", "rope_scaling",
                 Object{{"type", "linear"}, {"factor", 2}})),
      nullptr, {}, report);
  ASSERT_TRUE(config) << print(report);
  EXPECT_EQ(config->rope->inverseFrequencies[0], 0.5);
  EXPECT_THAT(print(report), HasSubstr("rope_scaling is used"));
}

TEST(Config, MistralWindowIsForAllLayers) {
  ModelConfig config = accept(load("mistral-window8"));
  EXPECT_EQ(config.slidingWindow, 8);
  EXPECT_THAT(config.layerKinds, Each(LayerKind::Sliding));
  EXPECT_FALSE(config.slidingRope);
  // Null is no window; absent is the default.
  EXPECT_THAT(
      accept(with("mistral-window8", "sliding_window", nullptr)).layerKinds,
      Each(LayerKind::Full));
  Object absent = load("mistral-window8");
  absent.erase("sliding_window");
  EXPECT_EQ(accept(absent).slidingWindow, 4096);
}

TEST(Config, QwenWindowNeedsItsFlag) {
  Object object = with("qwen2", "sliding_window", 16);
  object.erase("layer_types");
  object["max_window_layers"] = 1;
  EXPECT_THAT(accept(object).layerKinds, Each(LayerKind::Full));
  object["use_sliding_window"] = true;
  EXPECT_THAT(accept(object).layerKinds,
              ElementsAre(LayerKind::Full, LayerKind::Sliding));
  ModelConfig config = accept(load("qwen2"));
  EXPECT_TRUE(config.qkvBias);
  EXPECT_FALSE(config.attentionOutputBias);
  EXPECT_EQ(accept(load("qwen3")).headSize, 32);
}

TEST(Config, Gemma2) {
  ModelConfig config = accept(load("gemma2"));
  EXPECT_THAT(config.layerKinds,
              ElementsAre(LayerKind::Sliding, LayerKind::Full));
  EXPECT_EQ(config.slidingWindow, 8);
  EXPECT_EQ(config.attentionSoftcap, 50);
  EXPECT_EQ(config.logitSoftcap, 30);
  EXPECT_EQ(config.embeddingScale, 8);
  EXPECT_THAT(config.attentionScales, Each(0.25));
  EXPECT_EQ(config.activation, ActivationKind::GeluTanh);
  EXPECT_TRUE(config.tiedEmbeddings);
  EXPECT_FALSE(config.slidingRope);
  Object older = load("gemma2");
  older.erase("layer_types");
  EXPECT_EQ(accept(older).layerKinds, config.layerKinds);
}

TEST(Config, Gemma3HasARopeForEachKindOfLayer) {
  ModelConfig config = accept(load("gemma3"));
  EXPECT_THAT(config.layerKinds,
              ElementsAre(LayerKind::Sliding, LayerKind::Sliding,
                          LayerKind::Sliding, LayerKind::Full));
  ASSERT_TRUE(config.slidingRope);
  EXPECT_NEAR(config.rope->inverseFrequencies[1], std::pow(1e6, -0.125), 1e-12);
  EXPECT_NEAR(config.slidingRope->inverseFrequencies[1], std::pow(1e4, -0.125),
              1e-12);
  EXPECT_EQ(&config.getRope(0), &*config.slidingRope);
  EXPECT_EQ(&config.getRope(3), &*config.rope);
  EXPECT_EQ(config.attentionSoftcap, 0);
  EXPECT_EQ(config.logitSoftcap, 0);

  Object older = load("gemma3");
  for (const char *key :
       {"rope_parameters", "layer_types", "_sliding_window_pattern", "dtype"})
    older.erase(key);
  older["sliding_window_pattern"] = 4;
  older["rope_theta"] = 1e6;
  older["rope_local_base_freq"] = 1e4;
  older["rope_scaling"] = Object{{"factor", 8.0}, {"rope_type", "linear"}};
  ModelConfig old = accept(older);
  EXPECT_EQ(old.layerKinds, config.layerKinds);
  EXPECT_EQ(*old.slidingRope, *config.slidingRope);
  EXPECT_NEAR(old.rope->inverseFrequencies[0], 0.125, 1e-12);
}

TEST(Config, Gemma3WithImagesGivesItsTextModel) {
  Object text = load("gemma3");
  text.erase("dtype");
  text.erase("eos_token_id");
  Object object{
      {"model_type", "gemma3"},
      {"architectures", llvm::json::Array{"Gemma3ForConditionalGeneration"}},
      {"text_config", Object(text)},
      {"torch_dtype", "bfloat16"},
      {"eos_token_id", llvm::json::Array{1, 106}},
      {"boi_token_index", 5},
      {"mm_tokens_per_image", 256}};
  ModelConfig config = accept(object);
  EXPECT_EQ(config.dtype, ElementType::BF16);
  EXPECT_THAT(config.eosTokenIds, ElementsAre(1, 106));
  EXPECT_EQ(config.layerCount, 4);

  object["vision_config"] = Object{{"hidden_size", 8}};
  ImportReport report;
  EXPECT_TRUE(
      parseHuggingFaceConfig(Value(Object(object)), nullptr, {}, report));
  EXPECT_THAT(print(report), HasSubstr("only the text model is compiled"));
  object.erase("text_config");
  EXPECT_THAT(refuse(object), HasSubstr("text_config: found no value"));
}

TEST(Config, Gpt2) {
  ModelConfig config = accept(load("gpt2"));
  EXPECT_EQ(config.intermediateSize, 256);
  EXPECT_EQ(config.activation, ActivationKind::GeluTanh);
  EXPECT_TRUE(config.qkvBias && config.attentionOutputBias && config.mlpBias);
  EXPECT_TRUE(config.tiedEmbeddings);
  EXPECT_EQ(config.kvHeadCount, 4);
  EXPECT_THAT(accept(with("gpt2", "scale_attn_by_inverse_layer_idx", true))
                  .attentionScales,
              ElementsAre(0.25, 0.125));
  EXPECT_THAT(accept(with("gpt2", "scale_attn_weights", false)).attentionScales,
              Each(1.0));
}

TEST(Config, GptNeox) {
  ModelConfig config = accept(load("gpt_neox"));
  EXPECT_EQ(config.rope->rotarySize, 4);
  EXPECT_EQ(config.kvHeadCount, 4);
  EXPECT_TRUE(config.parallelResidual);
  EXPECT_TRUE(config.qkvBias);
  Object older = load("gpt_neox");
  older.erase("rope_parameters");
  older["rotary_pct"] = 0.5;
  older["rotary_emb_base"] = 100;
  older["use_parallel_residual"] = false;
  config = accept(older);
  EXPECT_EQ(config.rope->rotarySize, 8);
  EXPECT_NEAR(config.rope->inverseFrequencies[2], 0.1, 1e-12);
  EXPECT_FALSE(config.parallelResidual);
  older["partial_rotary_factor"] = 0.25;
  EXPECT_THAT(refuse(older), HasSubstr("the same value as rotary_pct"));
}

TEST(Config, MixtureOfExperts) {
  ModelConfig mixtral = accept(load("mixtral"));
  ASSERT_TRUE(mixtral.moe);
  EXPECT_EQ(mixtral.moe->expertCount, 4);
  EXPECT_EQ(mixtral.moe->expertsPerToken, 2);
  EXPECT_EQ(mixtral.moe->intermediateSize, 160);
  EXPECT_TRUE(mixtral.moe->normalizeWeights);
  EXPECT_EQ(mixtral.headSize, 16);

  ModelConfig qwen = accept(load("qwen3_moe"));
  EXPECT_EQ(qwen.moe->expertCount, 8);
  EXPECT_EQ(qwen.moe->intermediateSize, 48);
  EXPECT_THAT(qwen.moe->sparseLayers, Each(true));
  Object older = load("qwen3_moe");
  older["num_experts"] = 8;
  older.erase("num_local_experts");
  older.erase("norm_topk_prob");
  older["mlp_only_layers"] = llvm::json::Array{0};
  qwen = accept(older);
  EXPECT_FALSE(qwen.moe->normalizeWeights);
  EXPECT_THAT(qwen.moe->sparseLayers, ElementsAre(false, true));
  older["num_experts_per_tok"] = 9;
  EXPECT_THAT(refuse(older), HasSubstr("at most 8"));
}

TEST(Config, BertIsAnEncoder) {
  ModelConfig config = accept(load("bert"));
  EXPECT_TRUE(config.isEncoder());
  EXPECT_EQ(config.typeVocabSize, 2);
  EXPECT_EQ(config.normEpsilon, 1e-12);
  EXPECT_EQ(config.activation, ActivationKind::Gelu);
  EXPECT_THAT(refuse(with("bert", "is_decoder", true)),
              HasSubstr("is_decoder: found true"));
  EXPECT_THAT(refuse(with("bert", "position_embedding_type", "relative_key")),
              HasSubstr("relative_key"));
}

TEST(Config, AbsentKeysHaveTheFamilysDefaults) {
  ModelConfig llama = accept(R"({"model_type": "llama"})");
  EXPECT_EQ(llama.hiddenSize, 4096);
  EXPECT_EQ(llama.intermediateSize, 11008);
  EXPECT_EQ(llama.kvHeadCount, 32);
  EXPECT_EQ(llama.headSize, 128);
  EXPECT_EQ(llama.maxPositions, 2048);
  EXPECT_EQ(accept(R"({"model_type": "qwen3"})").headSize, 128);
  ModelConfig gemma = accept(R"({"model_type": "gemma3_text"})");
  EXPECT_EQ(gemma.vocabSize, 262208);
  EXPECT_EQ(gemma.headSize, 256);
  EXPECT_EQ(gemma.layerKinds[5], LayerKind::Full);
  EXPECT_EQ(gemma.layerKinds[6], LayerKind::Sliding);
  EXPECT_EQ(gemma.attentionScales[0], 1.0 / 16);
  EXPECT_EQ(accept(R"({"model_type": "gpt_neox"})").rope->rotarySize, 24);
  EXPECT_EQ(accept(R"({"model_type": "phi3"})").eosTokenIds.front(), 32000);
  ModelConfig gpt2 = accept(R"({"model_type": "gpt2"})");
  EXPECT_EQ(gpt2.intermediateSize, 3072);
  EXPECT_EQ(gpt2.bosTokenId, 50256);
}

TEST(Config, A17LongropeOfPhi3) {
  Object object = load("phi3");
  object["max_position_embeddings"] = 512;
  object["original_max_position_embeddings"] = 16;
  object.erase("rope_parameters");
  llvm::json::Array shorter, longer;
  for (int i = 0; i < 8; ++i) {
    shorter.push_back(1.0);
    longer.push_back(2.0 + i);
  }
  object["rope_scaling"] =
      Object{{"type", "longrope"},
             {"short_factor", Value(llvm::json::Array(shorter))},
             {"long_factor", Value(llvm::json::Array(longer))}};
  ModelConfig config = accept(object);
  EXPECT_EQ(config.rope->switchLength, 16);
  EXPECT_NEAR(config.rope->longInverseFrequencies[0], 0.5, 1e-12);
  // sqrt(1 + ln(512 / 16) / ln 16)
  EXPECT_NEAR(config.rope->scale, std::sqrt(2.25), 1e-12);
  // Sequences of this compilation cannot reach the second table.
  EXPECT_FALSE(accept(object, {.contextLength = 16}).rope->hasLongTable());
  EXPECT_TRUE(accept(object, {.contextLength = 17}).rope->hasLongTable());
  for (const char *oldName : {"su", "yarn"}) {
    (*object.getObject("rope_scaling"))["type"] = oldName;
    EXPECT_EQ(accept(object).rope, config.rope);
  }
  longer.push_back(1.0);
  (*object.getObject("rope_scaling"))["long_factor"] = std::move(longer);
  EXPECT_THAT(refuse(object), HasSubstr("a list of 8 positive numbers"));
}

TEST(Config, A16AttentionFactorOfTheConfig) {
  Object object = load("llama-rope-yarn");
  EXPECT_NEAR(accept(object).rope->scale, 1.13863, 5e-6);
  (*object.getObject("rope_parameters"))["attention_factor"] = 1.0;
  EXPECT_EQ(accept(object).rope->scale, 1.0);
}

TEST(Config, DynamicRopeIsForTheCompiledContext) {
  Object object = load("llama");
  object.erase("rope_parameters");
  object["rope_scaling"] = Object{{"type", "dynamic"}, {"factor", 4.0}};
  EXPECT_NEAR(accept(object).rope->inverseFrequencies[1], std::pow(1e4, -0.125),
              1e-12);
  // Of one length, so this is told.
  ImportReport report;
  auto longer = parseHuggingFaceConfig(Value(std::move(object)), nullptr,
                                       {.contextLength = 1024}, report);
  ASSERT_TRUE(longer);
  EXPECT_NEAR(longer->rope->inverseFrequencies[1], 0.2192124598204314, 1e-12);
  EXPECT_THAT(print(report),
              HasSubstr("context length: found 1024, expected at most 256, the "
                        "model's own limit; rope_type dynamic has another"));
}

TEST(Config, ContextBeyondTheModelsLimitIsAWarning) {
  ImportReport report;
  EXPECT_TRUE(parseHuggingFaceConfig(Value(load("llama")), nullptr,
                                     {.contextLength = 257}, report));
  EXPECT_THAT(print(report),
              HasSubstr("warning: context length: found 257, expected at most "
                        "256"));
}

TEST(Config, ContextIsWhatTheRuntimeTakes) {
  EXPECT_EQ(accept(load("gemma2"), {.contextLength = 8}).contextLength, 8);
  EXPECT_THAT(refuse(load("llama"), {.contextLength = (1ll << 30) + 1}),
              HasSubstr("context length: found 1073741825, expected a number "
                        "from 1 to 1073741824; choose one with --context"));
}

TEST(Config, ThetaIsNamedWhereverItStands) {
  for (const char *key : {"rope_theta", "rope_parameters"}) {
    Object object = load("llama");
    object.erase("rope_parameters");
    object.erase("rope_theta");
    object[key] =
        key == llvm::StringRef("rope_theta")
            ? Value(0.5)
            : Value(Object{{"rope_type", "default"}, {"rope_theta", 0.5}});
    EXPECT_THAT(refuse(object), HasSubstr("rope_theta: found 0.5, expected a "
                                          "number greater than 1"));
  }
}

TEST(Config, IgnoredKeysThatIgnoreNothingAreToldAbout) {
  ImportReport report;
  ConfigOptions options;
  options.ignoredKeys = {"use_magic", "use_magik", "hidden_size"};
  EXPECT_TRUE(parseHuggingFaceConfig(Value(with("llama", "use_magic", true)),
                                     nullptr, options, report));
  EXPECT_EQ(print(report),
            "warning: --ignore-config-key: found 'use_magik', expected a key "
            "of the config; there is none of this name\n"
            "warning: --ignore-config-key: found 'hidden_size', expected a key "
            "that Weft does not know; the model needs this one, so its value "
            "is used\n");
}

TEST(Config, EmptyGenerationConfigIsNoneToo) {
  ImportReport report;
  EXPECT_FALSE(
      parseHuggingFaceConfig(R"({"model_type": "llama"})", "", {}, report));
  EXPECT_THAT(print(report), HasSubstr("error: generation_config.json: "));
}

TEST(Config, GenerationConfigHasTheLastWord) {
  ImportReport report;
  auto config = parseHuggingFaceConfig(
      R"({"model_type": "llama", "pad_token_id": -1})",
      R"({"eos_token_id": [3, 4], "bos_token_id": 5, "top_p": 0.9})", {},
      report);
  ASSERT_TRUE(config) << print(report);
  EXPECT_THAT(config->eosTokenIds, ElementsAre(3, 4));
  EXPECT_EQ(config->bosTokenId, 5);
  EXPECT_EQ(config->padTokenId, std::nullopt);
}

// The runtime refuses a plan with other values, which nobody can change then.
TEST(Config, RecommendationsOutOfRangeAreDropped) {
  for (const char *text :
       {R"({"top_p": 0})", R"({"top_p": 1.5})", R"({"temperature": -1})",
        R"({"temperature": "warm"})", R"({"min_p": 2})", R"({"top_k": 1.5})",
        R"({"top_k": -1})", R"({"repetition_penalty": 0})",
        R"({"repetition_penalty": 1e9})"}) {
    ImportReport report;
    auto config =
        parseHuggingFaceConfig(R"({"model_type": "llama"})", text, {}, report);
    ASSERT_TRUE(config) << text;
    EXPECT_THAT(print(report), HasSubstr("it is not used")) << text;
    const GenerationDefaults &defaults = config->generation;
    EXPECT_FALSE(defaults.temperature || defaults.topK || defaults.topP ||
                 defaults.minP || defaults.repetitionPenalty)
        << text;
  }
}

TEST(Config, RecommendationsThatTheRuntimeLacksAreToldAbout) {
  ImportReport report;
  EXPECT_TRUE(parseHuggingFaceConfig(
      R"({"model_type": "llama"})",
      R"({"num_beams": 4, "typical_p": 1.0, "no_repeat_ngram_size": 0,
          "bad_words_ids": null, "suppress_tokens": [1]})",
      {}, report));
  std::string text = print(report);
  EXPECT_THAT(text, HasSubstr("num_beams: found 4, expected 1"));
  EXPECT_THAT(text, HasSubstr("suppress_tokens: found [1]"));
  EXPECT_THAT(text, testing::Not(HasSubstr("typical_p")));
  EXPECT_THAT(text, testing::Not(HasSubstr("no_repeat")));
  EXPECT_THAT(text, testing::Not(HasSubstr("bad_words")));
}

TEST(Config, LostSizesAreToldAbout) {
  ImportReport report;
  Object config = load("llama");
  config.erase("hidden_size");
  EXPECT_TRUE(
      parseHuggingFaceConfig(Value(std::move(config)), nullptr, {}, report));
  ASSERT_EQ(report.getProblems().size(), 1u) << print(report);
  EXPECT_THAT(print(report),
              HasSubstr("warning: config.json: hidden_size: found no such key, "
                        "expected a number; the family's default, 4096"));
}

TEST(Config, PublishedConfigsAreUnderstood) {
  // Keys as in the files of SmolLM2, Phi-4-mini, Qwen 2.5, Qwen 3 MoE,
  // Gemma 3, Pythia, BERT (Chinese) and GPT-2, which differ in what they say
  // besides the sizes.
  for (const char *text : {
           R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
               "is_llama_config": true, "rope_interleaved": false,
               "rope_scaling": null, "rope_theta": 100000, "hidden_size": 576,
               "num_attention_heads": 9, "num_key_value_heads": 3,
               "initializer_range": 0.04, "torch_dtype": "bfloat16",
               "transformers.js_config": {"dtype": "q4"}})",
           R"({"model_type": "phi3", "attention_bias": false,
               "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config"},
               "full_attn_mod": 1, "interpolate_factor": 1,
               "lm_head_bias": false, "mlp_bias": false, "num_hidden_layers": 2,
               "partial_rotary_factor": 0.75, "sliding_window": 262144,
               "tie_word_embeddings": true})",
           R"({"model_type": "qwen2", "max_window_layers": 28,
               "sliding_window": 131072, "use_sliding_window": false,
               "use_mrope": false, "rope_theta": 1000000.0,
               "bos_token_id": 151643, "eos_token_id": 151645})",
           R"({"model_type": "qwen3_moe", "decoder_sparse_step": 1,
               "head_dim": 128, "max_window_layers": 48, "mlp_only_layers": [],
               "norm_topk_prob": true, "num_experts": 128,
               "num_experts_per_tok": 8, "output_router_logits": false,
               "rope_scaling": null, "sliding_window": null,
               "use_sliding_window": false})",
           R"({"model_type": "gemma3_text", "cache_implementation": "hybrid",
               "attn_logit_softcapping": null, "final_logit_softcapping": null,
               "rope_local_base_freq": 10000, "rope_scaling": null,
               "rope_theta": 1000000, "sliding_window": 512,
               "sliding_window_pattern": 6, "eos_token_id": [1, 106]})",
           R"({"model_type": "gpt_neox", "rotary_pct": 0.25,
               "rotary_emb_base": 10000, "use_parallel_residual": true,
               "torch_dtype": "float16", "tie_word_embeddings": false})",
           R"({"model_type": "bert", "architectures": ["BertModel"],
               "attention_probs_dropout_prob": 0.1, "directionality": "bidi",
               "gradient_checkpointing": false, "pooler_fc_size": 768,
               "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3,
               "pooler_size_per_head": 128,
               "pooler_type": "first_token_transform"})",
           R"({"model_type": "gpt2", "n_ctx": 1024, "n_positions": 1024,
               "architectures": ["GPT2LMHeadModel"],
               "task_specific_params": {"text-generation": {"do_sample": true}},
               "summary_type": "cls_index"})"}) {
    SCOPED_TRACE(text);
    accept(text);
  }
}

TEST(Config, UnknownKeysAreErrors) {
  EXPECT_THAT(refuse(with("llama", "use_magic", true)),
              HasSubstr("config.json: use_magic: found true"));
  EXPECT_THAT(
      accept(with("llama", "use_magic", true), {.ignoredKeys = {"use_magic"}})
          .layerCount,
      2);
  ImportReport report;
  EXPECT_TRUE(parseHuggingFaceConfig(Value(with("llama", "use_magic", nullptr)),
                                     nullptr, {}, report));
  EXPECT_THAT(print(report), HasSubstr("warning: config.json: use_magic"));
  Object rope = load("llama");
  (*rope.getObject("rope_parameters"))["factor"] = 2.0;
  EXPECT_THAT(refuse(rope), HasSubstr("rope_type default has no such"));
}

TEST(Config, UnsupportedValuesNameKeyAndValue) {
  EXPECT_THAT(refuse(with("llama", "model_type", "mamba")),
              testing::AllOf(HasSubstr("model_type: found \"mamba\""),
                             HasSubstr("qwen3_moe gemma2 gemma3_text")));
  EXPECT_THAT(refuse(with("llama", "hidden_act", "xielu")),
              HasSubstr("hidden_act: found \"xielu\""));
  EXPECT_THAT(refuse(with("llama", "quantization_config", Object{{"bits", 4}})),
              HasSubstr("quantized checkpoints are not supported"));
  EXPECT_THAT(refuse(with("llama", "dtype", "float8")),
              HasSubstr("dtype: found \"float8\""));
  EXPECT_THAT(refuse(with("gemma3", "use_bidirectional_attention", true)),
              HasSubstr("use_bidirectional_attention: found true"));
  EXPECT_THAT(refuse(with("llama", "architectures",
                          llvm::json::Array{"LlamaForTokenClassification"})),
              HasSubstr("LlamaForTokenClassification"));
  Object rope = load("llama");
  (*rope.getObject("rope_parameters"))["rope_type"] = "warp";
  EXPECT_THAT(refuse(rope), HasSubstr("found \"warp\", expected one of default "
                                      "linear dynamic yarn llama3 longrope"));
  EXPECT_THAT(refuse(load("gpt2"), {.contextLength = 257}),
              HasSubstr("a number from 1 to 256"));
}

// Kernels compute with float, in which such numbers are 0 or infinite.
TEST(Config, NumbersThatFloatDoesNotHold) {
  Object yarn = load("llama-rope-yarn");
  for (double value : {1e-300, 1e-45, 1e300, 0.0, -1.0}) {
    for (auto [name, key] : {std::pair("llama", "rms_norm_eps"),
                             {"gpt2", "layer_norm_epsilon"},
                             {"gpt_neox", "layer_norm_eps"},
                             {"bert", "layer_norm_eps"},
                             {"gemma2", "query_pre_attn_scalar"},
                             {"gemma2", "attn_logit_softcapping"},
                             {"gemma2", "final_logit_softcapping"}})
      EXPECT_THAT(refuse(with(name, key, value)),
                  HasSubstr(std::string(key) + ": found "))
          << value;
    for (const char *key : {"factor", "attention_factor", "beta_slow"}) {
      Object changed = yarn;
      (*changed.getObject("rope_parameters"))[key] = value;
      if (value != 0 || llvm::StringRef(key) != "beta_slow")
        EXPECT_THAT(refuse(changed), HasSubstr(std::string(key) + ": found "))
            << value;
    }
  }
  Object &parameters = *yarn.getObject("rope_parameters");
  parameters["mscale"] = 1e300;
  parameters["mscale_all_dim"] = 1e-300;
  EXPECT_THAT(refuse(yarn), HasSubstr("mscale_all_dim: found a scale of"));
}

TEST(Config, RopeForEachKindOfLayerIsForGemma3) {
  Object nested = load("llama");
  Object one = *nested.getObject("rope_parameters");
  nested["rope_parameters"] = Object{{"full_attention", Object(one)},
                                     {"sliding_attention", Object(one)}};
  EXPECT_THAT(refuse(nested), HasSubstr("expected one object for all layers"));
}

TEST(Config, ContradictionsAndWrongTypes) {
  EXPECT_THAT(refuse(with("llama", "num_key_value_heads", 3)),
              HasSubstr("a divisor of 4"));
  EXPECT_THAT(refuse(with("llama", "hidden_size", "64")),
              HasSubstr("hidden_size: found \"64\", expected an integer"));
  EXPECT_THAT(refuse(with("llama", "num_hidden_layers", -1)),
              HasSubstr("num_hidden_layers: found -1"));
  EXPECT_THAT(refuse(with("llama", "num_attention_heads", 0)),
              HasSubstr("num_attention_heads: found 0"));
  EXPECT_THAT(refuse(with("llama", "tie_word_embeddings", "no")),
              HasSubstr("expected true or false"));
  EXPECT_THAT(refuse(with("llama", "eos_token_id", int64_t(1) << 40)),
              HasSubstr("eos_token_id: found 1099511627776"));
  EXPECT_THAT(refuse(with("llama", "head_dim", 15)), HasSubstr("15 of 15"));
  for (double share : {-1.0, 0.0, 1.5, 1e300, 0.3})
    EXPECT_THAT(refuse(with("llama", "partial_rotary_factor", share)),
                HasSubstr("rotary elements of a head"));
  EXPECT_THAT(refuse(with("gemma2", "layer_types",
                          llvm::json::Array{"full_attention"})),
              HasSubstr("each of the 2 layers"));
  EXPECT_THAT(
      refuse(with("llama", "layer_types", llvm::json::Array{"full_attention"})),
      HasSubstr("full_attention for each of the 2 layers"));
  EXPECT_THAT(refuse(with("gemma2", "sliding_window", nullptr)),
              HasSubstr("sliding_window: found null"));
  EXPECT_THAT(refuse(with("mistral-window8", "layer_types",
                          llvm::json::Array{"full_attention"})),
              HasSubstr("sliding_attention for each of the 2 layers"));
  Object two = with("llama", "hidden_act", "xielu");
  two["num_key_value_heads"] = 3;
  two["use_magic"] = 1;
  std::string all = refuse(two);
  EXPECT_THAT(all, HasSubstr("hidden_act"));
  EXPECT_THAT(all, HasSubstr("num_key_value_heads"));
  EXPECT_THAT(all, HasSubstr("use_magic"));
}
