//===- DecomposeAttentionTest.cpp - Positions, caches, attention ----------===//

#include "test/dialects/Weft/DecomposeTesting.h"

#include <functional>
#include <limits>
#include <optional>

using namespace weft::test;

static const double nan64 = std::numeric_limits<double>::quiet_NaN();

//===----------------------------------------------------------------------===//
// Rotary position embeddings
//===----------------------------------------------------------------------===//

TEST_F(DecomposeTest, RopeTableReducesLargeAnglesExactly) {
  Tensor positions("?xi32", {4}, {0, 1, 4095, 131071});
  Tensor choice("?xi32", {4}, {0, 1, 1, 0});
  Tensor frequencies("2x3xf32", {2, 3}, {1, 0.1, 0.001, 0.5, 0.05, 0.0005});
  Tensor c("?x3xf32", {4, 3}), s("?x3xf32", {4, 3});
  ASSERT_EQ(run("%c, %s = weft.rope_table %p, %f choice %i"
                " {scale = array<f32: 1.0, 1.25>} : (tensor<?xi32>,"
                " tensor<2x3xf32>, tensor<?xi32>) -> tensor<?x3xf32>",
                {{"p", &positions}, {"f", &frequencies}, {"i", &choice}},
                {{"c", &c}, {"s", &s}}),
            "");
  for (int64_t t = 0; t < 4; ++t)
    for (int64_t i = 0; i < 3; ++i) {
      auto table = static_cast<int64_t>(choice.at(t));
      double angle = roundTo(positions.at(t) * frequencies.at(table, i), "f32");
      double scale = table == 0 ? 1 : 1.25;
      EXPECT_EQ(c.at(t, i), roundTo(std::cos(angle) * scale, "f32"));
      EXPECT_EQ(s.at(t, i), roundTo(std::sin(angle) * scale, "f32"));
    }
}

TEST_F(DecomposeTest, RopeTableOfOneTable) {
  Tensor positions("?xi32", {2}, {0, 7}), frequencies("1x1xf32", {1, 1}, {0.3});
  Tensor c("?x1xf32", {2, 1}), s("?x1xf32", {2, 1});
  ASSERT_EQ(run("%c, %s = weft.rope_table %p, %f {scale = array<f32: 1.0>}"
                " : (tensor<?xi32>, tensor<1x1xf32>) -> tensor<?x1xf32>",
                {{"p", &positions}, {"f", &frequencies}},
                {{"c", &c}, {"s", &s}}),
            "");
  expectNear(c, {1, std::cos(2.1)});
  expectNear(s, {0, std::sin(2.1)});
}

/// Rotates, by its definition, the complex numbers of every head.
static std::vector<double> rope(const Tensor &x, const Tensor &c,
                                const Tensor &s, bool interleaved) {
  Tensor y = x;
  int64_t pairs = c.getShape()[1];
  for (int64_t t = 0; t < x.getShape()[0]; ++t)
    for (int64_t h = 0; h < x.getShape()[1]; ++h)
      for (int64_t i = 0; i < pairs; ++i) {
        int64_t first = interleaved ? 2 * i : i;
        int64_t second = interleaved ? 2 * i + 1 : i + pairs;
        double a = x.at(t, h, first), b = x.at(t, h, second);
        y.at(t, h, first) = a * c.at(t, i) - b * s.at(t, i);
        y.at(t, h, second) = b * c.at(t, i) + a * s.at(t, i);
      }
  return y.values;
}

TEST_F(DecomposeTest, Rope) {
  for (std::string element : {"f32", "bf16"})
    for (int64_t pairs : {3, 2, 1})
      for (bool interleaved : {false, true}) {
        SCOPED_TRACE(element + " pairs " + std::to_string(pairs) +
                     (interleaved ? " interleaved" : ""));
        std::string table = "?x" + std::to_string(pairs) + "xf32";
        Tensor x = random("?x2x6x" + element, {3, 2, 6});
        Tensor c = random(table, {3, pairs}), s = random(table, {3, pairs});
        Tensor y("?x2x6x" + element, {3, 2, 6});
        ASSERT_EQ(run(std::string("%y = weft.rope %x, %c, %s ") +
                          (interleaved ? "{interleaved}" : "") +
                          " : tensor<?x2x6x" + element + ">, tensor<" + table +
                          ">",
                      {{"x", &x}, {"c", &c}, {"s", &s}}, {{"y", &y}}),
                  "");
        expectNear(y, rope(x, c, s, interleaved));
      }
}

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

