//===- Phases.h - weft-bisect: a model after each phase ---------*- C++ -*-===//

#ifndef WEFT_TOOLS_WEFTBISECT_PHASES_H
#define WEFT_TOOLS_WEFTBISECT_PHASES_H

#include "tools/weft-bisect/Compare.h"
#include "tools/weft-bisect/ExpertChoices.h"
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

/// Compares what each phase made with what the one before it made. What it is
/// given by reference outlives it; `choices` learns the experts that the
/// reference takes.
class PhaseComparer {
public:
  PhaseComparer(ReferenceRunner &runner, const WeightSource &weights,
                const Options &options, ExpertChoices &choices)
      : runner(runner), weights(weights), options(options), choices(choices) {}

  /// The modules to compare, which outlive the comparer. InvalidArgument if one
  /// has no entry of that name.
  rt::Status setModules(llvm::ArrayRef<PhaseModule> modules,
                        llvm::StringRef entry);
  mlir::func::FuncOp getLastEntry() const { return entries.back(); }
  /// Operations that one step runs in all modules.
  size_t countOperations() const;

  /// Runs all modules by the reference and adds a row for each. Internal if
  /// that fails; then there are diagnostics too. `progress` is called after
  /// each operation.
  rt::Status run(llvm::ArrayRef<Step> steps,
                 llvm::function_ref<void()> progress);
  /// Adds a row for outputs that were made otherwise, by what `entry` became.
  /// Those of the first phase that differs are saved, with those before.
  rt::Status add(std::string name, mlir::func::FuncOp entry,
                 std::vector<NamedTensor> outputs);

  std::vector<PhaseRow> takeRows() { return std::move(rows); }

private:
  mlir::FailureOr<std::vector<NamedTensor>>
  runSteps(mlir::func::FuncOp entry, llvm::ArrayRef<Step> steps,
           llvm::function_ref<void()> progress);

  ReferenceRunner &runner;
  const WeightSource &weights;
  const Options &options;
  ExpertChoices &choices;
  llvm::ArrayRef<PhaseModule> modules;
  std::vector<mlir::func::FuncOp> entries; ///< Of the modules.
  std::vector<PhaseRow> rows;
  std::vector<NamedTensor> before; ///< Outputs of the last row.
  bool isSaved = false;
};

/// What an output of a step is called.
std::string nameOutput(llvm::StringRef name, size_t step, size_t steps);

/// A step's input as a tensor; the step outlives it.
ReferenceTensor getInput(const Step &step, llvm::StringRef name,
                         mlir::Type elementType);

} // namespace weft::bisect

#endif // WEFT_TOOLS_WEFTBISECT_PHASES_H
