// Cases about numbers and weights: A15, A16, A21, A24.

#include "test/e2e/AgainstReference.h"
#include "test/e2e/CompileModel.h"
#include "test/e2e/Handmade.h"
#include "test/e2e/PlanModel.h"
#include "test/runtime/Support/RunCommand.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;
using reference::ElementType;
using reference::RandomOptions;

namespace {

PlanStore &plans() {
  static PlanStore store("numeric-cases");
  return store;
}

//===----------------------------------------------------------------------===//
// A15: squares that f16 does not hold
//===----------------------------------------------------------------------===//

struct Overflow {
  ElementType type;
  int64_t hidden;
  float first, others; ///< The embedding.
};

class A15 : public testing::TestWithParam<Overflow> {};

// All layers add 0, so the final norm sees the embedding, as do the norms of
// the layer. The head reads the first and the second value.
TEST_P(A15, NormsSumSquaresInF32) {
  const auto &[type, hidden, first, others] = GetParam();
  RandomOptions options;
  options.elementType = type;
  options.hidden = hidden;
  options.layers = 1;
  options.heads = options.kvHeads = 1;
  options.vocabulary = 4;
  options.intermediate = 16;
  HandmadeCheckpoint checkpoint(options);
  auto &embedding = checkpoint["model.embed_tokens.weight"].values;
  std::fill(embedding.begin(), embedding.end(), others);
  for (int64_t id = 0; id < 4; ++id)
    embedding[size_t(id * hidden)] = first;
  checkpoint.set("lm_head.weight", 0, 0, 1);
  checkpoint.set("lm_head.weight", 1, 1, 1);
  std::string name = "a15-" + std::string(spelling(type)) +
                     std::to_string(hidden) + "-" + std::to_string(others);
  checkpoint.write(plans().getCheckpoint(name));
  PlanModel model(plans().compile(name, plans().getCheckpoint(name)));

  double root =
      std::sqrt((double(first) * first + double(hidden - 1) * others * others) /
                double(hidden));
  const int32_t ids[] = {1, 2, 3};
  Table logits = model.computeLogits(ids);
  // Stored numbers and the norm's result are rounded once each.
  double tolerance = type == ElementType::BF16 ? 1.0 / 128 : 1.0 / 1024;
  for (int64_t row = 0; row < 3; ++row) {
    EXPECT_NEAR(logits.values[size_t(row * 4)], first / root,
                tolerance * first / root);
    EXPECT_NEAR(logits.values[size_t(row * 4 + 1)], others / root,
                tolerance * others / root + 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, A15,
    testing::Values(Overflow{ElementType::F16, 4096, 20000, 20000},
                    Overflow{ElementType::F16, 2048, 60000, 0},
                    Overflow{ElementType::F16, 2048, 60000, 1},
                    Overflow{ElementType::BF16, 4096, 20000, 20000},
                    Overflow{ElementType::F32, 4096, 20000, 20000}));

//===----------------------------------------------------------------------===//
// A16: a stated attention_factor of yarn
//===----------------------------------------------------------------------===//

// Token t is embedded as [t, sqrt(15 - t^2), 1, 0, ...], whose mean square is
// 1. Queries and keys have a 2 in their first rotated dimension, whose
// frequency yarn leaves at 1, so the score of keys d apart is s^2 cos(d) with
// the scale 1/sqrt(16). Values are t. The head reads the mean m from dimension
// 3 after the final norm: m / sqrt(1 + m^2 / 16).
TEST(A16, StatedAttentionFactorIsUsed) {
  for (bool stated : {true, false}) {
    RandomOptions options;
    options.hidden = 16;
    options.layers = 1;
    options.heads = options.kvHeads = 1;
    options.vocabulary = 8;
    options.intermediate = 16;
    options.maxPositions = 128;
    options.rope = {{"rope_type", "yarn"},
                    {"factor", 4.0},
                    {"original_max_position_embeddings", 32}};
    if (stated)
      options.rope["attention_factor"] = 1.0;
    HandmadeCheckpoint checkpoint(options);
    for (int t = 0; t <= 3; ++t) {
      const char *embedding = "model.embed_tokens.weight";
      checkpoint.set(embedding, t, 0, float(t));
      checkpoint.set(embedding, t, 1, std::sqrt(float(15 - t * t)));
      checkpoint.set(embedding, t, 2, 1);
    }
    std::string attention = "model.layers.0.self_attn.";
    checkpoint.set(attention + "q_proj.weight", 0, 2, 2);
    checkpoint.set(attention + "k_proj.weight", 0, 2, 2);
    checkpoint.set(attention + "v_proj.weight", 0, 0, 1);
    checkpoint.set(attention + "o_proj.weight", 3, 0, 1);
    checkpoint.set("lm_head.weight", 0, 3, 1);
    std::string name = stated ? "a16-stated" : "a16";
    checkpoint.write(plans().getCheckpoint(name));
    PlanModel model(plans().compile(name, plans().getCheckpoint(name)));

    const int32_t ids[] = {1, 3};
    double logit = model.computeLogits(ids).values[8];
    double s = stated ? 1 : 0.1 * std::log(4.0) + 1;
    double near = std::exp(s * s), far = std::exp(s * s * std::cos(1.0));
    EXPECT_NEAR(logit / std::sqrt(1 - logit * logit / 16),
                (3 * near + far) / (near + far), 1e-5);
  }
}

//===----------------------------------------------------------------------===//
// A21: tied weights in four forms
//===----------------------------------------------------------------------===//

class A21 : public testing::Test {
protected:
  static RandomOptions makeOptions(bool tied, bool storeHead) {
    RandomOptions options;
    options.layers = 1;
    options.tied = tied;
    options.storeHead = storeHead;
    return options;
  }

  /// Bytes of all constants of a plan.
  static uint64_t countWeightBytes(const std::string &plan) {
    auto artifact = rt::Artifact::open(plan);
    EXPECT_TRUE(artifact) << artifact.getStatus().getMessage();
    uint64_t bytes = 0;
    for (const rt::Param &param : (*artifact)->getPlan().params)
      bytes += param.size;
    return bytes;
  }
};

TEST_F(A21, EveryFormEqualsTheReference) {
  const int64_t lengths[] = {12};
  auto prompts = randomPrompts(lengths, 320, 21);
  for (auto [name, tied, storeHead] :
       {std::tuple("tied-absent", true, false),
        std::tuple("tied-present", true, true),
        std::tuple("untied-present", false, true)}) {
    const std::string &plan =
        plans().compile(name, makeOptions(tied, storeHead));
    auto model = reference::Transformer::load(plans().getCheckpoint(name));
    EXPECT_EQ(compareWithReference(model, prompts, PlanModel(plan).asRunModel(),
                                   1e-4),
              "")
        << name;
  }
  EXPECT_EQ(PlanModel(plans().compile("tied-present", makeOptions(true, true)))
                .computeLogits(prompts[0])
                .values,
            PlanModel(plans().compile("tied-absent", makeOptions(true, false)))
                .computeLogits(prompts[0])
                .values);
}

TEST_F(A21, ATiedMatrixIsStoredOnce) {
  uint64_t tied = countWeightBytes(
      plans().compile("tied-absent", makeOptions(true, false)));
  uint64_t untied = countWeightBytes(
      plans().compile("untied-present", makeOptions(false, true)));
  EXPECT_EQ(untied - tied, 320u * 64 * 4);
  EXPECT_EQ(countWeightBytes(
                plans().compile("tied-present", makeOptions(true, true))),
            tied);
}

TEST_F(A21, ADifferentHeadBesideATiedEmbeddingIsToldAbout) {
  reference::Scratch scratch("a21");
  writeRandomCheckpoint(scratch.path, makeOptions(true, true));
  test::CommandResult result = test::runCommand(
      "'" WEFT_COMPILE "' '" + scratch.path.string() + "' -o '" +
      (scratch.path / "a.weft").string() + "' 2>&1");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_THAT(result.output, testing::HasSubstr("lm_head.weight"));
  EXPECT_THAT(result.output, testing::HasSubstr("warning"));
}

TEST_F(A21, UntiedWithoutAHeadIsRefused) {
  reference::Scratch scratch("a21-none");
  writeRandomCheckpoint(scratch.path, makeOptions(false, false));
  try {
    compileModel(scratch.path, scratch.path / "a.weft");
    FAIL() << "compiled";
  } catch (const std::runtime_error &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("lm_head.weight"));
    EXPECT_THAT(error.what(), testing::HasSubstr("tie_word_embeddings"));
  }
}

//===----------------------------------------------------------------------===//
// A24: the router's weights
//===----------------------------------------------------------------------===//

struct Routing {
  bool normalize;
  int64_t chosen;
  double first, second; ///< Weights of the two best experts.
};

class A24 : public testing::TestWithParam<Routing> {};

// The embedding is all ones, so the router's logits are the sums of its rows.
// Expert e adds 4 silu(1) to dimension e, which the head reads after the final
// norm.
TEST_P(A24, WeightsAreThoseOfTheWholeSoftmax) {
  const auto &[normalize, chosen, first, second] = GetParam();
  RandomOptions options;
  options.family = "qwen3_moe";
  options.hidden = 16;
  options.layers = 1;
  options.heads = options.kvHeads = 1;
  options.vocabulary = 4;
  options.experts = 4;
  options.expertsPerToken = chosen;
  options.normalizeExpertWeights = normalize;
  options.expertIntermediate = 8;
  HandmadeCheckpoint checkpoint(options);
  auto &embedding = checkpoint["model.embed_tokens.weight"].values;
  std::fill(embedding.begin(), embedding.end(), 1.f);
  const float logits[] = {2, 1, 0, -1};
  for (int64_t e = 0; e < 4; ++e) {
    std::string expert = "model.layers.0.mlp.experts." + std::to_string(e);
    for (int64_t i = 0; i < 16; ++i) {
      checkpoint.set("model.layers.0.mlp.gate.weight", e, i, logits[e] / 16);
      checkpoint.set(expert + ".gate_proj.weight", 0, i, 1.f / 16);
      checkpoint.set(expert + ".up_proj.weight", 0, i, 1.f / 16);
    }
    checkpoint.set(expert + ".down_proj.weight", e, 0, 4);
    checkpoint.set("lm_head.weight", e, e, 1);
  }
  std::string name = "a24-" + std::to_string(chosen) + (normalize ? "n" : "");
  checkpoint.write(plans().getCheckpoint(name));
  PlanModel model(plans().compile(name, plans().getCheckpoint(name)));

  double step = 4 / (1 + std::exp(-1.0)); // 4 silu(1)
  double values[] = {1 + step * first, 1 + step * second, 1, 1};
  double squares = 12;
  for (double value : values)
    squares += value * value;
  const int32_t ids[] = {0, 3};
  Table table = model.computeLogits(ids);
  for (size_t row = 0; row < 2; ++row)
    for (size_t e = 0; e < 4; ++e)
      EXPECT_NEAR(table.values[row * 4 + e],
                  values[e] / std::sqrt(squares / 16), 2e-4)
          << "expert " << e;
}

INSTANTIATE_TEST_SUITE_P(All, A24,
                         testing::Values(Routing{false, 2, 0.6439, 0.2369},
                                         Routing{true, 2, 0.7311, 0.2689},
                                         Routing{false, 1, 0.6439, 0},
                                         Routing{true, 1, 1, 0}));

} // namespace
