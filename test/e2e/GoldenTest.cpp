// The helpers themselves: what they accept and, above all, what they notice.

#include "test/e2e/AgainstReference.h"
#include "test/reference/RandomCheckpoint.h"
#include "test/reference/Scratch.h"

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;
using testing::HasSubstr;

namespace {

Golden tinyGolden() {
  Golden golden;
  golden.cases.push_back({{3, 4}, {1, 0}, {2, 2, {0, 1, 5, 6}}});
  return golden;
}

TEST(Golden, CompareOutputsNoticesShapesValuesAndNan) {
  Golden golden = tinyGolden();
  auto giving = [](Table table) {
    return [table](std::span<const int32_t>) { return table; };
  };
  double largest = -1;
  EXPECT_EQ(compareOutputs(golden, giving({2, 2, {0, 1, 5, 6}}), 0, &largest),
            "");
  EXPECT_EQ(largest, 0);
  EXPECT_THAT(compareOutputs(golden, giving({2, 2, {0, 1, 5.5, 6}}), 0.1),
              HasSubstr("row 1, column 0"));
  EXPECT_THAT(compareOutputs(golden, giving({2, 2, {0, NAN, 5, 6}}), 0.1),
              HasSubstr("row 0, column 1"));
  EXPECT_THAT(compareOutputs(golden, giving({1, 4, {0, 1, 5, 6}}), 0.1),
              HasSubstr("[1, 4], expected [2, 2]"));
}

TEST(Golden, CompareGreedyNoticesTheFirstWrongId) {
  Golden golden = tinyGolden();
  auto giving = [](std::vector<int32_t> ids) {
    return [ids](std::span<const int32_t>, int64_t) { return ids; };
  };
  EXPECT_EQ(compareGreedy(golden, giving({1, 0})), "");
  EXPECT_THAT(compareGreedy(golden, giving({1, 1})), HasSubstr("greedy id 1"));
  EXPECT_THAT(compareGreedy(golden, giving({1})), HasSubstr("1 ids"));
  // Rows for ids 3, 4 and the recorded 1: the last two decide.
  EXPECT_EQ(compareGreedyForced(golden,
                                [](std::span<const int32_t> ids) {
                                  EXPECT_EQ(ids.size(), 3u);
                                  return Table{3, 2, {9, 0, 0, 1, 2, 2}};
                                }),
            "");
}

TEST(Golden, BadNpyFilesAreRefused) {
  reference::Scratch scratch("npy");
  std::filesystem::create_directories(scratch.path);
  auto file = scratch.path / "a.npy";
  auto withHeader = [](std::string header, size_t dataBytes) {
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += char(header.size());
    bytes += char(0);
    return bytes + header + std::string(dataBytes, '\0');
  };
  std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  auto read = [&](const std::string &bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    return readNpy(file);
  };
  EXPECT_EQ(read(withHeader(good, 24)).columns, 3);
  EXPECT_ANY_THROW(read(withHeader(good, 20)));
  EXPECT_ANY_THROW(read(withHeader(good, 24).substr(0, 30)));
  EXPECT_ANY_THROW(read("\x93NUMPY"));
  EXPECT_ANY_THROW(read(withHeader(
      "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 48)));
  EXPECT_ANY_THROW(read(withHeader(
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24)));
  EXPECT_ANY_THROW(readNpy(scratch.path / "none.npy"));
}

class AgainstReference : public testing::TestWithParam<const char *> {
protected:
  static reference::RandomOptions options() {
    reference::RandomOptions options;
    options.vocabulary = 48;
    options.family = GetParam();
    if (options.family == "phi3")
      options.rope = {{"rope_type", "longrope"},
                      {"short_factor", std::vector<double>(8, 1.0)},
                      {"long_factor", std::vector<double>(8, 4.0)},
                      {"original_max_position_embeddings", 12}};
    return options;
  }
};

TEST_P(AgainstReference, TheReferencePassesAndMistakesDoNot) {
  reference::Scratch scratch("against");
  reference::writeRandomCheckpoint(scratch.path, options());
  auto model = reference::Transformer::load(scratch.path);
  const int64_t lengths[] = {1, 7, 10};
  auto prompts = randomPrompts(lengths, 48, 11);
  auto runWithError = [&](double error) {
    return [&model, error](std::span<const int32_t> ids) {
      auto output = model.logits(ids, reference::Precision::Float32);
      Table table{output.rows,
                  output.columns,
                  {output.values.begin(), output.values.end()}};
      table.values.back() += float(error);
      return table;
    };
  };
  EXPECT_EQ(compareWithReference(model, prompts, runWithError(0), 1e-5), "");
  EXPECT_NE(compareWithReference(model, prompts, runWithError(1e-3), 1e-5), "");
  EXPECT_LT(relativeError(model, prompts, runWithError(0)), 1e-5);
  // Logits have a standard deviation of about 1; one of 48 differs by 1 in each
  // prompt of 6 rows on average.
  EXPECT_NEAR(relativeError(model, prompts, runWithError(1)),
              std::sqrt(1. / (6 * 48)), 0.02);

  auto greedy = [&](std::span<const int32_t> ids, int64_t count) {
    return model.greedy(ids, count);
  };
  EXPECT_EQ(compareGreedyWithReference(model, prompts, 6, greedy, 0), "");
  auto wrong = [&](std::span<const int32_t> ids, int64_t count) {
    auto chosen = model.greedy(ids, count);
    chosen[3] = (chosen[3] + 1) % 48;
    return chosen;
  };
  EXPECT_THAT(compareGreedyWithReference(model, prompts, 6, wrong, 0),
              HasSubstr("greedy id 3"));
  auto invalid = [&](std::span<const int32_t> ids, int64_t count) {
    auto chosen = model.greedy(ids, count);
    chosen[2] = 48;
    return chosen;
  };
  EXPECT_THAT(compareGreedyWithReference(model, prompts, 6, invalid, 0),
              HasSubstr("greedy id 2 is 48"));
}

INSTANTIATE_TEST_SUITE_P(All, AgainstReference,
                         testing::Values("llama", "phi3"));

} // namespace