TEST_F(DecomposeTest, CacheAppendWritesInPlace) {
  Tensor keys = random("?x2x3x4xbf16", {3, 2, 3, 4});
  Tensor values = random("?x2x4x3xf32", {3, 2, 4, 3});
  Tensor x = random("?x2x3xf32", {3, 2, 3});
  Tensor slots("?xi32", {3}, {5, 0, 11});
  Tensor expectedKeys = keys, expectedValues = values;
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t d = 0; d < 3; ++d) {
        auto slot = static_cast<int64_t>(slots.at(t));
        expectedKeys.at(slot / 4, h, d, slot % 4) =
            roundTo(x.at(t, h, d), "bf16");
        expectedValues.at(slot / 4, h, slot % 4, d) = x.at(t, h, d);
      }
  Tensor newKeys("?x2x3x4xbf16", {3, 2, 3, 4});
  Tensor newValues("?x2x4x3xf32", {3, 2, 4, 3});
  ASSERT_EQ(run("%nk = weft.cache_append key %k, %x, %s"
                " : tensor<?x2x3x4xbf16>, tensor<?x2x3xf32>\n"
                "%nv = weft.cache_append value %v, %x, %s"
                " : tensor<?x2x4x3xf32>, tensor<?x2x3xf32>",
                {{"k", &keys}, {"v", &values}, {"x", &x}, {"s", &slots}},
                {{"nk", &newKeys}, {"nv", &newValues}}),
            "");
  EXPECT_EQ(newKeys.values, expectedKeys.values);
  EXPECT_EQ(newValues.values, expectedValues.values);
  // The argument itself was updated: no copy of the cache was made.
  EXPECT_EQ(keys.values, expectedKeys.values);
  EXPECT_EQ(values.values, expectedValues.values);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {

struct Mask {
  double scale = 1;
  bool causal = true;
  std::optional<int64_t> window;
  std::optional<double> softcap;

  std::string getText() const {
    std::string text = "{scale = " + std::to_string(scale) + " : f32";
    if (causal)
      text += ", causal";
    if (window)
      text += ", window = " + std::to_string(*window) + " : i64";
    if (softcap)
      text += ", softcap = " + std::to_string(*softcap) + " : f32";
    return text + "}";
  }
};

/// Element d of a key or value head at a position of a sequence.
using Element =
    std::function<double(int64_t sequence, int64_t j, int64_t head, int64_t d)>;

/// A step: tokens of sequences that end at their lengths.
struct Step {
  Step(const std::vector<int64_t> &counts, const std::vector<int64_t> &lengths)
      : positions("?xi32", {sum(counts)}), ids("?xi32", {sum(counts)}),
        starts("?xi32", {static_cast<int64_t>(counts.size()) + 1}),
        lengths("?xi32", {static_cast<int64_t>(counts.size())},
                {lengths.begin(), lengths.end()}) {
    int64_t row = 0;
    for (size_t s = 0; s < counts.size(); ++s) {
      for (int64_t i = 0; i < counts[s]; ++i, ++row) {
        positions.at(row) = static_cast<double>(lengths[s] - counts[s] + i);
        ids.at(row) = static_cast<double>(s);
      }
      starts.at(s + 1) = static_cast<double>(row);
    }
  }
  static int64_t sum(const std::vector<int64_t> &values) {
    int64_t result = 0;
    for (int64_t value : values)
      result += value;
    return result;
  }
  Tensor positions, ids, starts, lengths;
};

} // namespace

/// The definition, in f64.
static std::vector<double> attend(const Tensor &q, const Step &step,
                                  int64_t keyHeads, const Mask &mask,
                                  const Element &key, const Element &value) {
  std::vector<double> result;
  int64_t heads = q.getShape()[1], size = q.getShape()[2];
  for (int64_t t = 0; t < q.getShape()[0]; ++t)
    for (int64_t h = 0; h < heads; ++h) {
      auto s = static_cast<int64_t>(step.ids.at(t));
      auto p = static_cast<int64_t>(step.positions.at(t));
      std::vector<double> out(size);
      double sum = 0;
      for (int64_t j = 0; j < static_cast<int64_t>(step.lengths.at(s)); ++j) {
        if ((mask.causal && j > p) || (mask.window && p - j >= *mask.window))
          continue;
        double score = 0;
        for (int64_t d = 0; d < size; ++d)
          score += q.at(t, h, d) * key(s, j, h / (heads / keyHeads), d);
        score *= mask.scale;
        if (mask.softcap)
          score = *mask.softcap * std::tanh(score / *mask.softcap);
        double weight = std::exp(score);
        sum += weight;
        for (int64_t d = 0; d < size; ++d)
          out[d] += weight * value(s, j, h / (heads / keyHeads), d);
      }
      for (double x : out)
        result.push_back(sum == 0 ? 0 : x / sum);
    }
  return result;
}

