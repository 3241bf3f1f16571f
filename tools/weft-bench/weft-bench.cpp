//===- weft-bench.cpp - Speed of a compiled model -------------------------===//

#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Device/Device.h"
#include "tools/common/CommandLine.h"
#include "tools/weft-bench/Benchmark.h"

#include <cstdio>

using namespace weft;

static constexpr const char *kDescription =
    R"(Measures how fast a compiled model computes a prompt and generates.

  weft-bench model.weft --prompt-tokens 512 --generate-tokens 128

The prompt has random ids. Two repetitions warm up, the others are timed.)";

static constexpr const char *kFooter =
    R"(Each figure comes with its bound: the larger of the bytes that the plan has to
read divided by the measured read bandwidth, and its FLOPs divided by the
measured peak, both with the same number of threads and before and after the
repetitions. Bytes of a small model are read from a cache, and so is the buffer
that the bandwidth is measured with. A figure above its bound is reported as an
error of the measurement, with exit code 1; while other programs use the machine,
which lowers measured limits, the bound is reported as not meaningful instead.

On a GPU the bandwidth is that of a kernel that only reads and the peak that of
the specification; times of single commands are those of events.

--depth N measures with N tokens in the cache before the prompt; --kernels and
--per-kernel say where the time goes (from a repetition of its own).
Exit codes: 0 done, 1 an error that is explained on standard error, 2 wrong
command line, 70 a bug in Weft.)";

static int run(int argc, char **argv) {
  CLI::App app(kDescription, "weft-bench");
  app.footer(kFooter);
  BenchmarkOptions options;
  bool json = false;
  Tables tables;
  double bandwidth = 0;
  constexpr int64_t most = 1 << 30;
  app.add_option("plan", options.plan, "The compiled model (.weft)")
      ->required();
  app.add_option("--prompt-tokens", options.promptTokens,
                 "Tokens of the prompt; 0: none")
      ->check(tools::wholeNumber(0, most))
      ->capture_default_str();
  app.add_option("--generate-tokens", options.generateTokens,
                 "Tokens to generate; 0: none")
      ->check(tools::wholeNumber(0, most))
      ->capture_default_str();
  app.add_option("--sequences", options.sequences,
                 "Sequences at the same time; figures are of all together")
      ->check(tools::wholeNumber(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--depth", options.depth,
                 "Tokens in the cache before the prompt")
      ->check(tools::wholeNumber(0, most))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "Timed repetitions")
      ->check(tools::wholeNumber(1, 10000))
      ->capture_default_str();
  app.add_option("--tokens-per-step", options.tokensPerStep,
                 "Longer prompts are computed in pieces of this size")
      ->check(tools::wholeNumber(1, most))
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "Of the kernels (default: one per usable core)")
      ->check(tools::wholeNumber(1, rt::ThreadPool::maxThreads));
  app.add_option("--seed", options.seed, "Of the prompt's ids")
      ->capture_default_str();
  app.add_flag("--json", json, "Write one JSON object");
  app.add_flag("--kernels", tables.byOperation,
               "Add a table of time by operation");
  app.add_flag("--per-kernel", tables.byKernel,
               "Add a table of time, traffic and fraction of the bound by "
               "kernel");
  app.add_option("--device", options.device,
                 "cpu, cuda, cuda:N or null (default: what the plan was "
                 "compiled for)")
      ->check(tools::notEmpty())
      ->check([](const std::string &name) {
        return rt::checkDeviceName(name).getMessage();
      });
  app.add_option("--bandwidth", bandwidth,
                 "GB/s that the device's memory is read with at most (default: "
                 "measured)")
      ->check([](const std::string &text) -> std::string {
        // NaN and infinity are numbers of the parser.
        double value = 0;
        constexpr double most = 1e6;
        if (CLI::detail::lexical_cast(text, value) && value > 0 &&
            value <= most)
          return "";
        return "found '" + text +
               "', expected a number above 0 and at most 1000000";
      });
  app.callback([&] {
    if (options.promptTokens + options.generateTokens == 0)
      throw CLI::ValidationError(
          "--prompt-tokens and --generate-tokens are both 0");
  });
  if (std::optional<int> code = tools::parseCommandLine(app, argc, argv))
    return *code;

  options.bandwidth = bandwidth * 1e9;
  rt::Result<BenchmarkResult> result = runBenchmark(options);
  if (!result)
    return tools::finish("weft-bench", result.getStatus());
  std::string text = json ? printJson(options, *result)
                          : printResult(options, *result, tables);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      std::fflush(stdout) != 0)
    return tools::finish("weft-bench",
                         rt::Status::io("cannot write standard output"));
  if (judge(result->prompt, *result) != BoundVerdict::Impossible &&
      judge(result->generation, *result) != BoundVerdict::Impossible)
    return tools::exitOk;
  std::fprintf(stderr, "weft-bench: error: a figure is above its bound; see "
                       "the output\n");
  return tools::exitDiagnosed;
}

int main(int argc, char **argv) {
  return tools::runMain("weft-bench", [&] { return run(argc, argv); });
}
