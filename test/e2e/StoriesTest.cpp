// The main job: the bundled trained model, compiled by weft-compile, continues
// the recorded prompts with the recorded text, whoever runs it.

#include "test/e2e/PlanModel.h"
#include "test/reference/Scratch.h"
#include "test/runtime/Support/RunCommand.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;

namespace {

struct Story {
  std::string prompt;
  std::vector<int32_t> promptIds, ids;
  std::string
      text; ///< Prompt and continuation, without what stands for a final 1.
  std::vector<float> firstLogits;
};

std::vector<int32_t> readNumbers(const std::string &line) {
  std::istringstream stream(line.substr(line.find(' ')));
  return std::vector<int32_t>(std::istream_iterator<int32_t>(stream), {});
}

std::vector<Story> readStories() {
  std::string folder = WEFT_SOURCE_DIR "/test/e2e/golden/stories260k/";
  std::ifstream text(folder + "golden_greedy.txt");
  std::ifstream logits(folder + "golden_first_logits_f32.bin",
                       std::ios::binary);
  std::vector<Story> stories;
  bool inText = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("TOP8_FIRST"))
      inText = false;
    if (inText)
      stories.back().text += "\n" + line;
    if (line.starts_with("PROMPT '"))
      stories.push_back({line.substr(8, line.size() - 9), {}, {}, {}, {}});
    else if (line.starts_with("PROMPT_IDS "))
      stories.back().promptIds = readNumbers(line);
    else if (line.starts_with("GEN_IDS "))
      stories.back().ids = readNumbers(line);
    else if (line.starts_with("TEXT ")) {
      stories.back().text = line.substr(5);
      inText = true;
    }
  }
  for (Story &story : stories) {
    size_t end = story.text.find("\n<s>");
    if (end != std::string::npos)
      story.text.resize(end);
    story.firstLogits.resize(512);
    logits.read(reinterpret_cast<char *>(story.firstLogits.data()), 4 * 512);
  }
  return logits ? stories : std::vector<Story>();
}

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
