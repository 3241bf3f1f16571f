// What users can get wrong, through the programs: one clear error, the right
// exit code, nothing left behind. A7 and A22 with all their kin, and issue's
// list: corrupt plans, long and empty prompts, full disks.

#include "test/e2e/CompileModel.h"
#include "test/reference/MalformedCheckpoint.h"
#include "test/runtime/Support/RunCommand.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace weft;
using namespace weft::e2e;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> listFiles(const fs::path &folder) {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

/// Runs weft-compile; `output` is a file in an existing folder.
test::CommandResult compile(const fs::path &checkpoint, const fs::path &output,
                            const std::string &before = "") {
  return test::runCommand(before + "'" WEFT_COMPILE "' '" +
                          checkpoint.string() + "' -o '" + output.string() +
                          "' 2>&1");
}

//===----------------------------------------------------------------------===//
// A7, A22: checkpoints
//===----------------------------------------------------------------------===//

class A7A22 : public testing::TestWithParam<reference::Malformation> {};

TEST_P(A7A22, CompilerRefusesTheCheckpoint) {
  const reference::Malformation &malformation = GetParam();
  reference::Scratch scratch("malformed");
  fs::path checkpoint = scratch.path / "checkpoint";
  fs::path output = scratch.path / "output";
  malformation.write(checkpoint);
  fs::create_directories(output);
  test::CommandResult result = compile(checkpoint, output / "model.weft");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("error"), HasSubstr(malformation.culprit)))
      << malformation.cause;
  EXPECT_THAT(listFiles(output), testing::IsEmpty());
  RecordProperty("message", result.output);
}

INSTANTIATE_TEST_SUITE_P(All, A7A22,
                         testing::ValuesIn(reference::malformations()),
                         [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Plans and prompts
//===----------------------------------------------------------------------===//

class BadInput : public testing::Test {
protected:
  static void SetUpTestSuite() {
    store = std::make_unique<PlanStore>("bad-input");
    store->compile("stories", WEFT_SOURCE_DIR "/models/stories260k");
    // No tokenizer, so no beginning-of-sequence token either.
    reference::RandomOptions options;
    options.maxPositions = 64;
    store->compile("random", options);
  }
  static void TearDownTestSuite() { store.reset(); }

  static fs::path plan(const std::string &name) {
    return store->getFolder() / (name + ".weft");
  }

  static test::CommandResult run(const fs::path &plan,
                                 const std::string &arguments) {
    return test::runCommand("'" WEFT_RUN "' '" + plan.string() + "' " +
                            arguments + " 2>&1");
  }

  static void expectError(const test::CommandResult &result,
                          const std::string &message) {
    EXPECT_EQ(result.exitCode, 1) << result.output;
    EXPECT_THAT(result.output, AllOf(HasSubstr("error"), HasSubstr(message)));
  }

  static std::unique_ptr<PlanStore> store;
};

std::unique_ptr<PlanStore> BadInput::store;

TEST_F(BadInput, PromptLongerThanTheContext) {
  std::string ids = "3";
  for (int i = 0; i < 64; ++i)
    ids += " 3";
  test::CommandResult result = run(plan("random"), "--ids '" + ids + "'");
  expectError(result, "65 tokens");
  EXPECT_THAT(result.output, HasSubstr("64"));
  // The whole context is allowed; then there is no room for a token.
  ids.resize(ids.size() - 2);
  result = run(plan("random"), "--ids '" + ids + "'");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("context_full"));
}

TEST_F(BadInput, EmptyPrompt) {
  expectError(run(plan("random"), "--ids ''"), "empty");
  // A model with a beginning-of-sequence token starts from that.
  test::CommandResult result =
      run(plan("stories"), "--prompt '' --temperature 0 --max-tokens 4");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("Once upon a time"));
}

TEST_F(BadInput, TextForAModelWithoutATokenizer) {
  expectError(run(plan("random"), "--prompt hello"), "tokenizer");
}

TEST_F(BadInput, IdsOutsideTheVocabulary) {
  expectError(run(plan("random"), "--ids 320"), "320");
  expectError(run(plan("random"), "--ids=-1"), "-1");
}

