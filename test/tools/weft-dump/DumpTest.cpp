//===- DumpTest.cpp - Output, messages and exit codes of weft-dump --------===//

#include "test/runtime/Support/RunCommand.h"
#include "test/runtime/Support/ToyPlan.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace weft;
using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

namespace {

class DumpTest : public testing::Test {
protected:
  DumpTest()
      : path(testing::TempDir() + "weft-dump-" + std::to_string(getpid()) +
             ".weft") {
    rt::Status status = rt::toy::writeFile(path);
    EXPECT_TRUE(status.isOk()) << status.getMessage();
  }
  ~DumpTest() override { std::filesystem::remove(path); }

  test::CommandResult run(const std::string &arguments) {
    return test::runCommand(std::string(WEFT_DUMP) + " " + arguments);
  }
  std::string runOk(const std::string &arguments) {
    test::CommandResult result = run(arguments);
    EXPECT_EQ(result.exitCode, 0) << result.output;
    return result.output;
  }
  void expectFails(const std::string &arguments, int code,
                   const std::string &text) {
    test::CommandResult result = run(arguments);
    EXPECT_EQ(result.exitCode, code) << arguments << "\n" << result.output;
    EXPECT_THAT(result.output, HasSubstr(text)) << arguments;
  }

  std::string path;
};

TEST_F(DumpTest, PrintsEverySection) {
  std::string text = runOk(path);
  EXPECT_THAT(text, HasSubstr(path));
  EXPECT_THAT(text, HasSubstr("target cpu"));
  for (const char *tag :
       {"META", "SIGN", "PARM", "DATA", "KERN", "CODE", "BUFS", "CMDS", "DBUG"})
    EXPECT_THAT(text, HasSubstr(tag));
  EXPECT_THAT(text, HasSubstr("\"name\": \"toy\""));
  EXPECT_THAT(text, ContainsRegex("tokens +1 +16 +per run"));
  EXPECT_THAT(text, ContainsRegex("rows +1 +4096 +per session"));
  EXPECT_THAT(text, HasSubstr("Parameters: 2, 288 B"));
  EXPECT_THAT(text, ContainsRegex("weight +f32 +.8, 8. +row-major +256 B"));
  EXPECT_THAT(text, ContainsRegex("memory +f32 +.rows, 8."));
  EXPECT_THAT(text, ContainsRegex("linear +linear.bias +x86-64-v2"));
  EXPECT_THAT(text, HasSubstr("#schedule<rows = 1>"));
  EXPECT_THAT(text, ContainsRegex("input +slots +i32 +.tokens."));
  EXPECT_THAT(text, ContainsRegex("output +y +f32 +.tokens, 8."));
  EXPECT_THAT(text, ContainsRegex("copy +layers.0.keep +hidden -> copied"));
  EXPECT_THAT(text, ContainsRegex("launch +memory.sum +sum +8 "));
  EXPECT_THAT(text, HasSubstr("IR (--ir kernel)"));
}

TEST_F(DumpTest, MemoryAnswersForGivenSizes) {
  std::string text =
      runOk(path + " --memory --tokens 5 --threads 3 --symbol rows=100");
  EXPECT_THAT(text, HasSubstr("Memory for tokens = 5, rows = 100"));
  EXPECT_THAT(text, ContainsRegex("weights +288 B"));
  EXPECT_THAT(text, ContainsRegex("state +3.12 KiB"));
  EXPECT_THAT(text, ContainsRegex("workspace +384 B"));
  EXPECT_THAT(text, ContainsRegex("scratch +192 B +of 3 threads"));
  EXPECT_THAT(text, ContainsRegex("fits: .* available"));

  json report = json::parse(runOk(
      path + " --memory --json --tokens 5 --threads 3 --symbol rows=100"));
  EXPECT_EQ(report["state"], 3200);
  EXPECT_EQ(report["workspace"], 384);
  EXPECT_EQ(report["total"].get<int>() - report["lower_bound"].get<int>(), 64);
  EXPECT_EQ(report["fits"], true);
  // Without --tokens: the plan's limit, since it is below 512.
  report = json::parse(runOk(path + " --memory --json --symbol rows=100"));
  EXPECT_EQ(report["symbols"]["tokens"], 16);
}

TEST_F(DumpTest, MemoryOfAGpuIsNotComparedWithThatOfThisMachine) {
  rt::Plan plan = rt::toy::makePlan();
  plan.target = "cuda:sm_90a";
  rt::Status status = rt::toy::writeFile(path, std::move(plan));
  ASSERT_TRUE(status.isOk()) << status.getMessage();
  std::string text = runOk(path + " --memory --tokens 5 --symbol rows=100");
  EXPECT_THAT(text,
              ContainsRegex("needs .* of a GPU .cuda:sm_90a.; nvidia-smi"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("fit")), Not(HasSubstr("scratch"))));
  json report = json::parse(
      runOk(path + " --memory --json --tokens 5 --symbol rows=100"));
  EXPECT_TRUE(report["fits"].is_null());
  EXPECT_TRUE(report["available"].is_null());
}

