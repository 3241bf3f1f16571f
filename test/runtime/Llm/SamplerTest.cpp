//===- SamplerTest.cpp ----------------------------------------------------===//

#include "runtime/Llm/Sampler.h"

#include "runtime/Llm/Philox.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

using namespace weft::rt;

namespace {

Result<int32_t> sampleOnce(const SamplingOptions &options,
                           const std::vector<float> &logits,
                           const TokenHistory &history = {},
                           int64_t position = 0) {
  Result<Sampler> sampler = Sampler::create(options, int64_t(logits.size()));
  if (!sampler)
    return sampler.getStatus();
  return sampler->sample(logits, history, position);
}

/// Ids that come up in many draws.
std::set<int32_t> support(const SamplingOptions &options,
                          const std::vector<float> &logits, int draws = 4000) {
  Result<Sampler> sampler = Sampler::create(options, int64_t(logits.size()));
  EXPECT_TRUE(sampler) << sampler.getStatus().getMessage();
  std::set<int32_t> ids;
  for (int i = 0; i < draws; ++i)
    ids.insert(*sampler->sample(logits, {}, i));
  return ids;
}

std::vector<float> logarithms(const std::vector<double> &probabilities) {
  std::vector<float> logits;
  for (double p : probabilities)
    logits.push_back(float(std::log(p)));
  return logits;
}

/// Upper 99.99 % point of chi-square, by Wilson and Hilferty (1931).
double chiSquareLimit(int degrees) {
  double z = 3.719, k = degrees;
  return k * std::pow(1 - 2 / (9 * k) + z * std::sqrt(2 / (9 * k)), 3);
}

void expectDistribution(const SamplingOptions &options,
                        const std::vector<float> &logits,
                        const std::vector<double> &expected) {
  constexpr int draws = 100000;
  Result<Sampler> sampler = Sampler::create(options, int64_t(logits.size()));
  ASSERT_TRUE(sampler) << sampler.getStatus().getMessage();
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i)
    ++counts[*sampler->sample(logits, {}, i)];
  double statistic = 0;
  int degrees = -1;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (expected[id] == 0) {
      EXPECT_EQ(counts[id], 0) << id;
      continue;
    }
    double mean = expected[id] * draws;
    statistic += (counts[id] - mean) * (counts[id] - mean) / mean;
    ++degrees;
  }
  EXPECT_LT(statistic, chiSquareLimit(degrees)) << "seed " << options.seed;
}

