#include "test/reference/Config.h"
#include "test/reference/Checkpoint.h"
#include "test/reference/RandomCheckpoint.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

using namespace weft::reference;
using nlohmann::json;

namespace {

json llamaWith(const json &patch) {
  json config = makeConfig(RandomOptions());
  config.merge_patch(patch);
  return config;
}

// Values from the models' own framework; see data/SOURCE.md. A16 and A17 are
// among them.
TEST(Rope, A16_A17_EveryKindEqualsTheRecordedFrequencies) {
  std::ifstream stream(WEFT_SOURCE_DIR "/test/reference/data/rope.json");
  json cases = json::parse(stream);
  ASSERT_EQ(cases.size(), 18u);
  for (const json &entry : cases) {
    SCOPED_TRACE(entry["rope_parameters"].dump());
    // Replaced, not merged: the dict of the default checkpoint has a kind.
    json config = llamaWith(
        {{"head_dim", entry["head_dim"]},
         {"max_position_embeddings", entry["max_position_embeddings"]}});
    config["rope_parameters"] = entry["rope_parameters"];
    RopeTable table = makeRopeTable(parseConfig(config).rope[0],
                                    entry["length"].get<int64_t>());
    auto expected = entry["inverse_frequencies"].get<std::vector<double>>();
    ASSERT_EQ(table.inverseFrequencies.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(table.inverseFrequencies[i] / expected[i], 1, 2e-6) << i;
    EXPECT_NEAR(table.scale, entry["scale"].get<double>(), 1e-12);
  }
}

TEST(Rope, A16_AnExplicitAttentionFactorOfOneIsKept) {
  json rope = {{"rope_type", "yarn"},
               {"rope_theta", 10000.0},
               {"factor", 4.0},
               {"original_max_position_embeddings", 32}};
  json without = llamaWith({{"rope_parameters", rope}});
  rope["attention_factor"] = 1.0;
  json with = llamaWith({{"rope_parameters", rope}});
  EXPECT_NEAR(makeRopeTable(parseConfig(without).rope[0], 1).scale, 1.13863,
              5e-6);
  EXPECT_EQ(makeRopeTable(parseConfig(with).rope[0], 1).scale, 1.0);
}

class Spelling : public testing::TestWithParam<const char *> {};

TEST_P(Spelling, OldAndNewMeanTheSame) {
  std::vector<json> ropes = {
      json::object(),
      {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 5000.0}},
      {{"rope_type", "dynamic"}, {"factor", 2.0}},
      {{"rope_type", "yarn"},
       {"factor", 4.0},
       {"original_max_position_embeddings", 32},
       {"beta_fast", 16}},
      {{"rope_type", "llama3"},
       {"factor", 8.0},
       {"low_freq_factor", 1.0},
       {"high_freq_factor", 4.0},
       {"original_max_position_embeddings", 32}}};
  std::string family = GetParam();
  if (family == "phi3")
    ropes = {json::object(),
             {{"rope_type", "longrope"},
              {"partial_rotary_factor", 0.5},
              {"short_factor", {1.0, 1.1, 1.2, 1.3}},
              {"long_factor", {2.0, 3.0, 4.0, 5.0}},
              {"original_max_position_embeddings", 16}}};
  for (const json &rope : ropes) {
    SCOPED_TRACE(rope.dump());
    RandomOptions options;
    options.family = family;
    options.layers = 6;
    options.window = 8;
    options.rope = rope;
    Config newest = parseConfig(makeConfig(options));
    options.oldSpelling = true;
    Config old = parseConfig(makeConfig(options));
    EXPECT_EQ(newest.window, old.window);
    EXPECT_EQ(newest.experts, old.experts);
    EXPECT_EQ(newest.sparse, old.sparse);
    ASSERT_EQ(newest.rope.size(), old.rope.size());
    for (size_t i = 0; i < newest.rope.size(); ++i) {
      ASSERT_EQ(newest.rope[i].rotaryDims, old.rope[i].rotaryDims);
      for (int64_t length : {1, 100, 300}) {
        if (!newest.rope[i].rotaryDims)
          continue;
        RopeTable a = makeRopeTable(newest.rope[i], length);
        RopeTable b = makeRopeTable(old.rope[i], length);
        EXPECT_EQ(a.inverseFrequencies, b.inverseFrequencies);
        EXPECT_EQ(a.scale, b.scale);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Spelling,
                         testing::Values("llama", "mistral", "mixtral", "qwen2",
                                         "qwen3", "qwen3_moe", "gemma2",
                                         "gemma3_text", "phi3", "gpt2",
                                         "gpt_neox", "bert"));

TEST(Config, TheFirstSpellingsOfLongropeAreRead) {
  for (const char *kind : {"su", "yarn", "longrope"}) {
    RandomOptions options;
    options.family = "phi3";
    options.rope = {{"rope_type", kind},
                    {"short_factor", std::vector<double>(8, 1.0)},
                    {"long_factor", std::vector<double>(8, 4.0)},
                    {"original_max_position_embeddings", 16}};
    options.oldSpelling = true;
    Rope rope = parseConfig(makeConfig(options)).rope[0];
    EXPECT_EQ(rope.kind, RopeKind::Longrope);
    EXPECT_EQ(rope.originalMaxPositions, 16);
    // sqrt(1 + ln(256 / 16) / ln 16)
    EXPECT_NEAR(makeRopeTable(rope, 17).scale, std::sqrt(2.0), 1e-12);
  }
}

TEST(Config, GemmaLayersAlternateByTheOlderRules) {
  RandomOptions options;
  options.layers = 12;
  options.window = 8;
  options.oldSpelling = true;
  options.family = "gemma2";
  Config second = parseConfig(makeConfig(options));
  options.family = "gemma3_text";
  options.config = {{"sliding_window_pattern", 6}};
  Config third = parseConfig(makeConfig(options));
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(second.window[i], i % 2 == 0 ? 8 : 0);
    EXPECT_EQ(third.window[i], i % 6 == 5 ? 0 : 8);
  }
}

TEST(Config, AnExplicitNullWindowIsNoWindow) {
  RandomOptions options;
  options.family = "mistral";
  json config = makeConfig(options);
  EXPECT_EQ(parseConfig(config).window[0], 0);
  config.erase("sliding_window");
  EXPECT_EQ(parseConfig(config).window[0], 4096);
}

TEST(Config, QwenSlidesOnlyWhenToldTo) {
  RandomOptions options;
  options.family = "qwen2";
  options.layers = 4;
  options.window = 8;
  json config = makeConfig(options);
  EXPECT_EQ(parseConfig(config).window, (std::vector<int64_t>{0, 0, 8, 8}));
  config["use_sliding_window"] = false;
  EXPECT_THROW(parseConfig(config), Error); // layer_types says otherwise.
  config.erase("layer_types");
  EXPECT_EQ(parseConfig(config).window, (std::vector<int64_t>{0, 0, 0, 0}));
}

TEST(Config, DenseLayersOfQwen3Moe) {
  RandomOptions options;
  options.family = "qwen3_moe";
  options.layers = 6;
  options.config = {{"decoder_sparse_step", 2}, {"mlp_only_layers", {3}}};
  EXPECT_EQ(parseConfig(makeConfig(options)).sparse,
            (std::vector<bool>{false, true, false, false, false, true}));
}

TEST(Config, WhatIsNotImplementedIsRefused) {
  auto refuses = [](const char *family, const json &patch) {
    RandomOptions options;
    options.family = family;
    json config = makeConfig(options);
    config.update(patch);
    EXPECT_THROW(parseConfig(config), Error) << family << " " << patch;
  };
  refuses("gemma3_text", {{"attn_logit_softcapping", 50.0}});
  refuses("gemma2", {{"use_bidirectional_attention", true}});
  refuses("bert", {{"position_embedding_type", "relative_key"}});
  refuses("bert", {{"is_decoder", true}});
  refuses("gpt2", {{"add_cross_attention", true}});
  refuses("llama", {{"rope_parameters", {{"rope_type", "mrope"}}}});
  refuses("llama", {{"rope_parameters",
                     {{"full_attention", {{"rope_type", "default"}}}}}});
  refuses("llama", {{"rope_parameters", "default"}});
  refuses("llama", {{"num_attention_heads", 6}, {"num_key_value_heads", 4}});
  refuses("llama", {{"quantization_config", {{"quant_method", "gptq"}}}});
  refuses("qwen3_moe", {{"num_experts_per_tok", 9}});
  refuses("phi3", {{"rope_parameters",
                    {{"rope_type", "longrope"},
                     {"short_factor", {1.0}},
                     {"long_factor", {1.0}}}}});
}

} // namespace
