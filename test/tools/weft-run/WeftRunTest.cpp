//===- WeftRunTest.cpp - Output, messages and exit codes of weft-run ------===//

#include "test/runtime/Llm/Support/ToyDecoder.h"
#include "test/runtime/Support/RunCommand.h"
#include "tools/common/Npy.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace toy = weft::rt::toydecoder;

namespace {

class WeftRunTest : public testing::Test {
protected:
  WeftRunTest()
      : folder(testing::TempDir() + "weft-run-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder);
    rt::Status status = toy::writeFile(plan());
    EXPECT_TRUE(status) << status.getMessage();
  }
  ~WeftRunTest() override { std::filesystem::remove_all(folder); }

  std::string plan() const { return folder + "/toy.weft"; }

  /// Runs weft-run on the toy; standard error goes to a file.
  test::CommandResult run(const std::string &arguments) {
    return test::runCommand("'" WEFT_RUN "' '" + plan() + "' " + arguments +
                            " 2>'" + folder + "/stderr'");
  }

  std::string readFile(const std::string &name) {
    std::ifstream in(folder + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void writeIds(const std::string &name, std::vector<int32_t> ids,
                std::vector<int64_t> shape) {
    rt::Status status = writeNpy(folder + "/" + name + ".npy", rt::DType::I32,
                                 shape, std::as_bytes(std::span(ids)));
    ASSERT_TRUE(status) << status.getMessage();
  }

  std::string folder;
};

TEST_F(WeftRunTest, TextGoesToOutputAndTheRestToError) {
  test::CommandResult result =
      run("--prompt 'Once upon' --max-tokens 100 --temperature 0");
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(result.output, toy::story + "\n");
  EXPECT_THAT(readFile("stderr"),
              AllOf(HasSubstr("prompt: 10 tokens"), HasSubstr("tokens/s"),
                    HasSubstr("finish reason: stop")));
}

TEST_F(WeftRunTest, PlanRunsOnTheDeviceItWasCompiledFor) {
  rt::Status status = toy::writeFile(plan(), {.fakeCuda = true});
  ASSERT_TRUE(status) << status.getMessage();
  // The library is a driver without a GPU.
  auto runOnGpu = [&](const std::string &arguments) {
    return test::runCommand(
        "LD_LIBRARY_PATH='" WEFT_FAKE_CUDA_FOLDER "' '" WEFT_RUN "' '" +
        plan() + "' " + arguments + " 2>'" + folder + "/stderr'");
  };
  const std::string arguments =
      "--prompt 'Once upon' --max-tokens 100 --temperature 0 --logprobs "
      "--tokens-per-step 4";
  for (const char *device : {"", " --device cuda", " --device cuda:0"}) {
    test::CommandResult result = runOnGpu(arguments + device);
    EXPECT_EQ(result.exitCode, 0) << readFile("stderr");
    EXPECT_EQ(result.output, toy::story + "\n");
  }
  const std::string onGpu = readFile("stderr");
  // Every log probability depends on the whole cache.
  status = toy::writeFile(plan());
  ASSERT_TRUE(status) << status.getMessage();
  EXPECT_EQ(run(arguments).exitCode, 0);
  const std::string onCpu = readFile("stderr");
  auto getTable = [](const std::string &text) {
    return text.substr(text.find("position"),
                       text.find("prompt:") - text.find("position"));
  };
  EXPECT_EQ(getTable(onGpu), getTable(onCpu));
  EXPECT_GT(getTable(onCpu).size(), 500u);

  status = toy::writeFile(plan(), {.fakeCuda = true});
  ASSERT_TRUE(status) << status.getMessage();
  EXPECT_EQ(runOnGpu("--prompt a --device cuda:1").exitCode, 1);
  EXPECT_THAT(readFile("stderr"), HasSubstr("no GPU with the number 1"));
  EXPECT_EQ(runOnGpu("--prompt a --device cpu").exitCode, 1);
  EXPECT_THAT(readFile("stderr"), HasSubstr("no code for this processor"));
  EXPECT_EQ(runOnGpu("--prompt a --device gpu").exitCode, 2);
  EXPECT_THAT(readFile("stderr"), HasSubstr("there is no device 'gpu'"));
  EXPECT_EQ(runOnGpu("--prompt 'Once' --max-tokens 3 --trace '" + folder +
                     "/trace.json'")
                .exitCode,
            0);
  EXPECT_THAT(readFile("trace.json"), HasSubstr("head.logits"));
}

TEST_F(WeftRunTest, PromptFromAFileOrStandardInput) {
  std::ofstream(folder + "/prompt.txt") << "Once upon a";
  std::string expected = toy::story.substr(0, 16) + "\n";
  EXPECT_EQ(
      run("--prompt-file '" + folder + "/prompt.txt' --max-tokens 5").output,
      expected);
  EXPECT_EQ(
      run("--prompt-file - --max-tokens 5 <'" + folder + "/prompt.txt'").output,
      expected);
}

TEST_F(WeftRunTest, IdsInAndOut) {
  EXPECT_EQ(run("--ids '256 79,110' --max-tokens 3 --output-ids").output,
            "256 79 110 99 101 32\n");
  EXPECT_EQ(run("--ids '256 79 110' --max-tokens 3").output, "Once \n");
}

TEST_F(WeftRunTest, StopsContextAndEos) {
  EXPECT_EQ(run("--prompt Once --stop xyz --stop caf").output,
            "Once upon a time there was a \n");
  EXPECT_EQ(run("--prompt Once --context 8").output, "Once up\n");
  EXPECT_THAT(readFile("stderr"), HasSubstr("finish reason: context_full"));
  // Behind </s>, which has no text, the story starts again.
  EXPECT_EQ(
      run("--prompt '" + toy::story + "' --ignore-eos --max-tokens 6").output,
      toy::story + "Once\n");
}

TEST_F(WeftRunTest, SamplingIsReproducible) {
  std::string options = "--prompt Once --temperature 5 --max-tokens 20 "
                        "--output-ids --ignore-eos ";
  std::string first = run(options + "--seed 1 --threads 1").output;
  EXPECT_EQ(run(options + "--seed 1 --threads 2").output, first);
  EXPECT_EQ(run(options + "--seed 1 --tokens-per-step 2").output, first);
  EXPECT_NE(run(options + "--seed 2").output, first);
}

TEST_F(WeftRunTest, LogProbabilitiesAreListed) {
  run("--prompt Once --max-tokens 2 --logprobs");
  EXPECT_THAT(readFile("stderr"),
              AllOf(HasSubstr("position\tid\tlog probability\ttoken\n"),
                    testing::ContainsRegex("5\t32\t-9[0-9]\\.[0-9]{6}\t")));
}

TEST_F(WeftRunTest, TraceIsJson) {
  EXPECT_EQ(run("--prompt Once --max-tokens 3 --trace '" + folder + "/t.json'")
                .exitCode,
            0);
  nlohmann::json trace =
      nlohmann::json::parse(readFile("t.json"), nullptr, false);
  ASSERT_TRUE(trace.contains("traceEvents"));
  // Three steps of two commands, at least.
  EXPECT_GE(trace["traceEvents"].size(), 6u);
}

TEST_F(WeftRunTest, ErrorsSayWhatIsWrong) {
  auto expect = [&](const std::string &arguments, int code,
                    const char *message) {
    test::CommandResult result = run(arguments);
    EXPECT_EQ(result.exitCode, code) << arguments;
    EXPECT_EQ(result.output, "") << arguments;
    EXPECT_THAT(readFile("stderr"), HasSubstr(message)) << arguments;
  };
  expect("", 2, "exactly one of --prompt");
  expect("--prompt a --ids 1", 2, "exactly one of --prompt");
  expect("--prompt a --entry step", 2, "takes no prompt");
  expect("--prompt a --input x=y", 2, "need --entry");
  expect("--entry step --temperature 1", 2,
         "--temperature: goes with a prompt, not with --entry");
  expect("--entry step --max-tokens 5", 2, "--max-tokens: goes with a prompt");
  expect("--prompt a --stop ''", 2, "--stop: found an empty text");
  expect("--entry step --input x", 2, "expected name=value, got 'x'");
  expect("--entry step --symbol x=y", 2, "expected name=number");
  expect("--no-such-option", 2, "--help");
  expect("--prompt a --temperature=-1", 2, "temperature is -1");
  expect("--prompt a --top-p 2", 2, "top-p is 2");
  expect("--prompt a --max-tokens=-1", 2,
         "--max-tokens: found '-1', expected a whole number of at least 0");
  // More than 64 bits hold is not the largest number.
  expect("--prompt a --max-tokens=99999999999999999999", 2, "--max-tokens");
  expect("--prompt a --context 0", 2, "--context: found '0'");
  expect("--prompt a --tokens-per-step 1.5", 2, "--tokens-per-step");
  expect("--prompt a --top-k=-1", 2, "--top-k: found '-1'");
  expect("--entry step --input x=a --input x=b", 2, "'x' is given twice");
  expect("--entry step --symbol tokens=99999999999999999999", 2,
         "expected name=number");
  expect("--prompt-file '" + folder + "'", 1, "Is a directory");
  expect("--prompt-file - <&-", 1, "cannot read standard input");
  expect("--prompt-file /dev/zero", 1, "has more than 67108864 bytes");
  expect("--ids '1 x'", 1, "has 'x'");
  expect("--ids 264", 1, "the vocabulary has the ids 0 to 263");
  expect("--ids ''", 1, "the prompt is empty");
  expect("--prompt a --context 97", 1, "97");
  expect("--prompt \"$(printf 'a%.0s' $(seq 100))\"", 1,
         "101 tokens and the context holds 96");
  expect("--prompt \"$(printf '\\377')\"", 1, "UTF-8");
  expect("--prompt-file '" + folder + "/none'", 1, "cannot open");
  expect("--prompt a --trace '" + folder + "/none/t.json'", 1, "t.json");
}

TEST_F(WeftRunTest, OutputsDoNotReplaceWhatIsRead) {
  const std::string before = readFile("toy.weft");
  auto expectRefused = [&](const std::string &arguments,
                           const std::string &message) {
    EXPECT_EQ(run(arguments).exitCode, 1) << arguments;
    EXPECT_THAT(readFile("stderr"), HasSubstr(message));
    EXPECT_TRUE(readFile("toy.weft") == before) << arguments;
  };
  expectRefused("--prompt Once --trace '" + plan() + "'", "is no trace");
  const std::string entry = "--entry step --input tokens='" + folder +
                            "/tokens.npy' --output logits='" + folder;
  expectRefused(entry + "/toy.weft'", "would replace the plan");
  expectRefused(entry + "/tokens.npy'", "would replace --input tokens");
  expectRefused(entry + "/x' --trace '" + folder + "/x'", "give two files");
}

TEST_F(WeftRunTest, FullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP();
  test::CommandResult result = run("--prompt Once >/dev/full");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(readFile("stderr"), HasSubstr("standard output"));
}

/// A pipe with room for the prompt only stops the program in the middle of its
/// text, so that the signal always comes there.
TEST_F(WeftRunTest, InterruptEndsTheTextInGoodOrder) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  int size = fcntl(ends[1], F_SETPIPE_SZ, 4096);
  ASSERT_GT(size, 4);
  std::string filler(size_t(size) - 4, '.');
  ASSERT_EQ(write(ends[1], filler.data(), filler.size()),
            ssize_t(filler.size()));
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(open((folder + "/stderr").c_str(), O_WRONLY | O_CREAT, 0600),
         STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::string trace = folder + "/t.json", file = plan();
    execl(WEFT_RUN, WEFT_RUN, file.c_str(), "--prompt", "Once", "--ignore-eos",
          "--max-tokens", "90", "--trace", trace.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  int waiting = 0;
  while (waiting < size && waitpid(child, nullptr, WNOHANG) == 0)
    ASSERT_EQ(ioctl(ends[0], FIONREAD, &waiting), 0);
  kill(child, SIGINT);
  std::string output;
  char chunk[4096];
  while (ssize_t count = read(ends[0], chunk, sizeof(chunk))) {
    ASSERT_GT(count, 0);
    output.append(chunk, size_t(count));
  }
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(output.substr(filler.size(), 4), "Once");
  EXPECT_LT(output.size(), filler.size() + 20);
  EXPECT_THAT(readFile("stderr"), AllOf(HasSubstr("finish reason: cancelled"),
                                        HasSubstr("cancelled by Ctrl-C")));
  EXPECT_TRUE(nlohmann::json::accept(readFile("t.json")));
}

TEST_F(WeftRunTest, MissingAndDamagedPlansAreErrors) {
  std::ofstream(folder + "/bad.weft") << "not a plan";
  for (const char *name : {"none.weft", "bad.weft"}) {
    test::CommandResult result = test::runCommand(
        "'" WEFT_RUN "' '" + folder + "/" + name + "' --prompt a 2>&1");
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_THAT(result.output, HasSubstr("weft-run: error: "));
  }
}

TEST_F(WeftRunTest, EntryOnNumpyFiles) {
  std::vector<int32_t> ids = {256, 79, 110};
  writeIds("tokens", ids, {3});
  writeIds("positions", {0, 1, 2}, {3});
  writeIds("sequence_ids", {0, 0, 0}, {3});
  writeIds("slots", {4, 5, 6}, {3});
  writeIds("block_table", {1}, {1, 1});
  writeIds("logit_rows", {0, 2}, {2});
  std::string arguments = "--entry step --symbol cache_blocks=2";
  for (const char *name : {"tokens", "positions", "sequence_ids", "slots",
                           "block_table", "logit_rows"})
    arguments +=
        std::string(" --input ") + name + "='" + folder + "/" + name + ".npy'";
  std::string output = " --output logits='" + folder + "/logits.npy'";
  test::CommandResult result = run(arguments + output);
  ASSERT_EQ(result.exitCode, 0) << readFile("stderr");
  auto logits = readNpy(folder + "/logits.npy");
  ASSERT_TRUE(logits) << logits.getStatus().getMessage();
  EXPECT_EQ(logits->dtype, rt::DType::F32);
  EXPECT_EQ(logits->shape, (std::vector<int64_t>{2, toy::headWidth}));
  std::vector<float> values(2 * toy::headWidth);
  std::memcpy(values.data(), logits->data.data(), logits->data.size());
  std::vector<float> expected = toy::expectedLogits(std::span(ids).first(1));
  std::vector<float> last = toy::expectedLogits(ids);
  expected.insert(expected.end(), last.begin(), last.end());
  EXPECT_EQ(values, expected);

  // Errors leave no output behind.
  std::filesystem::remove(folder + "/logits.npy");
  auto expectError = [&](const std::string &more, const char *message) {
    EXPECT_EQ(run(more + output).exitCode, 1) << more;
    EXPECT_THAT(readFile("stderr"), HasSubstr(message)) << more;
    EXPECT_FALSE(std::filesystem::exists(folder + "/logits.npy"));
  };
  expectError(arguments + " --input nope='" + folder + "/slots.npy'",
              "has no input 'nope'; it has: tokens");
  expectError("--entry other", "other");
  expectError("--entry step --symbol cache_blocks=2", "tokens");
  expectError(arguments + " --symbol nope=1", "nope");
  writeIds("positions", {0, 1}, {2});
  expectError(arguments, "positions");
  std::ofstream(folder + "/slots.npy") << "no array";
  expectError(arguments, "slots.npy");
}

TEST_F(WeftRunTest, HelpTeaches) {
  test::CommandResult result = test::runCommand("'" WEFT_RUN "' --help");
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr("--prompt"), HasSubstr("--entry"),
                                   HasSubstr("Exit codes")));
}

} // namespace
