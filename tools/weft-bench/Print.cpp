//===- Print.cpp - Results of weft-bench as text and JSON -----------------===//

#include "tools/weft-bench/Benchmark.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

using namespace weft;
using Json = nlohmann::ordered_json;

__attribute__((format(printf, 2, 3))) static void
append(std::string &out, const char *format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  out += line;
}

/// How far above its bound a figure may be by the noise of measuring.
static constexpr double noise = 1.05;

BoundVerdict weft::judge(const Speed &speed, const BenchmarkResult &result) {
  if (speed.bound == 0 || speed.max <= speed.bound * noise)
    return BoundVerdict::Possible;
  // A twentieth of a core: more than what an idle system does.
  constexpr double quiet = 0.05;
  return !result.machine.isDevice && result.otherCores > quiet
             ? BoundVerdict::Disturbed
             : BoundVerdict::Impossible;
}

/// Of the median repetition.
static double getStepSeconds(const Speed &speed) {
  return double(speed.tokens) / speed.median / double(speed.steps);
}

static void printSpeed(std::string &out, const char *name, const Speed &speed,
                       const BenchmarkResult &result) {
  if (speed.tokens == 0)
    return;
  append(out, "%-11s %5lld tokens  %10.1f tokens/s  (min %.1f, max %.1f)\n",
         name, (long long)speed.tokens, speed.median, speed.min, speed.max);
  if (speed.steps != 0)
    append(out, "%-11s %lld steps of %.3f ms, %.2f MB and %.3f GFLOP each\n",
           "", (long long)speed.steps, getStepSeconds(speed) * 1e3,
           speed.bytes / double(speed.steps) * 1e-6,
           speed.flops / double(speed.steps) * 1e-9);
  if (speed.bound == 0) {
    append(out, "%-11s no bound: the plan does not say what it does\n", "");
    return;
  }
  const BoundVerdict verdict = judge(speed, result);
  if (verdict == BoundVerdict::Disturbed) {
    append(out,
           "%-11s bound not meaningful: other programs used %.1f cores, and "
           "the limits measured beside them (%.1f tokens/s) are below what "
           "was reached\n",
           "", result.otherCores, speed.bound);
    return;
  }
  append(out, "%-11s bound %.1f tokens/s by %s; %.3g %% of it reached\n", "",
         speed.bound, speed.limitedBy.c_str(), speed.fraction * 100);
  if (verdict == BoundVerdict::Impossible)
    append(out,
           "%-11s MEASUREMENT ERROR: faster than the bound on a machine "
           "without other work; the plan overstates its work, or the limits "
           "are measured wrongly\n",
           "");
}

static void printKernels(std::string &out, const char *title,
                         const std::vector<KernelRow> &rows) {
  if (rows.empty())
    return;
  double total = 0;
  for (const KernelRow &row : rows)
    total += row.seconds;
  append(out, "\n%s\n%6s %9s %8s %9s %9s  %-12s %s\n", title, "time", "ms",
         "launches", "GB/s", "GFLOP/s", "target", "operation (kernel)");
  for (const KernelRow &row : rows) {
    double seconds = std::max(row.seconds, 1e-9);
    append(out, "%5.1f%% %9.3f %8lld %9.2f %9.2f  %-12s %s%s%s%s\n",
           100 * row.seconds / std::max(total, 1e-9), row.seconds * 1e3,
           (long long)row.launches, double(row.bytes) / seconds * 1e-9,
           double(row.flops) / seconds * 1e-9, row.target.c_str(),
           row.label.substr(0, 80).c_str(), row.kernel.empty() ? "" : " (",
           row.kernel.substr(0, 80).c_str(), row.kernel.empty() ? "" : ")");
  }
}

double weft::getFraction(const KernelRow &row, const BenchmarkResult &result) {
  const double memory = double(row.bytes) / result.machine.bandwidth;
  const double arithmetic = double(row.flops) / result.flopsPerSecond;
  return std::max(memory, arithmetic) / std::max(row.seconds, 1e-9);
}