static std::string shapeText(std::vector<int64_t> tail,
                             const std::string &element) {
  std::string text = "?x";
  for (int64_t size : tail)
    text += std::to_string(size) + "x";
  return text + element;
}

static Tensor runRagged(Tensor &q, Tensor &k, Tensor &v, Step &step,
                        const Mask &mask) {
  Tensor o(q.getType(), q.getShape());
  EXPECT_EQ(
      run("%o = weft.attention %q, %k, %v positions %p sequences %i, %s " +
              mask.getText() + " : (tensor<" + q.getType() + ">, tensor<" +
              k.getType() + ">, tensor<" + v.getType() + ">) -> tensor<" +
              q.getType() + ">",
          {{"q", &q},
           {"k", &k},
           {"v", &v},
           {"p", &step.positions},
           {"i", &step.ids},
           {"s", &step.starts}},
          {{"o", &o}}),
      "");
  return o;
}

static Tensor runPaged(Tensor &q, Tensor &k, Tensor &v, Tensor &table,
                       Step &step, const Mask &mask) {
  Tensor o(q.getType(), q.getShape());
  EXPECT_EQ(run("%o = weft.attention %q, %k, %v positions %p sequences %i, %s"
                " context %c, %t " +
                    mask.getText() + " : (tensor<" + q.getType() +
                    ">, tensor<" + k.getType() + ">, tensor<" + v.getType() +
                    ">) -> tensor<" + q.getType() + ">",
                {{"q", &q},
                 {"k", &k},
                 {"v", &v},
                 {"p", &step.positions},
                 {"i", &step.ids},
                 {"s", &step.starts},
                 {"c", &step.lengths},
                 {"t", &table}},
                {{"o", &o}}),
            "");
  return o;
}

/// A cache with one head of one element: positions in blocks of 4.
static Tensor cacheOf(const std::string &type, std::vector<int64_t> shape,
                      const std::vector<double> &values) {
  Tensor cache(type, std::move(shape));
  std::fill(cache.values.begin(), cache.values.end(), nan64);
  std::copy(values.begin(), values.end(), cache.values.begin());
  return cache;
}

TEST_F(DecomposeTest, A12WindowOfWAdmitsWKeys) {
  Mask mask;
  mask.window = 2;
  // As one prefill of 4, without and with a cache.
  Step prefill({4}, {4});
  Tensor q("?x1x1xf32", {4, 1, 1}), k("?x1x1xf32", {4, 1, 1});
  Tensor v("?x1x1xf32", {4, 1, 1}, {1, 2, 3, 4});
  std::vector<double> expected = {1, 1.5, 2.5, 3.5};
  expectNear(runRagged(q, k, v, prefill, mask), expected);
  Tensor kc = cacheOf("?x1x1x4xf32", {2, 1, 1, 4}, {0, 0, 0, 0});
  Tensor vc = cacheOf("?x1x4x1xf32", {2, 1, 4, 1}, {1, 2, 3, 4});
  Tensor table("?x?xi32", {1, 2}, {0, 1});
  expectNear(runPaged(q, kc, vc, table, prefill, mask), expected);
  // Token by token.
  for (int64_t p = 0; p < 4; ++p) {
    Step decode({1}, {p + 1});
    Tensor one("?x1x1xf32", {1, 1, 1});
    expectNear(runPaged(one, kc, vc, table, decode, mask), {expected[p]});
  }
}

