//===- CompileKernels.cpp - CUDA C++ kernels to cubins --------------------===//

#include "compiler/Target/Cuda/CompileKernels.h"
#include "passes/Kernel/CudaArch.h"
#include "runtime/Nvrtc/KernelCache.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ThreadPool.h"

using namespace weft;
using rt::KernelCache;

namespace {

/// One candidate with its code.
struct Attempt {
  size_t candidate = 0;
  rt::Cubin cubin;
  bool fromCache = false;
  std::optional<rt::Rejection> rejection;
};

/// Compiles one kernel; objects live in one thread.
class KernelCompiler {
public:
  KernelCompiler(const CudaKernel &kernel, const CudaCompileOptions &options)
      : kernel(kernel), options(options), cache(options.cacheFolder) {}

  llvm::Expected<CompiledCudaKernel> run() {
    const CudaArch *arch = findCudaArch(kernel.arch);
    if (!arch)
      return llvm::createStringError("unknown CUDA architecture '" +
                                     kernel.arch + "'; expected one of " +
                                     listCudaArchs());
    rt::BlockLimits limits{arch->sharedBytes, CudaArch::registers};
    std::optional<Attempt> best;
    for (size_t i = 0; i < kernel.candidates.size(); ++i) {
      llvm::Expected<Attempt> attempt = compile(i);
      if (!attempt)
        return attempt.takeError();
      attempt->rejection = checkResources(attempt->cubin.report,
                                          kernel.candidates[i].launch, limits);
      if (!attempt->rejection)
        return finish(std::move(*attempt));
      reasons.push_back(getCandidateName(i) + " " + attempt->rejection->reason);
      if (!best || attempt->rejection->weight < best->rejection->weight)
        best = std::move(*attempt);
    }
    if (best && options.allowSpills && best->rejection->isUsable)
      return finish(std::move(*best));
    return llvm::createStringError(explainRejections());
  }

private:
  std::string getCandidateName(size_t index) const {
    const CudaCandidate &candidate = kernel.candidates[index];
    return candidate.schedule.empty() ? "candidate " + std::to_string(index + 1)
                                      : "the schedule " + candidate.schedule;
  }

  std::string explainRejections() const {
    if (reasons.empty())
      return "there is no source to compile";
    std::string text = "no schedule gives usable code:";
    for (const std::string &reason : reasons)
      text += "\n  " + reason;
    return text;
  }

  llvm::Expected<Attempt> compile(size_t index) {
    const std::string &source = kernel.candidates[index].source;
    const rt::NvrtcOptions &nvrtcOptions = options.nvrtcOptions;
    std::string key = KernelCache::makeKey(
        source, options.nvrtc->getArguments(kernel.arch, nvrtcOptions),
        options.nvrtc->getVersion());
    Attempt attempt;
    attempt.candidate = index;
    if (auto entry = cache.find(key, nvrtcOptions.keepPtx)) {
      attempt.fromCache = true;
      attempt.cubin.report = rt::parseCompileLog(entry->log, kernel.symbol);
      attempt.cubin.bytes = std::move(entry->cubin);
      attempt.cubin.log = std::move(entry->log);
      if (nvrtcOptions.keepPtx)
        attempt.cubin.ptx = std::move(entry->ptx);
      return attempt;
    }
    auto cubin = options.nvrtc->compileToCubin(source, kernel.symbol,
                                               kernel.arch, nvrtcOptions);
    if (!cubin)
      return llvm::createStringError(cubin.getStatus().getMessage());
    if (auto problem = cache.store(key, {cubin->bytes, cubin->log, cubin->ptx}))
      reasons.push_back("not kept in the cache: " + *problem);
    attempt.cubin = cubin.take();
    return attempt;
  }

  CompiledCudaKernel finish(Attempt attempt) {
    const CudaCandidate &candidate = kernel.candidates[attempt.candidate];
    CompiledCudaKernel result;
    result.program = kernel.program;
    result.arch = kernel.arch;
    result.candidate = attempt.candidate;
    result.schedule = candidate.schedule;
    result.source =
        makeSourceCode(kernel, candidate, options.nvrtcOptions.extra);
    result.cubin.kind = rt::Code::Kind::Cubin;
    result.cubin.bytes = attempt.cubin.bytes;
    result.cubin.target = kernel.arch;
    result.cubin.symbol = kernel.symbol;
    result.cubin.launch = candidate.launch;
    result.fromCache = attempt.fromCache;
    result.notes = std::move(reasons);
    for (const rt::CompileMessage &message : attempt.cubin.report.messages)
      result.notes.push_back((message.code.empty() ? "" : message.code + ": ") +
                             message.text);
    result.details = std::move(attempt.cubin);
    return result;
  }

  const CudaKernel &kernel;
  const CudaCompileOptions &options;
  KernelCache cache;
  std::vector<std::string> reasons;
};

} // namespace

rt::Code weft::makeSourceCode(const CudaKernel &kernel,
                              const CudaCandidate &candidate,
                              std::vector<std::string> flags) {
  rt::Code code;
  code.kind = rt::Code::Kind::CudaSource;
  code.target = kernel.arch;
  code.features = std::move(flags);
  code.symbol = kernel.symbol;
  code.bytes =
      std::vector<uint8_t>(candidate.source.begin(), candidate.source.end());
  code.launch = candidate.launch;
  return code;
}

llvm::Expected<std::vector<CompiledCudaKernel>>
weft::compileCudaKernels(llvm::ArrayRef<CudaKernel> kernels,
                         const CudaCompileOptions &options) {
  std::vector<CompiledCudaKernel> results(kernels.size());
  std::vector<std::string> messages(kernels.size());
  {
    llvm::DefaultThreadPool pool;
    for (size_t i = 0; i < kernels.size(); ++i)
      pool.async([&, i] {
        auto result = KernelCompiler(kernels[i], options).run();
        if (result)
          results[i] = std::move(*result);
        else
          messages[i] = "kernel '" + kernels[i].program + "' for " +
                        kernels[i].arch + ": " +
                        llvm::toString(result.takeError());
      });
    pool.wait();
  }
  if (llvm::any_of(results,
                   [](const CompiledCudaKernel &k) { return !k.fromCache; }))
    KernelCache(options.cacheFolder).prune();
  llvm::erase_if(messages, [](const std::string &m) { return m.empty(); });
  if (!messages.empty())
    return llvm::createStringError(llvm::join(messages, "\n"));
  return results;
}
