// The importer's reading of checkpoints against the reference's, which shares
// no code with it.

#include "compiler/Import/CheckpointFolder.h"
#include "compiler/Import/HuggingFace/Config.h"
#include "test/reference/MalformedCheckpoint.h"
#include "test/reference/RandomCheckpoint.h"
#include "test/reference/Scratch.h"
#include "test/reference/Transformer.h"

#include "llvm/Support/raw_ostream.h"

#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft;
using nlohmann::json;

namespace {

std::string print(const ImportReport &report) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  report.print(stream);
  return text;
}

std::optional<ModelConfig> import(const json &config, int64_t contextLength,
                                  ImportReport &report) {
  ConfigOptions options;
  options.contextLength = contextLength;
  return parseHuggingFaceConfig(config.dump(), std::nullopt, options, report);
}

void expectTablesEqual(const weft::RopeTable &actual,
                       const reference::Rope &rope, int64_t contextLength) {
  reference::RopeTable expected =
      reference::makeRopeTable(rope, actual.hasLongTable() ? 1 : contextLength);
  ASSERT_EQ(actual.rotarySize, rope.rotaryDims);
  auto expectNear = [](const std::vector<double> &actual,
                       const std::vector<double> &expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i] / expected[i], 1, 1e-12);
  };
  expectNear(actual.inverseFrequencies, expected.inverseFrequencies);
  EXPECT_NEAR(actual.scale, expected.scale, 1e-12);
  if (!actual.hasLongTable())
    return;
  EXPECT_EQ(actual.switchLength, rope.originalMaxPositions);
  expectNear(actual.longInverseFrequencies,
             reference::makeRopeTable(rope, rope.originalMaxPositions + 1)
                 .inverseFrequencies);
}

void expectConfigsEqual(const ModelConfig &actual,
                        const reference::Config &expected,
                        int64_t contextLength) {
  EXPECT_EQ(int(actual.family), int(expected.family));
  EXPECT_EQ(actual.hiddenSize, expected.hidden);
  EXPECT_EQ(actual.layerCount, expected.layers);
  EXPECT_EQ(actual.headCount, expected.heads);
  EXPECT_EQ(actual.kvHeadCount, expected.kvHeads);
  EXPECT_EQ(actual.headSize, expected.headSize);
  EXPECT_EQ(actual.intermediateSize, expected.intermediate);
  EXPECT_EQ(actual.vocabSize, expected.vocabulary);
  EXPECT_EQ(actual.maxPositions, expected.maxPositions);
  EXPECT_EQ(actual.normEpsilon, expected.normEpsilon);
  EXPECT_EQ(actual.qkvBias, expected.attentionBias);
  EXPECT_EQ(actual.attentionOutputBias, expected.outputBias);
  EXPECT_EQ(actual.mlpBias, expected.mlpBias);
  EXPECT_EQ(actual.parallelResidual, expected.parallelResidual);
  EXPECT_EQ(actual.attentionSoftcap, expected.attentionSoftcap);
  EXPECT_EQ(actual.logitSoftcap, expected.finalSoftcap);
  EXPECT_DOUBLE_EQ(actual.embeddingScale, expected.embeddingScale);
  if (!expected.isEncoder())
    EXPECT_EQ(actual.tiedEmbeddings, expected.tied);
  EXPECT_EQ(actual.moe.has_value(), expected.experts != 0);
  if (actual.moe) {
    EXPECT_EQ(actual.moe->expertCount, expected.experts);
    EXPECT_EQ(actual.moe->expertsPerToken, expected.expertsPerToken);
    EXPECT_EQ(actual.moe->intermediateSize, expected.expertIntermediate);
    EXPECT_EQ(actual.moe->normalizeWeights, expected.normalizeExpertWeights);
    EXPECT_EQ(actual.moe->sparseLayers, expected.sparse);
  }
  for (int64_t i = 0; i < expected.layers; ++i) {
    bool slides = actual.layerKinds[size_t(i)] == LayerKind::Sliding;
    EXPECT_EQ(slides ? actual.slidingWindow : 0, expected.window[size_t(i)])
        << "layer " << i;
    EXPECT_DOUBLE_EQ(actual.attentionScales[size_t(i)],
                     expected.attentionScale[size_t(i)]);
    EXPECT_EQ(actual.rope.has_value(),
              expected.rope[size_t(i)].rotaryDims != 0);
    if (actual.rope)
      expectTablesEqual(actual.getRope(i), expected.rope[size_t(i)],
                        contextLength);
  }
}

class Agreement : public testing::TestWithParam<const char *> {};