TEST_F(DecomposeTest, A9SoftcapComesBeforeTheMask) {
  Mask mask;
  mask.softcap = 1;
  Step step({1}, {2});
  step.positions.at(0) = 0; // The second key is masked.
  Tensor q("?x1x1xf32", {1, 1, 1});
  Tensor k = cacheOf("?x1x1x4xf32", {1, 1, 1, 4}, {0, 0});
  Tensor v = cacheOf("?x1x4x1xf32", {1, 1, 4, 1}, {1, 3});
  Tensor table("?x?xi32", {1, 1}, {0});
  expectNear(runPaged(q, k, v, table, step, mask), {1});
}

TEST_F(DecomposeTest, A10ConsecutiveQueryHeadsShareAKeyHead) {
  Mask mask;
  Step step({1}, {1});
  Tensor q = random("?x4x1xf32", {1, 4, 1}), k = random("?x2x1xf32", {1, 2, 1});
  Tensor v("?x2x1xf32", {1, 2, 1}, {10, 20});
  expectNear(runRagged(q, k, v, step, mask), {10, 10, 20, 20});
}

TEST_F(DecomposeTest, AttentionOfATokenThatSeesNoKeyIsZero) {
  Mask mask;
  Step step({1, 1}, {0, 1});
  Tensor q = random("?x1x2xf32", {2, 1, 2});
  Tensor k = cacheOf("?x1x2x4xf32", {1, 1, 2, 4}, {1, nan64, nan64, nan64, 1});
  Tensor v = cacheOf("?x1x4x2xf32", {1, 1, 4, 2}, {5, 6});
  Tensor table("?x?xi32", {2, 1}, {0, 0});
  expectNear(runPaged(q, k, v, table, step, mask), {0, 0, 5, 6});
}

/// Keys of other rows than the queries, and numbers added to scores: a row of
/// -infinity sees no key, one of the lowest number sees all alike.
TEST_F(DecomposeTest, AttentionWithABias) {
  const double lowest = std::numeric_limits<float>::lowest();
  const double infinity = std::numeric_limits<double>::infinity();
  for (int64_t biasHeads : {1, 2}) {
    SCOPED_TRACE(biasHeads);
    Tensor positions("?xi32", {3}, {0, 1, 0}), ids("?xi32", {3}, {0, 0, 1});
    Tensor starts("?xi32", {3}, {0, 2, 3}), keyStarts("?xi32", {3}, {0, 3, 5});
    Tensor q = random("?x2x4xf32", {3, 2, 4}),
           k = random("?x1x4xf32", {5, 1, 4});
    Tensor v = random("?x1x4xf32", {5, 1, 4});
    const std::string type = shapeText({biasHeads}, "?xf32");
    Tensor bias = random(type, {3, biasHeads, 3 + 63});
    for (int64_t h = 0; h < biasHeads; ++h)
      for (int64_t j = 0; j < 3 + 63; ++j) {
        bias.at(1, h, j) = lowest;
        bias.at(2, h, j) = h == 0 ? -infinity : bias.at(0, h, j);
      }
    Tensor o("?x2x4xf32", {3, 2, 4});
    ASSERT_EQ(run("%o = weft.attention %q, %k, %v positions %p sequences %i, %s"
                  " keys %ks bias %b {scale = 0.5 : f32} : (tensor<?x2x4xf32>,"
                  " tensor<?x1x4xf32>, tensor<?x1x4xf32>, tensor<" +
                      type + ">) -> tensor<?x2x4xf32>",
                  {{"q", &q},
                   {"k", &k},
                   {"v", &v},
                   {"p", &positions},
                   {"i", &ids},
                   {"s", &starts},
                   {"ks", &keyStarts},
                   {"b", &bias}},
                  {{"o", &o}}),
              "");
    std::vector<double> expected;
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t h = 0; h < 2; ++h) {
        auto s = static_cast<int64_t>(ids.at(t));
        auto first = static_cast<int64_t>(keyStarts.at(s));
        const int64_t count = static_cast<int64_t>(keyStarts.at(s + 1)) - first;
        double sum = 0;
        std::vector<double> out(4);
        for (int64_t j = 0; j < count; ++j) {
          double score = 0;
          for (int64_t d = 0; d < 4; ++d)
            score += 0.5 * q.at(t, h, d) * k.at(first + j, 0, d);
          // Nothing is left of a score beside the lowest number.
          const double x = bias.at(t, biasHeads == 1 ? 0 : h, j);
          const double weight = std::exp(x == lowest ? 0 : score + x);
          sum += weight;
          for (int64_t d = 0; d < 4; ++d)
            out[d] += weight * v.at(first + j, 0, d);
        }
        for (double x : out)
          expected.push_back(sum == 0 ? 0 : x / sum);
      }
    expectNear(o, expected);
  }
}

