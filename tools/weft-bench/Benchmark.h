//===- Benchmark.h - Speed of prompt and generation -----------------------===//

#ifndef WEFT_TOOLS_WEFTBENCH_BENCHMARK_H
#define WEFT_TOOLS_WEFTBENCH_BENCHMARK_H

#include "runtime/Format/Status.h"
#include "tools/weft-bench/Machine.h"
#include "tools/weft-bench/Workload.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct BenchmarkOptions {
  std::string plan;
  int64_t promptTokens = 512, generateTokens = 128;
  int64_t sequences = 1; ///< At the same time, each with these lengths.
  int64_t depth = 0;     ///< Tokens in the cache before the prompt.
  int64_t repeat = 5;
  int64_t tokensPerStep = 512;
  unsigned threads = 0; ///< 0: one per usable core.
  std::string device;   ///< Empty: that of the plan's target.
  uint32_t seed = 1;
  double bandwidth = 0; ///< Bytes per second; 0: it is measured.
};

/// Memory of a device with memory of its own, in bytes.
struct DeviceMemoryUse {
  uint64_t weights = 0, states = 0;
  /// Most that was allocated beyond these: workspace, arguments, recorded runs.
  uint64_t beyond = 0;
  /// What is in use on the device, by the driver and other processes too.
  uint64_t inUse = 0;
};

/// Tokens per second of one kind of work, over all repetitions.
struct Speed {
  int64_t tokens = 0; ///< Of one repetition, as the next.
  int64_t steps = 0;  ///< Runs of an entry of the plan.
  double median = 0, min = 0, max = 0;
  /// What the machine's measured limits allow, and what of it the median
  /// reached. 0: the plan does not say what it does.
  double bound = 0, fraction = 0;
  /// "memory" or "arithmetic": what takes longer at the bound.
  std::string limitedBy;
  /// Of one repetition.
  double flops = 0, bytes = 0;
};

struct BenchmarkResult {
  std::string model, weightsDtype;
  unsigned threads = 0;
  Speed prompt, generation; ///< tokens 0: not asked for.
  double openSeconds = 0;   ///< Opening the artifact and making the session.
  /// From the start of the process to the first token of the first prompt.
  double firstTokenSeconds = 0;
  std::string device; ///< Device::describe.
  bool hasDeviceMemory = false;
  DeviceMemoryUse deviceMemory;
  int64_t peakMemoryBytes = 0;
  MachineLimits machine;
  std::vector<KernelRow> promptKernels, generationKernels;
  /// The same by kernel of the plan.
  std::vector<KernelRow> promptByKernel, generationByKernel;
  double flopsPerSecond = 0; ///< That bounds are made with.
  /// Cores of the host that others used during the measurements.
  double otherCores = 0;
};

/// What a bound says about a figure.
enum class BoundVerdict {
  Possible, ///< Even the fastest repetition is below it, give or take noise.
  /// It is not, and the machine was too busy with other work for its limits to
  /// be measured.
  Disturbed,
  Impossible, ///< It is not: one of the two measurements is wrong.
};
BoundVerdict judge(const Speed &speed, const BenchmarkResult &result);

/// What of its bound a kernel reached: of the longer of its bytes at the
/// machine's bandwidth and its FLOPs at the peak.
double getFraction(const KernelRow &row, const BenchmarkResult &result);
/// Whether a kernel was faster than its bound, give or take noise: its data
/// came from a cache, or one of the figures is wrong.
bool isAboveBound(const KernelRow &row, const BenchmarkResult &result);

rt::Result<BenchmarkResult> runBenchmark(const BenchmarkOptions &options);

/// Which tables printResult adds.
struct Tables {
  bool byOperation = false, byKernel = false;
};

/// Text for people or one JSON object.
std::string printResult(const BenchmarkOptions &options,
                        const BenchmarkResult &result, Tables tables);
std::string printJson(const BenchmarkOptions &options,
                      const BenchmarkResult &result);

} // namespace weft

#endif // WEFT_TOOLS_WEFTBENCH_BENCHMARK_H
