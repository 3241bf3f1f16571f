//===- WeightsTest.cpp - Checkpoints that fit their config, or do not -----===//

#include "compiler/Import/HuggingFace/Import.h"
#include "compiler/Import/Json.h"
#include "compiler/Import/Synthesize.h"
#include "test/compiler/Import/Checkpoint.h"

#include "llvm/Support/FormatVariadic.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string configPath(const std::string &name) {
  return std::string(WEFT_SOURCE_DIR) + "/test/compiler/Import/configs/" +
         name + ".json";
}

/// A checkpoint in memory, filled from a config, that a test can damage.
struct Checkpoint {
  struct Tensor {
    std::string type, shape, data;
  };
  std::string config;
  std::map<std::string, Tensor> tensors;

  explicit Checkpoint(const std::string &name)
      : config(readFile(configPath(name))) {
    ImportReport report;
    auto model = synthesizeModel(configPath(name), 5, {}, report);
    EXPECT_TRUE(model) << print(report);
    for (const TensorInfo &info : model->source->getTensors()) {
      std::string data(info.byteSize, '\0');
      EXPECT_FALSE(bool(model->source->read(
          info, 0, {reinterpret_cast<uint8_t *>(data.data()), data.size()})));
      tensors[info.name] = {"F32", printShape(info.shape), data};
    }
  }

  void setConfig(const std::string &key, llvm::json::Value value) {
    auto object = *parseJson(config);
    (*object.getAsObject())[key] = std::move(value);
    config = llvm::formatv("{0}", object).str();
  }

  void write(const TemporaryFolder &folder) const {
    std::string header = "{", data;
    for (const auto &[name, tensor] : tensors) {
      header += (header.size() > 1 ? ",\"" : "\"") + name + "\":{\"dtype\":\"" +
                tensor.type + "\",\"shape\":" + tensor.shape +
                ",\"data_offsets\":[" + std::to_string(data.size()) + ",";
      data += tensor.data;
      header += std::to_string(data.size()) + "]}";
    }
    folder.write("config.json", config);
    folder.write("model.safetensors", makeSafetensors(header + "}", data));
  }

  std::optional<ImportedModel> import(ImportReport &report) const {
    TemporaryFolder folder;
    write(folder);
    return importCheckpoint(folder.getPath(), {}, report);
  }

  std::string refuse() const {
    ImportReport report;
    EXPECT_FALSE(import(report));
    EXPECT_TRUE(report.hasErrors());
    return print(report);
  }
};

} // namespace

TEST(Weights, NamesOfAllFamiliesFitTheirConfigs) {
  for (const char *name :
       {"bert", "gemma2", "gemma3", "gpt2", "gpt_neox", "llama", "llama-tied",
        "llama-untied-bias", "mistral-window8", "mixtral", "phi3", "qwen2",
        "qwen3", "qwen3_moe"}) {
    SCOPED_TRACE(name);
    ImportReport report;
    auto model = Checkpoint(name).import(report);
    ASSERT_TRUE(model) << print(report);
    EXPECT_TRUE(report.getProblems().empty()) << print(report);
    EXPECT_EQ(model->weights.layers.size(),
              static_cast<size_t>(model->config.layerCount));
  }
}

TEST(Weights, ParameterCountsOfPublishedModels) {
  // As published: 134.5 million, 1.236 billion, 8.030 billion.
  std::map<std::string, int64_t> counts = {{"smollm2-135m", 134515008},
                                           {"llama-3.2-1b", 1235814400},
                                           {"llama-3.1-8b", 8030261248}};
  EXPECT_EQ(getBuiltinConfigs().size(), counts.size());
  for (const auto &[name, count] : counts) {
    ImportReport report;
    auto model = synthesizeModel(name, 1, {}, report);
    ASSERT_TRUE(model) << print(report);
    EXPECT_EQ(model->weights.getParameterCount(), count) << name;
    EXPECT_EQ(model->config.dtype, ElementType::BF16);
    EXPECT_EQ(model->name, name);
  }
  ImportReport report;
  EXPECT_FALSE(synthesizeModel("llama-9000", 1, {}, report));
  EXPECT_THAT(print(report),
              HasSubstr("one of smollm2-135m, llama-3.2-1b, llama-3.1-8b"));
}

