//===- GeneratorTest.cpp --------------------------------------------------===//

#include "runtime/Llm/Generator.h"

#include "test/runtime/Llm/FakeModel.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace weft::rt;
using Ids = std::vector<int32_t>;
using testing::HasSubstr;

namespace {

class GeneratorTest : public testing::Test {
protected:
  void make(TextSizes options = {}) {
    Result<std::unique_ptr<Generator>> made =
        Generator::create(model, meta, options);
    ASSERT_TRUE(made) << made.getStatus().getMessage();
    generator = made.take();
  }

  SequenceId start(const Ids &prompt) {
    SequenceId id = generator->addSequence();
    Status s = generator->append(id, prompt);
    EXPECT_TRUE(s) << s.getMessage();
    return id;
  }

  GenerationResult generate(SequenceId id, int64_t count,
                            GenerationOptions options = {},
                            TokenCallback onToken = nullptr) {
    options.maxTokens = count;
    Result<GenerationResult> result =
        generator->generate({id, options, onToken});
    EXPECT_TRUE(result) << result.getStatus().getMessage();
    return result ? result.take() : GenerationResult();
  }

  Ids tokensOf(SequenceId id) {
    std::span<const int32_t> tokens = *generator->getTokens(id);
    return Ids(tokens.begin(), tokens.end());
  }

  void expectFirstFails(int32_t id, float value, const char *message);

  /// Makes `id` the likeliest after contexts of `length` tokens.
  void forceAt(size_t length, int32_t id) {
    auto before = model.changeLogits;
    model.changeLogits = [=](std::span<const FakeModel::Entry> context,
                             std::span<float> row) {
      if (before)
        before(context, row);
      if (context.size() == length)
        row[id] = 100;
    };
  }

