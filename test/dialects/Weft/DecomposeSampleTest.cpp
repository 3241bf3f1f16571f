//===- DecomposeSampleTest.cpp - Changed logits and sampled ids -----------===//
//
// Expected ids are written down from the definition, or found by sorting in
// float64 with a margin that f32 cannot cross.
//
//===----------------------------------------------------------------------===//

#include "test/dialects/Weft/DecomposeTesting.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace weft::test;

namespace {

/// One row's options: top-k, ids, temperature, top-p, min-p, uniform.
struct Row {
  double topK, ids, temperature, topP, minP, uniform;
};

class SampleTest : public DecomposeTest {
protected:
  static std::vector<double> sample(Tensor logits,
                                    const std::vector<Row> &rows) {
    auto count = int64_t(rows.size());
    Tensor counts("?x2xi32", {count, 2}), options("?x4xf32", {count, 4}),
        ids("?xi32", {count});
    for (int64_t r = 0; r < count; ++r) {
      const Row &row = rows[r];
      counts.at(r, 0) = row.topK;
      counts.at(r, 1) = row.ids;
      const double values[] = {row.temperature, row.topP, row.minP,
                               row.uniform};
      for (int64_t i = 0; i < 4; ++i)
        options.at(r, i) = roundTo(values[i], "f32");
    }
    std::string type = logits.getType();
    EXPECT_EQ(run("%i = weft.sample %x, %c, %o : tensor<" + type +
                      ">, tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>",
                  {{"x", &logits}, {"c", &counts}, {"o", &options}},
                  {{"i", &ids}}),
              "");
    return ids.values;
  }
};

TEST_F(SampleTest, GreedyTakesTheFirstOfTheLargest) {
  Tensor x("?x5xf32", {4, 5},
           {1,    3,   2,  3,  0,                  //
            -0.0, 0.0, -1, -2, 0.0, 1, 2, 3, 4, 5, // Only three ids.
            -5,   -4,  -3, -2, -1});
  EXPECT_EQ(sample(x, {{0, 5, 0, 1, 0, 0},
                       {0, 5, 0, 1, 0, 0},
                       {0, 3, 0, 1, 0, 0},
                       {2, 1, 0, 0.5, 0.5, 0.5}}),
            (std::vector<double>{1, 0, 2, 0}));
}

TEST_F(SampleTest, TheFirstLogitThatIsNotFiniteIsNamed) {
  double inf = std::numeric_limits<double>::infinity(),
         nan = std::numeric_limits<double>::quiet_NaN();
  Tensor x("?x4xf32", {4, 4},
           {1, nan, inf, 2, //
            1, 2, -inf, 3,  //
            1, 2, 3, nan,   // Behind the ids.
            inf, 1, 1, 1});
  EXPECT_EQ(sample(x, {{0, 4, 0, 1, 0, 0},
                       {0, 4, 1, 1, 0, 0.5},
                       {0, 3, 0, 1, 0, 0},
                       {1, 4, 2, 1, 0, 0}}),
            (std::vector<double>{-2, -3, 2, -1}));
}

// Weights 1/8, 4/8, 2/8, 1/8 in the order of ids.
TEST_F(SampleTest, DrawsByTheRunningSumOfWhatIsLeft) {
  const double logits[] = {0, std::log(4.0), std::log(2.0), 0};
  std::vector<Row> rows;
  std::vector<double> expected;
  auto add = [&](Row row, double id) {
    rows.push_back(row);
    expected.push_back(id);
  };
  for (auto [uniform, id] : {std::pair(0.0, 0.0),
                             {0.12, 0.0},
                             {0.13, 1.0},
                             {0.62, 1.0},
                             {0.63, 2.0},
                             {0.87, 2.0},
                             {0.88, 3.0},
                             {0.9999999, 3.0}})
    add({0, 4, 1, 1, 0, uniform}, id);
  // Top-k 2 leaves 4/6 and 2/6; top-k 3 takes the first of the equal ones.
  add({2, 4, 1, 1, 0, 0.66}, 1);
  add({2, 4, 1, 1, 0, 0.67}, 2);
  add({3, 4, 1, 1, 0, 0.14}, 0);
  add({3, 4, 1, 1, 0, 0.99}, 2);
  // Top-p 0.5 is reached by the first, 0.51 by the first two; min-p likewise.
  add({0, 4, 1, 0.5, 0, 0.99}, 1);
  add({0, 4, 1, 0.51, 0, 0.99}, 2);
  add({0, 4, 1, 1, 0.5, 0.99}, 2);
  add({0, 4, 1, 1, 0.51, 0.99}, 1);
  add({0, 4, 1, 1e-30, 0, 0.99}, 1);
  // Of what top-k leaves, 4/6 reach 0.6.
  add({2, 4, 1, 0.6, 0, 0.99}, 1);
  // Temperature 0.5 squares the weights: 1, 16, 4, 1 of 22.
  add({0, 4, 0.5, 1, 0, 16.9 / 22}, 1);
  add({0, 4, 0.5, 1, 0, 17.1 / 22}, 2);
  // Almost none, and very much.
  add({0, 4, 1.2e-38, 1, 0, 0.99}, 1);
  add({0, 4, 3e38, 1, 0, 0.76}, 3);
  Tensor x("?x4xf32", {int64_t(rows.size()), 4});
  for (size_t r = 0; r < rows.size(); ++r)
    for (int64_t i = 0; i < 4; ++i)
      x.at(r, i) = roundTo(logits[i], "f32");
  EXPECT_EQ(sample(x, rows), expected);
}

TEST_F(SampleTest, AdjustmentsChangeSingleLogits) {
  double inf = std::numeric_limits<double>::infinity(), most = 0x1.fffffep127;
  Tensor x("?x3xf32", {2, 3}, {4, -4, 0, most, -most, inf});
  Tensor places("?x2xi32", {7, 2}, {0, 0, 0, 1, -1, 2, 1, 0, 1, 1, 1, 2, 0, 2});
  Tensor values("?x2xf32", {7, 2},
                {2, -1, 2, 1, 9, 9, 0.5, 1, 4, -1, 2, 1, 5, 0.25});
  Tensor y("?x3xf32", {2, 3});
  ASSERT_EQ(run("%y = weft.adjust_logits %x, %p, %v : tensor<?x3xf32>, "
                "tensor<?x2xi32>, tensor<?x2xf32>",
                {{"x", &x}, {"p", &places}, {"v", &values}}, {{"y", &y}}),
            "");
  EXPECT_EQ(y.values, (std::vector<double>{1, -7, 0.25, most, -most, inf}));
}

} // namespace
