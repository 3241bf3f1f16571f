//===- DecoderFilesTest.cpp - Files beside the graph of a decoder ---------===//

#include "compiler/Import/Onnx/DecoderFiles.h"
#include "test/compiler/Import/Checkpoint.h"

#include "llvm/Support/JSON.h"

#include <array>
#include <filesystem>
#include <gmock/gmock.h>

using namespace weft;
using namespace weft::test;
using testing::HasSubstr;

namespace {
class DecoderFiles : public testing::Test {
protected:
  /// The facts, or what the report says.
  std::string read() {
    ImportReport report;
    auto opened = Folder::open(folder.getPath());
    EXPECT_TRUE(bool(opened));
    std::string facts = readDecoderFacts(*opened, "tiny", report);
    return report.hasErrors() ? print(report) : facts;
  }

  /// Whether the facts are the object that the text says.
  void expect(llvm::StringRef text) {
    auto found = llvm::json::parse(read()), expected = llvm::json::parse(text);
    ASSERT_TRUE(bool(found) && bool(expected));
    EXPECT_EQ(*found, *expected);
  }

  TemporaryFolder folder;
};
} // namespace

TEST_F(DecoderFiles, NothingIsTold) {
  expect(R"({"name": "tiny", "context_length": 2048})");
}

TEST_F(DecoderFiles, OfHuggingFace) {
  folder.write("config.json", R"({"max_position_embeddings": 512,
      "eos_token_id": 2, "bos_token_id": 1, "pad_token_id": -1})");
  folder.write("generation_config.json", R"({"eos_token_id": [2, 7],
      "do_sample": true, "temperature": 0.5, "top_k": 40})");
  expect(R"({"name": "tiny", "context_length": 512, "eos_token_ids": [2, 7],
      "bos_token_id": 1, "generation": {"do_sample": true, "temperature": 0.5,
      "top_k": 40}})");
}

TEST_F(DecoderFiles, OfOnnxRuntimeComeFirst) {
  folder.write("config.json", R"({"max_position_embeddings": 512})");
  folder.write("genai_config.json", R"({"model": {"context_length": 4096,
      "eos_token_id": [5], "pad_token_id": 0}, "search": {"top_p": 0.9}})");
  expect(R"({"name": "tiny", "context_length": 4096, "eos_token_ids": [5],
      "pad_token_id": 0, "generation": {"do_sample": false, "top_p": 0.9}})");
}

TEST_F(DecoderFiles, NumbersThatAreNoneAreErrors) {
  for (const auto &[name, text, message] :
       std::initializer_list<std::array<const char *, 3>>{
           {"config.json", R"({"max_position_embeddings": "4096"})",
            "max_position_embeddings: found \"4096\""},
           {"config.json", R"({"n_positions": 2147483647})",
            "expected an integer from 1 to 1073741824"},
           {"generation_config.json", R"({"eos_token_id": "7"})",
            "generation_config.json: eos_token_id: found \"7\""},
           {"generation_config.json", R"({"do_sample": "yes"})",
            "do_sample: found \"yes\", expected true or false"},
           {"genai_config.json", R"({"model": {"bos_token_id": 1.5}})",
            "genai_config.json: model: bos_token_id: found 1.5"},
           {"genai_config.json", R"({"model": []})", "model: found []"},
           {"genai_config.json", R"({})", "model: found no value"}}) {
    folder.write(name, text);
    EXPECT_THAT(read(), HasSubstr(message)) << text;
    std::filesystem::remove(folder / name);
  }
}

// A plan with these would not start.
TEST_F(DecoderFiles, SamplingThatMakesNoSenseIsLeftOut) {
  folder.write("genai_config.json", R"({"model": {"eos_token_id": -1},
      "search": {"do_sample": true, "temperature": -3, "top_k": -4,
                 "top_p": 1.5, "num_beams": 4, "min_p": 0.5}})");
  expect(R"({"name": "tiny", "context_length": 2048, "eos_token_ids": [],
      "generation": {"do_sample": true, "min_p": 0.5}})");
  ImportReport report;
  auto opened = Folder::open(folder.getPath());
  ASSERT_TRUE(bool(opened));
  readDecoderFacts(*opened, "tiny", report);
  for (const char *key : {"temperature: found -3", "top_k: found -4",
                          "top_p: found 1.5", "num_beams: found 4"})
    EXPECT_THAT(print(report),
                HasSubstr("genai_config.json: search: " + std::string(key)));
}

TEST_F(DecoderFiles, ThatAreBrokenAreErrors) {
  folder.write("config.json", "{");
  EXPECT_THAT(read(), HasSubstr("config.json"));
  folder.write("config.json", "[1]");
  EXPECT_THAT(read(), HasSubstr("[1]"));
}
