// Cases about attention, positions and the cache: A12, A13, A14, A17, A39.

#include "test/e2e/AgainstReference.h"
#include "test/e2e/CompileModel.h"
#include "test/e2e/Handmade.h"
#include "test/e2e/PlanModel.h"

#include <cmath>

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;
using reference::RandomOptions;

namespace {

PlanStore &plans() {
  static PlanStore store("attention-cases");
  return store;
}

RandomOptions smallOptions(const std::string &family) {
  RandomOptions options;
  options.family = family;
  options.vocabulary = 64;
  options.hidden = 32;
  options.intermediate = 48;
  options.heads = 4;
  options.kvHeads = 2;
  options.headSize = 8;
  return options;
}

/// Computes `ids` in one go and in steps of several sizes, and expects the same
/// bits; returns the logits.
Table computeInAllSteps(const std::string &plan, std::span<const int32_t> ids,
                        std::initializer_list<int64_t> steps) {
  Table whole = PlanModel(plan, {.threads = 1}).computeLogits(ids);
  for (int64_t step : steps) {
    PlanModel model(plan, {.tokensPerStep = step, .threads = 1});
    EXPECT_EQ(model.computeLogits(ids).values, whole.values)
        << "steps of " << step;
  }
  return whole;
}

//===----------------------------------------------------------------------===//
// A12: a window of W admits W keys
//===----------------------------------------------------------------------===//

// Queries are 0, so attention is the mean of the values it sees. Token t is
// embedded as [t, sqrt(16 - t^2), 0, ...], whose mean square is 1, so the norm
// leaves it alone; its value is t; the mean m goes to dimension 2, and the head
// reads it there after the final norm: m / sqrt(1 + m^2 / 16).
TEST(A12, WindowOfTwoSeesTwoKeys) {
  RandomOptions options;
  options.family = "mistral";
  options.hidden = 16;
  options.layers = 1;
  options.heads = options.kvHeads = 1;
  options.vocabulary = 8;
  options.intermediate = 16;
  options.window = 2;
  HandmadeCheckpoint checkpoint(options);
  for (int t = 0; t <= 4; ++t) {
    checkpoint.set("model.embed_tokens.weight", t, 0, float(t));
    checkpoint.set("model.embed_tokens.weight", t, 1,
                   std::sqrt(float(16 - t * t)));
  }
  checkpoint.set("model.layers.0.self_attn.v_proj.weight", 0, 0, 1);
  checkpoint.set("model.layers.0.self_attn.o_proj.weight", 2, 0, 1);
  checkpoint.set("lm_head.weight", 0, 2, 1);
  checkpoint.write(plans().getCheckpoint("a12"));
  const std::string &plan =
      plans().compile("a12", plans().getCheckpoint("a12"));

  const int32_t ids[] = {1, 2, 3, 4};
  const double means[] = {1, 1.5, 2.5, 3.5};
  Table logits = computeInAllSteps(plan, ids, {1, 2, 3});
  for (size_t i = 0; i < 4; ++i) {
    double logit = logits.values[i * 8];
    EXPECT_NEAR(logit / std::sqrt(1 - logit * logit / 16), means[i], 1e-5)
        << "position " << i;
  }
}

class A12Window : public testing::TestWithParam<int64_t> {};

// The edge of the window in every place of a cache block.
TEST_P(A12Window, EqualsTheReferenceAcrossBlocks) {
  for (const char *family : {"mistral", "gemma3_text"}) {
    std::string name = family + ("-" + std::to_string(GetParam()));
    RandomOptions options = smallOptions(family);
    options.layers = 1;
    options.window = GetParam();
    const std::string &plan = plans().compile(name, options);
    auto model = reference::Transformer::load(plans().getCheckpoint(name));
    const int64_t lengths[] = {140};
    auto prompts = randomPrompts(lengths, 64, 12);
    Table logits = computeInAllSteps(plan, prompts[0], {1, 13});
    EXPECT_EQ(compareWithReference(
                  model, prompts,
                  [&](std::span<const int32_t>) { return logits; }, 1e-4),
              "")
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, A12Window,
                         testing::Values(1, 2, 7, 63, 64, 65, 128));

//===----------------------------------------------------------------------===//
// A13: head geometries
//===----------------------------------------------------------------------===//

struct Geometry {
  int64_t heads, kvHeads, headSize;
};

class A13 : public testing::TestWithParam<Geometry> {};

TEST_P(A13, PrefillAndDecodeEqualTheReference) {
  const auto &[heads, kvHeads, headSize] = GetParam();
  RandomOptions options;
  options.vocabulary = 48;
  options.hidden = 32;
  options.layers = 1;
  options.intermediate = 32;
  options.heads = heads;
  options.kvHeads = kvHeads;
  options.headSize = headSize;
  std::string name = std::to_string(heads) + "-" + std::to_string(kvHeads) +
                     "-" + std::to_string(headSize);
  const std::string &plan = plans().compile(name, options);
  auto model = reference::Transformer::load(plans().getCheckpoint(name));
  const int64_t lengths[] = {67};
  auto prompts = randomPrompts(lengths, 48, 13);
  // One by one: decoding behind every past of 0 to 66. The others: prefill
  // behind a past, with ends before, at and behind a block's border.
  Table logits = computeInAllSteps(plan, prompts[0], {1, 2, 5, 21, 64, 65});
  EXPECT_EQ(compareWithReference(
                model, prompts,
                [&](std::span<const int32_t>) { return logits; }, 1e-4),
            "");
}

INSTANTIATE_TEST_SUITE_P(
    Groups, A13,
    testing::Values(Geometry{28, 4, 32}, Geometry{40, 8, 16},
                    Geometry{24, 4, 32}, Geometry{64, 4, 16},
                    Geometry{71, 1, 16}, Geometry{12, 12, 8},
                    Geometry{5, 1, 6}));

INSTANTIATE_TEST_SUITE_P(
    HeadSizes, A13,
    testing::Values(Geometry{4, 2, 56}, Geometry{4, 2, 72}, Geometry{4, 2, 80},
                    Geometry{4, 2, 96}, Geometry{4, 2, 100},
                    Geometry{4, 2, 112}, Geometry{4, 2, 128},
                    Geometry{4, 2, 192}, Geometry{4, 2, 256}));

//===----------------------------------------------------------------------===//
// A14: learned positions in a batch
//===----------------------------------------------------------------------===//

TEST(A14, ShortPromptBesideALongOneKeepsItsPositions) {
  RandomOptions options = smallOptions("gpt2");
  const std::string &plan = plans().compile("a14", options);
  auto reference = reference::Transformer::load(plans().getCheckpoint("a14"));
  const int64_t lengths[] = {3, 7};
  auto prompts = randomPrompts(lengths, 64, 14);
  PlanModel model(plan, {.sequences = 2});
  std::vector<Table> together = model.computeLogits(prompts);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(together[i].values, model.computeLogits(prompts[i]).values);
    EXPECT_EQ(compareWithReference(
                  reference, {&prompts[i], 1},
                  [&](std::span<const int32_t>) { return together[i]; }, 1e-5),
              "");
  }
  // The other way round, and while decoding.
  auto results = model.generateTogether(prompts, 10);
  std::swap(prompts[0], prompts[1]);
  auto swapped = model.generateTogether(prompts, 10);
  EXPECT_EQ(results[0].ids, swapped[1].ids);
  EXPECT_EQ(results[1].logProbabilities, swapped[0].logProbabilities);
  std::swap(prompts[0], prompts[1]);
  EXPECT_EQ(compareGreedyWithReference(reference, prompts, 10,
                                       model.asRunGreedy(), 1e-4),
            "");
}

//===----------------------------------------------------------------------===//
// A17: longrope beyond the original context
//===----------------------------------------------------------------------===//

TEST(A17, CrossingTheOriginalContextRecomputes) {
  RandomOptions options = smallOptions("phi3");
  options.rope = {{"rope_type", "longrope"},
                  {"short_factor", {1.0, 1.1, 1.3, 1.5}},
                  {"long_factor", {1.0, 2.0, 4.0, 8.0}},
                  {"original_max_position_embeddings", 16}};
  const std::string &plan = plans().compile("a17", options);
  auto reference = reference::Transformer::load(plans().getCheckpoint("a17"));

  // Prefill: the table is that of the whole length.
  const int64_t lengths[] = {10, 15, 16, 17, 22, 70};
  auto prompts = randomPrompts(lengths, 64, 17);
  PlanModel model(plan, {.threads = 1, .sequences = 2});
  EXPECT_EQ(compareWithReference(reference, prompts, model.asRunModel(), 1e-4),
            "");

  // Generation: prompt 10, 12 more; each equals a fresh run of its prefix.
  EXPECT_EQ(compareGreedyWithReference(reference, {prompts.data(), 1}, 12,
                                       model.asRunGreedy(), 1e-4),
            "");
  auto result = model.generateTogether({prompts.data(), 1}, 12).front();
  std::vector<int32_t> known = prompts[0];
  for (size_t i = 0; i < 12; ++i) {
    auto fresh = model.generateTogether({&known, 1}, 1).front();
    EXPECT_EQ(fresh.ids[0], result.ids[i]);
    EXPECT_EQ(fresh.logProbabilities[0], result.logProbabilities[i])
        << "token " << known.size() + 1;
    known.push_back(result.ids[i]);
  }

  // Two sequences of which one crosses.
  std::vector<std::vector<int32_t>> two = {prompts[0], {5, 6}};
  auto together = model.generateTogether(two, 12);
  EXPECT_EQ(together[0].logProbabilities, result.logProbabilities);
  auto alone = model.generateTogether({&two[1], 1}, 12).front();
  EXPECT_EQ(together[1].ids, alone.ids);
  EXPECT_EQ(together[1].logProbabilities, alone.logProbabilities);
}

//===----------------------------------------------------------------------===//
// A39: a kept sequence
//===----------------------------------------------------------------------===//

class A39 : public testing::Test {
protected:
  A39()
      : model(plans().compile("a39", smallOptions("qwen3")), {.threads = 1}) {}

