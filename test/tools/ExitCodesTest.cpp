//===- ExitCodesTest.cpp - How every program ends -------------------------===//
//
// One table over all programs: 0 done, 1 an error that is explained, 2 a wrong
// command line. (70 and 130: tools/common/ExitCodes.h and its test.)
//
//===----------------------------------------------------------------------===//

#include "test/runtime/Support/RunCommand.h"

#include <gmock/gmock.h>

#include <array>

using namespace weft;
using testing::HasSubstr;

namespace {

struct Case {
  std::string arguments;
  int code;
  std::string says;
};

struct Tool {
  std::string name;
  /// A command line that only lacks what a case adds.
  std::string complete;
  std::vector<Case> cases;
};

// Cases that every program has.
std::vector<Case> makeCases(const Tool &tool) {
  std::vector<Case> cases = {
      {"--help", 0, tool.name},
      {"--version", 0, tool.name + " 0."},
      {tool.complete + " --no-such-option", 2, "--no-such-option"},
      {tool.complete + " -q", 2, "-q"}};
  cases.insert(cases.end(), tool.cases.begin(), tool.cases.end());
  return cases;
}

const std::array tools = {
    Tool{"weft-run",
         "no-such.weft --prompt x",
         {{"", 2, "plan is required"},
          {"no-such.weft --prompt x --max-tokens many", 2, "found 'many'"},
          {"no-such.weft --prompt x --max-tokens -1", 2, "--max-tokens"},
          {"no-such.weft --prompt x --seed -1", 2, "found '-1'"},
          {"no-such.weft --prompt x --seed 18446744073709551616", 2, "--seed"},
          {"no-such.weft --prompt x --seed 18446744073709551615", 1, "no-such"},
          {"no-such.weft --prompt x --temperature warm", 2, "--temperature"},
          {"no-such.weft --prompt x --temperature -1", 2, "temperature is -1"},
          {"no-such.weft --prompt x --temperature inf", 2, "is inf"},
          {"no-such.weft --prompt x --temperature nan", 2, "is nan"},
          {"no-such.weft --prompt x --top-k -1", 2, "found '-1'"},
          {"no-such.weft --prompt x --top-p 0", 2, "top-p is 0"},
          {"no-such.weft --prompt x --min-p 1.5", 2, "min-p is 1.5"},
          {"no-such.weft --prompt x --repetition-penalty 0", 2, "is 0"},
          {"no-such.weft --prompt x --presence-penalty nan", 2, "is nan"},
          {"no-such.weft --prompt x --frequency-penalty inf", 2, "is inf"},
          {"no-such.weft --prompt x --threads 0", 2, "1 to 1024"},
          {"no-such.weft --prompt x --threads 1025", 2, "1 to 1024"},
          {"no-such.weft --prompt x --trace ''", 2, "found an empty text"},
          {"no-such.weft --prompt x --device ''", 2, "found an empty text"},
          {"no-such.weft --prompt x --entry ''", 2, "found an empty text"},
          {"no-such.weft --prompt x", 1, "no-such.weft"},
          {"/dev/null --prompt x", 1, "/dev/null"}}},
    Tool{"weft-dump",
         "no-such.weft",
         {{"", 2, "FILE is required"},
          {"no-such.weft --memory --kernels", 2, "--help"},
          {"no-such.weft --context 12", 2, "sizes go with"},
          {"no-such.weft --memory --context 0", 2, "found '0'"},
          {"no-such.weft --ir ''", 2, "found an empty text"},
          {"no-such.weft", 1, "no-such.weft"}}},
    Tool{"weft-bench",
         "no-such.weft",
         {{"", 2, "plan is required"},
          {"no-such.weft --repeat 0", 2, "found '0'"},
          {"no-such.weft --sequences 0", 2, "found '0'"},
          {"no-such.weft --bandwidth nan", 2, "found 'nan'"},
          {"no-such.weft --bandwidth inf", 2, "found 'inf'"},
          {"no-such.weft --bandwidth 0", 2, "found '0'"},
          {"no-such.weft --bandwidth 1e300", 2, "at most 1000000"},
          {"no-such.weft --device abacus", 2, "abacus"},
          {"no-such.weft --device ''", 2, "found an empty text"},
          {"no-such.weft --threads 0", 2, "1 to 1024"},
          {"no-such.weft --prompt-tokens 0 --generate-tokens 0", 2, "both 0"},
          {"no-such.weft", 1, "no-such.weft"}}},
#ifdef WEFT_HAS_COMPILER
    Tool{"weft-compile",
         "no-such -o no-such/out.weft",
         {{"", 2, "give either MODEL or --synthesize"},
          {"no-such", 2, "-o FILE.weft"},
          {"no-such -o out --target=cpu:", 2, "x86-64-v3"},
          {"no-such -o out --target=abacus", 2, "sm_90a"},
          {"no-such -o out --context=many", 2, "many"},
          {"no-such -o out --compile-to=", 2, "--compile-to is empty"},
          {"no-such -o out --compile-from=", 2, "--compile-from is empty"},
          {"no-such -o out --weights=", 2, "--weights is empty"},
          {"no-such -o out --target=", 2, "--target is empty"},
          {"no-such -o ''", 2, "-o is empty"},
          {"no-such -o out --no-kernel-cache", 2, "for --target=cuda"},
          {"no-such -o out --seed=1", 2, "--seed is for --synthesize"},
          {"/dev/zero --compile-from=fuse --compile-to=fuse", 1, "a device"},
          {"no-such.mlir -o no-such.mlir --compile-from=fuse "
           "--synthesize=smollm2-135m",
           1, "would replace the input"},
          {"no-such -o out", 1, "no-such"}}},
    Tool{"weft-bisect",
         "no-such",
         {{"", 2, "--help"},
          {"no-such --dtype=f8", 2, "f32, f16 or bf16"},
          {"no-such --plan=", 2, "--plan is empty"},
          {"no-such --device=", 2, "--device is empty"},
          {"no-such", 1, "no-such"}}},
    Tool{"weft-opt",
         "no-such.mlir",
         {{"/dev/null --weft-no-such-pass", 2, "--weft-no-such-pass"},
          {"/dev/null --pass-pipeline='builtin.module(no-such)'", 2, "no-such"},
          {"/dev/null --pass-pipeline='builtin.module('", 2, "pipeline"},
          {"/dev/null --weft-plan-memory=no-such=1", 2, "no-such"},
          {"/dev/null", 0, "module"},
          {"/dev/null -o no-such/out.mlir", 1, "no-such/out.mlir"},
          {"/dev/null -o /dev/null", 0, ""},
          {"no-such.mlir", 1, "no-such.mlir"}}},
    Tool{"weft-lsp-server",
         "",
         {{"--log=loud", 2, "error, info, verbose"},
          {"--input-style=xml", 2, "json, delimited"},
          {"more", 2, "more"},
          // An editor that goes away without saying so.
          {"", 1, "ransport error"}}},
#endif
};

class ExitCodes : public testing::TestWithParam<Tool> {};

TEST_P(ExitCodes, AreThoseOfTheTable) {
  const Tool &tool = GetParam();
  for (const Case &one : makeCases(tool)) {
    const std::string command = tool.name + " " + one.arguments;
    SCOPED_TRACE(command);
    test::CommandResult result =
        test::runCommand("'" WEFT_TOOLS "'/" + command + " </dev/null 2>&1");
    EXPECT_EQ(result.exitCode, one.code) << result.output.substr(0, 2000);
    EXPECT_THAT(result.output.substr(0, 4000), HasSubstr(one.says));
  }
}

TEST_P(ExitCodes, OfLostTextAreNotOk) {
  for (const char *option : {"--help", "--version"}) {
    test::CommandResult result =
        test::runCommand("{ '" WEFT_TOOLS "'/" + GetParam().name + " " +
                         option + " >/dev/full; } 2>&1");
    EXPECT_EQ(result.exitCode, 1) << option;
    EXPECT_THAT(result.output,
                HasSubstr(GetParam().name + ": error: cannot write standard"))
        << option;
  }
}

TEST_P(ExitCodes, AreInTheHelp) {
  test::CommandResult help =
      test::runCommand("'" WEFT_TOOLS "'/" + GetParam().name + " --help");
  EXPECT_THAT(help.output, HasSubstr("xit codes: 0"));
  EXPECT_THAT(help.output, HasSubstr(GetParam().name + " "));
}

INSTANTIATE_TEST_SUITE_P(All, ExitCodes, testing::ValuesIn(tools),
                         [](const auto &info) {
                           return info.param.name.substr(5, 3) +
                                  std::to_string(info.index);
                         });

} // namespace
