//===- Benchmark.cpp - Speed of prompt and generation ---------------------===//

#include "tools/weft-bench/Benchmark.h"

#include "runtime/Llm/LanguageModel.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <sys/resource.h>
#include <type_traits>
#include <unistd.h>

using namespace weft;
using namespace weft::rt;
using Clock = std::chrono::steady_clock;

namespace {

/// One repetition: tokens in the cache, then a prompt, then generation, of all
/// sequences at once.
class Run {
public:
  Run(GenerationSession &session, const BenchmarkOptions &options)
      : session(session), generator(session.getGenerator()), options(options),
        random(options.seed) {}

  /// Makes the sequences and computes prompts for the first time.
  Status computeFirst() {
    sequences.resize(options.sequences);
    for (SequenceId &sequence : sequences)
      sequence = generator.addSequence();
    Result<double> prompt =
        compute(std::max<int64_t>(options.promptTokens, 1), nullptr);
    if (!prompt)
      return prompt.getStatus();
    return rewind(0);
  }

  /// Computes what every prompt comes after; needs computeFirst.
  Status computeDepth() {
    return options.depth > 0 ? compute(options.depth, nullptr).getStatus()
                             : Status::ok();
  }

  /// Seconds of the prompt and of the generation; needs computeDepth.
  Result<std::pair<double, double>> once(Workload *promptWork,
                                         Workload *generationWork) {
    std::pair<double, double> seconds;
    if (options.promptTokens > 0) {
      Result<double> prompt = compute(options.promptTokens, promptWork);
      if (!prompt)
        return prompt.getStatus();
      seconds.first = *prompt;
    }
    if (options.generateTokens > 0) {
      // The step that computes this token is the first of the generation.
      for (SequenceId sequence : sequences)
        if (Status s = generator.append(sequence, randomIds(1)); !s)
          return s;
      Result<double> generation =
          generate(options.generateTokens, generationWork);
      if (!generation)
        return generation.getStatus();
      seconds.second = *generation;
    }
    if (Status s = rewind(options.depth); !s)
      return s;
    return seconds;
  }

private:
  /// Leaves the first `length` tokens of each sequence.
  Status rewind(int64_t length) {
    for (SequenceId sequence : sequences)
      if (Status s = generator.rewind(sequence, length); !s)
        return s;
    return Status::ok();
  }

  std::vector<int32_t> randomIds(int64_t count) {
    std::vector<int32_t> ids(count);
    for (int32_t &id : ids)
      id = int32_t(random() % uint32_t(generator.getMeta().vocabularySize));
    return ids;
  }

  /// Puts `count` random tokens of each sequence into the cache.
  Result<double> compute(int64_t count, Workload *work) {
    for (SequenceId sequence : sequences)
      if (Status s = generator.append(sequence, randomIds(count)); !s)
        return s;
    int64_t length = int64_t(generator.getTokens(sequences[0])->size());
    Result<double> seconds = generate(1, work);
    if (!seconds)
      return seconds;
    // The sampled token was not asked for.
    if (Status s = rewind(length); !s)
      return s;
    return seconds;
  }

  Result<double> generate(int64_t count, Workload *work) {
    std::vector<GenerationRequest> requests(sequences.size());
    for (size_t i = 0; i < sequences.size(); ++i) {
      requests[i].sequence = sequences[i];
      requests[i].options.maxTokens = count;
      requests[i].options.ignoreEos = true;
    }
    uint32_t hook =
        work ? session.getSession().addHook(work->makeHook(), HookKind::Times)
             : 0;
    Result<std::vector<GenerationResult>> results =
        generator.generate(requests);
    if (work)
      session.getSession().removeHook(hook);
    if (!results)
      return results.getStatus();
    for (const GenerationResult &result : *results) {
      if (result.reason == FinishReason::Failed)
        return result.status;
      if (int64_t(result.ids.size()) != count)
        return Status::internal("the benchmark generated " +
                                std::to_string(result.ids.size()) +
                                " tokens instead of " + std::to_string(count));
    }
    const GenerationTimes &times = generator.getTimes();
    return times.promptSeconds + times.generateSeconds;
  }