TEST(Weights, SynthesizedNormsOnlyNormalise) {
  ImportReport report;
  auto model = synthesizeModel(configPath("gemma2"), 1, {}, report);
  ASSERT_TRUE(model);
  float value = -1;
  llvm::MutableArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(&value), 4);
  ASSERT_FALSE(bool(model->source->read(
      *model->source->find("model.norm.weight"), 0, bytes)));
  EXPECT_EQ(value, 0); // Gemma adds 1.
  model = synthesizeModel(configPath("llama"), 1, {}, report);
  ASSERT_FALSE(bool(model->source->read(
      *model->source->find("model.norm.weight"), 0, bytes)));
  EXPECT_EQ(value, 1);
}

TEST(Weights, EveryMisfitIsReported) {
  Checkpoint checkpoint("llama");
  checkpoint.tensors.erase("model.layers.1.mlp.up_proj.weight");
  checkpoint.tensors["model.norm.weight"] = {"F32", "[32]",
                                             std::string(128, 'x')};
  checkpoint.tensors["model.layers.0.input_layernorm.weight"].type = "I32";
  checkpoint.tensors["model.layers.0.self_attn.q_proj.bias"] = {
      "F32", "[64]", std::string(256, 'x')};
  std::string text = checkpoint.refuse();
  EXPECT_THAT(text,
              HasSubstr("tensor 'model.layers.1.mlp.up_proj.weight': found no "
                        "such tensor, expected one of shape [160, 64]"));
  EXPECT_THAT(text, HasSubstr("tensor 'model.norm.weight': found shape [32], "
                              "expected shape [64]"));
  EXPECT_THAT(text, HasSubstr("found elements of type i32, expected f32, f16 "
                              "or bf16"));
  EXPECT_THAT(text, HasSubstr("tensor 'model.layers.0.self_attn.q_proj.bias': "
                              "found a tensor of shape [64] that the model "
                              "does not use"));
}

TEST(Weights, ConfigAndWeightsAreReportedTogether) {
  Checkpoint checkpoint("llama");
  checkpoint.setConfig("use_magic", true);
  TemporaryFolder folder;
  checkpoint.write(folder);
  folder.write("model.safetensors", "damaged");
  ImportReport report;
  EXPECT_FALSE(importCheckpoint(folder.getPath(), {}, report));
  EXPECT_THAT(print(report),
              AllOf(HasSubstr("use_magic"), HasSubstr("7 bytes")));
}

TEST(Weights, ConfigThatContradictsTheWeights) {
  Checkpoint checkpoint("llama");
  checkpoint.setConfig("intermediate_size", 161);
  checkpoint.setConfig("num_hidden_layers", 3);
  EXPECT_THAT(
      checkpoint.refuse(),
      AllOf(HasSubstr("found shape [160, 64], expected shape [161, 64]"),
            HasSubstr("'model.layers.2.input_layernorm.weight': found "
                      "no such tensor")));
}

TEST(Weights, A21TiedAndAbsentUsesTheEmbedding) {
  ImportReport report;
  auto model = Checkpoint("llama-tied").import(report);
  ASSERT_TRUE(model);
  EXPECT_TRUE(report.getProblems().empty()) << print(report);
  EXPECT_EQ(model->weights.head.sources.front().name,
            "model.embed_tokens.weight");
}

TEST(Weights, A21TiedAndPresentUsesTheEmbedding) {
  Checkpoint checkpoint("llama-tied");
  checkpoint.tensors["lm_head.weight"] =
      checkpoint.tensors["model.embed_tokens.weight"];
  ImportReport equal, different;
  auto model = checkpoint.import(equal);
  ASSERT_TRUE(model);
  EXPECT_TRUE(equal.getProblems().empty()) << print(equal);
  EXPECT_EQ(model->weights.head.sources.front().name,
            "model.embed_tokens.weight");
  checkpoint.tensors["lm_head.weight"].data.back() ^= 1;
  EXPECT_TRUE(checkpoint.import(different));
  EXPECT_THAT(print(different),
              HasSubstr("warning: tensor 'lm_head.weight': found values that "
                        "differ from 'model.embed_tokens.weight'"));
}

