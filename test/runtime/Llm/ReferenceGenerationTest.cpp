//===- ReferenceGenerationTest.cpp - A real model through the loop --------===//
//
// The independent reference forward pass computes the logits, so that the
// tokenizer, the loop and the streaming of text are tested with a trained model
// without a compiler.
//
//===----------------------------------------------------------------------===//

#include "runtime/Llm/Generator.h"
#include "runtime/Llm/Tokenizer/StreamDecoder.h"
#include "runtime/Llm/Tokenizer/Tokenizer.h"
#include "test/reference/Transformer.h"

#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <map>
#include <sstream>

using namespace weft::rt;
using weft::reference::Checkpoint;
using weft::reference::Matrix;
using weft::reference::Transformer;

namespace {

const std::string kFolder = WEFT_SOURCE_DIR "/models/stories260k/";
constexpr int64_t kBlockSize = 16;

/// Keeps tokens in its cache and recomputes everything from them.
class ReferenceRunner : public StepRunner {
public:
  explicit ReferenceRunner(const Transformer &model)
      : model(model), cache(64 * kBlockSize) {}

  StepLimits getLimits() const override {
    return {.tokens = 8,
            .sequences = 4,
            .logits = 8,
            .tableWidth = 32,
            .cacheBlocks = 64};
  }
  int64_t getVocabularySize() const override { return 512; }

  Status run(const StepInputs &in, const StepOutputs &outputs) override {
    for (size_t row = 0; row < in.tokens.size(); ++row)
      cache[in.slots[row]] = in.tokens[row];
    float *out = outputs.logits.data();
    for (int32_t row : in.logitRows) {
      const int32_t *blocks =
          in.blockTable.data() + in.sequenceIds[row] * in.tableWidth;
      std::vector<int32_t> ids;
      for (int32_t p = 0; p <= in.positions[row]; ++p)
        ids.push_back(
            cache[blocks[p / kBlockSize] * kBlockSize + p % kBlockSize]);
      Matrix all = model.logits(ids);
      for (double value : all.row(all.rows - 1))
        *out++ = float(value);
    }
    return Status::ok();
  }

  Status copyBlocks(std::span<const BlockCopy> copies) override {
    for (const BlockCopy &copy : copies)
      std::copy_n(cache.begin() + copy.from * kBlockSize, kBlockSize,
                  cache.begin() + copy.to * kBlockSize);
    return Status::ok();
  }

private:
  const Transformer &model;
  std::vector<int32_t> cache;
};

/// One block of golden_greedy.txt.
struct GoldenStory {
  std::string prompt;
  std::vector<int32_t> promptIds, ids;
};

std::vector<int32_t> readIds(std::istream &in) {
  std::vector<int32_t> ids;
  for (int32_t id; in >> id;)
    ids.push_back(id);
  return ids;
}

std::vector<GoldenStory> readGolden() {
  std::ifstream in(WEFT_SOURCE_DIR
                   "/test/e2e/golden/stories260k/golden_greedy.txt");
  std::vector<GoldenStory> stories;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "PROMPT") {
      size_t begin = line.find('\'') + 1;
      stories.push_back({line.substr(begin, line.rfind('\'') - begin), {}, {}});
    } else if (key == "PROMPT_IDS") {
      stories.back().promptIds = readIds(words);
    } else if (key == "GEN_IDS") {
      stories.back().ids = readIds(words);
    }
  }
  return stories;
}

std::unique_ptr<Tokenizer> openTokenizer() {
  std::vector<std::string> names = {"tokenizer.json", "tokenizer_config.json",
                                    "generation_config.json"};
  std::map<std::string, std::vector<uint8_t>> bytes;
  std::vector<Tokenizer::File> files;
  for (const std::string &name : names) {
    std::ifstream in(kFolder + name, std::ios::binary);
    bytes[name].assign(std::istreambuf_iterator<char>(in), {});
    files.push_back({name, bytes[name]});
  }
  auto tokenizer =
      Tokenizer::fromFiles(std::span<const Tokenizer::File>(files));
  EXPECT_TRUE(tokenizer) << tokenizer.getStatus().getMessage();
  return tokenizer.take();
}

TEST(ReferenceGenerationTest, GreedyStoriesEqualTheGolden) {
  Transformer reference(Checkpoint::open(kFolder));
  ReferenceRunner runner(reference);
  ModelMeta meta;
  meta.vocabularySize = 512;
  meta.contextLength = 512;
  meta.blockSize = kBlockSize;
  std::unique_ptr<Tokenizer> tokenizer = openTokenizer();
  meta.eosIds = tokenizer->eosIds();
  auto made = Generator::create(runner, meta);
  ASSERT_TRUE(made) << made.getStatus().getMessage();
  Generator &generator = **made;

  std::vector<GoldenStory> stories = readGolden();
  ASSERT_EQ(stories.size(), 3u);
  // Together in one batch, 40 tokens each.
  std::vector<GenerationRequest> requests;
  std::vector<std::string> texts(stories.size());
  std::vector<StreamDecoder> decoders;
  for (const GoldenStory &story : stories) {
    Result<std::vector<int32_t>> ids = tokenizer->encode(story.prompt);
    ASSERT_TRUE(ids) << ids.getStatus().getMessage();
    EXPECT_EQ(*ids, story.promptIds) << story.prompt;
    GenerationRequest request;
    request.sequence = generator.addSequence();
    request.options.maxTokens = 40;
    ASSERT_TRUE(generator.append(request.sequence, *ids));
    decoders.emplace_back(*tokenizer);
    ASSERT_TRUE(decoders.back().skip(*ids));
    size_t index = requests.size();
    request.onToken = [&, index](const TokenEvent &event) {
      texts[index] += *decoders[index].push(event.id);
      return Verdict::Continue;
    };
    requests.push_back(request);
  }
  auto results = generator.generate(requests);
  ASSERT_TRUE(results) << results.getStatus().getMessage();
  for (size_t i = 0; i < stories.size(); ++i) {
    std::vector<int32_t> expected = stories[i].ids;
    expected.resize(40);
    EXPECT_EQ((*results)[i].ids, expected) << stories[i].prompt;
    std::vector<int32_t> all = stories[i].promptIds;
    all.insert(all.end(), expected.begin(), expected.end());
    EXPECT_EQ(stories[i].prompt + texts[i], *tokenizer->decode(all));
  }
  EXPECT_THAT(texts[1], testing::StartsWith(", there was a"));
}

TEST(ReferenceGenerationTest, ScoreEqualsTheReferencesLoss) {
  Transformer reference(Checkpoint::open(kFolder));
  ReferenceRunner runner(reference);
  ModelMeta meta;
  meta.vocabularySize = 512;
  meta.contextLength = 512;
  meta.blockSize = kBlockSize;
  auto made = Generator::create(runner, meta);
  ASSERT_TRUE(made);
  std::vector<int32_t> ids = readGolden()[0].ids;
  ids.resize(61);
  auto score = (*made)->scoreWindows(ids, 20);
  ASSERT_TRUE(score) << score.getStatus().getMessage();
  double expected = 0;
  for (int i = 0; i < 60; i += 20)
    expected += 20 * reference.loss(std::span(ids).subspan(i, 21));
  EXPECT_EQ(score->logProbabilities.size(), 60u);
  EXPECT_NEAR(score->negativeLogLikelihood, expected, 1e-4);
}

} // namespace
