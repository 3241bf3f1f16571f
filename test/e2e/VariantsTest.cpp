// The same model compiled in other ways: without fusion, for every CPU level,
// with weights beside the plan, stopping at a phase and going on from its IR.

#include "test/e2e/AgainstReference.h"
#include "test/e2e/CompileModel.h"
#include "test/e2e/PlanModel.h"
#include "test/runtime/Support/RunCommand.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kLengths[] = {1, 7, 70};

PlanStore &plans() {
  static PlanStore store("variants");
  return store;
}

std::vector<std::vector<int32_t>> makePrompts() {
  return randomPrompts(kLengths, 320, 7);
}

reference::RandomOptions makeOptions(const std::string &family,
                                     reference::ElementType type) {
  reference::RandomOptions options;
  options.family = family;
  options.elementType = type;
  options.maxPositions = 128;
  options.window = family.starts_with("gemma") ? 9 : 0;
  if (type != reference::ElementType::F32)
    options.expertsPerToken = options.experts; // No choice to be rounded.
  return options;
}

/// Expects a plan's outputs to be near the reference's.
void expectGood(const std::string &plan, const fs::path &checkpoint,
                reference::ElementType type) {
  auto model = reference::Transformer::load(checkpoint);
  auto prompts = makePrompts();
  std::unique_ptr<PlanEncoder> encoder;
  std::unique_ptr<PlanModel> decoder;
  RunModel run;
  if (model.config().isEncoder()) {
    encoder = std::make_unique<PlanEncoder>(plan);
    run = encoder->asRunModel();
  } else {
    decoder = std::make_unique<PlanModel>(plan);
    run = decoder->asRunModel();
  }
  using enum reference::ElementType;
  if (type == F32)
    EXPECT_EQ(compareWithReference(model, prompts, run, 1e-4), "");
  else
    EXPECT_LE(relativeError(model, prompts, run), type == BF16 ? 2e-2 : 5e-3);
}

//===----------------------------------------------------------------------===//
// Without fusion
//===----------------------------------------------------------------------===//

class NoFuse : public testing::TestWithParam<const char *> {};

TEST_P(NoFuse, EqualsTheReference) {
  using enum reference::ElementType;
  for (reference::ElementType type : {F32, BF16}) {
    std::string name =
        std::string(GetParam()) + "-unfused-" + std::string(spelling(type));
    const std::string &plan =
        plans().compile(name, makeOptions(GetParam(), type), {.fuse = false});
    SCOPED_TRACE(name);
    expectGood(plan, plans().getCheckpoint(name), type);
  }
}

