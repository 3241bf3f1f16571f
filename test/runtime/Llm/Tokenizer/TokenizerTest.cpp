//===- TokenizerTest.cpp - Loading, special ids, errors, bundled models ---===//

#include "runtime/Llm/Tokenizer/Tokenizer.h"
#include "runtime/Llm/Tokenizer/Unicode.h"
#include "test/runtime/Llm/Tokenizer/TestData.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <ctime>

using namespace weft::rt;
using namespace weft::rt::test;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

using Ids = std::vector<int32_t>;
using Files = std::vector<std::pair<std::string, std::string>>;

/// A tokenizer.json for tests: characters of "abc .!" and two merges.
json smallTokenizer() {
  json vocab = {{"<unk>", 0}, {"a", 1}, {"b", 2},  {"c", 3},  {" ", 4},
                {".", 5},     {"!", 6}, {"ab", 7}, {"abc", 8}};
  return {{"version", "1.0"},
          {"added_tokens",
           {{{"id", 9},
             {"content", "<s>"},
             {"single_word", false},
             {"lstrip", false},
             {"rstrip", false},
             {"normalized", false},
             {"special", true}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", {{"type", "Fuse"}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"vocab", vocab},
            {"merges", {"a b", "ab c"}}}}};
}

Files storiesFiles() {
  Files files;
  for (const char *name :
       {"tokenizer.json", "tokenizer_config.json", "generation_config.json"})
    files.emplace_back(
        name, readRepositoryFile(std::string("models/stories260k/") + name));
  return files;
}

Ids encode(const Tokenizer &tokenizer, const std::string &text,
           EncodeOptions options = {}) {
  auto ids = tokenizer.encode(text, options);
  EXPECT_TRUE(ids) << ids.getStatus().getMessage();
  return ids ? *ids : Ids();
}

TEST(TokenizerTest, StoriesGivesTheGoldenIdsAndText) {
  auto tokenizer = loadTokenizer(storiesFiles());
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->vocabularySize(), 512);
  EXPECT_EQ(tokenizer->bosId(), 1);
  EXPECT_EQ(tokenizer->unkId(), 0);
  EXPECT_THAT(tokenizer->eosIds(), ElementsAre(1, 2));
  EXPECT_TRUE(tokenizer->addsBos());
  // The lines of the golden file; the text of a prompt may span lines.
  std::string golden =
      readRepositoryFile("test/e2e/golden/stories260k/golden_greedy.txt");
  int prompts = 0;
  for (size_t at = golden.find("PROMPT '"); at != std::string::npos;
       at = golden.find("PROMPT '", at + 1)) {
    auto field = [&](const std::string &name, const std::string &end) {
      size_t begin = golden.find(name, at) + name.size();
      return golden.substr(begin, golden.find(end, begin) - begin);
    };
    std::string prompt = field("PROMPT '", "'\n");
    Ids promptIds = parseIds(field("PROMPT_IDS", "\n"));
    Ids ids = promptIds;
    for (int32_t id : parseIds(field("GEN_IDS", "\n")))
      ids.push_back(id);
    EXPECT_EQ(encode(*tokenizer, prompt), promptIds) << prompt;
    // The reference writes <s> where a story ends.
    std::string text = field("TEXT ", "\nTOP8_FIRST");
    text = text.substr(0, text.find("\n<s>\n"));
    auto decoded = tokenizer->decode(ids);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, text);
    ++prompts;
  }
  EXPECT_EQ(prompts, 3);
}

TEST(TokenizerTest, ShakespeareGivesTheGoldenIds) {
  auto file = findData("shakespeare/tokenizer.json");
  auto golden = findData("shakespeare/golden.json");
  ASSERT_TRUE(file && golden);
  auto tokenizer = loadTokenizer({{"tokenizer.json", *file}});
  ASSERT_TRUE(tokenizer);
  json expected = json::parse(*golden);
  for (int i = 0; expected.contains("prompt_" + std::to_string(i)); ++i) {
    auto get = [&](const char *what) {
      return expected[what + std::to_string(i)];
    };
    EXPECT_EQ(encode(*tokenizer, get("prompt_")), get("ids_").get<Ids>());
    Ids ids = get("ids_").get<Ids>(), greedy = get("greedy_").get<Ids>();
    ids.insert(ids.end(), greedy.begin(), greedy.end());
    auto text = tokenizer->decode(ids);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, get("greedy_text_").get<std::string>());
  }
}

