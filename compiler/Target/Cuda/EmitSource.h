//===- EmitSource.h - Kernels of the cuda dialect as CUDA C++ ---*- C++ -*-===//
//
// One translation unit for each cuda.kernel, which includes nothing: the
// helpers that it uses (Prelude.h) and one extern "C" __global__ function of
// the CUDA kernel interface (docs/architecture.md). docs/cuda.md says how to
// read one.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_TARGET_CUDA_EMITSOURCE_H
#define WEFT_COMPILER_TARGET_CUDA_EMITSOURCE_H

#include "compiler/Target/Cuda/CudaKernel.h"
#include "dialects/Cuda/CudaDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace weft {

/// What NVRTC needs, besides the architecture, to compile a source as it is
/// meant: C++17, and no contraction of a * b + c (only math.fma is fused, so
/// that CPU and GPU round alike). Division, square root and subnormal numbers
/// are IEEE by default; --use_fast_math changes results.
llvm::ArrayRef<llvm::StringRef> cudaCompileFlags();

/// The parts of a source. The kernel's text can be compiled behind another
/// definition of the prelude's helpers, as tests do on the CPU.
struct CudaSource {
  std::string prelude;
  std::string kernel;
};

/// Prints one kernel. A located error names the operation that can't be
/// printed. Equal kernels give equal text.
mlir::FailureOr<CudaSource> emitCudaSourceParts(cuda::KernelOp kernel);

/// Both parts as one text.
mlir::FailureOr<std::string> emitCudaSource(cuda::KernelOp kernel);

/// Name of the kernel's function: `weft_` and its symbol, with `_` for every
/// character that no C++ name has.
std::string getCudaSymbol(cuda::KernelOp kernel);

/// How the kernel is launched.
rt::LaunchShape getLaunchShape(cuda::KernelOp kernel);

/// All cuda.kernels of `module` and of the modules in it, in order. The program
/// is the `tile.program` of the kernel or of the module around it (the kernel's
/// symbol where there is none), the schedule `tile.schedule`. Kernels of one
/// program, architecture and symbol are candidates of one CudaKernel.
mlir::FailureOr<std::vector<CudaKernel>> emitCudaKernels(mlir::ModuleOp module);

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CUDA_EMITSOURCE_H