TEST_P(Agreement, ConfigsOfBothSpellingsMeanTheSameToBoth) {
  std::vector<json> ropes = {json::object(),
                             {{"rope_theta", 500000.0}},
                             {{"rope_type", "linear"}, {"factor", 4.0}},
                             {{"rope_type", "dynamic"}, {"factor", 2.0}},
                             {{"rope_type", "llama3"},
                              {"factor", 8.0},
                              {"low_freq_factor", 1.0},
                              {"high_freq_factor", 4.0},
                              {"original_max_position_embeddings", 32}},
                             {{"rope_type", "yarn"},
                              {"factor", 4.0},
                              {"original_max_position_embeddings", 64}},
                             {{"rope_type", "yarn"},
                              {"factor", 4.0},
                              {"original_max_position_embeddings", 64},
                              {"attention_factor", 1.0},
                              {"beta_fast", 16},
                              {"beta_slow", 2},
                              {"truncate", false}}};
  std::string family = GetParam();
  if (family == "phi3")
    ropes = {json::object(),
             {{"partial_rotary_factor", 0.5}},
             {{"rope_type", "longrope"},
              {"short_factor", {1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7}},
              {"long_factor", {2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0}},
              {"original_max_position_embeddings", 16}}};
  for (const json &rope : ropes)
    for (bool oldSpelling : {false, true})
      for (int64_t window : {0, 8})
        for (bool tied : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << rope << " old " << oldSpelling << " window " << window
                       << " tied " << tied);
          reference::RandomOptions options;
          options.family = family;
          options.rope = rope;
          options.oldSpelling = oldSpelling;
          options.layers = 6;
          options.window = window;
          options.tied = options.attentionBias = options.mlpBias = tied;
          options.normalizeExpertWeights = tied;
          json config = reference::makeConfig(options);
          ImportReport report;
          auto actual = import(config, 256, report);
          ASSERT_TRUE(actual) << print(report) << config.dump(2);
          expectConfigsEqual(*actual, reference::parseConfig(config), 256);
        }
}

INSTANTIATE_TEST_SUITE_P(All, Agreement,
                         testing::Values("llama", "mistral", "mixtral", "qwen2",
                                         "qwen3", "qwen3_moe", "gemma2",
                                         "gemma3_text", "phi3", "gpt2",
                                         "gpt_neox", "bert"));

// What an absent key means: every key that may be absent, one at a time.
TEST_P(Agreement, AbsentKeysMeanTheSameToBoth) {
  reference::RandomOptions options;
  options.family = GetParam();
  options.window = 8;
  for (bool oldSpelling : {false, true}) {
    options.oldSpelling = oldSpelling;
    json whole = reference::makeConfig(options);
    for (const auto &[key, value] : whole.items()) {
      SCOPED_TRACE(key);
      json config = whole;
      config.erase(key);
      ImportReport report;
      auto actual = import(config, 128, report);
      std::optional<reference::Config> expected;
      try {
        expected = reference::parseConfig(config);
      } catch (const reference::Error &) {
      }
      if (!expected)
        continue; // The importer may have the default of the family's class.
      ASSERT_TRUE(actual) << print(report);
      expectConfigsEqual(*actual, *expected, 128);
    }
  }
}

class Refusals : public testing::TestWithParam<size_t> {};

// A7 and A22. Contradictions between config and tensors are found later, by the
// builder of the model; an absent size has its family's default until then.
TEST_P(Refusals, A7_A22_TheImporterRefusesMalformedFolders) {
  const reference::Malformation &malformation =
      reference::malformations()[GetParam()];
  static const std::set<std::string> needBuilder = {
      "MissingTensor",         "IntegerWeight",    "HiddenContradicts",
      "HeadsContradict",       "LayersContradict", "HeadMissing",
      "VocabularyContradicts", "HiddenMissing"};
  if (needBuilder.count(malformation.name))
    return;
  reference::Scratch scratch("import-" + malformation.name);
  malformation.write(scratch.path);
  auto folder = Folder::open(scratch.path.string());
  ASSERT_TRUE(bool(folder)) << llvm::toString(folder.takeError());
  ImportReport report;
  CheckpointFolder::open(*folder, report);
  auto config = folder->readText("config.json", 1 << 20);
  if (config)
    parseHuggingFaceConfig(*config, std::nullopt, {}, report);
  else
    report.error("config.json", llvm::toString(config.takeError()), "a file");
  EXPECT_TRUE(report.hasErrors()) << malformation.cause << " was accepted";
  EXPECT_THAT(print(report), testing::HasSubstr(malformation.culprit));
}

INSTANTIATE_TEST_SUITE_P(
    All, Refusals, testing::Range(size_t(0), reference::malformations().size()),
    [](auto &info) { return reference::malformations()[info.param].name; });

} // namespace
