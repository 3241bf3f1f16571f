//===- CompileOptions.h - What a compilation is asked to do -----*- C++ -*-===//

#ifndef WEFT_COMPILER_COMPILEOPTIONS_H
#define WEFT_COMPILER_COMPILEOPTIONS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace weft {

/// What a plan is to run on: either CPU levels or CUDA architectures.
struct Target {
  /// CPU levels to make code for, baseline first; see passes/Kernel/CpuLevel.h.
  std::vector<std::string> cpuLevels = {};
  /// GPU architectures, oldest first; see passes/Kernel/CudaArch.h.
  std::vector<std::string> cudaArchs = {};

  bool isCuda() const { return !cudaArchs.empty(); }
  /// What schedules are chosen for.
  const std::vector<std::string> &getLevels() const {
    return isCuda() ? cudaArchs : cpuLevels;
  }
  /// What the plan says: "cpu", "cuda:sm_90a", "cuda:sm_80,sm_90a"; "cuda" if
  /// there are more than the field has place for.
  std::string getName() const;
};

/// How CUDA kernels are compiled.
struct CudaOptions {
  /// CUDA installation to take NVRTC from; empty: see rt::Nvrtc::load.
  std::string cudaPath = {};
  /// Folder of compiled kernels; empty: compile everything.
  std::string cacheFolder = {};
  /// Leave out machine code, which needs no NVRTC: the runtime compiles the
  /// sources.
  bool sourceOnly = false;
  /// Use a kernel that spills or loses performance if no schedule is better.
  bool allowSpills = false;
  /// Line tables in the code, for profilers and sanitizers.
  bool lineInfo = false;
  /// Write each kernel's source, PTX, code, report and a reproducer here;
  /// empty: do not.
  std::string dumpFolder = {};
};

struct CompileOptions {
  Target target;
  /// Several operations may share a kernel. Without it every operation of the
  /// model is a kernel of its own, for finding a wrong one.
  bool fuse = true;
  /// What a row of a step gives is the same, bit for bit, whatever other rows
  /// the step has. Without it a GPU's kernels for few rows may sum in another
  /// order than those for many. CPU plans are so in any case.
  bool batchInvariant = false;
  /// The step of a decoder also chooses ids. Nothing: on GPUs, where copying
  /// the logits to the host would take longer than most steps; a CPU's runtime
  /// reads them in place.
  std::optional<bool> sample = std::nullopt;
  bool samplesInPlan() const { return sample.value_or(target.isCuda()); }
  CudaOptions cuda = {};
};

/// The target that a --target value asks for: "cpu" is the baseline and this
/// machine's level, "cpu:LEVEL[,LEVEL...]" the levels named,
/// "cuda:ARCH[,ARCH...]" the architectures named.
llvm::Expected<Target> parseTarget(llvm::StringRef target);

} // namespace weft

#endif // WEFT_COMPILER_COMPILEOPTIONS_H