  static Ids join(Ids a, const Ids &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  FakeModel model;
  ModelMeta meta = model.meta();
  std::unique_ptr<Generator> generator;
};

const Ids kPrompt = {3, 1, 4, 1, 5};

TEST_F(GeneratorTest, GreedyEqualsFullRecomputation) {
  make();
  GenerationResult result = generate(start(kPrompt), 20);
  EXPECT_EQ(result.ids, model.continueGreedily(kPrompt, 20));
  EXPECT_EQ(result.reason, FinishReason::Length);
}

TEST_F(GeneratorTest, ChunkedPrefillEqualsWhole) {
  Ids prompt;
  for (int i = 0; i < 40; ++i)
    prompt.push_back(i * 7 % 50);
  Ids expected = model.continueGreedily(prompt, 10);
  for (int64_t chunk : {1, 3, 4, 16, 40}) {
    model.limits.tokens = chunk;
    make();
    EXPECT_EQ(generate(start(prompt), 10).ids, expected) << chunk;
    EXPECT_LE(model.largestStep, chunk);
    EXPECT_EQ(generator->getTimes().promptTokens, 40);
    EXPECT_EQ(generator->getTimes().generatedTokens, 9);
  }
}

TEST_F(GeneratorTest, BatchEqualsAlone) {
  std::vector<Ids> prompts = {{1}, {2, 3, 4}, kPrompt, {9, 9, 9, 9, 9, 9, 9}};
  std::vector<int> counts = {12, 3, 7, 20};
  for (int64_t sequences : {1, 2, 8}) {
    model.limits.sequences = sequences;
    make();
    std::vector<GenerationRequest> requests;
    for (size_t i = 0; i < prompts.size(); ++i) {
      GenerationOptions options;
      options.maxTokens = counts[i];
      requests.push_back({start(prompts[i]), options, nullptr});
    }
    auto results = generator->generate(requests);
    ASSERT_TRUE(results) << results.getStatus().getMessage();
    for (size_t i = 0; i < prompts.size(); ++i)
      EXPECT_EQ((*results)[i].ids,
                model.continueGreedily(prompts[i], counts[i]));
  }
}

TEST_F(GeneratorTest, SampledTextIsTheSameInABatch) {
  make();
  GenerationOptions options;
  options.sampling = {.temperature = 1, .topP = .9, .seed = 5};
  Ids alone = generate(start(kPrompt), 10, options).ids;
  options.maxTokens = 10;
  std::vector<GenerationRequest> requests;
  for (uint64_t request : {1, 0, 2}) {
    options.sampling.request = request;
    requests.push_back({start(kPrompt), options, nullptr});
  }
  auto results = generator->generate(requests);
  ASSERT_TRUE(results);
  EXPECT_EQ((*results)[1].ids, alone);
  EXPECT_NE((*results)[0].ids, alone);
}

// Penalties count the ids of their own sequence: in batches of unequal prompts
// each text is as alone, and another text without them.
TEST_F(GeneratorTest, A33PenaltiesStayInTheirSequence) {
  constexpr int64_t count = 15;
  const std::vector<Ids> prompts = {{1}, kPrompt, {9, 9, 9, 9, 9, 9, 9, 2}};
  const std::vector<SamplingOptions> samplings = {
      {.temperature = 1, .repetitionPenalty = 5, .seed = 8},
      {.temperature = 1, .presencePenalty = 3, .seed = 8},
      {.temperature = 1, .frequencyPenalty = 2, .seed = 8}};
  for (const SamplingOptions &sampling : samplings) {
    make();
    GenerationOptions options;
    options.sampling = sampling;
    options.maxTokens = count;
    std::vector<GenerationRequest> requests;
    std::vector<Ids> alone;
    for (const Ids &prompt : prompts) {
      alone.push_back(generate(start(prompt), count, options).ids);
      requests.push_back({start(prompt), options, nullptr});
      GenerationOptions plain;
      plain.sampling = {.temperature = 1, .seed = 8};
      EXPECT_NE(generate(start(prompt), count, plain).ids, alone.back());
    }
    auto results = generator->generate(requests);
    ASSERT_TRUE(results) << results.getStatus().getMessage();
    for (size_t i = 0; i < prompts.size(); ++i)
      EXPECT_EQ((*results)[i].ids, alone[i]) << i;
  }
}

// A model that chooses ids itself gives the texts that the host's sampler
// gives.
TEST_F(GeneratorTest, TextsAreTheSameWhoeverChooses) {
  const std::vector<Ids> prompts = {{1}, kPrompt, {9, 9, 9, 2}};
  const std::vector<SamplingOptions> samplings = {
      {},
      {.temperature = 1, .seed = 4},
      {.temperature = 0.7, .repetitionPenalty = 2, .seed = 4},
      {.presencePenalty = 2, .logitBias = {{7, 3}, {2, -1}, {7, 0.5}}}};
  std::vector<Ids> texts;
  for (bool samples : {false, true}) {
    model.limits.samples = samples;
    model.limits.adjustments = samples ? 512 : 0;
    make({.samplableIds = 40});
    size_t text = 0;
    for (const SamplingOptions &sampling : samplings) {
      GenerationOptions options;
      options.sampling = sampling;
      options.maxTokens = 12;
      std::vector<GenerationRequest> requests;
      for (const Ids &prompt : prompts)
        requests.push_back({start(prompt), options, nullptr});
      auto results = generator->generate(requests);
      ASSERT_TRUE(results) << results.getStatus().getMessage();
      for (const GenerationResult &result : *results) {
        if (samples)
          EXPECT_EQ(result.ids, texts[text++]);
        else
          texts.push_back(result.ids);
      }
    }
  }
  EXPECT_EQ(model.choices, 4 * 3 * 12);
  EXPECT_GT(model.adjustments, 0);
}

// Log probabilities need logits that nothing has changed; many changes have no
// place in a step. Others of the batch are not affected.
TEST_F(GeneratorTest, TheHostChoosesWhereTheModelCannot) {
  GenerationOptions plain, probabilities, penalties;
  plain.maxTokens = probabilities.maxTokens = penalties.maxTokens = 10;
  probabilities.logProbabilities = true;
  penalties.sampling.repetitionPenalty = 3;
  std::vector<std::vector<GenerationResult>> runs;
  for (bool samples : {false, true}) {
    model.limits.samples = samples;
    model.limits.adjustments = samples ? 8 * 8 : 0; // 8 for each sequence.
    make();
    std::vector<GenerationRequest> requests = {
        {start({1, 2}), plain, nullptr},
        {start(kPrompt), probabilities, nullptr},
        {start(kPrompt), penalties, nullptr}};
    auto results = generator->generate(requests);
    ASSERT_TRUE(results) << results.getStatus().getMessage();
    runs.push_back(results.take());
  }
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(runs[0][i].ids, runs[1][i].ids);
  EXPECT_EQ(runs[0][1].logProbabilities, runs[1][1].logProbabilities);
  // The prompt has 4 different ids; so 4 to 8 are few enough.
  EXPECT_EQ(model.choices, 10 + 5);
}

// Prompt of 5 ids, generate 4, append 3, generate 4: the same as one run on
// the 12 ids.
TEST_F(GeneratorTest, A39SecondTurnEqualsAFreshRun) {
  make();
  SequenceId kept = start(kPrompt);
  Ids first = generate(kept, 4).ids;
  Ids more = {7, 8, 9};
  ASSERT_TRUE(generator->append(kept, more));
  Ids second = generate(kept, 4).ids;
  Ids known = join(join(kPrompt, first), more);
  ASSERT_EQ(known.size(), 12u);
  EXPECT_EQ(second, generate(start(known), 4).ids);
  EXPECT_EQ(tokensOf(kept), join(known, second));
}

TEST_F(GeneratorTest, A39RewindEqualsAFreshRun) {
  make();
  SequenceId kept = start(kPrompt);
  Ids first = generate(kept, 8).ids;
  for (int64_t length : {13, 12, 5, 3, 0}) {
    ASSERT_TRUE(generator->rewind(kept, length));
    if (length == 0) {
      EXPECT_TRUE(tokensOf(kept).empty());
      ASSERT_TRUE(generator->append(kept, kPrompt));
    }
    Ids known = tokensOf(kept);
    EXPECT_EQ(generate(kept, 4).ids, model.continueGreedily(known, 4))
        << length;
    // The next round starts from the same 13 tokens.
    ASSERT_TRUE(generator->rewind(kept, 0));
    ASSERT_TRUE(generator->append(kept, join(kPrompt, first)));
  }
  EXPECT_FALSE(generator->rewind(kept, 14));
  EXPECT_FALSE(generator->rewind(kept, -1));
}

TEST_F(GeneratorTest, A39StopIdIsNotLeftInTheSequence) {
  const int32_t eos = 2;
  meta.eosIds = {eos};
  forceAt(7, eos);
  make();
  SequenceId kept = start(kPrompt);
  GenerationResult result = generate(kept, 10);
  EXPECT_EQ(result.reason, FinishReason::Stop);
  EXPECT_EQ(result.stopId, eos);
  EXPECT_EQ(result.ids, model.continueGreedily(kPrompt, 2));
  EXPECT_EQ(tokensOf(kept), join(kPrompt, result.ids));
  // Going on with other text equals a fresh run that never had the id.
  Ids more = {7, 8};
  ASSERT_TRUE(generator->append(kept, more));
  Ids known = join(join(kPrompt, result.ids), more);
  EXPECT_EQ(generate(kept, 4).ids, model.continueGreedily(known, 4));
}

TEST_F(GeneratorTest, A39StopIdIsKeptOnDemand) {
  const int32_t eos = 2;
  meta.eosIds = {eos};
  forceAt(7, eos);
  make();
  SequenceId kept = start(kPrompt);
  GenerationOptions options;
  options.keepStopId = true;
  GenerationResult result = generate(kept, 10, options);
  Ids known = join(join(kPrompt, result.ids), {eos});
  EXPECT_EQ(tokensOf(kept), known);
  EXPECT_EQ(generate(kept, 4).ids, model.continueGreedily(known, 4));
}

TEST_F(GeneratorTest, EosCanBeIgnoredAndStopIdsAdded) {
  meta.eosIds = {2};
  forceAt(6, 2);
  forceAt(8, 3);
  make();
  GenerationOptions options;
  options.ignoreEos = true;
  GenerationResult result = generate(start(kPrompt), 5, options);
  EXPECT_EQ(result.ids, model.continueGreedily(kPrompt, 5));
  options.stopIds = {3};
  result = generate(start(kPrompt), 5, options);
  EXPECT_EQ(result.stopId, 3);
  EXPECT_EQ(result.ids, model.continueGreedily(kPrompt, 3));
}

TEST_F(GeneratorTest, ContextFullHasItsReason) {
  make();
  GenerationResult result = generate(start(kPrompt), 1000);
  EXPECT_EQ(result.reason, FinishReason::ContextFull);
  EXPECT_EQ(result.ids.size(), size_t(FakeModel::kContext - 5));
  make({.contextLength = 9});
  EXPECT_EQ(generate(start(kPrompt), 1000).ids.size(), 4u);
  // A prompt that fills the context leaves no room for a token.
  result = generate(start(Ids(9, 1)), 5);
  EXPECT_EQ(result.reason, FinishReason::ContextFull);
  EXPECT_TRUE(result.ids.empty());
}

TEST_F(GeneratorTest, PromptLongerThanTheContextNamesBoth) {
  make();
  SequenceId id = generator->addSequence();
  Status s = generator->append(id, Ids(65, 1));
  EXPECT_EQ(s.getCode(), StatusCode::LimitExceeded);
  EXPECT_EQ(s.getMessage(), "the prompt has 65 tokens and the context holds "
                            "64; shorten the text or use a larger context");
  EXPECT_TRUE(tokensOf(id).empty());
  EXPECT_FALSE(Generator::create(model, meta, {.contextLength = 65}));
}

TEST_F(GeneratorTest, A36EmptyPromptIsAnErrorAndHarmsNoOther) {
  make();
  std::vector<GenerationRequest> requests = {{start({}), {}, nullptr},
                                             {start(kPrompt), {}, nullptr}};
  auto results = generator->generate(requests);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.getStatus().getCode(), StatusCode::InvalidArgument);
  EXPECT_THAT(results.getStatus().getMessage(),
              HasSubstr("the prompt is empty"));
  EXPECT_EQ(generate(requests[1].sequence, 4).ids,
            model.continueGreedily(kPrompt, 4));
}

TEST_F(GeneratorTest, A36NoTokensWantedIsNoWork) {
  make();
  GenerationResult result = generate(start(kPrompt), 0);
  EXPECT_EQ(result.reason, FinishReason::Length);
  EXPECT_EQ(model.steps, 0);
}

TEST_F(GeneratorTest, IdsOutsideTheVocabularyAreErrors) {
  make();
  SequenceId id = generator->addSequence();
  for (int32_t bad : {50, -1, INT32_MAX}) {
    Status s = generator->append(id, Ids{1, bad});
    EXPECT_EQ(s.getCode(), StatusCode::InvalidArgument);
    EXPECT_THAT(s.getMessage(), HasSubstr(std::to_string(bad)));
  }
  EXPECT_TRUE(tokensOf(id).empty());
}

TEST_F(GeneratorTest, A34PaddedVocabularyIsNeverSampled) {
  model.changeLogits = [](std::span<const FakeModel::Entry>,
                          std::span<float> row) {
    std::fill(row.begin() + 40, row.end(), 1e4f);
  };
  make({.samplableIds = 40});
  GenerationOptions options;
  options.sampling.temperature = 2;
  for (int32_t id : generate(start(kPrompt), 30, options).ids)
    EXPECT_LT(id, 40);
}

TEST_F(GeneratorTest, CallbackStopsAndCancels) {
  make();
  int seen = 0;
  auto after3 = [&](Verdict verdict) {
    seen = 0;
    return [&seen, verdict](const TokenEvent &) {
      return ++seen == 3 ? verdict : Verdict::Continue;
    };
  };
  GenerationResult result =
      generate(start(kPrompt), 10, {}, after3(Verdict::Stop));
  EXPECT_EQ(result.reason, FinishReason::Stop);
  EXPECT_EQ(result.ids.size(), 3u);
  EXPECT_EQ(result.stopId, -1);
  result = generate(start(kPrompt), 10, {}, after3(Verdict::Cancel));
  EXPECT_EQ(result.reason, FinishReason::Cancelled);
  std::atomic<bool> cancel = true;
  std::vector<GenerationRequest> requests = {{start(kPrompt), {}, nullptr}};
  auto results = generator->generate(requests, &cancel);
  ASSERT_TRUE(results);
  EXPECT_EQ((*results)[0].reason, FinishReason::Cancelled);
}

/// Two requests, of which the model gives the first one `value` as the logit of
/// `id` for position 6: that one fails with `message`, the other does not.
void GeneratorTest::expectFirstFails(int32_t id, float value,
                                     const char *message) {
  model.changeLogits = [=](std::span<const FakeModel::Entry> context,
                           std::span<float> row) {
    if (context[0].token == 9 && context.size() == 6)
      row[id] = value;
  };
  make();
  GenerationOptions options;
  options.maxTokens = 8;
  std::vector<GenerationRequest> requests = {
      {start({9, 8, 7}), options, nullptr}, {start(kPrompt), options, nullptr}};
  auto results = generator->generate(requests);
  ASSERT_TRUE(results);
  EXPECT_EQ((*results)[0].reason, FinishReason::Failed);
  EXPECT_THAT((*results)[0].status.getMessage(), HasSubstr(message));
  EXPECT_EQ((*results)[1].ids, model.continueGreedily(kPrompt, 8));
}

TEST_F(GeneratorTest, ModelsReportLogitsThatAreNoNumbers) {
  model.limits.samples = true;
  expectFirstFails(11, INFINITY,
                   "the logit of id 11 for position 6 is not a finite");
}

TEST_F(GeneratorTest, LogitsThatAreNoNumbersFailOneRequest) {
  expectFirstFails(1, NAN, "position 6");
}

TEST_F(GeneratorTest, FailedStepCanBeTriedAgain) {
  make();
  SequenceId id = start(kPrompt);
  model.failAtStep = 4;
  GenerationOptions options;
  options.maxTokens = 8;
  Result<GenerationResult> result = generator->generate({id, options, nullptr});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.getStatus().getMessage(), HasSubstr("told to fail"));
  EXPECT_EQ(tokensOf(id), join(kPrompt, model.continueGreedily(kPrompt, 3)));
  generate(id, 5);
  EXPECT_EQ(tokensOf(id), join(kPrompt, model.continueGreedily(kPrompt, 8)));
}