  rt::GenerationResult generate(rt::SequenceId id, int64_t count,
                                std::vector<int32_t> stopIds = {}) {
    rt::GenerationRequest request;
    request.sequence = id;
    request.options.maxTokens = count;
    request.options.ignoreEos = true;
    request.options.logProbabilities = true;
    request.options.stopIds = std::move(stopIds);
    auto result = model.getGenerator().generate(request);
    EXPECT_TRUE(result) << result.getStatus().getMessage();
    return result ? result.take() : rt::GenerationResult();
  }

  /// Expects the sequence to go on as a fresh one with the same tokens does.
  rt::GenerationResult expectAsFresh(rt::SequenceId id, int64_t count) {
    auto tokens = model.getGenerator().getTokens(id);
    std::vector<int32_t> known(tokens->begin(), tokens->end());
    rt::GenerationResult kept = generate(id, count);
    rt::SequenceId other = model.getGenerator().addSequence();
    EXPECT_TRUE(model.getGenerator().append(other, known));
    rt::GenerationResult fresh = generate(other, count);
    EXPECT_TRUE(model.getGenerator().removeSequence(other));
    EXPECT_EQ(kept.ids, fresh.ids);
    EXPECT_EQ(kept.logProbabilities, fresh.logProbabilities);
    return kept;
  }