bool weft::isAboveBound(const KernelRow &row, const BenchmarkResult &result) {
  return getFraction(row, result) > noise;
}

static void printByKernel(std::string &out, const char *title,
                          const std::vector<KernelRow> &rows,
                          const BenchmarkResult &result) {
  if (rows.empty())
    return;
  double total = 0, bytes = 0;
  for (const KernelRow &row : rows) {
    total += row.seconds;
    bytes += double(row.bytes);
  }
  append(out, "\n%s\n%6s %9s %8s %8s %10s %9s %10s %6s  %s\n", title, "time",
         "ms", "launches", "us each", "MB", "GB/s", "GFLOP/s", "bound",
         "kernel");
  for (const KernelRow &row : rows) {
    const double seconds = std::max(row.seconds, 1e-9);
    append(out,
           "%5.1f%% %9.3f %8lld %8.1f %10.2f %9.1f %10.1f %5.1f%%%c %s: %s\n",
           100 * row.seconds / std::max(total, 1e-9), row.seconds * 1e3,
           (long long)row.launches, seconds * 1e6 / double(row.launches),
           double(row.bytes) * 1e-6, double(row.bytes) / seconds * 1e-9,
           double(row.flops) / seconds * 1e-9, 100 * getFraction(row, result),
           isAboveBound(row, result) ? '!' : ' ',
           row.kernel.substr(0, 80).c_str(), row.label.substr(0, 80).c_str());
  }
  append(out, "%6s %9.3f %8s %8s %10.2f %9.1f\n", "all", total * 1e3, "", "",
         bytes * 1e-6, bytes / std::max(total, 1e-9) * 1e-9);
  if (std::any_of(rows.begin(), rows.end(), [&](const KernelRow &row) {
        return isAboveBound(row, result);
      }))
    append(out,
           "%6s above its bound: its data came from a cache, or the plan "
           "overstates its work\n",
           "!");
}

std::string weft::printResult(const BenchmarkOptions &options,
                              const BenchmarkResult &result, Tables tables) {
  std::string out;
  append(out,
         "model       %s, %s weights, %u threads, sequences %lld, depth %lld, "
         "seed %u\n",
         result.model.substr(0, 200).c_str(),
         result.weightsDtype.empty() ? "?" : result.weightsDtype.c_str(),
         result.threads, (long long)options.sequences, (long long)options.depth,
         options.seed);
  append(out, "device      %s\n", result.device.substr(0, 400).c_str());
  append(out,
         "machine     %.1f GB/s read (%.1f MiB buffer), %.1f GFLOP/s f32, ",
         result.machine.bandwidth * 1e-9,
         double(result.machine.bufferBytes) / (1 << 20),
         result.machine.peak.f32 * 1e-9);
  if (result.machine.peak.bf16 > 0)
    append(out, "%.1f GFLOP/s bf16, ", result.machine.peak.bf16 * 1e-9);
  append(out, "%s\n", result.machine.peak.instructions.c_str());
  append(out,
         "open        %.3f s, first token %.2f s after the start of the "
         "process, peak memory %.1f MiB\n",
         result.openSeconds, result.firstTokenSeconds,
         double(result.peakMemoryBytes) / (1 << 20));
  if (result.hasDeviceMemory) {
    constexpr double mebibyte = 1 << 20;
    const DeviceMemoryUse &use = result.deviceMemory;
    append(out,
           "gpu memory  %.1f MiB weights, %.1f MiB states, %.1f MiB beyond "
           "these; %.1f MiB in use on the device\n",
           double(use.weights) / mebibyte, double(use.states) / mebibyte,
           double(use.beyond) / mebibyte, double(use.inUse) / mebibyte);
  }
  printSpeed(out, "prompt", result.prompt, result);
  printSpeed(out, "generation", result.generation, result);
  if (tables.byKernel) {
    printByKernel(out, "prompt, by kernel", result.promptByKernel, result);
    printByKernel(out, "generation, by kernel", result.generationByKernel,
                  result);
  }
  if (tables.byOperation) {
    printKernels(out, "prompt, by operation", result.promptKernels);
    printKernels(out, "generation, by operation", result.generationKernels);
  }
  return out;
}

