#include "test/reference/Transformer.h"
#include "test/reference/RandomCheckpoint.h"
#include "test/reference/Scratch.h"

#include <cmath>

#include <gtest/gtest.h>

using namespace weft::reference;
using nlohmann::json;

namespace {

Transformer make(const RandomOptions &options) {
  Scratch scratch("transformer");
  writeRandomCheckpoint(scratch.path, options);
  return Transformer::load(scratch.path);
}

std::vector<int32_t> someIds(int64_t count, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(int32_t((i * 7919 + 13) % vocabulary));
  return ids;
}

double largestDifference(const Matrix &a, const Matrix &b) {
  EXPECT_EQ(a.values.size(), b.values.size());
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    largest = std::max(largest, std::fabs(a.values[i] - b.values[i]));
  return largest;
}

/// A checkpoint whose tensors are all zero except for what `fill` sets.
Transformer makeByHand(const RandomOptions &options,
                       const std::function<void(NamedTensor &)> &fill) {
  Scratch scratch("by-hand");
  writeRandomCheckpoint(scratch.path, options);
  std::vector<NamedTensor> tensors = makeTensors(options);
  for (NamedTensor &tensor : tensors) {
    bool isNorm = tensor.name.find("norm") != std::string::npos;
    std::fill(tensor.values.begin(), tensor.values.end(), isNorm ? 1.0f : 0.0f);
    fill(tensor);
  }
  writeSafetensors(scratch.path / "model.safetensors", tensors,
                   ElementType::F32);
  return Transformer::load(scratch.path);
}

// Queries are 0, so a query averages the values it sees. Token t is the unit
// vector t, its value t + 1; the average goes to dimension 7, and the ratio of
// dimensions survives the final norm.
TEST(Transformer, A12_AWindowOfTwoSeesTwoKeys) {
  RandomOptions options;
  options.family = "mistral";
  options.vocabulary = options.hidden = 8;
  options.layers = options.heads = options.kvHeads = 1;
  options.headSize = 2;
  options.window = 2;
  options.config = {{"rms_norm_eps", 1e-12}};
  Transformer model = makeByHand(options, [](NamedTensor &tensor) {
    if (tensor.name == "model.embed_tokens.weight")
      for (size_t t = 0; t < 8; ++t)
        tensor.values[t * 8 + t] = 1;
    if (tensor.name == "model.layers.0.self_attn.v_proj.weight")
      for (size_t t = 0; t < 4; ++t) // The norm scales a unit vector by √8.
        tensor.values[t] = float(t + 1) / std::sqrt(8.0f);
    if (tensor.name == "model.layers.0.self_attn.o_proj.weight")
      tensor.values[7 * 2] = 1;
  });
  Matrix hidden = model.hidden(std::vector<int32_t>{0, 1, 2, 3});
  const double expected[] = {1, 1.5, 2.5, 3.5};
  for (int64_t q = 0; q < 4; ++q)
    EXPECT_NEAR(hidden.row(q)[7] / hidden.row(q)[size_t(q)], expected[q], 1e-6);
}

// The input is all ones, expert e adds its weight to dimension e.
TEST(Transformer, A24_ExpertWeightsAreRenormalisedOnlyIfAsked) {
  struct Case {
    bool normalize;
    int64_t count;
    double first, second;
  };
  for (Case c : {Case{false, 2, 0.6439, 0.2369}, Case{true, 2, 0.7311, 0.2689},
                 Case{false, 1, 0.6439, 0}, Case{true, 1, 1, 0}}) {
    RandomOptions options;
    options.family = "qwen3_moe";
    options.vocabulary = options.hidden = options.experts = 4;
    options.layers = options.heads = options.kvHeads = 1;
    options.headSize = 2;
    options.expertIntermediate = 1;
    options.expertsPerToken = c.count;
    options.normalizeExpertWeights = c.normalize;
    options.config = {{"rms_norm_eps", 1e-12}};
    Transformer model = makeByHand(options, [](NamedTensor &tensor) {
      auto endsWith = [&](const char *end) {
        return tensor.name.ends_with(end);
      };
      if (endsWith("embed_tokens.weight"))
        std::fill(tensor.values.begin(), tensor.values.end(), 1.0f);
      if (endsWith("mlp.gate.weight")) // Logits 2, 1, 0, -1.
        for (size_t i = 0; i < 16; ++i)
          tensor.values[i] = (2 - float(i / 4)) / 4;
      if (endsWith("gate_proj.weight") || endsWith("up_proj.weight"))
        std::fill(tensor.values.begin(), tensor.values.end(), 0.25f);
      if (endsWith("down_proj.weight")) // Undoes silu(1).
        tensor.values[size_t(
            tensor.name[std::string("model.layers.0.mlp.experts.").size()] -
            '0')] = float(1 + std::exp(-1.0));
    });
    auto row = model.hidden(std::vector<int32_t>{0});
    EXPECT_NEAR(row.values[0] / row.values[3] - 1, c.first, 5e-5);
    EXPECT_NEAR(row.values[1] / row.values[3] - 1, c.second, 5e-5);
    EXPECT_NEAR(row.values[2] / row.values[3], 1, 1e-6);
  }
}

// Grouped heads equal a model with as many key-value heads as heads whose
// projections repeat each head for its group (0, 0, 1, 1).
TEST(Transformer, A13_HeadGeometriesEqualUngroupedHeads) {
  struct Case {
    int64_t heads, kvHeads, size;
  };
  for (Case c :
       {Case{28, 4, 16}, Case{40, 8, 16}, Case{24, 4, 16}, Case{64, 4, 16},
        Case{71, 1, 16}, Case{4, 2, 56}, Case{4, 2, 72}, Case{4, 2, 80},
        Case{4, 2, 96}, Case{4, 2, 100}, Case{4, 2, 112}, Case{4, 2, 192}}) {
    SCOPED_TRACE(testing::Message()
                 << c.heads << " " << c.kvHeads << " " << c.size);
    RandomOptions options;
    options.layers = 1;
    options.hidden = 32;
    options.intermediate = 32;
    options.vocabulary = 64;
    options.heads = c.heads;
    options.kvHeads = c.kvHeads;
    options.headSize = c.size;
    Transformer grouped = make(options);
    std::vector<NamedTensor> tensors = makeTensors(options);
    for (NamedTensor &tensor : tensors) {
      if (tensor.name.find("k_proj") == std::string::npos &&
          tensor.name.find("v_proj") == std::string::npos)
        continue;
      std::vector<float> repeated;
      int64_t block = c.size * options.hidden;
      for (int64_t head = 0; head < c.heads; ++head) {
        auto first =
            tensor.values.begin() + head / (c.heads / c.kvHeads) * block;
        repeated.insert(repeated.end(), first, first + block);
      }
      tensor.values = std::move(repeated);
      tensor.shape[0] = c.heads * c.size;
    }
    options.kvHeads = c.heads;
    Scratch scratch("ungrouped");
    writeRandomCheckpoint(scratch.path, options);
    writeSafetensors(scratch.path / "model.safetensors", tensors,
                     ElementType::F32);
    Transformer ungrouped = Transformer::load(scratch.path);
    auto ids = someIds(9, options.vocabulary);
    EXPECT_LT(largestDifference(grouped.logits(ids), ungrouped.logits(ids)),
              1e-12);
  }
}

// Up to the original length the short factors hold, then the long ones for
// all positions.
TEST(Transformer, A17_LongropeSwitchesTheWholeSequence) {
  RandomOptions options;
  options.family = "phi3";
  std::vector<double> shortFactor, longFactor;
  for (int i = 0; i < 8; ++i) {
    shortFactor.push_back(1 + 0.05 * i);
    longFactor.push_back(1.5 + 0.5 * i);
  }
  auto withFactors = [&](const auto &shorter, const auto &longer) {
    options.rope = {{"rope_type", "longrope"},
                    {"short_factor", shorter},
                    {"long_factor", longer},
                    {"original_max_position_embeddings", 16}};
    return make(options);
  };
  Transformer both = withFactors(shortFactor, longFactor);
  Transformer onlyShort = withFactors(shortFactor, shortFactor);
  Transformer onlyLong = withFactors(longFactor, longFactor);
  for (int64_t length : {10, 16, 17, 22}) {
    auto ids = someIds(length, options.vocabulary);
    Matrix logits = both.logits(ids);
    double fromShort = largestDifference(logits, onlyShort.logits(ids));
    double fromLong = largestDifference(logits, onlyLong.logits(ids));
    EXPECT_EQ(length <= 16 ? fromShort : fromLong, 0);
    EXPECT_GT(length <= 16 ? fromLong : fromShort, 1e-3);
  }
}

TEST(Transformer, A21_FormsOfTiedWeights) {
  RandomOptions options;
  auto ids = someIds(5, options.vocabulary);
  auto form = [&](bool tied, bool stored) {
    options.tied = tied;
    options.storeHead = stored;
    return make(options);
  };
  Transformer tiedAbsent = form(true, false), tiedPresent = form(true, true);
  Transformer untied = form(false, true);
  EXPECT_FALSE(tiedAbsent.hasIgnoredHead());
  EXPECT_TRUE(tiedPresent.hasIgnoredHead());
  EXPECT_EQ(largestDifference(tiedAbsent.logits(ids), tiedPresent.logits(ids)),
            0);
  EXPECT_GT(largestDifference(tiedAbsent.logits(ids), untied.logits(ids)),
            1e-2);
  EXPECT_THROW(form(false, false), Error);
}

class Every : public testing::TestWithParam<const char *> {};

// Later ids do not change earlier outputs of a decoder, and the two precisions
// agree; so do all stored types up to their rounding.
TEST_P(Every, IsCausalAndStableAcrossPrecisions) {
  RandomOptions options;
  options.family = GetParam();
  options.window = 8;
  options.attentionBias = options.mlpBias = true;
  Transformer model = make(options);
  auto ids = someIds(20, options.vocabulary);
  if (!model.config().isEncoder()) {
    Matrix whole = model.logits(ids);
    Matrix part = model.logits(std::span(ids).first(11));
    whole.values.resize(part.values.size());
    EXPECT_EQ(largestDifference(whole, part), 0);
  }
  Matrix exact = model.hidden(ids);
  for (double value : exact.values)
    ASSERT_TRUE(std::isfinite(value));
  EXPECT_LT(largestDifference(exact, model.hidden(ids, Precision::Float32)),
            1e-4);
  options.elementType = ElementType::F16;
  EXPECT_LT(largestDifference(exact, make(options).hidden(ids)), 0.1);
}

INSTANTIATE_TEST_SUITE_P(All, Every,
                         testing::Values("llama", "mistral", "mixtral", "qwen2",
                                         "qwen3", "qwen3_moe", "gemma2",
                                         "gemma3_text", "phi3", "gpt2",
                                         "gpt_neox", "bert"));

TEST(Transformer, LossIsTheMeanOfTheNegativeLogProbabilities) {
  Transformer model = make(RandomOptions());
  auto ids = someIds(6, 320);
  Matrix logits = model.logits(ids);
  double sum = 0;
  for (int64_t i = 0; i < 5; ++i) {
    double total = 0;
    for (double logit : logits.row(i))
      total += std::exp(logit);
    sum -=
        std::log(std::exp(logits.row(i)[size_t(ids[size_t(i) + 1])]) / total);
  }
  EXPECT_NEAR(model.loss(ids), sum / 5, 1e-12);
}

TEST(Transformer, BadInputIsRefused) {
  RandomOptions options;
  Transformer model = make(options);
  EXPECT_THROW(model.logits({}), Error);
  EXPECT_THROW(model.logits(std::vector<int32_t>{320}), Error);
  EXPECT_THROW(model.logits(std::vector<int32_t>{-1}), Error);
  options.family = "gpt2";
  EXPECT_THROW(make(options).logits(someIds(257, 320)), Error);
  options.family = "bert";
  Transformer encoder = make(options);
  EXPECT_THROW(encoder.logits(someIds(3, 320)), Error);
  EXPECT_THROW(encoder.hidden(someIds(3, 320), Precision::Float64,
                              std::vector<int32_t>{0, 1, 2}),
               Error);
  Matrix zeros = encoder.hidden(someIds(3, 320));
  Matrix ones = encoder.hidden(someIds(3, 320), Precision::Float64,
                               std::vector<int32_t>{1, 1, 1});
  EXPECT_GT(largestDifference(zeros, ones), 1e-3);
}

} // namespace
