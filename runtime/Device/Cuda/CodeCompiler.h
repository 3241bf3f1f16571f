//===- CodeCompiler.h - Which code of a kernel runs on a GPU --------------===//

#ifndef WEFT_RUNTIME_DEVICE_CUDA_CODECOMPILER_H
#define WEFT_RUNTIME_DEVICE_CUDA_CODECOMPILER_H

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Device.h"
#include "runtime/Format/Plan.h"
#include "runtime/Nvrtc/KernelCache.h"
#include "runtime/Nvrtc/Nvrtc.h"

#include <mutex>
#include <optional>
#include <span>
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
  /// Whether machine code for it does.
  bool runsOn(int deviceMajor, int deviceMinor) const;
  /// Whether a source for it compiles for the device: everything without a
  /// suffix exists on all later architectures.
  bool compilesFor(int deviceMajor, int deviceMinor) const;
};

/// What is loaded for a kernel.
struct ChosenCode {
  const rt::Code *code; ///< Of the kernel; says how it is launched.
  Bytes cubin;
  std::string target; ///< "sm_90a", also for what was compiled here.
};

/// Threading: all methods may be called from any thread.
class CodeCompiler {
public:
  /// `nvrtcLibrary` is the file of NVRTC; empty: see Nvrtc::load.
  CodeCompiler(const GpuFacts &facts, std::string nvrtcLibrary,
               std::string cacheFolder);

  /// Binary: a cubin runs on the GPU. Source: a source is for an architecture
  /// that the GPU has everything of.
  Device::CodeFit findCode(const Kernel &kernel) const;

  /// The best cubin that runs on the GPU, else the first source that compiles
  /// for it. Unsupported if there is neither: says what the kernel has, what
  /// the GPU is and, for sources, what NVRTC said.
  Result<ChosenCode> choose(const Kernel &kernel);
  /// The same for several kernels; the sources are compiled by as many threads
  /// as the process has cores. The first failure in the order of the kernels.
  Result<std::vector<ChosenCode>>
  chooseAll(std::span<const Kernel *const> kernels);

private:
  std::optional<ChosenCode> findCubin(const Kernel &kernel) const;
  Result<ChosenCode> compile(const Kernel &kernel);
  Result<ChosenCode> compile(const rt::Code &source);
  /// "sm_90a" for the GPU, with everything that only it has.
  std::string getTarget() const;
  Result<Nvrtc::Ptr> getNvrtc();

  GpuFacts facts;
  std::string nvrtcLibrary;
  KernelCache cache;
  std::mutex mutex;
  Nvrtc::Ptr nvrtc; ///< Guarded by `mutex`; opened when needed.
};

} // namespace weft::rt::cuda

#endif // WEFT_RUNTIME_DEVICE_CUDA_CODECOMPILER_H
