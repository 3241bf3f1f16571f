//===- VectorTest.cpp - Published vocabularies and their vectors ----------===//
//
// data/SOURCE.md says where each file is from. The vectors were made by the
// tokenizers library, SentencePiece, tiktoken and transformers.
//
//===----------------------------------------------------------------------===//

#include "runtime/Llm/Tokenizer/StreamDecoder.h"
#include "test/runtime/Llm/Tokenizer/TestData.h"

#include <gtest/gtest.h>

#include <map>

using namespace weft::rt;
using namespace weft::rt::test;

namespace {

struct VectorCase {
  const char *vocabulary; ///< Test file.
  const char *loadAs;     ///< File name in a checkpoint.
  const char *folder;     ///< Of the vectors.
  const char *name;       ///< Of the vectors.
  bool special;           ///< Special tokens in a text are tokens.
};

std::ostream &operator<<(std::ostream &out, const VectorCase &c) {
  return out << c.vocabulary;
}

/// The cases whose vocabularies are here: not all may lie in this repository.
template <typename Case> std::vector<Case> chooseHere(std::vector<Case> cases) {
  std::erase_if(cases, [](const Case &c) { return !hasData(c.vocabulary); });
  return cases;
}

/// Loads a vocabulary once for all tests; null after a failure.
const Tokenizer *load(const char *vocabulary, const char *loadAs) {
  static std::map<std::string, std::unique_ptr<Tokenizer>> loaded;
  auto [entry, isNew] = loaded.try_emplace(vocabulary);
  if (isNew)
    if (auto content = findData(vocabulary))
      entry->second = loadTokenizer({{loadAs, *content}});
  return entry->second.get();
}

/// The lines of the inputs write a line break as \n, a space at the end of the
/// line as \s and nothing as \x.
std::string unescape(const std::string &line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    char next = line[i] == '\\' && i + 1 < line.size() ? line[i + 1] : '\0';
    if (next == 'n')
      text += '\n';
    else if (next == 's')
      text += ' ';
    else if (next != 'x') {
      text += line[i];
      continue;
    }
    ++i;
  }
  return text;
}

std::string show(const Tokenizer &tokenizer, const std::vector<int32_t> &ids) {
  std::string text;
  for (int32_t id : ids)
    text += "[" + std::string(tokenizer.idToToken(id).value_or("?")) + "]";
  return text;
}

void expectIds(const Tokenizer &tokenizer, const std::string &text,
               const std::vector<int32_t> &expected, bool special) {
  auto ids = tokenizer.encode(text, {false, special});
  ASSERT_TRUE(ids) << ids.getStatus().getMessage();
  if (*ids == expected)
    return;
  size_t at = 0;
  while (at < ids->size() && at < expected.size() && (*ids)[at] == expected[at])
    ++at;
  auto window = [&](const std::vector<int32_t> &all) {
    size_t begin = at < 3 ? 0 : at - 3, end = std::min(all.size(), at + 8);
    return begin < end
               ? show(tokenizer, {all.begin() + begin, all.begin() + end})
               : "";
  };
  ADD_FAILURE() << "text: " << text.substr(0, 200) << "\nfirst difference at "
                << at << "\ngot      " << window(*ids) << "\nexpected "
                << window(expected);
}

class VectorTest : public testing::TestWithParam<VectorCase> {
protected:
  void SetUp() override {
    tokenizer = load(GetParam().vocabulary, GetParam().loadAs);
    ASSERT_TRUE(tokenizer) << GetParam().vocabulary;
  }
  std::string path(const char *kind, const char *what) const {
    return std::string("vectors/") + GetParam().folder + "/" + kind + what +
           GetParam().name + ".txt";
  }
  const Tokenizer *tokenizer = nullptr;
};

TEST_P(VectorTest, LinesGiveTheIds) {
  for (const char *kind : {"small", "mixed"}) {
    auto tokens = findData(path(kind, "_tokens_"));
    auto input = findData(std::string("vectors/") + kind + "_input.txt");
    ASSERT_TRUE(tokens && input) << path(kind, "_tokens_");
    std::vector<std::string> texts, lines;
    for (const std::string &line : splitLines(*input))
      if (!line.empty())
        texts.push_back(unescape(line));
    for (const std::string &line : splitLines(*tokens))
      if (!line.empty())
        lines.push_back(line);
    ASSERT_EQ(texts.size(), lines.size()) << kind;
    for (size_t i = 0; i < texts.size(); ++i)
      expectIds(*tokenizer, texts[i], parseIds(lines[i]), GetParam().special);
  }
}

