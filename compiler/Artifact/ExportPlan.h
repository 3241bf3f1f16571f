//===- ExportPlan.h - From plan IR to the artifact's records ----*- C++ -*-===//

#ifndef WEFT_COMPILER_ARTIFACT_EXPORTPLAN_H
#define WEFT_COMPILER_ARTIFACT_EXPORTPLAN_H

#include "compiler/Target/Cpu/CompileKernels.h"
#include "runtime/Format/Plan.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace weft {

/// The element type of an artifact's tensors; nothing if it has none such.
std::optional<rt::DType> getDType(mlir::Type type);

/// The records of a module that has gone through the plan phase, with the
/// machine code of its programs. Params are in the order of the module's
/// plan.param operations; their places are decided by the artifact writer.
/// Fails with a diagnostic if a size cannot be expressed.
mlir::FailureOr<rt::Plan> exportPlan(mlir::ModuleOp module,
                                     std::vector<CompiledKernel> kernels);

} // namespace weft

#endif // WEFT_COMPILER_ARTIFACT_EXPORTPLAN_H
