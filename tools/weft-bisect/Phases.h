//===- Phases.h - weft-bisect: a model after each phase ---------*- C++ -*-===//

#ifndef WEFT_TOOLS_WEFTBISECT_PHASES_H
#define WEFT_TOOLS_WEFTBISECT_PHASES_H

#include "tools/weft-bisect/Compare.h"
#include "tools/weft-bisect/Steps.h"

#include "mlir/IR/OwningOpRef.h"

namespace weft::bisect {

/// A module as a phase left it.
struct PhaseModule {
  std::string name;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// How what a phase made differs from what the phase before made.
struct PhaseRow {
  std::string name, before; ///< `before` is empty for the first phase.
  bool isUnchanged = false; ///< The IR is the same; nothing was computed.
  Difference difference;
};

/// The entry of a module; null if there is none of that name.
mlir::func::FuncOp findEntry(mlir::ModuleOp module, llvm::StringRef name);

/// Outputs of all steps ("logits of step 0"), then states after the last one,
/// by the reference. Errors are diagnostics.
mlir::FailureOr<std::vector<NamedTensor>>
runSteps(ReferenceRunner &runner, mlir::func::FuncOp entry,
         llvm::ArrayRef<Step> steps, const WeightSource &weights,
         llvm::function_ref<void()> progress);

/// What an output of a step is called.
std::string nameOutput(llvm::StringRef name, size_t step, size_t steps);

/// A step's input as a tensor; the step outlives it.
ReferenceTensor getInput(const Step &step, llvm::StringRef name,
                         mlir::Type elementType);

} // namespace weft::bisect

#endif // WEFT_TOOLS_WEFTBISECT_PHASES_H
