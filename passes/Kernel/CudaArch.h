//===- CudaArch.h - The GPU architectures that kernels are made for -*- C++ -*//
//
// One table of NVIDIA architectures, oldest first. Schedules choose tiles,
// stages and instructions by it, and code generation checks kernels against its
// limits. Source: NVIDIA, "CUDA C++ Programming Guide", section "Compute
// Capabilities" (features and technical specifications), and "Parallel Thread
// Execution ISA" (targets of cp.async, cp.async.bulk, wgmma, griddepcontrol).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_CUDAARCH_H
#define WEFT_PASSES_KERNEL_CUDAARCH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace weft {

/// One architecture. A name with an "a" has instructions that only this compute
/// capability has, and its code runs nowhere else; code of other names runs on
/// later minor versions too. All strings are static.
struct CudaArch {
  llvm::StringRef name;     ///< "sm_90a": what schedules and plans say.
  unsigned major, minor;    ///< Compute capability.
  unsigned multiprocessors; ///< Of the data-centre or largest usual GPU.
  unsigned sharedBytes;     ///< Shared memory of one block, at most.
  unsigned sharedBytesPerMultiprocessor;
  unsigned threadsPerMultiprocessor;
  unsigned blocksPerMultiprocessor;
  unsigned maxCluster;     ///< Blocks of a cluster, at most; 1: none.
  bool hasCpAsync;         ///< Copies to shared memory past the registers.
  bool hasBulkCopy;        ///< cp.async.bulk, tensor maps, mbarrier counts.
  bool hasWgmma;           ///< Tensor cores that read shared memory.
  bool hasDependentLaunch; ///< griddepcontrol.

  /// 32-bit registers of a block and of a multiprocessor.
  static constexpr unsigned registers = 65536;
};

/// All architectures, oldest first; of one compute capability the one whose
/// code runs on more GPUs first.
llvm::ArrayRef<CudaArch> getCudaArchs();

/// The architecture of that name, or null.
const CudaArch *findCudaArch(llvm::StringRef name);

/// The names of all architectures, for messages: "sm_80, sm_86, ...".
std::string listCudaArchs();

} // namespace weft

#endif // WEFT_PASSES_KERNEL_CUDAARCH_H