TEST(Weights, A21UntiedAndPresentUsesTheHead) {
  ImportReport report;
  auto model = Checkpoint("llama").import(report);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->weights.head.sources.front().name, "lm_head.weight");
}

TEST(Weights, A21UntiedAndAbsentIsAnError) {
  Checkpoint checkpoint("llama");
  checkpoint.tensors.erase("lm_head.weight");
  EXPECT_THAT(checkpoint.refuse(),
              AllOf(HasSubstr("tensor 'lm_head.weight': found no such tensor"),
                    HasSubstr("tie_word_embeddings")));
}

TEST(Weights, KnownLeftoversAreIgnored) {
  Checkpoint gpt2("gpt2");
  gpt2.tensors["transformer.h.0.attn.bias"] = {"BOOL", "[1]", "x"};
  gpt2.tensors["transformer.h.1.attn.masked_bias"] = {"F32", "[]", "abcd"};
  gpt2.tensors["lm_head.weight"] = gpt2.tensors["transformer.wte.weight"];
  Checkpoint llama("llama");
  llama.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {"F32", "[1]",
                                                                   "abcd"};
  Checkpoint bert("bert");
  bert.tensors["embeddings.position_ids"] = {"I64", "[1]", "abcdefgh"};
  bert.tensors["pooler.dense.bias"] = {"F32", "[1]", "abcd"};
  for (const Checkpoint &checkpoint : {gpt2, llama, bert}) {
    ImportReport report;
    EXPECT_TRUE(checkpoint.import(report));
    EXPECT_TRUE(report.getProblems().empty()) << print(report);
  }
}

/// The same tensors under other names.
static Checkpoint rename(Checkpoint checkpoint, llvm::StringRef from,
                         llvm::StringRef to) {
  Checkpoint renamed = checkpoint;
  renamed.tensors.clear();
  for (const auto &[name, tensor] : checkpoint.tensors) {
    llvm::StringRef rest = name;
    bool match = rest.consume_front(from);
    renamed.tensors[match ? (to + rest).str() : name] = tensor;
  }
  return renamed;
}

TEST(Weights, OtherSpellingsOfNames) {
  Checkpoint gamma("bert");
  gamma.tensors.clear();
  for (const auto &[name, tensor] : Checkpoint("bert").tensors) {
    auto [stem, last] = llvm::StringRef(name).rsplit('.');
    bool isNorm = stem.ends_with("LayerNorm");
    llvm::StringRef older = last == "weight" ? "gamma" : "beta";
    gamma.tensors[isNorm ? (stem + "." + older).str() : name] = tensor;
  }
  for (const Checkpoint &checkpoint :
       {rename(Checkpoint("gpt2"), "transformer.", ""),
        rename(Checkpoint("gpt_neox"), "gpt_neox.", ""),
        rename(Checkpoint("bert"), "", "bert."), gamma,
        rename(Checkpoint("llama-tied"), "model.", ""),
        rename(Checkpoint("gemma3"), "model.", "language_model.model."),
        rename(Checkpoint("gemma3"), "model.", "model.language_model.")}) {
    ImportReport report;
    EXPECT_TRUE(checkpoint.import(report)) << print(report);
    EXPECT_TRUE(report.getProblems().empty()) << print(report);
  }
}

TEST(Weights, TokenizerFilesComeAlong) {
  TemporaryFolder folder;
  Checkpoint("llama").write(folder);
  folder.write("tokenizer.json", "{}");
  folder.write("vocab.txt", "a\n");
  ImportReport report;
  auto model = importCheckpoint(folder.getPath() + "/", {}, report);
  ASSERT_TRUE(model) << print(report);
  EXPECT_THAT(model->tokenizerFiles,
              testing::ElementsAre(testing::Pair("tokenizer.json", "{}"),
                                   testing::Pair("vocab.txt", "a\n")));
  EXPECT_THAT(model->name, testing::StartsWith("weft-import-"));
}

TEST(Weights, FoldersWithoutConfig) {
  TemporaryFolder folder;
  ImportReport report;
  EXPECT_FALSE(importCheckpoint(folder.getPath(), {}, report));
  EXPECT_THAT(print(report), AllOf(HasSubstr("config.json: cannot open"),
                                   HasSubstr("found no weights")));
}
