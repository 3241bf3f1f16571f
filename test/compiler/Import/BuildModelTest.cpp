//===- BuildModelTest.cpp - The IR of every family ------------------------===//

#include "dialects/Weft/WeftDialect.h"

#include "compiler/Import/HuggingFace/Import.h"
#include "compiler/Import/Json.h"
#include "models/common/BuildModel.h"
#include "test/compiler/Import/Checkpoint.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::test;
using mlir::func::FuncOp;
using testing::HasSubstr;

namespace {

struct Built {
  ImportedModel model;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  FuncOp getEntry() { return *module->getOps<FuncOp>().begin(); }
  template <typename Op> std::vector<Op> getOps() {
    std::vector<Op> ops;
    module->walk([&](Op op) { ops.push_back(op); });
    return ops;
  }
  std::string print() {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    return text;
  }
};

std::unique_ptr<Built> build(const std::string &name,
                             BuildOptions options = {}) {
  auto built = std::make_unique<Built>();
  ImportReport report;
  auto model =
      synthesizeModel(std::string(WEFT_SOURCE_DIR) +
                          "/test/compiler/Import/configs/" + name + ".json",
                      1, {}, report);
  EXPECT_TRUE(model) << print(report);
  built->model = std::move(*model);
  options.name = name;
  built->module =
      buildModel(built->context, built->model.config, built->model.weights,
                 *built->model.source, options);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*built->module))) << name;
  return built;
}

} // namespace

TEST(BuildModel, AllFamiliesVerify) {
  for (const char *name :
       {"bert", "gemma2", "gemma3", "gpt2", "gpt_neox", "llama",
        "llama-rope-linear", "llama-rope-llama3", "llama-rope-yarn",
        "llama-tied", "llama-untied-bias", "mistral-window8", "mixtral", "phi3",
        "qwen2", "qwen3", "qwen3_moe"}) {
    SCOPED_TRACE(name);
    auto built = build(name);
    size_t layers = built->model.config.layerCount;
    EXPECT_EQ(built->getOps<AttentionOp>().size(), layers);
    // Parsing checks attributes too.
    EXPECT_TRUE(mlir::parseSourceString<mlir::ModuleOp>(built->print(),
                                                        &built->context));
    // Every size can be traced to a symbol of the entry.
    built->module->walk([](mlir::Operation *op) {
      for (mlir::Value result : op->getResults())
        if (auto type =
                mlir::dyn_cast<mlir::RankedTensorType>(result.getType()))
          for (int64_t dim = 0; dim < type.getRank(); ++dim)
            EXPECT_EQ(getDimSize(result, dim).str().find("?"),
                      std::string::npos);
    });
  }
}

TEST(BuildModel, LowPrecisionFamiliesVerify) {
  for (const char *name :
       {"bert", "gemma3", "gpt2", "gpt_neox", "phi3", "qwen3_moe"})
    for (ElementType type : {ElementType::BF16, ElementType::F16}) {
      SCOPED_TRACE(name);
      build(name, {.activationType = type, .weightType = type, .name = ""});
      build(name, {.cacheType = type, .name = ""});
    }
}

TEST(BuildModel, StepHasTheDocumentedInterface) {
  auto built = build("llama");
  FuncOp entry = built->getEntry();
  EXPECT_EQ(entry.getName(), "step");
  std::vector<std::string> names;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto name = entry.getArgAttrOfType<mlir::StringAttr>(i, "weft.name");
    auto state = entry.getArgAttrOfType<mlir::StringAttr>(i, "weft.state");
    ASSERT_NE(bool(name), bool(state));
    names.push_back((name ? name : state).str());
  }
  EXPECT_THAT(names, testing::ElementsAre(
                         "tokens", "positions", "sequence_ids", "slots",
                         "sequence_starts", "context_lengths", "block_table",
                         "logit_rows", "cache.0.key", "cache.0.value",
                         "cache.1.key", "cache.1.value"));
  std::string text = built->print();
  EXPECT_THAT(text, HasSubstr("tensor<?x2x16x64xf32>"));
  EXPECT_THAT(text, HasSubstr("tensor<?x2x64x16xf32>"));
  EXPECT_THAT(text, HasSubstr("weft.symbols = [\"sequences + 1\"]"));
  auto result = entry.getResultAttrOfType<mlir::StringAttr>(0, "weft.name");
  ASSERT_TRUE(result);
  EXPECT_EQ(result.str(), "logits");
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_EQ(entry.getResultAttr(i + 1, "weft.state"),
              entry.getArgAttr(i + 8, "weft.state"));
}