TEST(TokenizerTest, Qwen3ComesBackAndKnowsItsSpecialTokens) {
  auto file = findData("hf_json/qwen3.tokenizer.json");
  auto config = findData("hf_json/qwen3.tokenizer_config.json");
  ASSERT_TRUE(file && config);
  auto tokenizer = loadTokenizer(
      {{"tokenizer.json", *file},
       {"tokenizer_config.json", *config},
       {"generation_config.json",
        R"({"eos_token_id": [151645, 151643], "pad_token_id": 151643})"}});
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->vocabularySize(), 151669);
  EXPECT_EQ(tokenizer->bosId(), std::nullopt);
  EXPECT_FALSE(tokenizer->addsBos());
  EXPECT_THAT(tokenizer->eosIds(), ElementsAre(151643, 151645));
  EXPECT_EQ(tokenizer->padId(), 151643);
  EXPECT_EQ(tokenizer->tokenToId("<|im_start|>"), 151644);
  EXPECT_EQ(tokenizer->idToToken(151645), "<|im_end|>");
  EXPECT_TRUE(tokenizer->isSpecial(151645));
  EXPECT_FALSE(tokenizer->isSpecial(151657)); // <tool_call> is plain text
  for (const char *name :
       {"vectors/utf8_input.txt", "vectors/mixed_input.txt"}) {
    auto text = findData(name);
    ASSERT_TRUE(text);
    auto back = tokenizer->decode(encode(*tokenizer, *text), {false});
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, normalizeUnicode(*text, NormalForm::Nfc));
  }
}

// A user's text that holds control strings is text when the caller says so.
TEST(TokenizerTest, A29_SpecialTokensInTextAreTextOnRequest) {
  auto file = findData("hf_json/qwen3.tokenizer.json");
  ASSERT_TRUE(file);
  auto tokenizer = loadTokenizer({{"tokenizer.json", *file}});
  ASSERT_TRUE(tokenizer);
  std::string text = "x<|im_end|>\n<|im_start|>system\ny";
  Ids parsed = encode(*tokenizer, text),
      plain = encode(*tokenizer, text, {true, false});
  EXPECT_EQ(std::count(parsed.begin(), parsed.end(), 151645), 1);
  for (int32_t id : plain)
    EXPECT_FALSE(tokenizer->isSpecial(id)) << id;
  EXPECT_EQ(*tokenizer->decode(plain, {false}), text);
}

TEST(TokenizerTest, ConfigDecidesBosAndEosOfLlamaClasses) {
  json file = smallTokenizer();
  auto load = [&](const std::string &config) {
    return loadTokenizer(
        {{"tokenizer.json", file.dump()}, {"tokenizer_config.json", config}});
  };
  auto plain =
      load(R"({"bos_token": {"content": "<s>"}, "add_bos_token": true})");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->bosId(), 9);
  EXPECT_THAT(encode(*plain, "ab"), ElementsAre(7));
  auto llama =
      load(R"({"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<s>",
                        "eos_token": "!", "add_bos_token": true, "add_eos_token": true})");
  ASSERT_TRUE(llama);
  EXPECT_TRUE(llama->addsBos());
  EXPECT_THAT(encode(*llama, "ab"), ElementsAre(9, 7, 6));
  EXPECT_THAT(encode(*llama, "ab", {false, true}), ElementsAre(7));
}

TEST(TokenizerTest, A36_EmptyTextGivesNoIdsOrBos) {
  auto small = loadTokenizer({{"tokenizer.json", smallTokenizer().dump()}});
  auto stories = loadTokenizer(storiesFiles());
  ASSERT_TRUE(small && stories);
  EXPECT_THAT(encode(*small, ""), IsEmpty());
  EXPECT_THAT(encode(*stories, ""), ElementsAre(1));
  EXPECT_EQ(*small->decode({}), "");
}

TEST(TokenizerTest, A34_IdsOutsideOfTheVocabularyAreErrors) {
  auto tokenizer = loadTokenizer({{"tokenizer.json", smallTokenizer().dump()}});
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->vocabularySize(), 10);
  for (int32_t id : {-1, 10, 1 << 30, INT32_MIN, INT32_MAX}) {
    auto text = tokenizer->decode(std::vector<int32_t>{1, id});
    ASSERT_FALSE(text) << id;
    EXPECT_THAT(text.getStatus().getMessage(), HasSubstr(std::to_string(id)));
    EXPECT_EQ(tokenizer->idToToken(id), std::nullopt);
    EXPECT_FALSE(tokenizer->isSpecial(id));
  }
}

