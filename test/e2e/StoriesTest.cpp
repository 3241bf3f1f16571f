// The main job: the bundled trained model, compiled by weft-compile, continues
// the recorded prompts with the recorded text, whoever runs it.

#include "test/e2e/Stories.h"
#include "test/e2e/CompileModel.h"
#include "test/e2e/PlanModel.h"
#include "test/reference/Scratch.h"
#include "test/runtime/Support/RunCommand.h"

#include <cmath>

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;

namespace {

class Stories260K : public testing::Test {
protected:
  static void SetUpTestSuite() {
    scratch = std::make_unique<reference::Scratch>("stories");
    std::filesystem::create_directories(scratch->path);
    test::CommandResult result = test::runCommand(
        "'" WEFT_COMPILE "' '" WEFT_SOURCE_DIR "/models/stories260k' -o '" +
        plan() + "' 2>&1");
    ASSERT_EQ(result.exitCode, 0) << result.output;
  }
  static void TearDownTestSuite() { scratch.reset(); }

  static std::string plan() {
    return (scratch->path / "stories260k.weft").string();
  }

  static std::unique_ptr<reference::Scratch> scratch;
  const std::vector<Story> stories = readStories();
};

std::unique_ptr<reference::Scratch> Stories260K::scratch;

TEST_F(Stories260K, TheRecordingHasEnoughTokens) {
  ASSERT_EQ(stories.size(), 3u);
  EXPECT_GE(stories[0].ids.size(), 200u);
  EXPECT_GE(stories[1].ids.size(), 200u);
}

TEST_F(Stories260K, FirstLogitsAndGreedyIdsEqualTheRecordedOnes) {
  PlanModel model(plan());
  for (const Story &story : stories) {
    auto ids = model.getModel().encodePrompt(story.prompt);
    ASSERT_TRUE(ids) << ids.getStatus().getMessage();
    EXPECT_EQ(*ids, story.promptIds);
    Table logits = model.computeLogits(*ids);
    ASSERT_EQ(logits.columns, 512);
    for (size_t i = 0; i < 512; ++i)
      EXPECT_NEAR(logits.values[size_t(logits.rows - 1) * 512 + i],
                  story.firstLogits[i], 1e-4);
    EXPECT_EQ(model.generateGreedily(*ids, int64_t(story.ids.size())),
              story.ids);
  }
}

// A plan that chooses ids gives the recorded text, and the texts that the
// host's sampler draws, alone and in a batch.
TEST_F(Stories260K, ThePlanChoosesTheSameIds) {
  CompileSettings settings;
  settings.sample = true;
  const std::string path = (scratch->path / "sampling.weft").string();
  compileModel(WEFT_SOURCE_DIR "/models/stories260k", path, settings);
  PlanModel chooser(path, {.sequences = 3}), host(plan(), {.sequences = 3});
  ASSERT_EQ(chooser.getModel().getPlan().entries[0].commands.back().label,
            "sample");
  std::vector<std::vector<int32_t>> prompts;
  for (const Story &story : stories) {
    prompts.push_back(story.promptIds);
    EXPECT_EQ(
        chooser.generateGreedily(story.promptIds, int64_t(story.ids.size())),
        story.ids);
  }
  const rt::SamplingOptions samplings[] = {
      {.temperature = 1, .seed = 1},
      {.temperature = 0.8, .topK = 40, .topP = 0.9, .seed = 2},
      {.temperature = 1.5, .minP = 0.05, .repetitionPenalty = 1.2, .seed = 3},
      {.frequencyPenalty = 0.5, .logitBias = {{13, -5}}}};
  for (const rt::SamplingOptions &sampling : samplings) {
    rt::GenerationOptions options;
    options.sampling = sampling;
    options.maxTokens = 60;
    auto expected = host.generate(prompts, options);
    auto together = chooser.generate(prompts, options);
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(together[i].ids, expected[i].ids);
      EXPECT_EQ(
          chooser.generate(std::span(prompts).subspan(i, 1), options)[0].ids,
          together[i].ids);
    }
  }
}

TEST_F(Stories260K, TextEqualsTheRecordedTextInEveryProgram) {
  PlanModel model(plan());
  for (const Story &story : stories) {
    std::string count = std::to_string(story.ids.size());
    EXPECT_EQ(story.prompt +
                  model.continueText(story.prompt, int64_t(story.ids.size())),
              story.text);
    test::CommandResult run = test::runCommand(
        "'" WEFT_RUN "' '" + plan() + "' --prompt '" + story.prompt +
        "' --temperature 0 --max-tokens " + count + " 2>/dev/null");
    EXPECT_EQ(run.exitCode, 0);
    EXPECT_EQ(run.output, story.text + "\n");
    test::CommandResult example =
        test::runCommand("'" WEFT_EXAMPLE "' '" + plan() + "' '" +
                         story.prompt + "' " + count + " 2>/dev/null");
    EXPECT_EQ(example.exitCode, 0);
    EXPECT_EQ(example.output, story.text + "\n");
  }
}

} // namespace