  GenerationSession &session;
  Generator &generator;
  const BenchmarkOptions &options;
  std::mt19937 random;
  std::vector<SequenceId> sequences;
};

} // namespace

static Speed summarise(int64_t tokens, const std::vector<double> &seconds) {
  std::vector<double> rates;
  for (double s : seconds)
    rates.push_back(double(tokens) / s);
  std::sort(rates.begin(), rates.end());
  Speed speed;
  speed.tokens = tokens;
  speed.min = rates.front();
  speed.max = rates.back();
  size_t half = rates.size() / 2;
  speed.median =
      rates.size() % 2 ? rates[half] : (rates[half - 1] + rates[half]) / 2;
  return speed;
}

/// The time of a step is at least that of its bytes and that of its FLOPs.
static void addBound(Speed &speed, const std::vector<StepWork> &steps,
                     double bandwidth, double flopsPerSecond) {
  double seconds = 0, memorySeconds = 0, arithmeticSeconds = 0;
  double flops = 0, bytes = 0;
  speed.steps = int64_t(steps.size());
  for (const StepWork &step : steps) {
    double memory = step.bytes / bandwidth;
    double arithmetic = step.flops / flopsPerSecond;
    seconds += std::max(memory, arithmetic);
    memorySeconds += memory;
    arithmeticSeconds += arithmetic;
    flops += step.flops;
    bytes += step.bytes;
  }
  speed.flops = flops;
  speed.bytes = bytes;
  // A plan that does not say what it does has no bound.
  if (seconds == 0)
    return;
  speed.bound = double(speed.tokens) / seconds;
  speed.fraction = speed.median / speed.bound;
  speed.limitedBy = memorySeconds > arithmeticSeconds ? "memory" : "arithmetic";
}

