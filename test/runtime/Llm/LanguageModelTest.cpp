//===- LanguageModelTest.cpp - From an artifact to text -------------------===//

#include "runtime/Llm/LanguageModel.h"

#include "test/runtime/Llm/Support/ToyDecoder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace weft::rt;
using testing::HasSubstr;
namespace toy = weft::rt::toydecoder;

namespace {

class LanguageModelTest : public testing::Test {
protected:
  LanguageModelTest()
      : path(testing::TempDir() + "weft-llm-" + std::to_string(getpid()) +
             ".weft") {}
  ~LanguageModelTest() override { std::filesystem::remove(path); }

  void open(const toy::FileOptions &file = {},
            GenerationSessionOptions sizes = {}) {
    Status written = toy::writeFile(path, file);
    ASSERT_TRUE(written) << written.getMessage();
    session.reset();
    auto opened = LanguageModel::open(path, 2);
    ASSERT_TRUE(opened) << opened.getStatus().getMessage();
    model = opened.take();
    auto made = model->createSession(sizes);
    ASSERT_TRUE(made) << made.getStatus().getMessage();
    session = made.take();
  }

  SequenceId start(std::string_view prompt) {
    Generator &generator = session->getGenerator();
    SequenceId id = generator.addSequence();
    Result<std::vector<int32_t>> ids = model->encodePrompt(prompt);
    EXPECT_TRUE(ids) << ids.getStatus().getMessage();
    Status s = generator.append(id, *ids);
    EXPECT_TRUE(s) << s.getMessage();
    return id;
  }

  TextResult generate(TextRequest request) {
    Result<TextResult> result = session->generateText(request);
    EXPECT_TRUE(result) << result.getStatus().getMessage();
    return result ? result.take() : TextResult();
  }

