// The reference against what each model's own framework recorded.

#include "test/e2e/Golden.h"
#include "test/reference/Transformer.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::reference;

namespace {

e2e::RunModel runner(const Transformer &model, Precision precision) {
  return [&model, precision](std::span<const int32_t> ids) {
    Matrix output = model.config().isEncoder() ? model.hidden(ids, precision)
                                               : model.logits(ids, precision);
    return e2e::Table{output.rows,
                      output.columns,
                      {output.values.begin(), output.values.end()}};
  };
}

class Families : public testing::TestWithParam<std::string> {};

TEST_P(Families, OutputsAndGreedyIdsEqualTheRecordedOnes) {
  auto folder = e2e::dataFolder("families/" + GetParam());
  e2e::Golden golden = e2e::Golden::load(folder);
  Transformer model = Transformer::load(folder);
  ASSERT_EQ(golden.cases.size(), 3u);
  for (Precision precision : {Precision::Float64, Precision::Float32}) {
    double largest = 0;
    EXPECT_EQ(
        e2e::compareOutputs(golden, runner(model, precision), 1e-4, &largest),
        "");
    std::cout << GetParam()
              << (precision == Precision::Float64 ? " float64" : " float32")
              << ": largest difference " << largest << "\n";
  }
  EXPECT_EQ(e2e::compareGreedyForced(golden, runner(model, Precision::Float64)),
            "");
  if (!model.config().isEncoder())
    EXPECT_EQ(e2e::compareGreedy(golden,
                                 [&](std::span<const int32_t> ids, int64_t n) {
                                   return model.greedy(ids, n);
                                 }),
              "");
}

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(e2e::familyNames()),
                         [](auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(FamilyNames, AllSeventeenArePresent) {
  EXPECT_EQ(e2e::familyNames().size(), 17u);
}

// The frequencies were bfloat16 when these were recorded (SOURCE.md).
class Shakespeare : public testing::TestWithParam<std::string> {};

TEST_P(Shakespeare, LogitsAndGreedyIdsEqualTheRecordedOnes) {
  auto folder = e2e::dataFolder("shakespeare-" + GetParam());
  e2e::Golden golden = e2e::Golden::load(folder);
  Checkpoint checkpoint = Checkpoint::open(folder);
  Config config = parseConfig(checkpoint.config());
  for (Rope &rope : config.rope)
    rope.roundFrequencies = true;
  Transformer model(checkpoint, config);
  ASSERT_EQ(golden.cases.size(), 4u);
  double largest = 0;
  EXPECT_EQ(e2e::compareOutputs(golden, runner(model, Precision::Float64), 1e-4,
                                &largest),
            "");
  std::cout << GetParam() << ": largest difference " << largest << "\n";
  EXPECT_EQ(e2e::compareGreedyForced(golden, runner(model, Precision::Float64)),
            "");
}

INSTANTIATE_TEST_SUITE_P(All, Shakespeare,
                         testing::Values("llama-draft", "qwen3-moe"),
                         [](auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Continuations and first logits that another program computed from the
// original llama2.c files.
TEST(Stories260K, LogitsAndGreedyIdsEqualTheRecordedOnes) {
  std::string root = WEFT_SOURCE_DIR;
  Transformer model = Transformer::load(root + "/models/stories260k");
  std::string golden = root + "/test/e2e/golden/stories260k/";
  auto numbers = [](std::istringstream line) {
    return std::vector<int32_t>(std::istream_iterator<int32_t>(line), {});
  };
  std::ifstream text(golden + "golden_greedy.txt");
  std::ifstream logits(golden + "golden_first_logits_f32.bin",
                       std::ios::binary);
  std::vector<int32_t> prompt;
  int prompts = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("PROMPT_IDS "))
      prompt = numbers(std::istringstream(line.substr(11)));
    if (!line.starts_with("GEN_IDS "))
      continue;
    ++prompts;
    std::vector<int32_t> expected = numbers(std::istringstream(line.substr(8)));
    std::vector<int32_t> ids = prompt;
    ids.insert(ids.end(), expected.begin(), expected.end() - 1);
    Matrix scores = model.logits(ids);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(argmax(scores.row(int64_t(prompt.size() + i) - 1)), expected[i])
          << "prompt " << prompts << ", id " << i;
    std::vector<float> first(size_t(scores.columns));
    logits.read(reinterpret_cast<char *>(first.data()),
                std::streamsize(4 * first.size()));
    ASSERT_TRUE(logits);
    for (size_t i = 0; i < first.size(); ++i)
      EXPECT_NEAR(scores.row(int64_t(prompt.size()) - 1)[i], first[i], 1e-4);
  }
  EXPECT_EQ(prompts, 3);
}

} // namespace