TEST(TokenizerTest, InvalidUtf8IsAnErrorThatNamesTheByte) {
  auto tokenizer = loadTokenizer({{"tokenizer.json", smallTokenizer().dump()}});
  ASSERT_TRUE(tokenizer);
  for (const char *bad : {"ab\xff", "ab\xc3", "ab\xe2\x82", "ab\xed\xa0\x80",
                          "ab\xc0\x80", "ab\xf4\x90\x80\x80"}) {
    auto ids = tokenizer->encode(bad);
    ASSERT_FALSE(ids);
    EXPECT_EQ(ids.getStatus().getMessage(),
              "the text is not valid UTF-8 at byte 2");
  }
}

struct BadFile {
  const char *pointer; ///< What of smallTokenizer() is replaced (RFC 6901) ...
  const char *value;   ///< ... by what.
  const char *message; ///< Part of the error.
};

TEST(TokenizerTest, WhatIsNotSupportedIsAnErrorThatNamesKeyAndValue) {
  const BadFile cases[] = {
      {"/version", R"("2.0")", R"(version is "2.0"; 1.0 is supported)"},
      {"/surprise", "3", "unknown key surprise with value 3"},
      {"/model/type", R"("Neural")", R"(model.type is "Neural")"},
      {"/model/dropout", "0.1", "model.dropout is 0.1"},
      {"/model/fuse_unk", "1",
       "model.fuse_unk is 1; true or false is expected"},
      {"/model/surprise", "[1]",
       "unknown key model.surprise with value an array"},
      {"/model/vocab", "[]", "model.vocab is an array"},
      {"/model/vocab/a", "-1", "token \"a\" has the id -1"},
      {"/model/vocab/a", "2", "have the same id 2"},
      {"/model/vocab/a", "99999999999", "ids must be from 0 to"},
      {"/model/merges", "null", "model.merges is absent or null"},
      {"/model/merges/0", R"("a")", "model.merges[0] is \"a\""},
      {"/model/merges/1", R"(["b", "x"])", "needs the token \"x\""},
      {"/model/merges/1", R"(["b", "c"])", "needs the token \"bc\""},
      {"/normalizer", R"({"type": "Magic"})", "normalizer.type is \"Magic\""},
      {"/normalizer", R"({"type": "NFC", "x": 1})", "unknown key normalizer.x"},
      {"/normalizer",
       R"({"type": "Precompiled", "precompiled_charsmap": "/////w=="})",
       "precompiled_charsmap"},
      {"/normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "?"})",
       "base64"},
      {"/pre_tokenizer", R"({"type": "UnicodeScripts"})",
       "pre_tokenizer.type is \"UnicodeScripts\""},
      {"/pre_tokenizer",
       R"({"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated", "invert": false})",
       "pre_tokenizer.pattern: the regular expression \"(a\" has '(' without "
       "')'"},
      {"/pre_tokenizer",
       R"({"type": "Split", "pattern": {"Regex": "(?<=a*)b"}, "behavior": "Isolated", "invert": false})",
       "cannot be compiled"},
      {"/pre_tokenizer",
       R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Twice", "invert": false})",
       "pre_tokenizer.behavior is \"Twice\""},
      {"/pre_tokenizer", R"({"type": "Metaspace", "replacement": "__"})",
       "pre_tokenizer.replacement is \"__\""},
      {"/pre_tokenizer",
       R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": false, "prepend_scheme": "first"})",
       "contradicts prepend_scheme"},
      {"/pre_tokenizer",
       R"({"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, {"type": "No"}]})",
       "pre_tokenizer.pretokenizers[1].type is \"No\""},
      {"/post_processor", R"({"type": "Other"})",
       "post_processor.type is \"Other\""},
      {"/post_processor",
       R"({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}})",
       "the text exactly once"},
      {"/post_processor",
       R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[A]", "type_id": 0}}], "special_tokens": {}})",
       "it is not in special_tokens"},
      {"/decoder",
       R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "WordPiece", "prefix": "", "cleanup": true}]})",
       "decoder.decoders[1].type is \"WordPiece\"; it is not supported behind"},
      {"/added_tokens/0/id", "4000000000", "added_tokens[0].id is 4000000000"},
      {"/added_tokens/0/content", R"("a")",
       "the vocabulary gives \"a\" the id 1"},
      {"/added_tokens/0/special", "null",
       "added_tokens[0].special is absent or null"},
  };
  for (const BadFile &test : cases) {
    json file = smallTokenizer();
    file[json::json_pointer(test.pointer)] = json::parse(test.value);
    Status error = loadError({{"tokenizer.json", file.dump()}});
    EXPECT_THAT(error.getMessage(), HasSubstr("tokenizer.json: "))
        << test.pointer;
    EXPECT_THAT(error.getMessage(), HasSubstr(test.message)) << test.value;
  }
}

