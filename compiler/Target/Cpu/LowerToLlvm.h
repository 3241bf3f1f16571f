//===- LowerToLlvm.h - Vector code to the LLVM dialect ----------*- C++ -*-===//

#ifndef WEFT_COMPILER_TARGET_CPU_LOWERTOLLVM_H
#define WEFT_COMPILER_TARGET_CPU_LOWERTOLLVM_H

#include "mlir/Pass/Pass.h"

namespace weft {

/// Loads the dialects that the passes below and the translation to LLVM IR
/// make, and the translations of these dialects. Not thread-safe.
void prepareLlvmLowering(mlir::MLIRContext *context);

/// A pass on a kernel module: scf, arith, math (after weft-expand-kernel-math),
/// vector and func to the LLVM dialect.
std::unique_ptr<mlir::Pass> createLowerToLlvmPass();

} // namespace weft

#endif // WEFT_COMPILER_TARGET_CPU_LOWERTOLLVM_H