TEST_F(GeneratorTest, CacheShortageEndsTextsAndRefusesPrompts) {
  model.limits.cacheBlocks = 6; // 24 positions
  make();
  std::vector<GenerationRequest> requests;
  GenerationOptions options;
  options.maxTokens = 20;
  for (int i = 0; i < 2; ++i)
    requests.push_back({start(Ids(8, i)), options, nullptr});
  auto results = generator->generate(requests);
  ASSERT_TRUE(results);
  size_t total = 0;
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*results)[i].reason, FinishReason::ContextFull);
    EXPECT_EQ((*results)[i].ids,
              model.continueGreedily(Ids(8, i), (*results)[i].ids.size()));
    total += (*results)[i].ids.size();
  }
  // 24 positions hold 16 prompt tokens and 8 more; each last token is sampled
  // but not yet in the cache.
  EXPECT_EQ(total, 10u);
  SequenceId third = start(Ids(5, 3));
  Result<GenerationResult> refused =
      generator->generate({third, options, nullptr});
  EXPECT_EQ(refused.getStatus().getCode(), StatusCode::LimitExceeded);
  ASSERT_TRUE(generator->removeSequence(requests[0].sequence));
  EXPECT_EQ(generate(third, 3).ids, model.continueGreedily(Ids(5, 3), 3));
}

