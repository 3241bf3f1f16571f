//===- ModelMetaTest.cpp --------------------------------------------------===//

#include "runtime/Llm/ModelMeta.h"

#include <gmock/gmock.h>

using namespace weft::rt;
using testing::HasSubstr;

namespace {

TEST(ModelMetaTest, ReadsEveryKey) {
  Result<ModelMeta> meta = ModelMeta::parse(R"({
    "format": 1, "kind": "decoder", "family": "llama", "name": "stories",
    "vocab_size": 512, "hidden_size": 64, "layers": 5, "context_length": 256,
    "block_size": 32, "bos_token_id": 1, "eos_token_ids": [2, 7],
    "pad_token_id": null, "add_bos": true, "rope_switch_length": 128,
    "generation": {"temperature": 0.6, "top_k": 50, "top_p": 0.9,
                   "do_sample": true},
    "weights_dtype": "bf16", "parameters": 260032, "new_key": {}})");
  ASSERT_TRUE(meta) << meta.getStatus().getMessage();
  EXPECT_EQ(meta->kind, ModelMeta::Kind::Decoder);
  EXPECT_EQ(meta->family, "llama");
  EXPECT_EQ(meta->name, "stories");
  EXPECT_EQ(meta->vocabularySize, 512);
  EXPECT_EQ(meta->hiddenSize, 64);
  EXPECT_EQ(meta->layers, 5);
  EXPECT_EQ(meta->contextLength, 256);
  EXPECT_EQ(meta->blockSize, 32);
  EXPECT_EQ(meta->bosId, 1);
  EXPECT_TRUE(meta->isEos(2) && meta->isEos(7) && !meta->isEos(1));
  EXPECT_FALSE(meta->padId);
  EXPECT_EQ(meta->addBos, true);
  EXPECT_EQ(meta->ropeSwitchLength, 128);
  EXPECT_EQ(meta->generation.temperature, 0.6);
  EXPECT_EQ(meta->generation.topK, 50);
  EXPECT_EQ(meta->generation.topP, 0.9);
  EXPECT_EQ(meta->weightsDtype, "bf16");
  EXPECT_EQ(meta->parameters, 260032);
}

TEST(ModelMetaTest, OptionalKeysHaveDefaults) {
  Result<ModelMeta> meta = ModelMeta::parse(
      R"({"format": 1, "vocab_size": 10, "context_length": 20})");
  ASSERT_TRUE(meta) << meta.getStatus().getMessage();
  EXPECT_EQ(meta->blockSize, 64);
  EXPECT_TRUE(meta->eosIds.empty());
  EXPECT_FALSE(meta->bosId || meta->addBos || meta->ropeSwitchLength);
  EXPECT_EQ(meta->generation.temperature, 0);
}

TEST(ModelMetaTest, ErrorsNameTheKey) {
  auto errorOf = [](std::string members) {
    Result<ModelMeta> meta = ModelMeta::parse(
        R"({"format": 1, "vocab_size": 10, "context_length": 20, )" + members +
        "}");
    EXPECT_FALSE(meta) << members;
    EXPECT_EQ(meta.getStatus().getCode(), StatusCode::Corrupt);
    return meta.getStatus().getMessage();
  };
  EXPECT_THAT(errorOf(R"("kind": "vision")"), HasSubstr("kind is \"vision\""));
  EXPECT_THAT(errorOf(R"("kind": 3)"), HasSubstr("kind"));
  EXPECT_THAT(errorOf(R"("block_size": 0)"), HasSubstr("block_size is 0"));
  EXPECT_THAT(errorOf(R"("block_size": 1.5)"), HasSubstr("block_size"));
  EXPECT_THAT(errorOf(R"("layers": 18446744073709551615)"),
              HasSubstr("layers"));
  EXPECT_THAT(errorOf(R"("eos_token_ids": 2)"), HasSubstr("eos_token_ids"));
  EXPECT_THAT(errorOf(R"("eos_token_ids": [2, -1])"),
              HasSubstr("eos_token_ids[1] is -1"));
  EXPECT_THAT(errorOf(R"("add_bos": true)"), HasSubstr("bos_token_id"));
  EXPECT_THAT(errorOf(R"("generation": [])"), HasSubstr("generation"));
  EXPECT_THAT(errorOf(R"("generation": {"top_p": 3, "do_sample": true})"),
              HasSubstr("top-p is 3"));
  EXPECT_THAT(errorOf(R"("generation": {"temperature": "hot"})"),
              HasSubstr("generation.temperature"));
}

TEST(ModelMetaTest, RefusesWhatIsNotAModel) {
  EXPECT_EQ(ModelMeta::parse("").getStatus().getCode(),
            StatusCode::Unsupported);
  EXPECT_THAT(ModelMeta::parse("").getStatus().getMessage(),
              HasSubstr("not that of a language model"));
  for (const char *text : {"{", "[]", "3", "{}", "\xff\xfe", "nul"}) {
    Result<ModelMeta> meta = ModelMeta::parse(text);
    ASSERT_FALSE(meta) << text;
    EXPECT_EQ(meta.getStatus().getCode(), StatusCode::Corrupt) << text;
  }
  std::string deep =
      R"({"format": 1, "vocab_size": 1, "context_length": 1, "x":)" +
      std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_THAT(ModelMeta::parse(deep).getStatus().getMessage(),
              HasSubstr("META) are JSON nested deeper than 32"));
  EXPECT_THAT(ModelMeta::parse(R"({"format": 1, "vocab_size": 10,
                                   "context_length": 20, "vocab_size": 11})")
                  .getStatus()
                  .getMessage(),
              HasSubstr("key 'vocab_size' stands twice"));
  using namespace std::string_view_literals;
  EXPECT_FALSE(ModelMeta::parse(
      "{\"format\": 1, \"vocab_size\": 1, \"context_length\": 1}\0x"sv));
  EXPECT_EQ(ModelMeta::parse(
                R"({"format": 2, "vocab_size": 10, "context_length": 20})")
                .getStatus()
                .getCode(),
            StatusCode::Unsupported);
}

} // namespace
