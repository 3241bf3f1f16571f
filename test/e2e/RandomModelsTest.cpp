// Every family and element type on random weights against the reference, and
// every way to compute the same text against every other, bit for bit.

#include "test/e2e/RandomModels.h"
#include "test/e2e/AgainstReference.h"
#include "test/e2e/CompileModel.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;
using reference::RandomOptions;

namespace {

constexpr uint64_t kSeed = 20;
/// Shorter than, as long as, and longer than one and two chunks of 7 and a
/// cache block of 64.
constexpr int64_t kLengths[] = {1, 2, 7, 8, 33, 63, 64, 65, 70};

struct Param {
  std::string family;
  reference::ElementType type;
};

std::string describe(const Param &param) {
  return param.family + "_" + std::string(spelling(param.type));
}

PlanStore &plans() {
  static PlanStore store("random-models");
  return store;
}

RandomOptions makeOptions(const Param &param) {
  return makeRandomModel(param.family, param.type, kSeed);
}

class RandomModels : public testing::TestWithParam<Param> {
protected:
  void SetUp() override {
    RecordProperty("seed", std::to_string(kSeed));
    plan = plans().compile(describe(GetParam()), makeOptions(GetParam()));
    folder = plans().getCheckpoint(describe(GetParam()));
    prompts =
        randomPrompts(kLengths, makeOptions(GetParam()).vocabulary, kSeed);
  }

  std::string plan;
  std::filesystem::path folder;
  std::vector<std::vector<int32_t>> prompts;
};

TEST_P(RandomModels, OutputsAgreeWithTheReference) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  expectReferenceOutputs(plan, folder, GetParam().type, prompts);
}

TEST_P(RandomModels, EveryWayToComputeATextGivesTheSameBits) {
  if (GetParam().family == "bert") {
    std::vector<Table> expected = PlanEncoder(plan, 1).encode(prompts);
    PlanEncoder encoder(plan, 2);
    for (size_t i = 0; i < prompts.size(); ++i)
      EXPECT_EQ(encoder.encode({&prompts[i], 1})[0].values, expected[i].values)
          << "prompt " << i;
    return;
  }
  std::vector<Table> expected;
  PlanModel whole(plan, {.threads = 1});
  for (const std::vector<int32_t> &prompt : prompts)
    expected.push_back(whole.computeLogits(prompt));
  struct Way {
    const char *name;
    PlanModelOptions options;
  };
  const int64_t count = std::size(kLengths);
  for (const Way &way :
       {Way{"two threads", {.threads = 2}},
        {"token by token", {.tokensPerStep = 1, .threads = 1}},
        {"chunks of 7", {.tokensPerStep = 7, .threads = 1}},
        {"together", {.threads = 2, .sequences = count}},
        {"together in chunks of 7",
         {.tokensPerStep = 7, .threads = 1, .sequences = count}}}) {
    PlanModel model(plan, way.options);
    std::vector<Table> tables = model.computeLogits(prompts);
    for (size_t i = 0; i < prompts.size(); ++i)
      EXPECT_EQ(tables[i].values, expected[i].values)
          << way.name << ", prompt " << i;
  }
}

TEST_P(RandomModels, GreedyIdsTogetherAreThoseAlone) {
  if (GetParam().family == "bert")
    GTEST_SKIP() << "an encoder";
  PlanModel alone(plan, {.threads = 1});
  PlanModel together(plan, {.tokensPerStep = 50,
                            .threads = 2,
                            .sequences = int64_t(prompts.size())});
  auto results = together.generateTogether(prompts, 12);
  for (size_t i = 0; i < prompts.size(); ++i) {
    auto expected = alone.generateTogether({&prompts[i], 1}, 12).front();
    EXPECT_EQ(results[i].ids, expected.ids) << "prompt " << i;
    EXPECT_EQ(results[i].logProbabilities, expected.logProbabilities)
        << "prompt " << i;
  }
  if (GetParam().type != reference::ElementType::F32)
    return;
  auto model = reference::Transformer::load(folder);
  EXPECT_EQ(compareGreedyWithReference(model, std::span(prompts).first(5), 12,
                                       alone.asRunGreedy(), 2e-4),
            "");
}

struct Rope {
  const char *name, *family;
  nlohmann::json dict;
};

class RandomRopes : public testing::TestWithParam<Rope> {};

TEST_P(RandomRopes, OutputsAgreeWithTheReference) {
  const auto &[name, family, dict] = GetParam();
  RandomOptions options;
  options.family = family;
  options.seed = kSeed;
  options.maxPositions = 128;
  options.rope = dict;
  for (bool oldSpelling : {false, true}) {
    options.oldSpelling = oldSpelling;
    std::string plan = name + std::string(oldSpelling ? "-old" : "-new");
    SCOPED_TRACE(plan + ", seed " + std::to_string(kSeed));
    const std::string &path = plans().compile(plan, options);
    expectReferenceOutputs(path, plans().getCheckpoint(plan),
                           options.elementType,
                           randomPrompts(kLengths, options.vocabulary, kSeed));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RandomRopes,
    testing::Values(
        Rope{"linear", "llama", {{"rope_type", "linear"}, {"factor", 4.0}}},
        Rope{"dynamic", "llama", {{"rope_type", "dynamic"}, {"factor", 4.0}}},
        Rope{"yarn",
             "qwen3",
             {{"rope_type", "yarn"},
              {"factor", 4.0},
              {"original_max_position_embeddings", 32}}},
        Rope{"yarn_scaled",
             "llama",
             {{"rope_type", "yarn"},
              {"factor", 4.0},
              {"original_max_position_embeddings", 32},
              {"beta_fast", 16.0},
              {"beta_slow", 2.0},
              {"mscale", 1.0},
              {"mscale_all_dim", 0.5},
              {"truncate", false}}},
        Rope{"llama3",
             "llama",
             {{"rope_type", "llama3"},
              {"factor", 8.0},
              {"low_freq_factor", 1.0},
              {"high_freq_factor", 4.0},
              {"original_max_position_embeddings", 32}}},
        Rope{"longrope_partial",
             "phi3",
             {{"rope_type", "longrope"},
              {"partial_rotary_factor", 0.5},
              {"short_factor", {1.0, 1.1, 1.2, 1.3}},
              {"long_factor", {1.0, 2.0, 4.0, 8.0}},
              {"original_max_position_embeddings", 64}}},
        Rope{"partial", "gpt_neox", {{"partial_rotary_factor", 0.5}}},
        Rope{"base", "mistral", {{"rope_theta", 1e6}}}),
    [](const auto &info) { return info.param.name; });

std::vector<Param> allParams() {
  using enum reference::ElementType;
  std::vector<Param> params;
  for (const char *family :
       {"llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "gemma2",
        "gemma3_text", "phi3", "gpt2", "gpt_neox", "bert"})
    for (reference::ElementType type : {F32, BF16, F16})
      params.push_back({family, type});
  return params;
}

INSTANTIATE_TEST_SUITE_P(All, RandomModels, testing::ValuesIn(allParams()),
                         [](const auto &info) { return describe(info.param); });

} // namespace
