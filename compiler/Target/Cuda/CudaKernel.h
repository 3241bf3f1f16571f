//===- CudaKernel.h - A kernel as CUDA C++ ----------------------*- C++ -*-===//

#ifndef WEFT_COMPILER_TARGET_CUDA_CUDAKERNEL_H
#define WEFT_COMPILER_TARGET_CUDA_CUDAKERNEL_H

#include "runtime/Format/Plan.h"

#include <string>
#include <vector>

namespace weft {

/// One way to compute a kernel.
struct CudaCandidate {
  /// One translation unit without includes: extern "C" __global__ `symbol` of
  /// the CUDA kernel interface (docs/architecture.md).
  std::string source;
  rt::LaunchShape launch;
  std::string schedule; ///< The schedule attribute as text, for people.
};

/// One program for one architecture.
struct CudaKernel {
  std::string program; ///< Name of the tile.program.
  std::string symbol;  ///< Name of the kernel in the source.
  std::string arch;    ///< "sm_90a"; see passes/Kernel/CudaArch.h.
  /// Best first; the first whose code is as it was meant is taken.
  std::vector<CudaCandidate> candidates;
};

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CUDA_CUDAKERNEL_H