/// Seconds since the process started, to a hundredth (proc(5)); 0 if unknown.
static double getProcessAge() {
  std::ifstream in("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  // The second field is a name in parentheses, which may have spaces.
  std::istringstream fields(
      text.substr(std::min(text.size(), text.rfind(')'))));
  std::string field;
  constexpr int startTimeField = 22, firstField = 2;
  for (int i = firstField; i <= startTimeField; ++i)
    fields >> field;
  uint64_t ticks = 0;
  auto [end, error] =
      std::from_chars(field.data(), field.data() + field.size(), ticks);
  timespec now = {};
  if (error != std::errc() || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
    return 0;
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9 -
         double(ticks) / double(sysconf(_SC_CLK_TCK));
}

static int64_t getPeakMemory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

/// Bytes that a step of the generation reads, or of the prompt if nothing is
/// generated.
static double getStepBytes(const Workload &prompt, const Workload &generation) {
  const std::vector<StepWork> &steps =
      generation.getSteps().empty() ? prompt.getSteps() : generation.getSteps();
  double most = 0;
  for (const StepWork &step : steps)
    most = std::max(most, step.bytes);
  return most;
}

static void readDeviceMemory(DeviceMemoryUse &use, const Session &session) {
  for (const Param &param : session.getPlan().params)
    use.weights += param.size;
  use.states = session.getStateBytes();
  const Device::MemoryUse memory =
      session.getProgram().getDevice().getMemoryUse();
  const uint64_t peak = memory.peak + session.getRecordingBytes();
  use.beyond = peak - std::min(peak, use.weights + use.states);
  use.inUse = memory.total - memory.free;
}

/// The limits of the machine beside what was run, and the bounds by them.
static Status addBounds(BenchmarkResult &result, const Workload &prompt,
                        const Workload &generation, double givenBandwidth) {
  MachineLimits &machine = result.machine;
  auto update = [&] {
    if (givenBandwidth != 0)
      machine.bandwidth = givenBandwidth;
    result.flopsPerSecond = machine.getFlopsPerSecond(result.weightsDtype);
    addBound(result.prompt, prompt.getSteps(), machine.bandwidth,
             result.flopsPerSecond);
    addBound(result.generation, generation.getSteps(), machine.bandwidth,
             result.flopsPerSecond);
  };
  if (machine.isDevice) {
    update();
    return Status::ok();
  }
  // What was faster than a limit was so because other programs disturbed the
  // measurement of the limit: then it is worth more of them.
  constexpr int mostRounds = 8;
  for (int i = 0; i < mostRounds; ++i) {
    if (Status s = machine.measureHost(result.threads,
                                       getStepBytes(prompt, generation));
        !s)
      return s;
    update();
    if (judge(result.prompt, result) == BoundVerdict::Possible &&
        judge(result.generation, result) == BoundVerdict::Possible)
      break;
  }
  return Status::ok();
}

Result<BenchmarkResult> weft::runBenchmark(const BenchmarkOptions &options) {
  BenchmarkResult result;
  Clock::time_point begin = Clock::now();
  Result<std::unique_ptr<LanguageModel>> model =
      LanguageModel::open(options.plan, options.threads, options.device);
  if (!model)
    return model.getStatus();
  GenerationSessionOptions sizes;
  sizes.contextLength =
      options.depth + options.promptTokens + options.generateTokens + 1;
  if (int64_t most = (*model)->getMeta().contextLength;
      sizes.contextLength > most)
    return Status::limit(
        "depth, prompt and generation need a context of " +
        std::to_string(sizes.contextLength) + " tokens and the model has " +
        std::to_string(most) +
        "; give a smaller --depth, --prompt-tokens or --generate-tokens");
  sizes.tokensPerStep = options.tokensPerStep;
  sizes.sequences = options.sequences;
  Result<std::unique_ptr<GenerationSession>> session =
      (*model)->createSession(sizes);
  if (!session)
    return session.getStatus();
  std::chrono::duration<double> opened = Clock::now() - begin;
  result.openSeconds = opened.count();
  const ModelMeta &meta = (*model)->getMeta();
  result.model = meta.name;
  result.weightsDtype = meta.weightsDtype;
  result.threads = (*model)->getProgram().getDevice().getWorkerCount();

  // One repetition warms up, one tells what there is to do and where the time
  // goes; watching every command costs time, so neither counts.
  Workload promptWork, generationWork;
  Run run(**session, options);
  if (Status s = run.computeFirst(); !s)
    return s;
  result.firstTokenSeconds = getProcessAge();
  if (Status s = run.computeDepth(); !s)
    return s;
  if (auto first = run.once(nullptr, nullptr); !first)
    return first.getStatus();
  if (auto watched = run.once(&promptWork, &generationWork); !watched)
    return watched.getStatus();
  result.promptByKernel = promptWork.getRowsByKernel();
  result.generationByKernel = generationWork.getRowsByKernel();
  result.promptKernels = promptWork.getRows();
  result.generationKernels = generationWork.getRows();
  result.peakMemoryBytes = getPeakMemory();

  // Limits are measured before and after: others may disturb one of them.
  Device &device = (*model)->getProgram().getDevice();
  result.device = device.describe();
  result.hasDeviceMemory = !device.isHostMemory();
  result.machine.bandwidth = result.hasDeviceMemory ? options.bandwidth : 0;
  // Before the measurement of the device takes memory of its own.
  if (result.hasDeviceMemory)
    readDeviceMemory(result.deviceMemory, (*session)->getSession());
  OtherWork others;
  if (Status s =
          result.hasDeviceMemory
              ? result.machine.measureDevice(device)
              : result.machine.measureHost(
                    result.threads, getStepBytes(promptWork, generationWork));
      !s)
    return s;
  std::vector<double> promptSeconds, generationSeconds;
  for (int64_t i = 0; i < options.repeat; ++i) {
    auto seconds = run.once(nullptr, nullptr);
    if (!seconds)
      return seconds.getStatus();
    promptSeconds.push_back(seconds->first);
    generationSeconds.push_back(seconds->second);
  }
  if (options.promptTokens > 0)
    result.prompt =
        summarise(options.promptTokens * options.sequences, promptSeconds);
  if (options.generateTokens > 0)
    result.generation = summarise(options.generateTokens * options.sequences,
                                  generationSeconds);
  result.otherCores = others.getCores();
  if (Status s =
          addBounds(result, promptWork, generationWork, options.bandwidth);
      !s)
    return s;
  result.otherCores = others.getCores();
  return result;
}