  std::string path;
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<GenerationSession> session;
};

// What the entry has other than docs/architecture.md says is named.
TEST_F(LanguageModelTest, StepsOfAnotherKindAreUnsupported) {
  struct Case {
    std::function<void(std::vector<Buffer> &)> edit;
    std::string message;
  };
  auto find = [](std::vector<Buffer> &buffers,
                 std::string_view name) -> Buffer & {
    return *std::ranges::find(buffers, name, &Buffer::name);
  };
  auto add = [](BufferKind kind, const char *name, DType dtype,
                std::vector<Expr> shape) {
    return [=](std::vector<Buffer> &buffers) {
      Buffer buffer;
      buffer.name = name;
      buffer.kind = kind;
      buffer.dtype = dtype;
      buffer.shape = shape;
      buffers.push_back(buffer);
    };
  };
  const Expr logits = Expr::symbol(3);
  const Case cases[] = {
      {[&](auto &buffers) { find(buffers, "positions").name = "places"; },
       "has the unknown input 'places'"},
      {[&](auto &buffers) { find(buffers, "positions").dtype = DType::F32; },
       "the input 'positions' with another type or shape than i32 of rank 1"},
      {add(BufferKind::Input, "sampling_options", DType::F32,
           {logits, Expr::constant(3)}),
       "the input 'sampling_options' with another type or shape than f32 of "
       "rank 2 with 4 columns"},
      {add(BufferKind::Output, "ids", DType::F32, {logits}),
       "the output 'ids' where f32 'logits' [logits, vocabulary] and i32 "
       "'ids' [logits] are expected"},
      {add(BufferKind::Output, "ids", DType::I32, {logits}),
       "the output 'ids' but lacks an input that says how they are chosen"}};
  for (const Case &c : cases) {
    toy::FileOptions file;
    file.edit = [&](Plan &plan) { c.edit(plan.entries[0].buffers); };
    Status written = toy::writeFile(path, file);
    ASSERT_TRUE(written) << written.getMessage();
    auto opened = LanguageModel::open(path, 1);
    ASSERT_TRUE(opened) << opened.getStatus().getMessage();
    auto made = (*opened)->createSession();
    EXPECT_EQ(made.getStatus().getCode(), StatusCode::Unsupported);
    EXPECT_THAT(made.getStatus().getMessage(), HasSubstr(c.message));
  }
}

TEST_F(LanguageModelTest, TellsTheStory) {
  open();
  std::vector<std::string> pieces;
  TextRequest request = {.sequence = start("Once upon")};
  request.onPiece = [&](const TextPiece &piece) {
    pieces.emplace_back(piece.text);
    return true;
  };
  TextResult result = generate(request);
  EXPECT_EQ(result.text, toy::story.substr(9));
  EXPECT_EQ(result.tokens.reason, FinishReason::Stop);
  EXPECT_EQ(result.tokens.stopId, toy::eos);
  // A byte is a token: characters of several bytes come whole.
  std::string joined;
  for (const std::string &piece : pieces) {
    bool whole = piece.empty() || (piece[0] & 0xC0) != 0x80;
    EXPECT_TRUE(whole) << piece;
    joined += piece;
  }
  EXPECT_EQ(joined, result.text);
}

TEST_F(LanguageModelTest, LogitsEqualThoseOfTheFormula) {
  open({}, {.tokensPerStep = 7, .logitsPerStep = 5});
  std::vector<int32_t> ids = toy::storyIds();
  std::vector<std::span<const int32_t>> texts = {ids};
  int64_t next = 0;
  Status status = session->getGenerator().computeLogits(
      texts, [&](size_t, int64_t position, std::span<const float> logits) {
        EXPECT_EQ(position, next++);
        std::vector<float> expected =
            toy::expectedLogits(std::span(ids).first(position + 1));
        EXPECT_THAT(logits, testing::ElementsAreArray(expected));
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.getMessage();
  EXPECT_EQ(next, int64_t(ids.size()));
}

// A fork goes on from a copy of the block that its origin is in, too.
TEST_F(LanguageModelTest, ForksReadTheirOwnTokens) {
  open({}, {.sequences = 2});
  Session &plan = session->getSession();
  Result<std::unique_ptr<SessionRunner>> runner = SessionRunner::create(plan);
  ASSERT_TRUE(runner) << runner.getStatus().getMessage();
  Result<StepEngine> engine = StepEngine::create(**runner, toy::blockSize);
  ASSERT_TRUE(engine) << engine.getStatus().getMessage();
  KvCache &cache = engine->getCache();
  std::vector<int32_t> first = {toy::bos, 10, 20, 30, 40, 50}, second = first;
  const SequenceId origin = cache.addSequence();
  std::vector<SequencePiece> pieces = {{origin, first}};
  ASSERT_TRUE(engine->run(pieces));
  const SequenceId fork = *cache.fork(origin);
  first.push_back(60);
  second.push_back(70);
  pieces = {{origin, std::span(first).last(1)},
            {fork, std::span(second).last(1)}};
  Result<StepResults> results = engine->run(pieces);
  ASSERT_TRUE(results) << results.getStatus().getMessage();
  EXPECT_THAT(results->logits.first(toy::headWidth),
              testing::ElementsAreArray(toy::expectedLogits(first)));
  EXPECT_THAT(results->logits.last(toy::headWidth),
              testing::ElementsAreArray(toy::expectedLogits(second)));
  EXPECT_EQ(plan.copyInState("cache.0.value", 0, 16, 16).getCode(),
            StatusCode::NotFound);
  EXPECT_THAT(plan.copyInState("cache.0.key", 8, 16, 16).getMessage(),
              HasSubstr("bytes 8 and 16 of state 'cache.0.key' are closer than "
                        "the 16 bytes to copy"));
  EXPECT_EQ(plan.copyInState("cache.0.key", 0, 1 << 30, 16).getCode(),
            StatusCode::InvalidArgument);
}

TEST_F(LanguageModelTest, A28StopStringsAcrossTokensAreNotStreamed) {
  open();
  std::string streamed;
  TextRequest request = {.sequence = start("Once")};
  request.stopStrings = {"by the tree", "a caf\u00e9", "sea"};
  request.onPiece = [&](const TextPiece &piece) {
    streamed += piece.text;
    return true;
  };
  TextResult result = generate(request);
  EXPECT_EQ(result.text, " upon a time there was ");
  EXPECT_EQ(streamed, result.text);
  EXPECT_EQ(result.stopString, "a caf\u00e9");
  EXPECT_EQ(result.tokens.reason, FinishReason::Stop);
}

TEST_F(LanguageModelTest, HeldBackTextComesAtTheEnd) {
  open();
  TextRequest request = {.sequence = start("Once")};
  request.options.maxTokens = 5;
  request.stopStrings = {" upon a mountain"};
  std::string streamed;
  request.onPiece = [&](const TextPiece &piece) {
    // The possible start of a stop string waits for the end.
    EXPECT_EQ(piece.text.empty(), piece.token != nullptr);
    streamed += piece.text;
    return true;
  };
  EXPECT_EQ(generate(request).text, " upon");
  EXPECT_EQ(streamed, " upon");
}

TEST_F(LanguageModelTest, A27TruncatedCharacterIsReplacedAtTheEnd) {
  open();
  size_t cup = toy::story.find("\u2615");
  TextRequest request = {.sequence = start(toy::story.substr(0, cup))};
  request.options.maxTokens = 2;
  EXPECT_EQ(generate(request).text, "\uFFFD");
}

TEST_F(LanguageModelTest, A34PaddedHeadIsNeverSampled) {
  open();
  TextRequest request = {.sequence = start("Once")};
  request.options.sampling = {.temperature = 2, .seed = 3};
  request.options.ignoreEos = true;
  request.options.maxTokens = 60;
  for (int32_t id : generate(request).tokens.ids)
    EXPECT_LT(id, toy::tokenizerSize);
}

TEST_F(LanguageModelTest, BosIsThereOnce) {
  open();
  EXPECT_EQ(*model->encodePrompt("a"), (std::vector<int32_t>{256, 'a'}));
  EXPECT_EQ(*model->encodePrompt("<s>a"), (std::vector<int32_t>{256, 'a'}));
  EXPECT_EQ(*model->encodeContinuation("a"), (std::vector<int32_t>{'a'}));
  EXPECT_EQ(*model->encodePrompt(""), (std::vector<int32_t>{256}));
}

TEST_F(LanguageModelTest, ContextFullAndLongPrompts) {
  open({}, {.contextLength = 12});
  TextRequest request = {.sequence = start("Once")};
  TextResult result = generate(request);
  EXPECT_EQ(result.text, " upon a");
  EXPECT_EQ(result.tokens.reason, FinishReason::ContextFull);
  Generator &generator = session->getGenerator();
  Status s =
      generator.append(generator.addSequence(), std::vector<int32_t>(13, 1));
  EXPECT_EQ(s.getCode(), StatusCode::LimitExceeded);
  EXPECT_THAT(s.getMessage(), HasSubstr("13 tokens and the context holds 12"));
}

TEST_F(LanguageModelTest, SizesAreChecked) {
  open();
  auto codeOf = [&](GenerationSessionOptions sizes) {
    return model->createSession(sizes).getStatus().getCode();
  };
  EXPECT_EQ(codeOf({.contextLength = 97}), StatusCode::LimitExceeded);
  EXPECT_EQ(codeOf({.contextLength = -1}), StatusCode::InvalidArgument);
  EXPECT_EQ(codeOf({.sequences = 9}), StatusCode::LimitExceeded);
  EXPECT_EQ(codeOf({.sequences = 0}), StatusCode::InvalidArgument);
  EXPECT_EQ(codeOf({.tokensPerStep = 0}), StatusCode::InvalidArgument);
  EXPECT_EQ(codeOf({.cacheBlocks = 1025}), StatusCode::LimitExceeded);
}

TEST_F(LanguageModelTest, SeveralSequencesInOneBatch) {
  open({}, {.sequences = 3});
  Generator &generator = session->getGenerator();
  std::vector<GenerationRequest> requests;
  for (const char *prompt : {"Once", "O", "Once upon a time"}) {
    GenerationRequest request;
    request.sequence = start(prompt);
    request.options.maxTokens = 10;
    requests.push_back(request);
  }
  auto results = generator.generate(requests);
  ASSERT_TRUE(results) << results.getStatus().getMessage();
  for (auto [i, prompt] :
       {std::pair{0, "Once"}, {1, "O"}, {2, "Once upon a time"}})
    EXPECT_EQ(*model->decode((*results)[i].ids),
              toy::story.substr(strlen(prompt), 10));
}

TEST_F(LanguageModelTest, WithoutTokenizerOnlyIdsWork) {
  open({.tokenizer = false});
  EXPECT_EQ(model->encodePrompt("a").getStatus().getCode(),
            StatusCode::NotFound);
  EXPECT_EQ(model->decode({}).getStatus().getCode(), StatusCode::NotFound);
  Generator &generator = session->getGenerator();
  TextRequest request = {.sequence = generator.addSequence()};
  ASSERT_TRUE(generator.append(request.sequence, std::vector{toy::bos}));
  // Nothing says that the ids behind the tokenizer mean nothing.
  EXPECT_GE(generate(request).tokens.ids[0], toy::tokenizerSize);
  request.stopStrings = {"x"};
  EXPECT_EQ(session->generateText(request).getStatus().getCode(),
            StatusCode::InvalidArgument);
}

TEST_F(LanguageModelTest, MetaThatContradictsThePlanIsAnError) {
  ASSERT_TRUE(
      toy::writeFile(path, {.extraMeta = R"(,"rope_switch_length":4)"}));
  auto opened = LanguageModel::open(path, 1);
  ASSERT_TRUE(opened);
  Status s = (*opened)->createSession().getStatus();
  EXPECT_EQ(s.getCode(), StatusCode::Corrupt);
  EXPECT_THAT(s.getMessage(), HasSubstr("rope_choice"));
  ASSERT_TRUE(toy::writeFile(path, {.kind = "encoder"}));
  opened = LanguageModel::open(path, 1);
  ASSERT_TRUE(opened);
  EXPECT_EQ((*opened)->createSession().getStatus().getCode(),
            StatusCode::Unsupported);
}

} // namespace