// Prompt 10, switch at 16, generate 12: from token 17 on every key has to be
// rotated with the long table, as if all had been one prefill.
TEST_F(GeneratorTest, A17CrossingTheRopeSwitchRecomputes) {
  model.limits.hasRopeChoice = true;
  meta.ropeSwitchLength = 16;
  make();
  Ids prompt = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  // The token behind a context of up to 16 uses the short table.
  Ids expected = model.continueGreedily(prompt, 7, 0);
  expected =
      join(expected, model.continueGreedily(join(prompt, expected), 5, 1));
  SequenceId id = start(prompt);
  EXPECT_EQ(generate(id, 12).ids, expected);
  // Back below the switch: the short table again.
  ASSERT_TRUE(generator->rewind(id, 12));
  EXPECT_EQ(generate(id, 3).ids,
            Ids(expected.begin() + 2, expected.begin() + 5));

  // A batch in which only one crosses.
  std::vector<GenerationRequest> requests;
  GenerationOptions options;
  options.maxTokens = 12;
  Ids other = {8, 8};
  requests.push_back({start(other), options, nullptr});
  requests.push_back({start(prompt), options, nullptr});
  auto results = generator->generate(requests);
  ASSERT_TRUE(results) << results.getStatus().getMessage();
  EXPECT_EQ((*results)[0].ids, model.continueGreedily(other, 12, 0));
  EXPECT_EQ((*results)[1].ids, expected);
}

