//===- LlmApiTest.cpp - The C interface of text generation ----------------===//

#include "runtime/include/weft/llm.hpp"
#include "test/runtime/Llm/Support/ToyDecoder.h"
#include "test/runtime/Support/RunCommand.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using testing::ElementsAre;
using testing::HasSubstr;
namespace test = weft::test;
namespace toy = weft::rt::toydecoder;

namespace {

class LlmApiTest : public testing::Test {
protected:
  LlmApiTest()
      : path(testing::TempDir() + "weft-llm-api-" + std::to_string(getpid()) +
             ".weft") {
    weft::rt::Status status = toy::writeFile(path);
    EXPECT_TRUE(status.isOk()) << status.getMessage();
  }
  ~LlmApiTest() override { std::filesystem::remove(path); }

  std::string path;
};

TEST_F(LlmApiTest, WrapperGeneratesAndContinues) {
  weft::Plan plan(path);
  weft::Llm llm(plan, 64);
  llm.append(llm.encode("Once upon", WEFT_ENCODE_START));
  weft_generate_options options = llm.getDefaults();
  options.max_tokens = 7;
  std::string text;
  auto add = [&](const weft_token &token) {
    text.append(token.text, token.text_length);
    return true;
  };
  weft_generate_result result = llm.generate(options, add);
  EXPECT_EQ(text, " a time");
  EXPECT_EQ(result.reason, WEFT_FINISH_LENGTH);
  EXPECT_EQ(result.prompt_tokens, 10);
  EXPECT_EQ(result.generated_tokens, 7);
  EXPECT_EQ(result.stop_id, -1);

  // A second turn goes on where the first one ended.
  options.max_tokens = 6;
  llm.generate(options, add);
  EXPECT_EQ(text, " a time there");
  EXPECT_EQ(llm.decode(llm.getTokens()), "Once upon a time there");
  llm.rewind(10);
  text.clear();
  options.max_tokens = 2;
  llm.generate(options, add);
  EXPECT_EQ(text, " a");

  weft_llm_info info = llm.getInfo();
  EXPECT_EQ(info.vocabulary_size, toy::headWidth);
  EXPECT_EQ(info.context_length, 64);
  EXPECT_EQ(info.length, 12);
  EXPECT_EQ(info.bos_id, toy::bos);
  EXPECT_EQ(info.eos_id, toy::eos);
  EXPECT_EQ(info.has_tokenizer, 1);
}

TEST_F(LlmApiTest, StopStringsAndCancel) {
  weft::Plan plan(path);
  weft::Llm llm(plan);
  llm.append(llm.encode("Once", WEFT_ENCODE_START));
  weft_generate_options options = llm.getDefaults();
  const char *stops[] = {"time"};
  options.stop_strings = stops;
  options.stop_string_count = 1;
  std::string text;
  weft_generate_result result = llm.generate(options, [&](auto &token) {
    text.append(token.text, token.text_length);
    return true;
  });
  EXPECT_EQ(text, " upon a ");
  EXPECT_EQ(result.reason, WEFT_FINISH_STOP);
  result = llm.generate(options, [](auto &) { return false; });
  EXPECT_EQ(result.reason, WEFT_FINISH_CANCELLED);
  EXPECT_THROW(
      llm.generate(options,
                   [](auto &) -> bool { throw std::runtime_error(""); }),
      std::runtime_error);
}

TEST_F(LlmApiTest, ScoresFollowTheFormula) {
  weft::Plan plan(path);
  weft::Llm llm(plan);
  std::vector<int32_t> ids = toy::storyIds();
  ids.resize(20);
  std::vector<double> scores = llm.score(ids);
  ASSERT_EQ(scores.size(), 19u);
  for (size_t i = 0; i < scores.size(); ++i) {
    std::vector<float> logits =
        toy::expectedLogits(std::span(ids).first(i + 1));
    double sum = 0;
    for (float x : logits)
      sum += std::exp(double(x) - 100);
    EXPECT_NEAR(scores[i], double(logits[ids[i + 1]]) - 100 - std::log(sum),
                1e-9);
  }
}

// Kernels take them for places in memory.
TEST_F(LlmApiTest, ValuesOfAStepAreChecked) {
  weft::Plan plan(path);
  weft::Session session(plan, {{"cache_blocks", 3}});
  std::vector<int32_t> tokens = {toy::bos, 'O', 'n'}, positions = {0, 1, 2},
                       ids = {0, 0, 0}, slots = {8, 9, 10}, table = {2},
                       rows = {2};
  std::vector<float> logits(toy::headWidth);
  auto run = [&] {
    session.run("step",
                {weft::makeTensor("tokens", tokens.data(), {3}),
                 weft::makeTensor("positions", positions.data(), {3}),
                 weft::makeTensor("sequence_ids", ids.data(), {3}),
                 weft::makeTensor("slots", slots.data(), {3}),
                 weft::makeTensor("block_table", table.data(), {1, 1}),
                 weft::makeTensor("logit_rows", rows.data(), {1})},
                {weft::makeTensor("logits", logits.data(), {1, 264})});
  };
  run();
  EXPECT_EQ(logits, toy::expectedLogits(tokens));
  int32_t before[12], after[12];
  session.readState("cache.0.key", 0, before, sizeof before);

  const struct {
    std::vector<int32_t> &values;
    size_t place;
    int32_t value;
    const char *message;
  } cases[] = {
      {tokens, 1, 264, "'tokens' has 264 as element 1; expected 0 to 263"},
      {tokens, 0, INT32_MIN, "'tokens' has -2147483648 as element 0"},
      {positions, 2, 4, "'positions' has 4 as element 2; expected 0 to 3"},
      {slots, 2, 12, "'slots' has 12 as element 2; expected 0 to 11"},
      {slots, 0, -1, "'slots' has -1 as element 0"},
      {table, 0, 3, "'block_table' has 3 as element 0; expected 0 to 2"},
      {rows, 0, 3, "'logit_rows' has 3 as element 0; expected 0 to 2"}};
  for (const auto &one : cases) {
    SCOPED_TRACE(one.message);
    const int32_t good = std::exchange(one.values[one.place], one.value);
    try {
      run();
      ADD_FAILURE() << "the run was not refused";
    } catch (const weft::Error &error) {
      EXPECT_EQ(error.getStatus(), WEFT_INVALID_ARGUMENT);
      EXPECT_THAT(error.what(), HasSubstr(one.message));
    }
    one.values[one.place] = good;
  }
  session.readState("cache.0.key", 0, after, sizeof after);
  EXPECT_THAT(after, testing::ElementsAreArray(before));
  // Shapes come first: a wrong one says nothing about memory to look at.
  weft_tensor wrong = weft::makeTensor("tokens", tokens.data(), {INT64_MAX});
  EXPECT_NE(weft_session_run(session.get(), "step", &wrong, 1, nullptr, 0,
                             nullptr, 0),
            WEFT_OK);
  run();
  EXPECT_EQ(logits, toy::expectedLogits(tokens));
}

TEST_F(LlmApiTest, ErrorsHaveCodesAndSentences) {
  weft_plan *plan = nullptr;
  ASSERT_EQ(weft_plan_open(path.c_str(), nullptr, &plan), WEFT_OK);
  weft_llm *llm = nullptr;
  weft_llm_options sizes = {sizeof(sizes), 1000, 0};
  EXPECT_EQ(weft_llm_create(plan, &sizes, &llm), WEFT_LIMIT_EXCEEDED);
  EXPECT_EQ(llm, nullptr);
  EXPECT_THAT(weft_last_error(), HasSubstr("1000"));
  sizes.struct_size = 1;
  EXPECT_EQ(weft_llm_create(plan, &sizes, &llm), WEFT_INVALID_ARGUMENT);
  EXPECT_EQ(weft_llm_create(nullptr, nullptr, &llm), WEFT_INVALID_ARGUMENT);
  sizes = {sizeof(sizes), 16, 0};
  ASSERT_EQ(weft_llm_create(plan, &sizes, &llm), WEFT_OK) << weft_last_error();
  weft_plan_close(plan); // The generator keeps what it needs.

  EXPECT_EQ(weft_llm_generate(llm, nullptr, nullptr, nullptr, nullptr),
            WEFT_INVALID_ARGUMENT);
  EXPECT_THAT(weft_last_error(), HasSubstr("the prompt is empty"));
  std::vector<int32_t> ids(17, 'a');
  EXPECT_EQ(weft_llm_append(llm, ids.data(), ids.size()), WEFT_LIMIT_EXCEEDED);
  ids = {-1};
  EXPECT_EQ(weft_llm_append(llm, ids.data(), ids.size()),
            WEFT_INVALID_ARGUMENT);
  EXPECT_EQ(weft_llm_append(llm, nullptr, 1), WEFT_INVALID_ARGUMENT);
  EXPECT_EQ(weft_llm_rewind(llm, 1), WEFT_INVALID_ARGUMENT);

  weft_generate_options options;
  ASSERT_EQ(weft_generate_options_init(llm, &options), WEFT_OK);
  EXPECT_EQ(options.temperature, 0);
  options.temperature = NAN;
  ids = {toy::bos};
  ASSERT_EQ(weft_llm_append(llm, ids.data(), 1), WEFT_OK);
  EXPECT_EQ(weft_llm_generate(llm, &options, nullptr, nullptr, nullptr),
            WEFT_INVALID_ARGUMENT);
  EXPECT_THAT(weft_last_error(), HasSubstr("temperature is nan"));

  // The count is told although there is no room; nothing is written.
  size_t count = 0;
  int32_t two[2] = {-5, -5};
  EXPECT_EQ(weft_llm_encode(llm, "abc", 3, 0, two, 2, &count),
            WEFT_LIMIT_EXCEEDED);
  EXPECT_EQ(count, 3u);
  EXPECT_THAT(two, ElementsAre(-5, -5));
  EXPECT_EQ(weft_llm_encode(llm, "\xff", 1, 0, two, 2, &count),
            WEFT_INVALID_ARGUMENT);
  EXPECT_EQ(weft_llm_encode(llm, "a", 1, 8, two, 2, &count),
            WEFT_INVALID_ARGUMENT);
  EXPECT_EQ(weft_llm_get_tokens(nullptr, two, 2, &count),
            WEFT_INVALID_ARGUMENT);
  weft_llm_destroy(llm);
  weft_llm_destroy(nullptr);
}

TEST_F(LlmApiTest, OlderCallersWithShorterStructsWork) {
  weft::Plan plan(path);
  weft::Llm llm(plan);
  llm.append({toy::bos});
  // A struct that ends behind max_tokens.
  struct {
    size_t struct_size;
    int64_t max_tokens;
  } options = {sizeof(options), 3};
  weft_generate_result result = {};
  result.struct_size = sizeof(size_t) + sizeof(weft_finish_reason);
  result.generated_tokens = -7;
  ASSERT_EQ(weft_llm_generate(
                llm.get(),
                reinterpret_cast<const weft_generate_options *>(&options),
                nullptr, nullptr, &result),
            WEFT_OK)
      << weft_last_error();
  EXPECT_EQ(result.reason, WEFT_FINISH_LENGTH);
  EXPECT_EQ(result.generated_tokens, -7);
  EXPECT_EQ(llm.getInfo().length, 4);
}

TEST_F(LlmApiTest, ExampleProgramRunsAStep) {
  const test::CommandResult result = test::runCommand(
      std::string("'") + WEFT_EXAMPLE_RUN_ENTRY + "' '" + path +
      "' step tokens=6 sequences=1 table_width=2 logits=1 cache_blocks=2");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("logits: "));
}

TEST_F(LlmApiTest, ExampleProgramTellsTheStory) {
  const test::CommandResult result =
      test::runCommand(std::string("'") + WEFT_EXAMPLE_GENERATE + "' '" + path +
                       "' 'Once upon'");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(result.output, toy::story + "\n" +
                               std::to_string(toy::story.size() - 9) +
                               " tokens, finish reason 1\n");
  auto codeOf = [](const std::string &end) {
    const int status = std::system(end.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const std::string start =
      std::string("'") + WEFT_EXAMPLE_GENERATE + "' '" + path + "' Once ";
  EXPECT_EQ(codeOf(start + "2>/dev/null >/dev/full"), 1);
  EXPECT_EQ(codeOf(start + "many 2>/dev/null >/dev/null"), 2);
  EXPECT_EQ(codeOf(start + "-1 2>/dev/null >/dev/null"), 2);
}

} // namespace