TEST_F(BadInput, CorruptPlans) {
  std::ifstream stream(plan("random"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  fs::path file = store->getFolder() / "corrupt.weft";
  auto expectRefused = [&](const std::string &content, const char *what) {
    std::ofstream(file, std::ios::binary) << content;
    test::CommandResult result = run(file, "--ids '1 2 3' --max-tokens 2");
    EXPECT_EQ(result.exitCode, 1) << what << ": " << result.output;
    EXPECT_THAT(result.output,
                AllOf(HasSubstr("error"), HasSubstr("corrupt.weft")))
        << what;
  };
  expectRefused("", "empty");
  expectRefused(bytes.substr(0, 40), "cut in the prefix");
  expectRefused(bytes.substr(0, bytes.size() / 2), "cut in half");
  expectRefused(bytes.substr(0, bytes.size() - 1), "cut by a byte");
  expectRefused("PK" + bytes.substr(2), "another magic number");
  // In the tables in front of the weights.
  for (size_t place : {16u, 48u, 100u, 200u, 400u, 4000u}) {
    std::string changed = bytes;
    changed[place] = char(changed[place] ^ 0x20);
    expectRefused(changed, ("bit at " + std::to_string(place)).c_str());
  }
}

TEST_F(BadInput, WeightsThatAreNoNumbers) {
  reference::Scratch scratch("nan");
  reference::RandomOptions options;
  reference::writeRandomCheckpoint(scratch.path / "checkpoint", options);
  std::vector<reference::NamedTensor> tensors = reference::makeTensors(options);
  tensors.front().values.assign(tensors.front().values.size(), NAN);
  reference::writeSafetensors(scratch.path / "checkpoint" / "model.safetensors",
                              tensors, options.elementType);
  fs::path output = scratch.path / "nan.weft";
  test::CommandResult result = compile(scratch.path / "checkpoint", output);
  ASSERT_EQ(result.exitCode, 0) << result.output;
  expectError(run(output, "--ids '1 2 3'"),
              "not a finite number: the weights are damaged");
}

TEST_F(BadInput, TokensThatTheModelDoesNotHaveAreToldAbout) {
  reference::Scratch scratch("tokens");
  const fs::path checkpoint = scratch.path / "checkpoint";
  fs::create_directories(scratch.path);
  fs::copy(WEFT_SOURCE_DIR "/models/stories260k", checkpoint);
  std::ifstream stream(checkpoint / "tokenizer.json");
  auto tokenizer = nlohmann::json::parse(stream);
  nlohmann::json added = tokenizer["added_tokens"][0];
  added["id"] = 512;
  added["content"] = "<pad>";
  tokenizer["added_tokens"].push_back(added);
  fs::permissions(checkpoint / "tokenizer.json", fs::perms::owner_all);
  std::ofstream(checkpoint / "tokenizer.json") << tokenizer;
  const fs::path output = scratch.path / "model.weft";
  test::CommandResult result = compile(checkpoint, output);
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("warning: the tokenizer has ids up to 512"),
                    HasSubstr("below 512")));
  expectError(run(output, "--prompt 'One<pad>'"), "token id 512");
  EXPECT_EQ(run(output, "--prompt One --max-tokens 1").exitCode, 0);
}

// Linux allows them; JSON, in which the model's name stands, does not.
TEST_F(BadInput, PathsThatAreNoText) {
  reference::Scratch scratch("path\xff\xfe");
  const fs::path checkpoint = scratch.path / "model\xff";
  reference::writeRandomCheckpoint(checkpoint, {});
  const fs::path output = scratch.path / "plan\xff.weft";
  test::CommandResult result = compile(checkpoint, output);
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(run(output, "--ids '1 2' --max-tokens 1").exitCode, 0);
  EXPECT_EQ(compile(scratch.path / "none\xff", output,
                    "cd '" + scratch.path.string() + "'; ")
                .exitCode,
            1);
}

TEST_F(BadInput, MissingInputs) {
  reference::Scratch scratch("missing");
  fs::create_directories(scratch.path / "output");
  test::CommandResult result =
      compile(scratch.path / "none", scratch.path / "output" / "a.weft");
  expectError(result, (scratch.path / "none").string());
  EXPECT_THAT(listFiles(scratch.path / "output"), testing::IsEmpty());
  expectError(run(scratch.path / "none.weft", "--ids 1"), "none.weft");
}

