//===- DecomposeTest.cpp - Rows, norms, linear layers, activations --------===//
//
// Decompositions, run, against their formulas in f64.
//
//===----------------------------------------------------------------------===//

#include "test/dialects/Weft/DecomposeTesting.h"

using namespace weft::test;

//===----------------------------------------------------------------------===//
// Rows and norms
//===----------------------------------------------------------------------===//

TEST_F(DecomposeTest, EmbedPicksAndScalesRows) {
  Tensor ids("?xi32", {4}, {3, 0, 6, 3});
  Tensor table = random("7x5xbf16", {7, 5});
  Tensor scaled("?x5xf32", {4, 5}), plain("?x5xbf16", {4, 5});
  ASSERT_EQ(run("%s = weft.embed %ids, %table {scale = 8.5 : f32}"
                " : (tensor<?xi32>, tensor<7x5xbf16>) -> tensor<?x5xf32>\n"
                "%p = weft.embed %ids, %table"
                " : (tensor<?xi32>, tensor<7x5xbf16>) -> tensor<?x5xbf16>",
                {{"ids", &ids}, {"table", &table}},
                {{"s", &scaled}, {"p", &plain}}),
            "");
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 5; ++j) {
      double element = table.at(static_cast<int64_t>(ids.at(i)), j);
      EXPECT_EQ(scaled.at(i, j), element * 8.5);
      EXPECT_EQ(plain.at(i, j), element);
    }
}

TEST_F(DecomposeTest, EmbedReadsPackedRows) {
  // Rows 0 to 6 of 5 elements in panels of 4 rows, two elements side by side.
  Tensor ids("?xi32", {4}, {3, 0, 6, 4});
  Tensor table = random("2x3x4x2xf32", {2, 3, 4, 2}), x("?x5xf32", {4, 5});
  ASSERT_EQ(run("%x = weft.embed %ids, %table layout panels<columns = 4, "
                "group = 2>"
                " : (tensor<?xi32>, tensor<2x3x4x2xf32>) -> tensor<?x5xf32>",
                {{"ids", &ids}, {"table", &table}}, {{"x", &x}}),
            "");
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 5; ++j) {
      auto row = static_cast<int64_t>(ids.at(i));
      EXPECT_EQ(x.at(i, j), table.at(row / 4, j / 2, row % 4, j % 2));
    }
}

TEST_F(DecomposeTest, EmbedReadsRowsOfCoreMatrices) {
  Tensor ids("?xi32", {4}, {3, 0, 31, 24});
  Tensor table = random("32x128xbf16", {32, 128});
  Tensor packed = packCoreMatrices(table, "2x1x32x8x8xbf16");
  Tensor x("?x128xbf16", {4, 128});
  ASSERT_EQ(run("%x = weft.embed %ids, %table layout core_matrices"
                " : (tensor<?xi32>, tensor<2x1x32x8x8xbf16>)"
                " -> tensor<?x128xbf16>",
                {{"ids", &ids}, {"table", &packed}}, {{"x", &x}}),
            "");
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 128; ++j)
      EXPECT_EQ(x.at(i, j), table.at(static_cast<int64_t>(ids.at(i)), j));
}

/// x / sqrt(mean(x^2) + epsilon) * (weight + offset) of rows of `size`.
static std::vector<double> rmsNorm(const Tensor &x, const Tensor &weight,
                                   double epsilon, double offset) {
  int64_t size = weight.size();
  std::vector<double> result(x.size());
  for (int64_t row = 0; row < x.size() / size; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i)
      sum += x.values[row * size + i] * x.values[row * size + i];
    double norm = std::sqrt(sum / static_cast<double>(size) + epsilon);
    for (int64_t i = 0; i < size; ++i)
      result[row * size + i] =
          x.values[row * size + i] / norm * (weight.values[i] + offset);
  }
  return result;
}

TEST_F(DecomposeTest, RmsNorm) {
  Tensor x = random("?x37xf32", {5, 37}), w = random("37xf32", {37});
  Tensor y("?x37xf32", {5, 37});
  ASSERT_EQ(run("%y = weft.rms_norm %x, %w {epsilon = 1.0e-5 : f32}"
                " : tensor<?x37xf32>, tensor<37xf32>",
                {{"x", &x}, {"w", &w}}, {{"y", &y}}),
            "");
  expectNear(y, rmsNorm(x, w, 1e-5, 0));
}

TEST_F(DecomposeTest, RmsNormOfHeadsWithOffsetAndBf16) {
  Tensor x = random("?x3x16xbf16", {2, 3, 16}), w = random("16xbf16", {16});
  Tensor y("?x3x16xbf16", {2, 3, 16});
  ASSERT_EQ(run("%y = weft.rms_norm %x, %w {epsilon = 1.0e-6 : f32,"
                " weight_offset = 1.0 : f32} : tensor<?x3x16xbf16>,"
                " tensor<16xbf16>",
                {{"x", &x}, {"w", &w}}, {{"y", &y}}),
            "");
  expectNear(y, rmsNorm(x, w, 1e-6, 1));
}

