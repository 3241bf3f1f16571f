//===- CodeCompiler.h - Which code of a kernel runs on a GPU --------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_CODECOMPILER_H
#define WEFT_RUNTIME_DEVICE_CUDA_CODECOMPILER_H

#include "runtime/Device/Cuda/CubinCache.h"
#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include "runtime/Format/Plan.h"

#include <mutex>
#include <optional>
#include <vector>

namespace weft::rt::cuda {

/// "sm_90a": major 9, minor 0, suffix 'a'.
struct Architecture {
  int major = 0, minor = 0;
  /// 'a': runs on exactly this compute capability. 'f': also on later minor
  /// versions of its family. 0: also on later minor versions of the same major.
  /// Source: CUDA programming guide, "Compute Capabilities".
  char suffix = 0;

  /// Nothing for text that is no architecture.
  static std::optional<Architecture> parse(std::string_view text);
  bool runsOn(int deviceMajor, int deviceMinor) const;
};

/// What is loaded for a kernel.
struct ChosenCode {
  const rt::Code *code; ///< Of the kernel; says how it is launched.
  Bytes cubin;
  std::string target; ///< "sm_90a", also for what was compiled here.
};

/// Threading: `choose` may be called from any thread.
class CodeCompiler {
public:
  CodeCompiler(const GpuFacts &facts, std::vector<std::string> nvrtcLibraries,
               std::string cacheFolder);

  /// The best cubin that runs on the GPU, else the first source that compiles
  /// for it. Unsupported if there is neither: says what the kernel has, what
  /// the GPU is and, for sources, what NVRTC said.
  Result<ChosenCode> choose(const Kernel &kernel);

private:
  Result<ChosenCode> compile(const Kernel &kernel, const rt::Code &source);
  /// "sm_90a" for the GPU, with everything that only it has.
  std::string getTarget() const;
  Result<const Nvrtc *> getNvrtc();

  GpuFacts facts;
  std::vector<std::string> nvrtcLibraries;
  CubinCache cache;
  std::mutex mutex;
  std::unique_ptr<Nvrtc> nvrtc; ///< Guarded by `mutex`; opened when needed.
};

} // namespace weft::rt::cuda

#endif // WEFT_RUNTIME_DEVICE_CUDA_CODECOMPILER_H
