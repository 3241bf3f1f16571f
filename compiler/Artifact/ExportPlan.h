//===- ExportPlan.h - From plan IR to the artifact's records ----*- C++ -*-===//

#ifndef WEFT_COMPILER_ARTIFACT_EXPORTPLAN_H
#define WEFT_COMPILER_ARTIFACT_EXPORTPLAN_H

#include "runtime/Format/Plan.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace weft {

/// Machine code of one program for one level or architecture.
struct ProgramCode {
  std::string program; ///< Name of the tile.program.
  rt::Code code;
  /// The schedule it was made by; empty: that of the program's kernels.
  std::string schedule = {};
};

/// The element type of an artifact's tensors; nothing if it has none such.
std::optional<rt::DType> getDType(mlir::Type type);

/// The records of a module that has gone through the plan phase, with the
/// machine code of its programs, which is for `target` ("cpu", "cuda:sm_90a").
/// A kernel has its code in the order of `code`. Params are in the order of the
/// module's plan.param operations; their places are decided by the artifact
/// writer. Fails with a diagnostic if a size cannot be expressed.
mlir::FailureOr<rt::Plan> exportPlan(mlir::ModuleOp module, std::string target,
                                     std::vector<ProgramCode> code);

} // namespace weft

#endif // WEFT_COMPILER_ARTIFACT_EXPORTPLAN_H
