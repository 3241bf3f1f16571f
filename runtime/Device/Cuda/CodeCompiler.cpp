//===- CodeCompiler.cpp ---------------------------------------------------===//

#include "runtime/Device/Cuda/CodeCompiler.h"

#include "runtime/Device/Cpu/ThreadPool.h"

#include <algorithm>
#include <charconv>
#include <tuple>

using namespace weft::rt;
using namespace weft::rt::cuda;

std::optional<Architecture> Architecture::parse(std::string_view text) {
  constexpr std::string_view prefix = "sm_";
  if (!text.starts_with(prefix))
    return std::nullopt;
  text.remove_prefix(prefix.size());
  Architecture result;
  if (text.ends_with('a') || text.ends_with('f')) {
    result.suffix = text.back();
    text.remove_suffix(1);
  }
  int number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 10 ||
      number > 999)
    return std::nullopt;
  result.major = number / 10;
  result.minor = number % 10;
  return result;
}

bool Architecture::runsOn(int deviceMajor, int deviceMinor) const {
  return major == deviceMajor &&
         (suffix == 'a' ? minor == deviceMinor : minor <= deviceMinor);
}

bool Architecture::compilesFor(int deviceMajor, int deviceMinor) const {
  return suffix
             ? runsOn(deviceMajor, deviceMinor)
             : std::pair(major, minor) <= std::pair(deviceMajor, deviceMinor);
}

CodeCompiler::CodeCompiler(const GpuFacts &facts, std::string nvrtcLibrary,
                           std::string cacheFolder)
    : facts(facts), nvrtcLibrary(std::move(nvrtcLibrary)),
      cache(std::move(cacheFolder)) {}

std::string CodeCompiler::getTarget() const {
  return "sm_" + std::to_string(facts.major * 10 + facts.minor) +
         (facts.major >= 9 ? "a" : "");
}

std::optional<ChosenCode> CodeCompiler::findCubin(const Kernel &kernel) const {
  const rt::Code *best = nullptr;
  std::tuple<bool, int> bestRank;
  for (const rt::Code &code : kernel.code) {
    if (code.kind != rt::Code::Kind::Cubin)
      continue;
    std::optional<Architecture> architecture = Architecture::parse(code.target);
    if (!architecture || !architecture->runsOn(facts.major, facts.minor))
      continue;
    std::tuple<bool, int> rank(architecture->suffix != 0, architecture->minor);
    if (!best || rank > bestRank) {
      best = &code;
      bestRank = rank;
    }
  }
  if (!best)
    return std::nullopt;
  return ChosenCode{best, best->bytes, best->target};
}

Device::CodeFit CodeCompiler::findCode(const Kernel &kernel) const {
  auto fit = Device::CodeFit::None;
  for (const rt::Code &code : kernel.code) {
    std::optional<Architecture> architecture = Architecture::parse(code.target);
    if (!architecture)
      continue;
    if (code.kind == rt::Code::Kind::Cubin &&
        architecture->runsOn(facts.major, facts.minor))
      return Device::CodeFit::Binary;
    if (code.kind == rt::Code::Kind::CudaSource &&
        architecture->compilesFor(facts.major, facts.minor))
      fit = Device::CodeFit::Source;
  }
  return fit;
}

Result<ChosenCode> CodeCompiler::choose(const Kernel &kernel) {
  if (std::optional<ChosenCode> cubin = findCubin(kernel))
    return std::move(*cubin);
  return compile(kernel);
}

Result<std::vector<ChosenCode>>
CodeCompiler::chooseAll(std::span<const Kernel *const> kernels) {
  std::vector<std::optional<Result<ChosenCode>>> results(kernels.size());
  std::vector<size_t> sources;
  for (size_t i = 0; i < kernels.size(); ++i)
    if (std::optional<ChosenCode> cubin = findCubin(*kernels[i]))
      results[i] = std::move(*cubin);
    else
      sources.push_back(i);
  auto compileSource = [&](size_t i) { results[i] = compile(*kernels[i]); };
  const size_t threads = std::min<size_t>(
      {getUsableCoreCount(), sources.size(), ThreadPool::maxThreads});
  Result<std::unique_ptr<ThreadPool>> pool =
      ThreadPool::create(unsigned(std::max<size_t>(threads, 1)));
  if (!pool)
    return pool.getStatus();
  auto body = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      compileSource(sources[size_t(i)]);
  };
  (*pool)->run(
      int64_t(sources.size()), /*grain=*/1,
      [](void *context, int64_t begin, int64_t end, unsigned) {
        (*static_cast<decltype(body) *>(context))(begin, end);
      },
      &body);
  std::vector<ChosenCode> chosen;
  for (std::optional<Result<ChosenCode>> &result : results) {
    if (!*result)
      return result->getStatus();
    chosen.push_back(result->take());
  }
  return chosen;
}

Result<Nvrtc::Ptr> CodeCompiler::getNvrtc() {
  std::lock_guard lock(mutex);
  if (!nvrtc) {
    Result<Nvrtc::Ptr> opened =
        nvrtcLibrary.empty() ? Nvrtc::load() : Nvrtc::open(nvrtcLibrary);
    if (!opened)
      return opened.getStatus();
    nvrtc = opened.take();
  }
  return nvrtc;
}

Result<ChosenCode> CodeCompiler::compile(const Kernel &kernel) {
  std::string found, reasons;
  for (const rt::Code &code : kernel.code) {
    const bool isSource = code.kind == rt::Code::Kind::CudaSource;
    found += (found.empty() ? "" : ", ") + code.target +
             (isSource ? " (source)" : "");
    if (!isSource)
      continue;
    Result<ChosenCode> compiled = compile(code);
    if (compiled)
      return compiled;
    reasons += "\n  the source for " + code.target + ": " +
               compiled.getStatus().getMessage();
  }
  return Status::unsupported(
      "kernel '" + kernel.name + "' has no code for " + facts.name + " (" +
      getTarget() + "); the plan has: " + (found.empty() ? "none" : found) +
      ". Compile the model with --target=cuda:" + getTarget() + reasons);
}

Result<ChosenCode> CodeCompiler::compile(const rt::Code &source) {
  Result<Nvrtc::Ptr> compiler = getNvrtc();
  if (!compiler)
    return compiler.getStatus();
  NvrtcOptions options;
  options.extra = source.features;
  const std::string target = getTarget();
  const std::string text(reinterpret_cast<const char *>(source.bytes.data()),
                         source.bytes.size());
  const std::string key =
      KernelCache::makeKey(text, (*compiler)->getArguments(target, options),
                           (*compiler)->getVersion());
  if (std::optional<CacheEntry> entry = cache.find(key, /*needPtx=*/false))
    return ChosenCode{&source, Bytes(std::move(entry->cubin)), target};
  Result<Cubin> cubin =
      (*compiler)->compileToCubin(text, source.symbol, target, options);
  if (!cubin)
    return cubin.getStatus();
  // A folder that cannot be written to only costs the time of the next start.
  (void)cache.store(key, {cubin->bytes, cubin->log, ""});
  return ChosenCode{&source, Bytes(std::move(cubin->bytes)), target};
}