TEST_F(GeneratorTest, RopeSwitchNeedsTheInput) {
  meta.ropeSwitchLength = 16;
  Result<std::unique_ptr<Generator>> made = Generator::create(model, meta);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.getStatus().getCode(), StatusCode::Corrupt);
}

TEST_F(GeneratorTest, ScoresAreLogSoftmaxOfEachNextToken) {
  Ids longText;
  for (int i = 0; i < 40; ++i)
    longText.push_back(i * 11 % 50);
  Ids one = {4}, empty;
  std::vector<std::span<const int32_t>> texts = {kPrompt, longText, one,
                                                 empty,   longText, kPrompt};
  for (int64_t rows : {1, 5, 16}) {
    model.limits.logits = rows;
    model.limits.cacheBlocks = 16;
    make();
    SequenceId kept = start(Ids(8, 1));
    Ids before = generate(kept, 2).ids;
    auto scores = generator->score(texts);
    ASSERT_TRUE(scores) << scores.getStatus().getMessage();
    for (size_t t = 0; t < texts.size(); ++t) {
      double total = 0;
      std::vector<FakeModel::Entry> context;
      for (size_t i = 0; i + 1 < texts[t].size(); ++i) {
        context.push_back({texts[t][i], 0});
        std::vector<float> row(50);
        model.fill(context, row);
        double sum = 0;
        for (float x : row)
          sum += std::exp(double(x));
        double value = row[texts[t][i + 1]] - std::log(sum);
        EXPECT_NEAR((*scores)[t].logProbabilities[i], value, 1e-9);
        total -= value;
      }
      EXPECT_NEAR((*scores)[t].negativeLogLikelihood, total, 1e-7);
    }
    // Kept sequences are untouched.
    EXPECT_EQ(generate(kept, 3).ids,
              model.continueGreedily(join(Ids(8, 1), before), 3));
  }
}

