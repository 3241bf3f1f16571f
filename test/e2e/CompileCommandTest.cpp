// What weft-compile writes: the same from any phase on, twice the same, weights
// in the plan or beside it, the level of the machine.

#include "test/e2e/AgainstReference.h"
#include "test/e2e/CompileModel.h"
#include "test/e2e/RandomModels.h"
#include "test/runtime/Support/RunCommand.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::e2e;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kSeed = 7;

std::vector<int32_t> makePrompt() {
  constexpr int64_t length = 70;
  return randomPrompts({&length, 1}, 320, kSeed).front();
}

class CompileCommand : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = std::make_unique<reference::Scratch>("compile-command");
    for (const char *family : {"llama", "qwen3_moe"}) {
      auto options =
          makeRandomModel(family, reference::ElementType::F32, kSeed);
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
  auto prompt = makePrompt();
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
  auto prompt = makePrompt();
  EXPECT_EQ(PlanModel(file("all.weft")).computeLogits(prompt).values,
            PlanModel(file("one.weft")).computeLogits(prompt).values);
}

} // namespace
