//===- CompileKernels.h - Kernel modules to object code ---------*- C++ -*-===//
//
// From the nested modules that weft-lower-tile-to-vector makes to relocatable
// ELF objects (x86-64, position independent, small code model). An object has
// one function of the kernel ABI (docs/architecture.md) and needs nothing but
// memcpy, memset and memmove.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_TARGET_CPU_COMPILEKERNELS_H
#define WEFT_COMPILER_TARGET_CPU_COMPILEKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// Machine code of one program for one level.
struct CompiledKernel {
  std::string program; ///< Name of the tile.program.
  std::string level;   ///< "x86-64-v3"; see passes/Kernel/CpuLevel.h.
  std::string symbol;  ///< Function to call in the object.
  /// What a processor must have, as LLVM spells it.
  std::vector<std::string> features;
  std::vector<uint8_t> object; ///< Bytes of an ELF file.
};

struct CpuOptions {
  /// Give assembly text instead of object bytes: for people.
  bool emitAssembly = false;
};

/// Compiles every nested module of `module` that has `tile.level`, in order.
/// `module` is not changed. Kernels are compiled in parallel on the context's
/// threads; the result does not depend on their number. Fails with a diagnostic
/// at the kernel's module, also when the code would call a function that the
/// runtime does not provide.
mlir::FailureOr<std::vector<CompiledKernel>>
compileKernels(mlir::ModuleOp module, const CpuOptions &options = {});

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CPU_COMPILEKERNELS_H
