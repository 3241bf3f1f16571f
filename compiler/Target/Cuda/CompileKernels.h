//===- CompileKernels.h - CUDA C++ kernels to cubins ------------*- C++ -*-===//
//
// Compiles with NVRTC, in parallel over kernels, what the cache does not have.
// A candidate that ptxas reports spills, a stack frame or lost performance for
// (runtime/Nvrtc/CompileLog.h) is passed over. No GPU and no driver is needed.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_TARGET_CUDA_COMPILEKERNELS_H
#define WEFT_COMPILER_TARGET_CUDA_COMPILEKERNELS_H

#include "compiler/Target/Cuda/CudaKernel.h"
#include "runtime/Nvrtc/Nvrtc.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace weft {

struct CudaCompileOptions {
  rt::Nvrtc::Ptr nvrtc;         ///< Never null.
  std::string cacheFolder = {}; ///< Empty: no cache.
  bool allowSpills = false;     ///< Rather a slow kernel than none.
  rt::NvrtcOptions nvrtcOptions = {};
};

/// A kernel that was compiled.
struct CompiledCudaKernel {
  std::string program, arch;
  size_t candidate = 0; ///< Which one was taken.
  std::string schedule; ///< Its schedule.
  /// The machine code and the source, from which a runtime with another GPU
  /// makes its own.
  rt::Code cubin, source;
  rt::Cubin details; ///< Bytes, PTX, log and report.
  bool fromCache = false;
  /// Why better candidates were passed over, and notes of ptxas on the one that
  /// was taken; one line each.
  std::vector<std::string> notes;
};

/// A candidate as the plan's record of a source, to be compiled with `flags`.
rt::Code makeSourceCode(const CudaKernel &kernel,
                        const CudaCandidate &candidate,
                        std::vector<std::string> flags);

/// Compiles all kernels, over all processors of the machine; the result is in
/// the order of `kernels` and does not depend on the number of threads. Gives
/// the error of every kernel that has none.
llvm::Expected<std::vector<CompiledCudaKernel>>
compileCudaKernels(llvm::ArrayRef<CudaKernel> kernels,
                   const CudaCompileOptions &options);

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CUDA_COMPILEKERNELS_H
