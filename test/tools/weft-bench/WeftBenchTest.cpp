//===- WeftBenchTest.cpp - Figures and exit codes of weft-bench -----------===//

#include "test/runtime/Llm/Support/ToyDecoder.h"
#include "test/runtime/Support/RunCommand.h"
#include "tools/weft-bench/Benchmark.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace weft;
using testing::HasSubstr;
using testing::Not;
namespace toy = weft::rt::toydecoder;

namespace {

class WeftBenchTest : public testing::Test {
protected:
  WeftBenchTest()
      : path(testing::TempDir() + "weft-bench-" + std::to_string(getpid()) +
             ".weft") {
    rt::Status status = toy::writeFile(path);
    EXPECT_TRUE(status) << status.getMessage();
  }
  ~WeftBenchTest() override { std::filesystem::remove(path); }

  test::CommandResult run(const std::string &arguments) {
    return test::runCommand("'" WEFT_BENCH "' '" + path + "' " + arguments +
                            " 2>&1");
  }

  std::string path;
};

TEST_F(WeftBenchTest, JsonHasEveryFigure) {
  test::CommandResult result =
      run("--prompt-tokens 40 --generate-tokens 20 --depth 10 --repeat 3 "
          "--threads 1 --seed 7 --json");
  ASSERT_EQ(result.exitCode, 0) << result.output;
  nlohmann::json json = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.output;
  EXPECT_EQ(json["model"], "story");
  EXPECT_EQ(json["threads"], 1);
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["depth"], 10);
  EXPECT_GT(json["peak_memory_bytes"], 1 << 20);
  EXPECT_GT(json["machine"]["read_bytes_per_second"], 1e8);
  EXPECT_GT(json["machine"]["f32_flops_per_second"], 1e8);
  for (auto [key, tokens] : {std::pair{"prompt", 40}, {"generation", 20}}) {
    const nlohmann::json &speed = json[key];
    EXPECT_EQ(speed["tokens"], tokens);
    double min = speed["tokens_per_second"]["min"];
    double median = speed["tokens_per_second"]["median"];
    double max = speed["tokens_per_second"]["max"];
    EXPECT_GT(min, 0);
    EXPECT_LE(min, median);
    EXPECT_LE(median, max);
    EXPECT_EQ(speed["measurement_error"], false);
    EXPECT_NEAR(double(speed["fraction_of_bound"]) *
                    double(speed["bound_tokens_per_second"]),
                median, median * 1e-9);
  }
  // 20 rows of logits of 264 values.
  EXPECT_EQ(json["generation"]["flops"], 20 * 264);
  // One token a step; 40 tokens in two steps of at most 32.
  EXPECT_EQ(json["generation"]["steps"], 20);
  EXPECT_NEAR(double(json["generation"]["seconds_per_step"]) *
                  double(json["generation"]["tokens_per_second"]["median"]),
              1, 1e-9);
  EXPECT_EQ(json["prompt"]["steps"], 2);
  // Each has two commands.
  EXPECT_EQ(json["prompt_kernels"].size(), 2u);
  EXPECT_EQ(json["prompt_kernels"][0]["launches"], 2);
  EXPECT_EQ(json["generation_by_kernel"].size(), 2u);
  EXPECT_EQ(json["generation_by_kernel"][0]["launches"], 20);
  EXPECT_GT(json["generation_by_kernel"][0]["fraction_of_bound"], 0);
  EXPECT_GT(json["first_token_seconds"], 0);
  EXPECT_LT(json["first_token_seconds"], 600);
  EXPECT_THAT(std::string(json["device"]), HasSubstr("cpu with 1 thread"));
}

TEST_F(WeftBenchTest, TextHasATableOfOperations) {
  test::CommandResult result =
      run("--prompt-tokens 8 --generate-tokens 8 --repeat 1 --kernels");
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.output, HasSubstr("layers.*.cache (toy_remember)"));
  EXPECT_THAT(result.output, HasSubstr("of it reached"));
  EXPECT_THAT(result.output, HasSubstr("seed 1"));
  EXPECT_THAT(result.output, Not(HasSubstr("by kernel")));
}

TEST_F(WeftBenchTest, BandwidthCanBeGiven) {
  test::CommandResult result =
      run("--prompt-tokens 8 --generate-tokens 8 --repeat 1 --per-kernel "
          "--bandwidth 12345 --device cpu");
  EXPECT_THAT(result.output, HasSubstr("12345.0 GB/s read"));
  EXPECT_THAT(result.output, HasSubstr("generation, by kernel"));
  EXPECT_THAT(result.output, HasSubstr("toy_remember: "));
}