TEST(BuildModel, StepThatChoosesIdsHasTheDocumentedInterface) {
  auto built = build("llama", {.samples = true, .name = ""});
  FuncOp entry = built->getEntry();
  auto nameOf = [&](unsigned i) {
    return entry.getArgAttrOfType<mlir::StringAttr>(i, "weft.name").str();
  };
  EXPECT_THAT((std::vector{nameOf(8), nameOf(9), nameOf(10), nameOf(11)}),
              testing::ElementsAre("sampling_counts", "sampling_options",
                                   "adjustment_places", "adjustment_values"));
  for (auto [result, name] : {std::pair(0, "logits"), {1, "ids"}})
    EXPECT_EQ(
        entry.getResultAttrOfType<mlir::StringAttr>(result, "weft.name").str(),
        name);
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_EQ(entry.getResultAttr(i + 2, "weft.state"),
              entry.getArgAttr(i + 12, "weft.state"));
  EXPECT_EQ(built->getOps<SampleOp>().size(), 1u);
  EXPECT_THAT(built->print(), HasSubstr("weft.symbols = [\"adjustments\"]"));
}

TEST(BuildModel, EncodeHasTheDocumentedInterface) {
  auto built = build("bert");
  FuncOp entry = built->getEntry();
  EXPECT_EQ(entry.getName(), "encode");
  EXPECT_EQ(entry.getNumArguments(), 5u);
  EXPECT_EQ(entry.getNumResults(), 1u);
  for (AttentionOp op : built->getOps<AttentionOp>()) {
    EXPECT_FALSE(op.getCausal());
    EXPECT_FALSE(op.isPaged());
  }
  EXPECT_EQ(built->getOps<LayerNormOp>().size(), 5u);
}

TEST(BuildModel, MetaSaysWhatTheRuntimeNeeds) {
  auto built = build("qwen3");
  auto text = (*built->module)->getAttrOfType<mlir::StringAttr>("weft.meta");
  auto meta = parseJson(text.getValue());
  ASSERT_TRUE(bool(meta));
  const llvm::json::Object &object = *meta->getAsObject();
  EXPECT_EQ(object.getInteger("format"), 1);
  EXPECT_EQ(object.getString("kind"), "decoder");
  EXPECT_EQ(object.getString("family"), "qwen3");
  EXPECT_EQ(object.getInteger("vocab_size"), 320);
  EXPECT_EQ(object.getInteger("context_length"), 256);
  EXPECT_EQ(object.getInteger("block_size"), 64);
  EXPECT_EQ(object.getInteger("bos_token_id"), 1);
  EXPECT_EQ((*object.getArray("eos_token_ids"))[0], 2);
}

TEST(BuildModel, MetaSaysTheTypeOfThePlansWeights) {
  for (ElementType type : {ElementType::F32, ElementType::BF16}) {
    auto built = build("qwen3", {.weightType = type, .name = ""});
    auto text = (*built->module)->getAttrOfType<mlir::StringAttr>("weft.meta");
    auto meta = parseJson(text.getValue());
    ASSERT_TRUE(bool(meta));
    EXPECT_EQ(meta->getAsObject()->getString("weights_dtype"), getName(type));
  }
}