TEST_F(DecomposeTest, AttentionOfLargeScoresDoesNotOverflow) {
  Mask mask;
  Step step({2}, {2});
  Tensor q("?x1x1xf32", {2, 1, 1}, {1e4, -1e4});
  Tensor k("?x1x1xf32", {2, 1, 1}, {1, 2}), v("?x1x1xf32", {2, 1, 1}, {3, 7});
  expectNear(runRagged(q, k, v, step, mask), {3, 3});
}

TEST_F(DecomposeTest, PagedAttention) {
  // Three sequences: a prefill, a decode, a chunk in the middle; blocks in any
  // order; unused places and table entries hold garbage.
  const int64_t blockSize = 4, blocks = 9, size = 5, keyHeads = 2, heads = 6;
  std::vector<std::vector<double>> rows = {{7, 2}, {4, 0, 8}, {5, 1}};
  for (std::string element : {"f32", "bf16", "f16"})
    for (int variant : {0, 1, 2}) {
      SCOPED_TRACE(element + " variant " + std::to_string(variant));
      Mask mask;
      mask.scale = 0.4375;
      if (variant == 1)
        mask.window = 3;
      if (variant == 2) {
        mask.softcap = 1.5;
        mask.causal = false;
      }
      Step step({5, 1, 3}, {5, 10, 7});
      Tensor table("?x?xi32", {3, 3});
      std::fill(table.values.begin(), table.values.end(), 1e9);
      for (int64_t s = 0; s < 3; ++s)
        for (size_t i = 0; i < rows[s].size(); ++i)
          table.at(s, i) = rows[s][i];
      Tensor k(shapeText({keyHeads, size, blockSize}, element),
               {blocks, keyHeads, size, blockSize});
      Tensor v(shapeText({keyHeads, blockSize, size}, element),
               {blocks, keyHeads, blockSize, size});
      std::fill(k.values.begin(), k.values.end(), nan64);
      std::fill(v.values.begin(), v.values.end(), nan64);
      auto place = [&](int64_t s, int64_t j) {
        return static_cast<int64_t>(rows[s][j / blockSize]);
      };
      std::uniform_real_distribution<double> uniform(-2, 2);
      for (int64_t s = 0; s < 3; ++s)
        for (int64_t j = 0; j < static_cast<int64_t>(step.lengths.at(s)); ++j)
          for (int64_t h = 0; h < keyHeads; ++h)
            for (int64_t d = 0; d < size; ++d) {
              k.at(place(s, j), h, d, j % blockSize) =
                  roundTo(uniform(generator), element);
              v.at(place(s, j), h, j % blockSize, d) =
                  roundTo(uniform(generator), element);
            }
      Tensor q = random(shapeText({heads, size}, element), {9, heads, size});
      std::vector<double> expected = attend(
          q, step, keyHeads, mask,
          [&](int64_t s, int64_t j, int64_t h, int64_t d) {
            return k.at(place(s, j), h, d, j % blockSize);
          },
          [&](int64_t s, int64_t j, int64_t h, int64_t d) {
            return v.at(place(s, j), h, j % blockSize, d);
          });
      expectNear(runPaged(q, k, v, table, step, mask), expected);
    }
}

TEST_F(DecomposeTest, RaggedAttention) {
  // As an encoder uses it: every token sees its whole sequence; one of the
  // sequences has no token.
  for (bool causal : {false, true}) {
    Mask mask;
    mask.scale = 0.75;
    mask.causal = causal;
    Step step({3, 0, 4}, {3, 0, 4});
    Tensor q = random("?x4x3xf32", {7, 4, 3}),
           k = random("?x4x3xf32", {7, 4, 3});
    Tensor v = random("?x4x3xf32", {7, 4, 3});
    auto read = [&](const Tensor &x) -> Element {
      return [&](int64_t s, int64_t j, int64_t h, int64_t d) {
        return x.at(static_cast<int64_t>(step.starts.at(s)) + j, h, d);
      };
    };
    std::vector<double> expected = attend(q, step, 4, mask, read(k), read(v));
    expectNear(runRagged(q, k, v, step, mask), expected);
  }
}