TEST_P(VectorTest, WholeFileGivesTheIdsAndComesBack) {
  auto tokens = findData(path("utf8", "_tokens_"));
  auto input = findData("vectors/utf8_input.txt");
  ASSERT_TRUE(tokens && input);
  std::vector<int32_t> expected = parseIds(*tokens);
  expectIds(*tokenizer, *input, expected, GetParam().special);
  // Where no output is recorded, the text itself comes back.
  std::string output = findData(path("utf8", "_output_")).value_or(*input);
  auto text = tokenizer->decode(expected, {false});
  ASSERT_TRUE(text) << text.getStatus().getMessage();
  EXPECT_EQ(*text, output);
  StreamDecoder stream(*tokenizer, {false});
  std::string streamed;
  for (int32_t id : expected) {
    auto part = stream.push(id);
    ASSERT_TRUE(part);
    streamed += *part;
  }
  EXPECT_EQ(streamed + stream.finish(), output);
}

INSTANTIATE_TEST_SUITE_P(
    Vocabularies, VectorTest,
    testing::ValuesIn(chooseHere<VectorCase>(
        {VectorCase{"hf_json/gpt2.json", "tokenizer.json", "tokenizers", "gpt2",
                    true},
         VectorCase{"hf_json/llama2.json", "tokenizer.json", "tokenizers",
                    "llama2", true},
         VectorCase{"hf_json/mistral03.json", "tokenizer.json", "tokenizers",
                    "mistral03", true},
         VectorCase{"hf_json/bert_base_cased.json", "tokenizer.json",
                    "tokenizers", "bert_base_cased", true},
         VectorCase{"hf_json/modernbert.json", "tokenizer.json", "tokenizers",
                    "modernbert", true},
         VectorCase{"hf_json/llama3_1.tokenizer.json", "tokenizer.json",
                    "tokenizers", "llama33", true},
         VectorCase{"sentencepiece/llama2.model", "tokenizer.model",
                    "sentencepiece", "llama2", false},
         VectorCase{"sentencepiece/mistral03.model", "tokenizer.model",
                    "sentencepiece", "mistral03", false},
         VectorCase{"tiktoken/cl100k_base.tiktoken", "cl100k_base.tiktoken",
                    "tiktoken", "cl100k_base", true},
         VectorCase{"tiktoken/llama3_tokenizer.model", "tokenizer.model",
                    "tokenizers", "llama33", true}})));

struct LlamaCppCase {
  const char *vocabulary, *loadAs, *name;
};

std::ostream &operator<<(std::ostream &out, const LlamaCppCase &c) {
  return out << c.vocabulary << " " << c.name;
}

class LlamaCppVectorTest : public testing::TestWithParam<LlamaCppCase> {};

TEST_P(LlamaCppVectorTest, TextsGiveTheIds) {
  auto tokenizer = load(GetParam().vocabulary, GetParam().loadAs);
  std::string base =
      std::string("llamacpp_vectors/ggml-vocab-") + GetParam().name;
  auto input = findData(base + ".gguf.inp"),
       output = findData(base + ".gguf.out");
  ASSERT_TRUE(tokenizer && input && output) << GetParam().vocabulary;
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  for (size_t at = 0; at < input->size();) {
    size_t end = std::min(input->find(separator, at), input->size());
    texts.push_back(input->substr(at, end - at));
    at = end + separator.size();
  }
  std::vector<std::string> lines = splitLines(*output);
  ASSERT_EQ(texts.size(), lines.size());
  for (size_t i = 0; i < texts.size(); ++i)
    expectIds(*tokenizer, texts[i], parseIds(lines[i]), false);
}

INSTANTIATE_TEST_SUITE_P(
    Vocabularies, LlamaCppVectorTest,
    testing::ValuesIn(chooseHere<LlamaCppCase>(
        {LlamaCppCase{"hf_json/gpt2.json", "tokenizer.json", "gpt-2"},
         LlamaCppCase{"hf_json/qwen3.tokenizer.json", "tokenizer.json",
                      "qwen2"},
         LlamaCppCase{"hf_json/llama3_1.tokenizer.json", "tokenizer.json",
                      "llama-bpe"},
         LlamaCppCase{"tiktoken/llama3_tokenizer.model", "tokenizer.model",
                      "llama-bpe"},
         LlamaCppCase{"hf_json/llama2.json", "tokenizer.json", "llama-spm"},
         LlamaCppCase{"sentencepiece/llama2.model", "tokenizer.model",
                      "llama-spm"},
         LlamaCppCase{"hf_json/llama2.json", "tokenizer.json", "phi-3"}})));

} // namespace