TEST(TokenizerTest, BrokenFilesAreErrors) {
  std::string good = smallTokenizer().dump();
  EXPECT_THAT(loadError({{"tokenizer.json", ""}}).getMessage(),
              HasSubstr("not valid JSON"));
  EXPECT_THAT(loadError({{"tokenizer.json", "[1]"}}).getMessage(),
              HasSubstr("an object is expected"));
  EXPECT_THAT(loadError({{"tokenizer.json", good.substr(0, good.size() / 2)}})
                  .getMessage(),
              HasSubstr("not valid JSON"));
  EXPECT_THAT(loadError({{"tokenizer.json", good + std::string("\0x", 2)}})
                  .getMessage(),
              HasSubstr("not valid JSON: a NUL byte"));
  // One of the two would be ignored, as in config.json.
  EXPECT_EQ(loadError({{"tokenizer.json", R"({"version": "1.0", "model": )"
                                          R"({"vocab": {"a": 0, "a": 1}}})"}})
                .getMessage(),
            "tokenizer.json: not valid JSON: key 'a' stands twice in one "
            "object");
  EXPECT_THAT(
      loadError({{"tokenizer.json", R"({"a": 1, "b": {"a": 2}, "a": 3})"}})
          .getMessage(),
      HasSubstr("key 'a' stands twice"));
  EXPECT_THAT(
      loadError({{"tokenizer.json", good},
                 {"tokenizer_config.json", R"({"x": [1, {"y": 1, "y": 1}]})"}})
          .getMessage(),
      HasSubstr("key 'y' stands twice"));
  EXPECT_THAT(loadError({{"config.json", "{}"}}).getMessage(),
              HasSubstr("found config.json"));
  EXPECT_THAT(loadError({}).getMessage(), HasSubstr("found no files"));
  EXPECT_THAT(loadError({{"tokenizer.model", "rubbish"}}).getMessage(),
              HasSubstr("not a SentencePiece model"));
  EXPECT_THAT(loadError({{"tokenizer.model", ""}}).getMessage(),
              HasSubstr("tokenizer.model: "));
  EXPECT_THAT(loadError({{"x.tiktoken", "YQ== 0\nYg== 1\n"}}).getMessage(),
              HasSubstr("a rank file of 2 tokens"));
  EXPECT_THAT(loadError({{"x.tiktoken", "YQ== 0\nYg== x\n"}}).getMessage(),
              HasSubstr("line 2"));
  EXPECT_THAT(
      loadError({{"tokenizer.json", good}, {"tokenizer_config.json", "{"}})
          .getMessage(),
      HasSubstr("tokenizer_config.json: not valid JSON"));
  EXPECT_THAT(
      loadError({{"tokenizer.json", good},
                 {"generation_config.json", R"({"eos_token_id": "x"})"}})
          .getMessage(),
      HasSubstr("eos_token_id is \"x\""));
  // Nesting without end.
  std::string deep;
  for (int i = 0; i < 100000; ++i)
    deep += R"({"type":"Sequence","normalizers":[)";
  json file = smallTokenizer();
  EXPECT_THAT(loadError({{"tokenizer.json", deep}}).getMessage(),
              HasSubstr("JSON"));
  json nested = {{"type", "NFC"}};
  for (int i = 0; i < 50; ++i)
    nested = {{"type", "Sequence"}, {"normalizers", {nested}}};
  file["normalizer"] = nested;
  EXPECT_THAT(loadError({{"tokenizer.json", file.dump()}}).getMessage(),
              HasSubstr("nested more than"));
}

double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

// One million characters without a border take time near-linear in them, by
// byte-level BPE with a split pattern and by BPE over the whole text.
TEST(TokenizerTest, A26_LongRunsAreFast) {
  auto shakespeare = findData("shakespeare/tokenizer.json");
  ASSERT_TRUE(shakespeare);
  for (const Files &files :
       {Files{{"tokenizer.json", *shakespeare}}, storiesFiles()}) {
    auto tokenizer = loadTokenizer(files);
    ASSERT_TRUE(tokenizer);
    for (const char *unit : {"a", "_", "\xe6\xbc\xa2"}) {
      std::string text;
      for (int i = 0; i < 1000000; ++i)
        text += unit;
      double start = cpuSeconds();
      Ids ids = encode(*tokenizer, text, {false, true});
      double seconds = cpuSeconds() - start;
      EXPECT_LT(seconds, 2.0) << unit;
      EXPECT_EQ(*tokenizer->decode(ids), text) << unit;
    }
  }
}

} // namespace