//===----------------------------------------------------------------------===//
// Disks
//===----------------------------------------------------------------------===//

class BadOutput : public testing::Test {
protected:
  BadOutput() : scratch("bad-output") {
    fs::create_directories(output.parent_path());
    reference::writeRandomCheckpoint(checkpoint, {});
  }

  const reference::Scratch scratch;
  const fs::path checkpoint = scratch.path / "checkpoint";
  const fs::path output = scratch.path / "output" / "model.weft";
};

// A limit of the file's size stands for a full disk: the system refuses to
// write more in both. 64 blocks of 512 or 1024 bytes; the plan is larger.
TEST_F(BadOutput, NoRoomLeavesNoFile) {
  test::CommandResult result =
      compile(checkpoint, output, "trap '' XFSZ; ulimit -f 64; ");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("error"), HasSubstr("model.weft")));
  EXPECT_THAT(listFiles(output.parent_path()), testing::IsEmpty());
}

TEST_F(BadOutput, NoRoomKeepsTheOlderFile) {
  std::ofstream(output) << "older";
  test::CommandResult result =
      compile(checkpoint, output, "trap '' XFSZ; ulimit -f 64; ");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  std::string content;
  std::ifstream(output) >> content;
  EXPECT_EQ(content, "older");
  EXPECT_THAT(listFiles(output.parent_path()),
              testing::ElementsAre("model.weft"));
}

TEST_F(BadOutput, FolderThatDoesNotExist) {
  test::CommandResult result =
      compile(checkpoint, output.parent_path() / "none" / "model.weft");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("none/model.weft"));
  EXPECT_THAT(listFiles(output.parent_path()), testing::IsEmpty());
}

// Through links too. The checkpoint cannot be made again.
TEST_F(BadOutput, OutputsDoNotReplaceTheCheckpoint) {
  auto read = [](const fs::path &file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const std::string report = "' --import-report='";
  fs::create_symlink(checkpoint / "config.json", output);
  for (const auto &[name, to] :
       {std::pair<std::string, std::string>{
            "model.safetensors", (checkpoint / "model.safetensors").string()},
        {"config.json", (checkpoint / ".." / "checkpoint" / "config.json")},
        {"config.json", output.string()},
        {"config.json", (output.parent_path() / "x").string() + report +
                            (checkpoint / "config.json").string()}}) {
    const std::string before = read(checkpoint / name);
    test::CommandResult result = compile(checkpoint, to);
    EXPECT_EQ(result.exitCode, 1) << to << result.output;
    EXPECT_THAT(result.output, HasSubstr("would replace the checkpoint's"));
    EXPECT_TRUE(read(checkpoint / name) == before) << to;
  }
  const fs::path both = output.parent_path() / "both";
  test::CommandResult result =
      compile(checkpoint, both.string() + report + both.string());
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("-o and --import-report are both"));
  EXPECT_FALSE(fs::exists(both));
  // Beside the checkpoint's files is a place like any other.
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(compile(checkpoint, checkpoint / "model.weft").exitCode, 0);
}

TEST_F(BadOutput, IrWithoutAnEntryIsNoPlan) {
  std::ofstream(scratch.path / "empty.mlir").flush();
  test::CommandResult result =
      compile(scratch.path / "empty.mlir",
              output.string() + "' --compile-from=fuse --weights='" +
                  checkpoint.string());
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_THAT(
      result.output,
      HasSubstr("the IR has no entry point, so a plan could do nothing"));
  EXPECT_FALSE(fs::exists(output));
}

TEST_F(BadOutput, OutputThatIsAFolder) {
  fs::create_directories(output);
  test::CommandResult result = compile(checkpoint, output);
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("error"), HasSubstr("model.weft")));
  EXPECT_THAT(listFiles(output), testing::IsEmpty());
  EXPECT_THAT(listFiles(output.parent_path()),
              testing::ElementsAre("model.weft"));
}

} // namespace
