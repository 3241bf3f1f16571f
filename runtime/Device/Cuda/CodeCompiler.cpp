//===- CodeCompiler.cpp ---------------------------------------------------===//

#include "runtime/Device/Cuda/CodeCompiler.h"

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

CodeCompiler::CodeCompiler(const GpuFacts &facts,
                           std::vector<std::string> nvrtcLibraries,
                           std::string cacheFolder)
    : facts(facts), nvrtcLibraries(std::move(nvrtcLibraries)),
      cache(std::move(cacheFolder)) {}

std::string CodeCompiler::getTarget() const {
  return "sm_" + std::to_string(facts.major * 10 + facts.minor) +
         (facts.major >= 9 ? "a" : "");
}

Result<ChosenCode> CodeCompiler::choose(const Kernel &kernel) {
  const rt::Code *best = nullptr;
  std::tuple<bool, int> bestRank;
  std::string found;
  for (const rt::Code &code : kernel.code) {
    found += (found.empty() ? "" : ", ") + code.target +
             (code.kind == rt::Code::Kind::CudaSource ? " (source)" : "");
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
  if (best)
    return ChosenCode{best, best->bytes, best->target};

  std::string reasons;
  for (const rt::Code &code : kernel.code) {
    if (code.kind != rt::Code::Kind::CudaSource)
      continue;
    Result<ChosenCode> compiled = compile(kernel, code);
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

Result<const Nvrtc *> CodeCompiler::getNvrtc() {
  std::lock_guard lock(mutex);
  if (!nvrtc) {
    Result<std::unique_ptr<Nvrtc>> opened = Nvrtc::open(nvrtcLibraries);
    if (!opened)
      return opened.getStatus();
    nvrtc = opened.take();
  }
  return nvrtc.get();
}

Result<ChosenCode> CodeCompiler::compile(const Kernel &kernel,
                                         const rt::Code &source) {
  Result<const Nvrtc *> compiler = getNvrtc();
  if (!compiler)
    return compiler.getStatus();
  std::vector<std::string> options = source.features;
  options.push_back("--gpu-architecture=" + getTarget());
  const std::string text(reinterpret_cast<const char *>(source.bytes.data()),
                         source.bytes.size());
  const CubinCache::Key key =
      CubinCache::makeKey(text, options, (*compiler)->getVersion());
  if (std::optional<Bytes> cubin = cache.find(key))
    return ChosenCode{&source, std::move(*cubin), getTarget()};
  Result<std::vector<uint8_t>> cubin =
      (*compiler)->compile(text, kernel.name + ".cu", options);
  if (!cubin)
    return cubin.getStatus();
  cache.store(key, *cubin);
  return ChosenCode{&source, Bytes(cubin.take()), getTarget()};
}