/// The sum of squares does not fit f16.
TEST_F(DecomposeTest, A15RmsNormOfLargeF16Values) {
  Tensor x("?x4096xf16", {1, 4096}, std::vector<double>(4096, 20000));
  Tensor w("4096xf16", {4096}, std::vector<double>(4096, 1));
  Tensor y("?x4096xf16", {1, 4096});
  std::string text = "%y = weft.rms_norm %x, %w {epsilon = 1.0e-5 : f32}"
                     " : tensor<?x4096xf16>, tensor<4096xf16>";
  ASSERT_EQ(run(text, {{"x", &x}, {"w", &w}}, {{"y", &y}}), "");
  expectNear(y, std::vector<double>(4096, 1.0));
  x.values.assign(4096, 0.5);
  x.values[7] = roundTo(6e4, "f16");
  ASSERT_EQ(run(text, {{"x", &x}, {"w", &w}}, {{"y", &y}}), "");
  expectNear(y, rmsNorm(x, w, 1e-5, 0));
}

TEST_F(DecomposeTest, LayerNormWithLargeMean) {
  Tensor x = random("?x33xf32", {4, 33}, 1000, 1002);
  Tensor w = random("33xf32", {33}), b = random("33xf32", {33});
  Tensor y("?x33xf32", {4, 33}), z("?x33xf32", {4, 33});
  ASSERT_EQ(run("%y = weft.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f32}"
                " : tensor<?x33xf32>, tensor<33xf32>, tensor<33xf32>\n"
                "%z = weft.layer_norm %x, %w {epsilon = 1.0e-5 : f32}"
                " : tensor<?x33xf32>, tensor<33xf32>",
                {{"x", &x}, {"w", &w}, {"b", &b}}, {{"y", &y}, {"z", &z}}),
            "");
  std::vector<double> withBias(x.size()), withoutBias(x.size());
  for (int64_t t = 0; t < 4; ++t) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < 33; ++i)
      mean += x.at(t, i) / 33;
    for (int64_t i = 0; i < 33; ++i)
      variance += (x.at(t, i) - mean) * (x.at(t, i) - mean) / 33;
    for (int64_t i = 0; i < 33; ++i) {
      withoutBias[t * 33 + i] =
          (x.at(t, i) - mean) / std::sqrt(variance + 1e-5) * w.at(i);
      withBias[t * 33 + i] = withoutBias[t * 33 + i] + b.at(i);
    }
  }
  // The mean itself is only known to 1e-4 in f32.
  expectNear(y, withBias, 1e-3);
  expectNear(z, withoutBias, 1e-3);
}

//===----------------------------------------------------------------------===//
// Linear layers
//===----------------------------------------------------------------------===//

static std::vector<double> linear(const Tensor &x, const Tensor &w,
                                  const Tensor *bias) {
  int64_t n = w.getShape()[0], k = w.getShape()[1], rows = x.size() / k;
  std::vector<double> result(rows * n);
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t i = 0; i < n; ++i) {
      double sum = bias ? bias->at(i) : 0;
      for (int64_t j = 0; j < k; ++j)
        sum += x.values[t * k + j] * w.at(i, j);
      result[t * n + i] = sum;
    }
  return result;
}

TEST_F(DecomposeTest, LinearWithBias) {
  Tensor x = random("?x13xf32", {3, 13}), w = random("7x13xf32", {7, 13});
  Tensor b = random("7xf32", {7}), y("?x7xf32", {3, 7});
  ASSERT_EQ(run("%y = weft.linear %x, %w bias %b : (tensor<?x13xf32>,"
                " tensor<7x13xf32>, tensor<7xf32>) -> tensor<?x7xf32>",
                {{"x", &x}, {"w", &w}, {"b", &b}}, {{"y", &y}}),
            "");
  expectNear(y, linear(x, w, &b));
}

TEST_F(DecomposeTest, LinearRoundsOnce) {
  Tensor x = random("?x13xbf16", {3, 13}), w = random("7x13xbf16", {7, 13});
  Tensor b = random("7xbf16", {7});
  Tensor y("?x7xbf16", {3, 7}), z("?x7xf16", {3, 7});
  ASSERT_EQ(run("%y = weft.linear %x, %w bias %b : (tensor<?x13xbf16>,"
                " tensor<7x13xbf16>, tensor<7xbf16>) -> tensor<?x7xbf16>\n"
                "%z = weft.linear %x, %w : (tensor<?x13xbf16>,"
                " tensor<7x13xbf16>) -> tensor<?x7xf16>",
                {{"x", &x}, {"w", &w}, {"b", &b}}, {{"y", &y}, {"z", &z}}),
            "");
  expectNear(y, linear(x, w, &b));
  expectNear(z, linear(x, w, nullptr));
}