  PlanModel model;
};

TEST_F(A39, SecondTurnAndRewindEqualFreshRuns) {
  rt::Generator &generator = model.getGenerator();
  rt::SequenceId id = generator.addSequence();
  const int32_t first[] = {3, 9, 27, 17, 51}, second[] = {7, 8, 9};
  ASSERT_TRUE(generator.append(id, first));
  rt::GenerationResult start = expectAsFresh(id, 4);
  ASSERT_TRUE(generator.append(id, second));
  EXPECT_EQ(generator.getTokens(id)->size(), 12u);
  expectAsFresh(id, 4);

  ASSERT_TRUE(generator.rewind(id, 5));
  EXPECT_EQ(expectAsFresh(id, 4).ids, start.ids);
  ASSERT_TRUE(generator.rewind(id, 7));
  ASSERT_TRUE(generator.append(id, second));
  expectAsFresh(id, 70); // Beyond a block.
  ASSERT_TRUE(generator.rewind(id, 64));
  expectAsFresh(id, 3);
  ASSERT_TRUE(generator.rewind(id, 0));
  ASSERT_TRUE(generator.append(id, first));
  EXPECT_EQ(expectAsFresh(id, 4).logProbabilities, start.logProbabilities);
}

TEST_F(A39, AStopIdIsNotLeftInTheSequence) {
  rt::Generator &generator = model.getGenerator();
  rt::SequenceId id = generator.addSequence();
  const int32_t first[] = {3, 9, 27, 17, 51}, second[] = {7, 8};
  ASSERT_TRUE(generator.append(id, first));
  std::vector<int32_t> plain = generate(id, 6).ids;
  ASSERT_TRUE(generator.rewind(id, 5));
  int32_t stop = plain[3];
  rt::GenerationResult stopped = generate(id, 6, {stop});
  EXPECT_EQ(stopped.reason, rt::FinishReason::Stop);
  EXPECT_EQ(stopped.stopId, stop);
  for (int32_t token : generator.getTokens(id)->subspan(5))
    EXPECT_NE(token, stop);
  ASSERT_TRUE(generator.append(id, second));
  EXPECT_EQ(generator.getTokens(id)->size(), 5 + stopped.ids.size() + 2);
  expectAsFresh(id, 4);
}

} // namespace