// With f32, fusing changes no rounding of a decoder's step.
TEST_P(NoFuse, EqualsTheFusedPlan) {
  if (std::string(GetParam()) == "bert")
    GTEST_SKIP() << "an encoder";
  auto options = makeOptions(GetParam(), reference::ElementType::F32);
  std::string name = GetParam();
  PlanModel unfused(
      plans().compile(name + "-unfused-F32", options, {.fuse = false}));
  PlanModel fused(plans().compile(name + "-fused", options));
  EXPECT_LT(unfused.getModel().getPlan().entries.size(), 2u);
  for (const std::vector<int32_t> &prompt : makePrompts()) {
    Table a = unfused.computeLogits(prompt), b = fused.computeLogits(prompt);
    for (size_t i = 0; i < a.values.size(); ++i)
      ASSERT_NEAR(a.values[i], b.values[i], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NoFuse,
                         testing::Values("llama", "gemma3_text", "phi3",
                                         "qwen3_moe", "gpt2", "gpt_neox",
                                         "bert"));

//===----------------------------------------------------------------------===//
// CPU levels
//===----------------------------------------------------------------------===//

class Levels : public testing::TestWithParam<std::string> {};

/// Compiles for the level and compares; also one token at a time in one thread
/// with everything in one go.
void checkLevel(const std::string &level, const std::string &family,
                reference::ElementType type) {
  std::string name = family + "-" + level + "-" + std::string(spelling(type));
  SCOPED_TRACE(name);
  const std::string &plan =
      plans().compile(name, makeOptions(family, type), {.levels = {level}});
  expectGood(plan, plans().getCheckpoint(name), type);
  if (family == "bert")
    return;
  auto prompts = makePrompts();
  PlanModel whole(plan), single(plan, {.tokensPerStep = 1, .threads = 1});
  EXPECT_EQ(single.computeLogits(prompts[2]).values,
            whole.computeLogits(prompts[2]).values);
}

TEST_P(Levels, EqualTheReference) {
  using enum reference::ElementType;
  for (const char *family : {"llama", "gemma2", "qwen3_moe"})
    for (reference::ElementType type : {F32, BF16, F16})
      checkLevel(GetParam(), family, type);
  for (const char *family : {"gpt2", "bert"})
    checkLevel(GetParam(), family, F32);
}

INSTANTIATE_TEST_SUITE_P(All, Levels, testing::ValuesIn(supportedLevels()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

//===----------------------------------------------------------------------===//
// weft-compile
//===----------------------------------------------------------------------===//

class CompileCommand : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = std::make_unique<reference::Scratch>("compile-command");
    for (const char *family : {"llama", "qwen3_moe"}) {
      auto options = makeOptions(family, reference::ElementType::F32);
      options.tied = true;
      writeRandomCheckpoint(folder->path / family, options);
    }
  }
  static void TearDownTestSuite() { folder.reset(); }

  static std::string file(const std::string &name) {
    return (folder->path / name).string();
  }
  static void run(const std::string &arguments) {
    test::CommandResult result =
        test::runCommand("'" WEFT_COMPILE "' " + arguments + " 2>&1");
    EXPECT_EQ(result.exitCode, 0) << arguments << "\n" << result.output;
  }
  static std::string read(const std::string &name) {
    std::ifstream stream(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  static std::unique_ptr<reference::Scratch> folder;
};

std::unique_ptr<reference::Scratch> CompileCommand::folder;

TEST_F(CompileCommand, GoingOnFromAnyPhaseGivesTheSameArtifact) {
  for (const char *family : {"llama", "qwen3_moe"}) {
    std::string model = "'" + file(family) + "' --target=cpu:x86-64-v3";
    run(model + " --strip-ir -o '" + file("whole.weft") + "'");
    std::string whole = read("whole.weft");
    ASSERT_FALSE(whole.empty());
    for (const char *phase :
         {"input", "graph", "shard", "fuse", "kernel", "plan"}) {
      std::string ir = std::string(phase) + ".mlir";
      run(model + " --compile-to=" + phase + " -o '" + file(ir) + "'");
      run("'" + file(ir) + "' --compile-from=" + phase + " --weights " + model +
          " --strip-ir -o '" + file("parts.weft") + "'");
      EXPECT_TRUE(read("parts.weft") == whole) << family << ", " << phase;
    }
  }
}

TEST_F(CompileCommand, CompilingTwiceGivesTheSameArtifact) {
  for (const char *name : {"first.weft", "second.weft"})
    run("'" + file("llama") + "' --target=cpu:x86-64-v3 -o '" + file(name) +
        "'");
  EXPECT_TRUE(read("first.weft") == read("second.weft"));
}

TEST_F(CompileCommand, ExternalWeightsGiveTheSameLogits) {
  std::string one = "' --target=cpu:" + supportedLevels().back();
  run("'" + file("llama") + one + " -o '" + file("inside.weft") + "'");
  run("'" + file("llama") + one + " --external-weights -o '" +
      file("outside.weft") + "'");
  EXPECT_LT(fs::file_size(file("outside.weft")),
            fs::file_size(file("inside.weft")));
  PlanModel inside(file("inside.weft")), outside(file("outside.weft"));
  auto prompt = makePrompts().back();
  EXPECT_EQ(outside.computeLogits(prompt).values,
            inside.computeLogits(prompt).values);
}

// The baseline beside the host's level, chosen when the plan is loaded.
TEST_F(CompileCommand, TheHighestSupportedLevelIsChosen) {
  std::string levels;
  for (const std::string &level : supportedLevels())
    levels += (levels.empty() ? "" : ",") + level;
  run("'" + file("llama") + "' --target=cpu:" + levels + " -o '" +
      file("all.weft") + "'");
  run("'" + file("llama") + "' --target=cpu:" + supportedLevels().back() +
      " -o '" + file("one.weft") + "'");
  auto prompt = makePrompts().back();
  EXPECT_EQ(PlanModel(file("all.weft")).computeLogits(prompt).values,
            PlanModel(file("one.weft")).computeLogits(prompt).values);
}

} // namespace