// Known answers published with the authors' Random123 library.
TEST(PhiloxTest, KnownAnswers) {
  using Counter = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(SamplerTest, GreedyTiesGoToTheLowestId) {
  EXPECT_EQ(*sampleOnce({}, {1, 3, 2, 3}), 1);
  EXPECT_EQ(*sampleOnce({}, {-5}), 0);
}

// Values from few, so that there are ties; sizes around those of blocks.
TEST(SamplerTest, GreedyIsTheFirstOfTheLargest) {
  std::mt19937 random(5);
  const float values[] = {-3e38f, -1.5f, -1e-45f, -0.0f, 0.0f, 1e-45f, 2.0f};
  for (int size : {1, 2, 15, 511, 512, 513, 1024, 3000}) {
    for (size_t most = 1; most <= std::size(values); ++most) {
      std::vector<float> logits(size);
      for (float &logit : logits)
        logit = values[random() % most];
      auto first = std::ranges::max_element(logits);
      EXPECT_EQ(*sampleOnce({}, logits), first - logits.begin())
          << "size " << size << ", seed 5";
    }
  }
  std::vector<float> ascending(2000);
  std::iota(ascending.begin(), ascending.end(), -1000.0f);
  EXPECT_EQ(*sampleOnce({}, ascending), 1999);
}

TEST(SamplerTest, A31TinyTemperaturesAreArgmax) {
  std::vector<float> logits = {2.9f, 2.96f, 11.06f, -2.4f};
  for (double temperature : {0.0, 4.9e-324, 1e-300, 1e-12, 1e-6, 1e-4, 1e-3})
    for (int i = 0; i < 200; ++i)
      ASSERT_EQ(*sampleOnce({.temperature = temperature}, logits, {}, i), 2)
          << temperature;
}

TEST(SamplerTest, A31HugeTemperaturesAreUniformAndFinite) {
  std::vector<float> logits = {2.9f, 2.96f, 11.06f, -2.4f};
  for (double temperature : {1e6, 1e30, 1.7e308})
    expectDistribution({.temperature = temperature, .seed = 7}, logits,
                       std::vector<double>(4, 0.25));
  // The extremes of f32 at once.
  for (double temperature : {1e-300, 1e-6, 1.0, 1e300})
    EXPECT_TRUE(
        sampleOnce({.temperature = temperature}, {3.4e38f, -3.4e38f, 1e-45f}));
}

TEST(SamplerTest, A31BadOptionsAreInvalidArguments) {
  const double nan = std::nan(""), inf = INFINITY;
  std::vector<SamplingOptions> bad = {
      {.temperature = nan},
      {.temperature = -1},
      {.temperature = inf},
      {.topK = -1},
      {.topP = 0},
      {.topP = 1.5},
      {.topP = nan},
      {.minP = -0.1},
      {.minP = nan},
      {.minP = 2},
      {.repetitionPenalty = 0},
      {.repetitionPenalty = nan},
      {.repetitionPenalty = -2},
      {.presencePenalty = nan},
      {.frequencyPenalty = inf},
      {.logitBias = {{0, nan}}},
  };
  for (const SamplingOptions &options : bad) {
    Result<int32_t> id = sampleOnce(options, {1, 2});
    ASSERT_FALSE(id);
    EXPECT_EQ(id.getStatus().getCode(), StatusCode::InvalidArgument);
  }
  EXPECT_EQ(sampleOnce({.temperature = -1}, {1}).getStatus().getMessage(),
            "temperature is -1; it must be 0 (greedy) or a positive number");
}

TEST(SamplerTest, A32TopPKeepsTheTokenThatCrosses) {
  std::vector<float> logits = logarithms({.5, .3, .15, .05});
  auto kept = [&](double p) {
    return support({.temperature = 1, .topP = p}, logits).size();
  };
  EXPECT_EQ(kept(.6), 2u);
  EXPECT_EQ(kept(.85), 3u);
  EXPECT_EQ(kept(.5), 1u);
  EXPECT_EQ(kept(1e-9), 1u);
  EXPECT_EQ(kept(1.0), 4u);
}

TEST(SamplerTest, A32TopPTiesAreStable) {
  std::vector<float> logits = logarithms({.25, .25, .25, .25});
  EXPECT_EQ(support({.temperature = 1, .topP = .5}, logits),
            (std::set<int32_t>{0, 1}));
  EXPECT_EQ(support({.temperature = 1, .topP = .6}, logits),
            (std::set<int32_t>{0, 1, 2}));
  EXPECT_EQ(support({.temperature = 1, .topK = 3}, logits),
            (std::set<int32_t>{0, 1, 2}));
}

// What A33 gives: prompt [1, 2], output so far [2].
TEST(SamplerTest, A33PenaltiesCountWhatTheyShould) {
  TokenHistory history;
  history.addPrompt(1);
  history.addPrompt(2);
  history.addOutput(2);
  // Repetition: id 1 has -2 x 2, id 2 has 2 / 2; the prompt counts, and id 2
  // counts once although it is there twice.
  std::vector<float> logits = {-3.9f, -2, 2, -4.1f};
  SamplingOptions options = {.temperature = 1, .repetitionPenalty = 2};
  auto logProbabilityOf = [&](const std::vector<double> &adjusted, int id) {
    double sum = 0;
    for (double x : adjusted)
      sum += std::exp(x);
    return std::exp(adjusted[id]) / sum;
  };
  auto expectAdjusted = [&](SamplingOptions o, std::vector<double> adjusted) {
    Result<Sampler> sampler = Sampler::create(o, 4);
    ASSERT_TRUE(sampler);
    std::vector<int> counts(4);
    constexpr int draws = 100000;
    for (int i = 0; i < draws; ++i)
      ++counts[*sampler->sample(logits, history, i)];
    double statistic = 0;
    for (int id = 0; id < 4; ++id) {
      double mean = draws * logProbabilityOf(adjusted, id);
      statistic += (counts[id] - mean) * (counts[id] - mean) / mean;
    }
    EXPECT_LT(statistic, chiSquareLimit(3));
  };
  expectAdjusted(options, {-3.9, -4, 1, -4.1});
  expectAdjusted({.temperature = 1, .presencePenalty = .5},
                 {-3.9, -2, 1.5, -4.1});
  history.addOutput(2);
  expectAdjusted({.temperature = 1, .frequencyPenalty = .5},
                 {-3.9, -2, 1, -4.1});
  expectAdjusted({.temperature = 1,
                  .repetitionPenalty = 2,
                  .presencePenalty = .25,
                  .frequencyPenalty = .5,
                  .logitBias = {{3, 2.0}}},
                 {-3.9, -4, 1 - .25 - 1, -2.1});
}

TEST(SamplerTest, A34IdsBeyondTheTokenizerAreNeverSampled) {
  for (int64_t vocabulary : {1000, 50257, 32001}) {
    std::vector<float> logits((vocabulary + 63) / 64 * 64, 0.0f);
    std::fill(logits.begin() + vocabulary, logits.end(), 1e4f);
    for (SamplingOptions options :
         {SamplingOptions{.temperature = 2},
          SamplingOptions{.temperature = 2, .topK = 50},
          SamplingOptions{.temperature = 2, .topP = .9}, SamplingOptions{}}) {
      Result<Sampler> sampler = Sampler::create(options, vocabulary);
      ASSERT_TRUE(sampler);
      for (int i = 0; i < 20; ++i)
        EXPECT_LT(*sampler->sample(logits, {}, i), vocabulary);
    }
  }
}

TEST(SamplerTest, A34BiasIdsAreChecked) {
  for (int32_t id : {1001, 1024, -1}) {
    Result<Sampler> sampler = Sampler::create({.logitBias = {{id, 5}}}, 1000);
    ASSERT_FALSE(sampler);
    EXPECT_EQ(sampler.getStatus().getCode(), StatusCode::InvalidArgument);
    EXPECT_THAT(sampler.getStatus().getMessage(),
                testing::HasSubstr("id " + std::to_string(id)));
  }
  EXPECT_TRUE(Sampler::create({.logitBias = {{999, 5}}}, 1000));
}

TEST(SamplerTest, MinPIsRelativeToTheMostLikely) {
  std::vector<float> logits = logarithms({.5, .25, .2, .05});
  EXPECT_EQ(support({.temperature = 1, .minP = .5}, logits).size(), 2u);
  EXPECT_EQ(support({.temperature = 1, .minP = .4}, logits).size(), 3u);
  EXPECT_EQ(support({.temperature = 1, .minP = 1}, logits).size(), 1u);
}

TEST(SamplerTest, DrawsFollowTheExactDistribution) {
  std::vector<double> p = {.02, .4, .1, .05, .13, .2, .06, .04};
  std::vector<float> logits = logarithms(p);
  for (uint64_t seed : {1, 2, 3})
    expectDistribution({.temperature = 1, .seed = seed}, logits, p);
  // Temperature 2 takes square roots.
  std::vector<double> roots;
  double sum = 0;
  for (double x : p)
    sum += std::sqrt(x);
  for (double x : p)
    roots.push_back(std::sqrt(x) / sum);
  expectDistribution({.temperature = 2, .seed = 4}, logits, roots);
  // The three largest: .4, .2, .13.
  expectDistribution({.temperature = 1, .topK = 3, .seed = 5}, logits,
                     {0, .4 / .73, 0, 0, .13 / .73, .2 / .73, 0, 0});
  // .4 + .2 + .13 = .73 < .75, so .1 is kept too.
  expectDistribution({.temperature = 1, .topP = .75, .seed = 6}, logits,
                     {0, .4 / .83, .1 / .83, 0, .13 / .83, .2 / .83, 0, 0});
  // top-p works on what top-k left: .4 / .73 + .2 / .73 = .82 reaches .8.
  expectDistribution({.temperature = 1, .topK = 3, .topP = .8, .seed = 7},
                     logits, {0, .4 / .6, 0, 0, 0, .2 / .6, 0, 0});
}

TEST(SamplerTest, DrawsDependOnSeedRequestAndPositionOnly) {
  std::vector<float> logits(100, 0.0f);
  SamplingOptions options = {.temperature = 1, .seed = 11, .request = 3};
  Result<Sampler> a = Sampler::create(options, 100);
  Result<Sampler> b = Sampler::create(options, 100);
  std::vector<int32_t> forwards, backwards;
  for (int i = 0; i < 50; ++i)
    forwards.push_back(*a->sample(logits, {}, i));
  for (int i = 50; i-- > 0;)
    backwards.push_back(*b->sample(logits, {}, i));
  EXPECT_THAT(backwards,
              testing::ElementsAreArray(forwards.rbegin(), forwards.rend()));
  for (SamplingOptions other :
       {SamplingOptions{.temperature = 1, .seed = 12, .request = 3},
        SamplingOptions{.temperature = 1, .seed = 11, .request = 4}}) {
    Result<Sampler> c = Sampler::create(other, 100);
    int equal = 0;
    for (int i = 0; i < 50; ++i)
      equal += *c->sample(logits, {}, i) == forwards[i];
    EXPECT_LT(equal, 10);
  }
}

TEST(SamplerTest, LogitsThatAreNoNumbersNameThePosition) {
  for (float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    for (double temperature : {0.0, 1.0}) {
      Result<int32_t> id =
          sampleOnce({.temperature = temperature}, {1, 2, bad, 3}, {}, 41);
      ASSERT_FALSE(id);
      EXPECT_EQ(id.getStatus().getCode(), StatusCode::Corrupt);
      EXPECT_THAT(id.getStatus().getMessage(),
                  testing::HasSubstr("the logit of id 2 for position 41 is"));
    }
  }
}

TEST(SamplerTest, LogProbabilityIsTheLogSoftmax) {
  std::vector<float> logits = {1, 2, 3};
  double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  for (int id = 0; id < 3; ++id)
    EXPECT_NEAR(logProbability(logits, id), std::log(std::exp(id + 1.0) / sum),
                1e-12);
  EXPECT_TRUE(std::isnan(logProbability(std::vector<float>{0, NAN}, 0)));
}

} // namespace