TEST(BuildModel, FusedProjectionsAreCutIntoRows) {
  // Head size 16, 4 heads: q, k and v of each head follow each other.
  EXPECT_THAT(build("gpt_neox")->print(),
              HasSubstr("attention.query_key_value.weight\", start = 16, "
                        "block = 16, stride = 48, count = 4>"));
  // 64 query rows, then 32 key rows.
  EXPECT_THAT(build("phi3")->print(),
              HasSubstr("self_attn.qkv_proj.weight\", start = 64, block = 32, "
                        "stride = 32, count = 1>"));
  EXPECT_THAT(build("gpt2")->print(),
              HasSubstr("attn.c_attn.weight\", start = 128, block = 64, stride "
                        "= 64, count = 1, transposed = true>"));
}

TEST(BuildModel, TiedHeadNamesTheEmbedding) {
  for (auto [name, source] :
       {std::pair{"llama-tied", "model.embed_tokens.weight"},
        {"llama", "lm_head.weight"}}) {
    auto built = build(name);
    auto linears = built->getOps<LinearOp>();
    auto weight = linears.back().getWeight().getDefiningOp<WeightOp>();
    EXPECT_EQ(mlir::cast<SourceAttr>(weight.getSources()[0]).getName(), source);
  }
}

TEST(BuildModel, GemmaScalesCapsAndOffsets) {
  auto built = build("gemma2");
  auto attention = built->getOps<AttentionOp>();
  EXPECT_EQ(attention[0].getWindow(), 8);
  EXPECT_EQ(attention[1].getWindow(), std::nullopt);
  EXPECT_EQ(attention[0].getSoftcap()->convertToFloat(), 50);
  EXPECT_EQ(built->getOps<EmbedOp>()[0].getScale().convertToFloat(), 8);
  EXPECT_EQ(built->getOps<SoftcapOp>()[0].getCap().convertToFloat(), 30);
  for (RmsNormOp op : built->getOps<RmsNormOp>())
    EXPECT_EQ(op.getWeightOffset().convertToFloat(), 1);
  // Four norms in each of two layers, and the last one.
  EXPECT_EQ(built->getOps<RmsNormOp>().size(), 9u);
  EXPECT_EQ(build("gemma3")->getOps<RopeTableOp>().size(), 2u);
}

TEST(BuildModel, ExpertsAreStacked) {
  auto built = build("qwen3_moe");
  auto routes = built->getOps<RouteOp>();
  ASSERT_EQ(routes.size(), 2u);
  EXPECT_TRUE(routes[0].getRenormalize());
  EXPECT_EQ(routes[0].getTopK(), 2);
  auto grouped = built->getOps<GroupedLinearOp>();
  ASSERT_EQ(grouped.size(), 6u);
  auto weight = grouped[0].getWeight().getDefiningOp<WeightOp>();
  EXPECT_EQ(weight.getSources().size(), 8u);
  EXPECT_EQ(weight.getType().getShape(), (llvm::ArrayRef<int64_t>{8, 48, 64}));
}

TEST(BuildModel, A17LongropeChoosesByToken) {
  ImportReport report;
  TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "phi3", "hidden_size": 8,
    "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 8,
    "vocab_size": 16, "pad_token_id": 0, "eos_token_id": 2,
    "max_position_embeddings": 64, "original_max_position_embeddings": 16,
    "rope_scaling": {"type": "longrope", "short_factor": [1, 1],
                     "long_factor": [2, 4]}})");
  auto model = synthesizeModel(folder / "config.json", 1, {}, report);
  ASSERT_TRUE(model) << print(report);
  mlir::MLIRContext context;
  auto module = buildModel(context, model->config, model->weights,
                           *model->source, {.name = ""});
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
  FuncOp entry = *module->getOps<FuncOp>().begin();
  EXPECT_EQ(entry.getArgAttrOfType<mlir::StringAttr>(8, "weft.name").str(),
            "rope_choice");
  module->walk([](RopeTableOp op) {
    EXPECT_TRUE(op.getChoice());
    EXPECT_EQ(op.getScale().size(), 2u);
  });
  auto meta = (*module)->getAttrOfType<mlir::StringAttr>("weft.meta");
  EXPECT_THAT(meta.str(), HasSubstr("\"rope_switch_length\":16"));
}