TEST_F(DecomposeTest, LinearWithPackedWeight) {
  Tensor x = random("?x13xf32", {3, 13}), w = random("19x13xbf16", {19, 13});
  Tensor packed = packPanels(w, 8, 2, "3x7x8x2xbf16");
  Tensor y("?x19xf32", {3, 19});
  ASSERT_EQ(run("%y = weft.linear %x, %w layout panels<columns = 8, group = 2>"
                " : (tensor<?x13xf32>, tensor<3x7x8x2xbf16>)"
                " -> tensor<?x19xf32>",
                {{"x", &x}, {"w", &packed}}, {{"y", &y}}),
            "");
  expectNear(y, linear(x, w, nullptr));
}

TEST_F(DecomposeTest, LinearWithWeightInCoreMatrices) {
  Tensor x = random("?x256xf16", {3, 256}), w = random("48x256xf16", {48, 256});
  Tensor packed = packCoreMatrices(w, "3x2x32x8x8xf16");
  Tensor y("?x48xf32", {3, 48});
  ASSERT_EQ(run("%y = weft.linear %x, %w layout core_matrices"
                " : (tensor<?x256xf16>, tensor<3x2x32x8x8xf16>)"
                " -> tensor<?x48xf32>",
                {{"x", &x}, {"w", &packed}}, {{"y", &y}}),
            "");
  expectNear(y, linear(x, w, nullptr), 1e-5);
}

TEST_F(DecomposeTest, LinearOfThreeDimensionsAndOfNoRows) {
  Tensor x = random("?x3x4xf32", {2, 3, 4}), w = random("5x4xf32", {5, 4});
  Tensor none("?x4xf32", {0, 4});
  Tensor y("?x3x5xf32", {2, 3, 5}), z("?x5xf32", {0, 5});
  ASSERT_EQ(run("%y = weft.linear %x, %w : (tensor<?x3x4xf32>,"
                " tensor<5x4xf32>) -> tensor<?x3x5xf32>\n"
                "%z = weft.linear %none, %w : (tensor<?x4xf32>,"
                " tensor<5x4xf32>) -> tensor<?x5xf32>",
                {{"x", &x}, {"w", &w}, {"none", &none}},
                {{"y", &y}, {"z", &z}}),
            "");
  expectNear(y, linear(x, w, nullptr));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static double activate(const std::string &name, double x) {
  if (name == "silu")
    return x / (1 + std::exp(-x));
  if (name == "gelu")
    return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
  if (name == "gelu_tanh")
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  if (name == "relu")
    return std::max(x, 0.0);
  if (name == "quick_gelu")
    return x / (1 + std::exp(-1.702 * x));
  return std::tanh(x);
}

TEST_F(DecomposeTest, Activations) {
  std::vector<double> points = {0,   1,  -1,  0.001, -0.001, 3.5,  -3.5, 20,
                                -20, 90, -90, 2000,  -2000,  1e15, -1e15};
  auto size = static_cast<int64_t>(points.size());
  for (std::string name :
       {"silu", "gelu", "gelu_tanh", "relu", "quick_gelu", "tanh"})
    for (std::string element : {"f32", "bf16"}) {
      SCOPED_TRACE(name + " " + element);
      Tensor x("?x" + element, {size}, points);
      Tensor u = random("?x" + element, {size});
      Tensor y("?x" + element, {size}), z("?x" + element, {size});
      std::string type = " : tensor<?x" + element + ">";
      ASSERT_EQ(run("%y = weft.activation " + name + " %x" + type +
                        "\n%z = weft.gated_activation " + name + " %x, %u" +
                        type,
                    {{"x", &x}, {"u", &u}}, {{"y", &y}, {"z", &z}}),
                "");
      std::vector<double> plain, gated;
      for (int64_t i = 0; i < size; ++i) {
        plain.push_back(activate(name, x.at(i)));
        gated.push_back(plain.back() * u.at(i));
      }
      expectNear(y, plain);
      expectNear(z, gated);
    }
}

TEST_F(DecomposeTest, Softcap) {
  Tensor x("?xf32", {5}, {0, 10, -40, 1e4, -1e30});
  Tensor y("?xf32", {5});
  ASSERT_EQ(run("%y = weft.softcap %x {cap = 30.0 : f32} : tensor<?xf32>",
                {{"x", &x}}, {{"y", &y}}),
            "");
  std::vector<double> expected;
  for (double value : x.values)
    expected.push_back(30 * std::tanh(value / 30));
  expectNear(y, expected);
}