TEST_F(WeftBenchTest, FiguresAreOfAllSequences) {
  test::CommandResult result = run("--prompt-tokens 8 --generate-tokens 5 "
                                   "--sequences 3 --repeat 1 --json");
  nlohmann::json json = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.output;
  EXPECT_EQ(json["sequences"], 3);
  EXPECT_EQ(json["prompt"]["tokens"], 24);
  EXPECT_EQ(json["generation"]["tokens"], 15);
  // One step makes a row of 264 logits for each sequence.
  EXPECT_EQ(json["generation"]["flops"], 15 * 264);
  EXPECT_EQ(json["generation_by_kernel"][0]["launches"], 5);
}

TEST_F(WeftBenchTest, FiguresOfAGpu) {
  rt::Status status = toy::writeFile(path, {.fakeCuda = true});
  ASSERT_TRUE(status) << status.getMessage();
  // The library is a driver without a GPU: it compiles nothing, so it cannot
  // measure its bandwidth.
  const std::string command =
      "LD_LIBRARY_PATH='" WEFT_FAKE_CUDA_FOLDER "' '" WEFT_BENCH "' '" + path +
      "' --prompt-tokens 8 --generate-tokens 5 "
      "--repeat 2 ";
  test::CommandResult result = test::runCommand(command + "2>&1");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("give it with --bandwidth"));
  result = test::runCommand(command + "--bandwidth 1000 --json");
  nlohmann::json json = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.output;
  EXPECT_THAT(std::string(json["device"]), HasSubstr("Fake GPU"));
  EXPECT_EQ(json["machine"]["read_bytes_per_second"], 1e12);
  // 4 multiprocessors at 1 GHz with 4096 and 256 FLOPs in a cycle.
  EXPECT_EQ(json["machine"]["bf16_flops_per_second"], 4 * 4096e9);
  EXPECT_EQ(json["machine"]["f32_flops_per_second"], 4 * 256e9);
  // 76 ids of the story; a cache of 4 blocks of 4 ids.
  EXPECT_EQ(json["device_memory_bytes"]["weights"], toy::storyIds().size() * 4);
  EXPECT_EQ(json["device_memory_bytes"]["states"], 4 * 4 * 4);
  EXPECT_GT(json["device_memory_bytes"]["beyond"], 0);
  // The fake's clock: a microsecond for each command.
  EXPECT_NEAR(json["generation_by_kernel"][0]["seconds"], 5e-6, 1e-7);
}

TEST(Bounds, KernelsAboveTheirsAreNamed) {
  BenchmarkResult result;
  result.machine.bandwidth = 1e9;
  result.flopsPerSecond = 1e12;
  // A millisecond at the bandwidth, two at the peak.
  KernelRow row = {"matmul", "k", "sm_90a", 1, 2'000'000'000, 1'000'000, 2e-3};
  EXPECT_NEAR(getFraction(row, result), 1, 1e-12);
  EXPECT_FALSE(isAboveBound(row, result));
  row.seconds = 1e-3;
  EXPECT_NEAR(getFraction(row, result), 2, 1e-12);
  EXPECT_TRUE(isAboveBound(row, result));
  result.generationByKernel = {row};
  EXPECT_THAT(printResult({}, result, {.byKernel = true}),
              HasSubstr("! above its bound: "));
}

TEST_F(WeftBenchTest, DevicesAreChecked) {
  test::CommandResult result = run("--device tpu");
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.output, HasSubstr("there is no device 'tpu'"));
  // On a machine without a driver.
  result = run("--device cuda:7");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("weft-bench: error: "));
}

TEST_F(WeftBenchTest, BadOptionsAreUsageErrors) {
  EXPECT_EQ(run("--prompt-tokens 0 --generate-tokens 0").exitCode, 2);
  EXPECT_EQ(run("--repeat 0").exitCode, 2);
  EXPECT_EQ(run("--prompt-tokens=-1").exitCode, 2);
  test::CommandResult result = run("--prompt-tokens 1000");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output,
              HasSubstr("and the model has 96; give a smaller --depth"));
  EXPECT_EQ(test::runCommand("'" WEFT_BENCH "' --help").exitCode, 0);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// A generation of 10 tokens/s at the median and 12 at best, under a bound.
BenchmarkResult makeResult(double bound, double otherCores) {
  BenchmarkResult result;
  result.machine.bandwidth = 1e9;
  result.flopsPerSecond = 1e9;
  result.otherCores = otherCores;
  result.generation = {.tokens = 20,
                       .median = 10,
                       .min = 8,
                       .max = 12,
                       .bound = bound,
                       .fraction = 10 / bound,
                       .limitedBy = "memory"};
  return result;
}