static Json toJson(const Speed &speed, const BenchmarkResult &result) {
  if (speed.tokens == 0)
    return nullptr;
  Json json = {
      {"tokens", speed.tokens},
      {"tokens_per_second",
       {{"median", speed.median}, {"min", speed.min}, {"max", speed.max}}},
      {"flops", speed.flops},
      {"bytes", speed.bytes}};
  if (speed.steps != 0) {
    json["steps"] = speed.steps;
    json["seconds_per_step"] = getStepSeconds(speed);
  }
  if (speed.bound > 0) {
    json["bound_tokens_per_second"] = speed.bound;
    json["fraction_of_bound"] = speed.fraction;
    json["limited_by"] = speed.limitedBy;
    const BoundVerdict verdict = judge(speed, result);
    json["bound_is_meaningful"] = verdict != BoundVerdict::Disturbed;
    json["measurement_error"] = verdict == BoundVerdict::Impossible;
  }
  return json;
}

static Json toJson(const std::vector<KernelRow> &rows) {
  Json list = Json::array();
  for (const KernelRow &row : rows)
    list.push_back({{"operation", row.label},
                    {"kernel", row.kernel},
                    {"target", row.target},
                    {"launches", row.launches},
                    {"seconds", row.seconds},
                    {"flops", row.flops},
                    {"bytes", row.bytes}});
  return list;
}

static Json toJson(const std::vector<KernelRow> &rows,
                   const BenchmarkResult &result) {
  Json list = Json::array();
  for (const KernelRow &row : rows)
    list.push_back({{"kernel", row.kernel},
                    {"computes", row.label},
                    {"target", row.target},
                    {"launches", row.launches},
                    {"seconds", row.seconds},
                    {"flops", row.flops},
                    {"bytes", row.bytes},
                    {"fraction_of_bound", getFraction(row, result)},
                    {"above_bound", isAboveBound(row, result)}});
  return list;
}

std::string weft::printJson(const BenchmarkOptions &options,
                            const BenchmarkResult &result) {
  Json json = {
      {"plan", options.plan},
      {"model", result.model},
      {"weights_dtype", result.weightsDtype},
      {"threads", result.threads},
      {"sequences", options.sequences},
      {"depth", options.depth},
      {"repeat", options.repeat},
      {"tokens_per_step", options.tokensPerStep},
      {"seed", options.seed},
      {"device", result.device},
      {"open_seconds", result.openSeconds},
      {"first_token_seconds", result.firstTokenSeconds},
      {"peak_memory_bytes", result.peakMemoryBytes},
      {"machine",
       {{"read_bytes_per_second", result.machine.bandwidth},
        {"read_buffer_bytes", result.machine.bufferBytes},
        {"f32_flops_per_second", result.machine.peak.f32},
        {"bf16_flops_per_second", result.machine.peak.bf16},
        {"instructions", result.machine.peak.instructions},
        {"cores_used_by_others", result.otherCores}}},
      {"prompt", toJson(result.prompt, result)},
      {"generation", toJson(result.generation, result)},
      {"prompt_kernels", toJson(result.promptKernels)},
      {"generation_kernels", toJson(result.generationKernels)},
      {"prompt_by_kernel", toJson(result.promptByKernel, result)},
      {"generation_by_kernel", toJson(result.generationByKernel, result)}};
  if (result.hasDeviceMemory)
    json["device_memory_bytes"] = {{"weights", result.deviceMemory.weights},
                                   {"states", result.deviceMemory.states},
                                   {"beyond", result.deviceMemory.beyond},
                                   {"in_use", result.deviceMemory.inUse}};
  // Names come from a file and may not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
