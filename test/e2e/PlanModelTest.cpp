//===- PlanModelTest.cpp --------------------------------------------------===//

#include "test/e2e/PlanModel.h"

#include "test/runtime/Llm/Support/ToyDecoder.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace weft;
namespace toy = weft::rt::toydecoder;

TEST(PlanModel, RunsAPlanTheWaysThatGoldenFilesRecord) {
  std::string path = testing::TempDir() + "weft-plan-model-" +
                     std::to_string(getpid()) + ".weft";
  ASSERT_TRUE(toy::writeFile(path));
  for (int64_t tokensPerStep : {1, 5, 512}) {
    e2e::PlanModel model(path, {.tokensPerStep = tokensPerStep, .threads = 1});
    std::vector<int32_t> ids = toy::storyIds();
    e2e::Table logits = model.computeLogits(std::span(ids).first(20));
    ASSERT_EQ(logits.rows, 20);
    ASSERT_EQ(logits.columns, toy::headWidth);
    for (int64_t row = 0; row < 20; ++row) {
      std::vector<float> expected =
          toy::expectedLogits(std::span(ids).first(row + 1));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                             logits.values.begin() + row * logits.columns));
    }
    std::vector<int32_t> rest(ids.begin() + 20, ids.begin() + 30);
    EXPECT_EQ(model.generateGreedily(std::span(ids).first(20), 10), rest);
    EXPECT_EQ(model.continueText("Once", 5), " upon");
    // The padded head takes nearly all of the probability.
    EXPECT_GT(model.computeLoss(ids, 10), 90);
    EXPECT_THROW(model.computeLogits(std::vector<int32_t>{-1}),
                 std::runtime_error);
  }
  std::filesystem::remove(path);
}
