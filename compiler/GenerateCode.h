//===- GenerateCode.h - From tile programs to machine code ------*- C++ -*-===//

#ifndef WEFT_COMPILER_GENERATECODE_H
#define WEFT_COMPILER_GENERATECODE_H

#include "compiler/Artifact/ExportPlan.h"
#include "compiler/CompileOptions.h"
#include "compiler/Target/Cuda/CompileKernels.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace weft {

/// Makes the code of a module's programs for one target.
class CodeGenerator {
public:
  /// Finds what the target needs (NVRTC for CUDA), so that a machine without it
  /// is told before the work and not after. `options` must outlive the object.
  static llvm::Expected<CodeGenerator> create(const CompileOptions &options);

  /// The code of all programs of a module that has gone through the plan phase.
  /// Errors are diagnostics at the module.
  mlir::FailureOr<std::vector<ProgramCode>> run(mlir::ModuleOp module);

  /// After run: writes what CompileOptions asks to be kept of each CUDA kernel
  /// of the plan. An error is a diagnostic at `module`.
  mlir::LogicalResult dump(mlir::ModuleOp module, const rt::Plan &plan) const;

private:
  explicit CodeGenerator(const CompileOptions &options) : options(options) {}

  mlir::FailureOr<std::vector<ProgramCode>> runCpu(mlir::ModuleOp module);
  mlir::FailureOr<std::vector<ProgramCode>> runCuda(mlir::ModuleOp module);

  const CompileOptions &options;
  rt::Nvrtc::Ptr nvrtc; ///< Null for a CPU.
  std::vector<CompiledCudaKernel> cudaKernels;
};

} // namespace weft

#endif // WEFT_COMPILER_GENERATECODE_H
