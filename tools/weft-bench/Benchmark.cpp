//===- Benchmark.cpp - Speed of prompt and generation ---------------------===//

#include "tools/weft-bench/Benchmark.h"

#include "runtime/Llm/LanguageModel.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <sys/resource.h>

using namespace weft;
using namespace weft::rt;
using Clock = std::chrono::steady_clock;

namespace {

/// One repetition: tokens in the cache, then a prompt, then generation.
class Run {
public:
  Run(GenerationSession &session, const BenchmarkOptions &options)
      : session(session), generator(session.getGenerator()), options(options),
        random(options.seed) {}

  /// Seconds of the prompt and of the generation.
  Result<std::pair<double, double>> once(Workload *promptWork,
                                         Workload *generationWork) {
    SequenceId sequence = generator.addSequence();
    Result<std::pair<double, double>> times =
        timeSequence(sequence, promptWork, generationWork);
    if (Status s = generator.removeSequence(sequence); !s)
      return s;
    return times;
  }

private:
  Result<std::pair<double, double>> timeSequence(SequenceId sequence,
                                                 Workload *promptWork,
                                                 Workload *generationWork) {
    std::pair<double, double> seconds;
    if (options.depth > 0) {
      Result<double> filled = compute(sequence, options.depth, nullptr);
      if (!filled)
        return filled.getStatus();
    }
    if (options.promptTokens > 0) {
      Result<double> prompt =
          compute(sequence, options.promptTokens, promptWork);
      if (!prompt)
        return prompt.getStatus();
      seconds.first = *prompt;
    }
    if (options.generateTokens == 0)
      return seconds;
    // The step that computes this token is the first of the generation.
    if (Status s = generator.append(sequence, randomIds(1)); !s)
      return s;
    Result<double> generation =
        generate(sequence, options.generateTokens, generationWork);
    if (!generation)
      return generation.getStatus();
    seconds.second = *generation;
    return seconds;
  }

  std::vector<int32_t> randomIds(int64_t count) {
    std::vector<int32_t> ids(count);
    for (int32_t &id : ids)
      id = int32_t(random() % uint32_t(generator.getMeta().vocabularySize));
    return ids;
  }

  /// Puts `count` random tokens into the cache.
  Result<double> compute(SequenceId sequence, int64_t count, Workload *work) {
    if (Status s = generator.append(sequence, randomIds(count)); !s)
      return s;
    int64_t length = int64_t(generator.getTokens(sequence)->size());
    Result<double> seconds = generate(sequence, 1, work);
    if (!seconds)
      return seconds;
    // The sampled token was not asked for.
    if (Status s = generator.rewind(sequence, length); !s)
      return s;
    return seconds;
  }

  Result<double> generate(SequenceId sequence, int64_t count, Workload *work) {
    GenerationRequest request;
    request.sequence = sequence;
    request.options.maxTokens = count;
    request.options.ignoreEos = true;
    uint32_t hook =
        work ? session.getSession().addHook(work->makeHook(), HookKind::Times)
             : 0;
    Result<GenerationResult> result = generator.generate(request);
    if (work)
      session.getSession().removeHook(hook);
    if (!result)
      return result.getStatus();
    if (result->reason == FinishReason::Failed)
      return result->status;
    if (int64_t(result->ids.size()) != count)
      return Status::internal("the benchmark generated " +
                              std::to_string(result->ids.size()) +
                              " tokens instead of " + std::to_string(count));
    const GenerationTimes &times = generator.getTimes();
    return times.promptSeconds + times.generateSeconds;
  }

  GenerationSession &session;
  Generator &generator;
  const BenchmarkOptions &options;
  std::mt19937 random;
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
  for (const StepWork &step : steps) {
    double memory = step.bytes / bandwidth;
    double arithmetic = step.flops / flopsPerSecond;
    seconds += std::max(memory, arithmetic);
    memorySeconds += memory;
    arithmeticSeconds += arithmetic;
    speed.flops += step.flops;
    speed.bytes += step.bytes;
  }
  // A plan that does not say what it does has no bound.
  if (seconds == 0)
    return;
  speed.bound = double(speed.tokens) / seconds;
  speed.fraction = speed.median / speed.bound;
  speed.limitedBy = memorySeconds > arithmeticSeconds ? "memory" : "arithmetic";
}

static int64_t getPeakMemory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

/// Bytes that a step of the generation reads, or of the prompt if nothing is
/// generated.
static size_t workingSet(const Workload &prompt, const Workload &generation) {
  const std::vector<StepWork> &steps =
      generation.getSteps().empty() ? prompt.getSteps() : generation.getSteps();
  double most = 0;
  for (const StepWork &step : steps)
    most = std::max(most, step.bytes);
  return size_t(std::min(most, double(size_t(1) << 30)));
}

static Status measureLimits(BenchmarkResult &result, const Workload &prompt,
                            const Workload &generation) {
  result.bandwidthBufferBytes = std::max<int64_t>(
      int64_t(workingSet(prompt, generation)), 64 * 1024 * result.threads);
  Result<double> bandwidth =
      measureReadBandwidth(result.threads, size_t(result.bandwidthBufferBytes));
  if (!bandwidth)
    return bandwidth.getStatus();
  result.bandwidth = std::max(result.bandwidth, *bandwidth);
  PeakFlops peak = measurePeakFlops(result.threads);
  result.peak.f32 = std::max(result.peak.f32, peak.f32);
  result.peak.bf16 = std::max(result.peak.bf16, peak.bf16);
  result.peak.instructions = peak.instructions;
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
  if (auto first = run.once(nullptr, nullptr); !first)
    return first.getStatus();
  if (auto watched = run.once(&promptWork, &generationWork); !watched)
    return watched.getStatus();
  result.promptKernels = promptWork.getRows();
  result.generationKernels = generationWork.getRows();
  std::vector<double> promptSeconds, generationSeconds;
  for (int64_t i = 0; i < options.repeat; ++i) {
    auto seconds = run.once(nullptr, nullptr);
    if (!seconds)
      return seconds.getStatus();
    promptSeconds.push_back(seconds->first);
    generationSeconds.push_back(seconds->second);
  }
  result.peakMemoryBytes = getPeakMemory();

  // Twice, because other programs may disturb one of them.
  for (int i = 0; i < 2; ++i)
    if (Status s = measureLimits(result, promptWork, generationWork); !s)
      return s;
  double flops = result.peak.f32;
  if (meta.weightsDtype == "bf16")
    flops = std::max(flops, result.peak.bf16);
  if (options.promptTokens > 0) {
    result.prompt = summarise(options.promptTokens, promptSeconds);
    addBound(result.prompt, promptWork.getSteps(), result.bandwidth, flops);
  }
  if (options.generateTokens > 0) {
    result.generation = summarise(options.generateTokens, generationSeconds);
    addBound(result.generation, generationWork.getSteps(), result.bandwidth,
             flops);
  }
  return result;
}
