//===- DumpKernels.h - CUDA kernels as files for people ---------*- C++ -*-===//

#ifndef WEFT_COMPILER_TARGET_CUDA_DUMPKERNELS_H
#define WEFT_COMPILER_TARGET_CUDA_DUMPKERNELS_H

#include "compiler/Target/Cuda/CompileKernels.h"
#include "runtime/Format/Plan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace weft {

/// Writes for each kernel, into a folder that is created if need be:
///
///   PROGRAM.ARCH.cu       source
///   PROGRAM.ARCH.ptx      PTX, if the kernel was compiled with keepPtx
///   PROGRAM.ARCH.cubin    machine code
///   PROGRAM.ARCH.txt      schedule, launch shape, resources, occupancy, log
///   PROGRAM.ARCH.main.cu  a program that runs the kernel alone (Reproducer.h)
///
/// `plan` holds the kernels' programs and the commands that launch them.
/// `nvrtcVersion` is for the report.
llvm::Error dumpKernels(const rt::Plan &plan,
                        llvm::ArrayRef<CompiledCudaKernel> kernels,
                        const std::string &nvrtcVersion,
                        const std::string &folder);

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CUDA_DUMPKERNELS_H