TEST_F(GeneratorTest, ScoresOfBadTextsAreErrors) {
  make();
  Ids tooLong(66, 1), badId = {1, 50};
  for (auto [text, code] :
       {std::pair<Ids *, StatusCode>{&tooLong, StatusCode::LimitExceeded},
        {&badId, StatusCode::InvalidArgument}}) {
    std::vector<std::span<const int32_t>> texts = {*text};
    EXPECT_EQ(generator->score(texts).getStatus().getCode(), code);
  }
  // The numbers are those of the caller's text.
  std::vector<std::span<const int32_t>> texts = {tooLong};
  EXPECT_EQ(generator->score(texts).getStatus().getMessage(),
            "a text has 66 tokens; expected at most 65: the context and a last "
            "token that is only predicted");
  auto ignore = [](size_t, int64_t, std::span<const float>) {
    return Status::ok();
  };
  EXPECT_EQ(generator->computeLogits(texts, ignore).getMessage(),
            "a text has 66 tokens; expected at most 64, the context");
}

TEST_F(GeneratorTest, WindowsArePredictedFromTheirOwnTokens) {
  make();
  Ids ids;
  for (int i = 0; i < 210; ++i)
    ids.push_back(i * 13 % 50);
  // The longest window fills the context; its last token is only predicted.
  for (int64_t window : {1, 10, 64}) {
    auto total = generator->scoreWindows(ids, window);
    ASSERT_TRUE(total) << total.getStatus().getMessage();
    std::vector<std::span<const int32_t>> windows;
    for (int64_t i = 0; i + window + 1 <= 210; i += window)
      windows.push_back(std::span(ids).subspan(i, window + 1));
    EXPECT_EQ(windows.size(), size_t(209 / window));
    double sum = 0;
    auto scores = generator->score(windows);
    ASSERT_TRUE(scores);
    for (const Score &score : *scores)
      sum += score.negativeLogLikelihood;
    EXPECT_EQ(total->logProbabilities.size(), windows.size() * window);
    EXPECT_NEAR(total->negativeLogLikelihood, sum, 1e-9);
  }
  EXPECT_FALSE(generator->scoreWindows(ids, 0));
  EXPECT_FALSE(generator->scoreWindows(ids, 65));
}

TEST_F(GeneratorTest, LogProbabilitiesComeWithTheTokens) {
  make();
  GenerationOptions options;
  options.logProbabilities = true;
  std::vector<double> streamed;
  GenerationResult result =
      generate(start(kPrompt), 6, options, [&](const TokenEvent &event) {
        streamed.push_back(event.logProbability);
        return Verdict::Continue;
      });
  EXPECT_EQ(result.logProbabilities, streamed);
  Ids all = join(kPrompt, result.ids);
  std::vector<std::span<const int32_t>> texts = {all};
  auto scores = generator->score(texts);
  ASSERT_TRUE(scores);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(streamed[i], (*scores)[0].logProbabilities[4 + i], 1e-12);
}

TEST_F(GeneratorTest, RemovedSequencesAreNotFound) {
  make();
  SequenceId id = start(kPrompt);
  ASSERT_TRUE(generator->removeSequence(id));
  EXPECT_EQ(generator->removeSequence(id).getCode(), StatusCode::NotFound);
  EXPECT_EQ(generator->append(id, kPrompt).getCode(), StatusCode::NotFound);
  EXPECT_EQ(generator->getTokens(id).getStatus().getCode(),
            StatusCode::NotFound);
  EXPECT_EQ(generator->generate({id, {}, nullptr}).getStatus().getCode(),
            StatusCode::NotFound);
}

} // namespace