TEST(BoundTest, FiguresAboveABoundAreErrorsOnAQuietMachineOnly) {
  auto judgeIt = [](double bound, double otherCores) {
    BenchmarkResult result = makeResult(bound, otherCores);
    return judge(result.generation, result);
  };
  EXPECT_EQ(judgeIt(20, 0), BoundVerdict::Possible);
  EXPECT_EQ(judgeIt(20, 2), BoundVerdict::Possible);
  EXPECT_EQ(judgeIt(11.9, 0), BoundVerdict::Possible)
      << "the noise of measuring";
  EXPECT_EQ(judgeIt(11, 0), BoundVerdict::Impossible);
  EXPECT_EQ(judgeIt(11, 1.5), BoundVerdict::Disturbed);
  EXPECT_EQ(judgeIt(0, 0), BoundVerdict::Possible) << "the plan says nothing";
  // Others on the host do not slow a GPU's limits down.
  BenchmarkResult gpu = makeResult(11, 1.5);
  gpu.machine.isDevice = true;
  EXPECT_EQ(judge(gpu.generation, gpu), BoundVerdict::Impossible);
}

TEST(BoundTest, TextAndJsonSayWhatTheBoundIsWorth) {
  struct Expected {
    double bound, otherCores;
    const char *text;
    bool isMeaningful, isError;
  };
  for (const Expected &expected :
       {Expected{20, 1.5, "bound 20.0 tokens/s by memory; 50 % of it reached",
                 true, false},
        Expected{11, 1.5, "bound not meaningful: other programs used 1.5 cores",
                 false, false},
        Expected{11, 0, "MEASUREMENT ERROR", true, true}}) {
    const BenchmarkResult result =
        makeResult(expected.bound, expected.otherCores);
    EXPECT_THAT(printResult({}, result, {}), HasSubstr(expected.text));
    nlohmann::json json = nlohmann::json::parse(printJson({}, result));
    EXPECT_EQ(json["generation"]["bound_is_meaningful"], expected.isMeaningful);
    EXPECT_EQ(json["generation"]["measurement_error"], expected.isError);
    EXPECT_EQ(json["machine"]["cores_used_by_others"], expected.otherCores);
  }
}

TEST(MachineTest, PeaksOfTheTypeOfTheWeights) {
  MachineLimits limits;
  limits.peak = {.f32 = 100, .bf16 = 300, .instructions = ""};
  EXPECT_EQ(limits.getFlopsPerSecond("f32"), 100);
  EXPECT_EQ(limits.getFlopsPerSecond("bf16"), 300);
  EXPECT_EQ(limits.getFlopsPerSecond("f16"), 100);
  limits.isDevice = true;
  EXPECT_EQ(limits.getFlopsPerSecond("f16"), 300);
  limits.peak.bf16 = limits.peak.f32 = 0;
  EXPECT_EQ(limits.getFlopsPerSecond("bf16"), 1e18);
}

TEST(MachineTest, MoreMeasurementsOnlyRaiseLimits) {
  MachineLimits limits;
  ASSERT_TRUE(limits.measureHost(1, 1e6));
  EXPECT_EQ(limits.bufferBytes, 1000000);
  const MachineLimits before = limits;
  ASSERT_TRUE(limits.measureHost(1, 1e6));
  EXPECT_GE(limits.bandwidth, before.bandwidth);
  EXPECT_GE(limits.peak.f32, before.peak.f32);
  limits.bandwidth = 1e30;
  ASSERT_TRUE(limits.measureHost(1, 1e6));
  EXPECT_EQ(limits.bandwidth, 1e30);
}

// A thread that computes is this process's own work, another process is not.
TEST(MachineTest, OtherWorkIsThatOfOtherProcesses) {
  OtherWork others;
  test::runCommand("timeout 0.6 sh -c 'while :; do :; done'");
  EXPECT_GT(others.getCores(), 0.3);
}

TEST(RooflineTest, FiguresAreThoseOfAMachine) {
  // A processor of this century, and less than any that exists.
  PeakFlops peak = measurePeakFlops(1);
  EXPECT_GT(peak.f32, 1e9);
  EXPECT_LT(peak.f32, 1e12);
  EXPECT_FALSE(peak.instructions.empty());
  EXPECT_LT(peak.bf16, 4 * 1e12);
  rt::Result<double> bandwidth = measureReadBandwidth(1, 16 << 20);
  ASSERT_TRUE(bandwidth);
  EXPECT_GT(*bandwidth, 1e8);
  EXPECT_LT(*bandwidth, 1e12);
}

} // namespace
