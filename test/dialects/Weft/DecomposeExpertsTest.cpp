//===- DecomposeExpertsTest.cpp - Mixtures of experts ---------------------===//

#include "test/dialects/Weft/DecomposeTesting.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace weft::test;

static std::string routeText(int64_t experts, int64_t topK, bool renormalize) {
  std::string k = std::to_string(topK);
  return "%e, %w = weft.route %x {top_k = " + k + " : i64" +
         (renormalize ? ", renormalize" : "") + "} : tensor<?x" +
         std::to_string(experts) + "xf32> -> tensor<?x" + k +
         "xi32>, tensor<?x" + k + "xf32>";
}

TEST_F(DecomposeTest, A24RouteWeightsAreOfTheFullSoftmax) {
  Tensor x("?x4xf32", {1, 4}, {2, 1, 0, -1});
  Tensor e("?x2xi32", {1, 2}), w("?x2xf32", {1, 2});
  ASSERT_EQ(run(routeText(4, 2, false), {{"x", &x}}, {{"e", &e}, {"w", &w}}),
            "");
  EXPECT_EQ(e.values, (std::vector<double>{0, 1}));
  EXPECT_NEAR(w.at(0, 0), 0.6439, 5e-5);
  EXPECT_NEAR(w.at(0, 1), 0.2369, 5e-5);

  ASSERT_EQ(run(routeText(4, 2, true), {{"x", &x}}, {{"e", &e}, {"w", &w}}),
            "");
  EXPECT_EQ(e.values, (std::vector<double>{0, 1}));
  EXPECT_NEAR(w.at(0, 0), 0.7311, 5e-5);
  EXPECT_NEAR(w.at(0, 1), 0.2689, 5e-5);

  Tensor e1("?x1xi32", {1, 1}), w1("?x1xf32", {1, 1});
  ASSERT_EQ(run(routeText(4, 1, false), {{"x", &x}}, {{"e", &e1}, {"w", &w1}}),
            "");
  EXPECT_EQ(e1.at(0, 0), 0);
  EXPECT_NEAR(w1.at(0, 0), 0.6439, 5e-5);
}

TEST_F(DecomposeTest, RouteOrdersExpertsAndBreaksTiesDownwards) {
  Tensor x = random("?x7xf32", {5, 7}, -4, 4);
  for (int64_t i = 0; i < 7; ++i) {
    x.at(1, i) = 3;                    // All equal.
    x.at(2, i) = i % 2 == 1 ? 200 : 0; // Three equal, the others vanish.
  }
  Tensor e("?x7xi32", {5, 7}), w("?x7xf32", {5, 7});
  ASSERT_EQ(run(routeText(7, 7, false), {{"x", &x}}, {{"e", &e}, {"w", &w}}),
            "");
  std::vector<double> experts, weights;
  for (int64_t t = 0; t < 5; ++t) {
    std::vector<int64_t> order(7);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return x.at(t, a) != x.at(t, b) ? x.at(t, a) > x.at(t, b) : a < b;
    });
    double sum = 0;
    for (int64_t i = 0; i < 7; ++i)
      sum += std::exp(x.at(t, i) - x.at(t, order[0]));
    for (int64_t i : order) {
      experts.push_back(static_cast<double>(i));
      weights.push_back(std::exp(x.at(t, i) - x.at(t, order[0])) / sum);
    }
  }
  EXPECT_EQ(e.values, experts);
  expectNear(w, weights);
}

/// Logits that are not numbers give weights that are not numbers, of experts
/// that exist.
TEST_F(DecomposeTest, RouteOfNaN) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  Tensor x("?x3xf32", {1, 3}, {nan, nan, 1});
  Tensor e("?x2xi32", {1, 2}), w("?x2xf32", {1, 2});
  ASSERT_EQ(run(routeText(3, 2, false), {{"x", &x}}, {{"e", &e}, {"w", &w}}),
            "");
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_GE(e.at(0, i), 0);
    EXPECT_LT(e.at(0, i), 3);
    EXPECT_TRUE(std::isnan(w.at(0, i)));
  }
}

TEST_F(DecomposeTest, GroupedLinearReadsOnlyChosenExperts) {
  Tensor x = random("?x5xf32", {3, 5}), h = random("?x2x5xf32", {3, 2, 5});
  Tensor w = random("4x9x5xf32", {4, 9, 5});
  for (int64_t i = 0; i < 9 * 5; ++i) // Nobody chooses expert 2.
    w.values[2 * 9 * 5 + i] = std::numeric_limits<double>::quiet_NaN();
  Tensor e("?x2xi32", {3, 2}, {0, 3, 1, 0, 3, 1});
  Tensor packed("4x3x2x4x3xf32", {4, 3, 2, 4, 3});
  for (int64_t i = 0; i < 4; ++i) {
    Tensor one("9x5xf32", {9, 5});
    std::copy_n(w.values.begin() + i * 45, 45, one.values.begin());
    Tensor panels = packPanels(one, 4, 3, "3x2x4x3xf32");
    std::copy(panels.values.begin(), panels.values.end(),
              packed.values.begin() + i * panels.size());
  }
  Tensor shared("?x2x9xf32", {3, 2, 9}), own("?x2x9xbf16", {3, 2, 9});
  ASSERT_EQ(run("%s = weft.grouped_linear %x, %w, %e : (tensor<?x5xf32>,"
                " tensor<4x9x5xf32>, tensor<?x2xi32>) -> tensor<?x2x9xf32>\n"
                "%o = weft.grouped_linear %h, %p, %e"
                " layout panels<columns = 4, group = 3> : (tensor<?x2x5xf32>,"
                " tensor<4x3x2x4x3xf32>, tensor<?x2xi32>)"
                " -> tensor<?x2x9xbf16>",
                {{"x", &x}, {"h", &h}, {"w", &w}, {"p", &packed}, {"e", &e}},
                {{"s", &shared}, {"o", &own}}),
            "");
  std::vector<double> expectedShared, expectedOwn;
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t n = 0; n < 9; ++n) {
        double s = 0, o = 0;
        auto expert = static_cast<int64_t>(e.at(t, i));
        for (int64_t k = 0; k < 5; ++k) {
          s += x.at(t, k) * w.at(expert, n, k);
          o += h.at(t, i, k) * w.at(expert, n, k);
        }
        expectedShared.push_back(s);
        expectedOwn.push_back(o);
      }
  expectNear(shared, expectedShared);
  expectNear(own, expectedOwn);
}

TEST_F(DecomposeTest, Combine) {
  Tensor x = random("?x3x5xf16", {4, 3, 5}), w = random("?x3xf32", {4, 3});
  Tensor y("?x5xf16", {4, 5});
  ASSERT_EQ(run("%y = weft.combine %x, %w : (tensor<?x3x5xf16>,"
                " tensor<?x3xf32>) -> tensor<?x5xf16>",
                {{"x", &x}, {"w", &w}}, {{"y", &y}}),
            "");
  std::vector<double> expected;
  for (int64_t t = 0; t < 4; ++t)
    for (int64_t n = 0; n < 5; ++n) {
      double sum = 0;
      for (int64_t i = 0; i < 3; ++i)
        sum += w.at(t, i) * x.at(t, i, n);
      expected.push_back(sum);
    }
  expectNear(y, expected);
}