TEST_F(DumpTest, KernelsHaveTheirWork) {
  json kernels = json::parse(
      runOk(path + " --kernels --json --tokens 4 --symbol rows=100"));
  ASSERT_EQ(kernels.size(), 3u);
  // Most bytes first.
  EXPECT_EQ(kernels[0]["kernel"], "sum");
  EXPECT_EQ(kernels[0]["bytes"], 3232);
  EXPECT_EQ(kernels[1]["kernel"], "linear");
  EXPECT_EQ(kernels[1]["launches"], 2);
  EXPECT_EQ(kernels[1]["flops"], 2 * 4 * 128);
  EXPECT_EQ(kernels[1]["bytes"], 2 * (4 * 64 + 288));
  EXPECT_NEAR(kernels[1]["intensity"], 1024.0 / 1088.0, 1e-12);
  std::string text = runOk(path + " --kernels --symbol rows=100");
  EXPECT_THAT(text, AllOf(HasSubstr("tokens=1"), HasSubstr("FLOP/B"),
                          ContainsRegex("step +linear +2 +2 +256 +704 B")));
}

TEST_F(DumpTest, JsonHasThePlan) {
  json plan = json::parse(runOk(path + " --json"));
  EXPECT_EQ(plan["meta"]["name"], "toy");
  EXPECT_EQ(plan["params"][0]["shape"], json({8, 8}));
  EXPECT_EQ(plan["states"][0]["shape"], json({"rows", 8}));
  EXPECT_EQ(plan["entries"][0]["commands"].size(), 5u);
  EXPECT_EQ(plan["entries"][0]["commands"][1]["kind"], "copy");
  EXPECT_EQ(plan["ir"], json({"input", "kernel"}));
  EXPECT_EQ(plan["kernels"][2]["scratch_bytes"], 64);
}

TEST_F(DumpTest, IrOfAPhase) {
  EXPECT_EQ(runOk(path + " --ir input"),
            "module {\n  // the toy as it came in\n}\n");
  expectFails(path + " --ir graph", 1,
              "no IR of the phase 'graph'; it has: input, kernel");
}

TEST_F(DumpTest, VerifyFindsAChangedWeight) {
  EXPECT_THAT(runOk(path + " --verify"), HasSubstr("all 2 parameters match"));
  json plan = json::parse(runOk(path + " --json"));
  uint64_t data = 0;
  for (const json &section : plan["sections"])
    if (section["tag"] == "DATA")
      data = section["offset"];
  uint64_t bias = plan["params"][1]["offset"];
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(int64_t(data + bias));
  file.put('\x55');
  file.close();
  expectFails(path + " --verify", 1, "bias");
}

TEST_F(DumpTest, BadInputIsDiagnosed) {
  expectFails("no-such-file.weft", 1, "weft-dump: error: ");
  expectFails("no-such-file.weft", 1, "no-such-file.weft");
  std::string broken = path + ".broken";
  std::ofstream(broken) << "this is no plan";
  expectFails(broken, 1, "weft-dump: error: ");
  std::filesystem::resize_file(path, 2000);
  expectFails(path, 1, "weft-dump: error: ");
  std::filesystem::remove(broken);
}

TEST_F(DumpTest, SizesAreChecked) {
  expectFails(path + " --memory", 1, "'rows' has no value");
  expectFails(path + " --memory --symbol rows=5000", 1, "1 to 4096");
  expectFails(path + " --memory --symbol rowz=5", 1, "it has tokens, rows");
  expectFails(path + " --memory --tokens 17 --symbol rows=5", 1, "1 to 16");
  expectFails(path + " --memory --context 65 --symbol rows=5", 1,
              "sequences of at most 64 tokens");
  expectFails(path + " --kernels --tokens 17 --symbol rows=5", 1, "1 to 16");
}

TEST_F(DumpTest, WrongOptionsAreUsageErrors) {
  expectFails("", 2, "FILE");
  expectFails(path + " --no-such-option", 2, "--help");
  expectFails(path + " --memory --kernels", 2, "--help");
  expectFails(path + " --context 5", 2, "sizes go with --memory or --kernels");
  expectFails(path + " --memory --tokens 0", 2, "--tokens");
  expectFails(path + " --memory --tokens many", 2, "--tokens");
  expectFails(path + " --memory --symbol rows", 2, "NAME=NUMBER");
  expectFails(path + " --memory --symbol =4", 2, "NAME=NUMBER");
  expectFails(path + " --memory --threads 5000", 2, "--threads");
  expectFails(path + " --ir", 2, "--ir");
}

TEST_F(DumpTest, HelpTeaches) {
  std::string help = runOk("--help");
  EXPECT_THAT(help, AllOf(HasSubstr("Examples:"), HasSubstr("will it fit"),
                          HasSubstr("--memory"), HasSubstr("Exit codes")));
}

TEST_F(DumpTest, AFullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP() << "this system has no /dev/full";
  test::CommandResult result = run(path + " > /dev/full");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("cannot write to standard output"));
}

} // namespace
