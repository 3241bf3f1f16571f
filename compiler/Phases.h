//===- Phases.h - The phases of compilation ---------------------*- C++ -*-===//
//
// One table drives everything that has to do with phases: pipelines, the
// values of --compile-to and --compile-from, dump files, contracts.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_PHASES_H
#define WEFT_COMPILER_PHASES_H

#include "compiler/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <optional>

namespace weft {

struct Phase {
  llvm::StringRef name;    ///< "fuse": folder, flag value, dump file, page.
  llvm::StringRef summary; ///< One line.
  /// Adds the phase's passes.
  void (*build)(mlir::OpPassManager &manager, const CompileOptions &options);
  /// Reports everything in a module that a finished phase may not leave.
  mlir::LogicalResult (*verify)(mlir::ModuleOp module);
};

/// input, graph, shard, fuse, kernel, plan: in order.
llvm::ArrayRef<Phase> getPhases();

/// Position in getPhases(); nullopt if there is no such phase.
std::optional<size_t> findPhase(llvm::StringRef name);

/// Writes a module so that compilation can go on with it: with the locations,
/// which hold the names of layers that launches are labelled with.
void printPhase(mlir::ModuleOp module, llvm::raw_ostream &stream);

struct PhaseRun {
  size_t first = 0;            ///< First phase to run.
  size_t last = SIZE_MAX;      ///< Last phase to run, included.
  std::string dumpFolder = {}; ///< Write N.NAME.mlir after each phase.
  std::string reproducer = {}; ///< Where a failing pass leaves its input.
  bool timing = false;         ///< Print the time of each phase and pass.
  /// Called after each phase with its module.
  std::function<void(const Phase &, mlir::ModuleOp)> afterPhase = {};
};

/// Runs phases on a module and verifies each one's contract; before the first,
/// the contract of the phase before it, whose result the module should be. IR
/// of another phase is one error that names that one.
mlir::LogicalResult runPhases(mlir::ModuleOp module,
                              const CompileOptions &options,
                              const PhaseRun &run);

/// Registers each phase as a pipeline `weft-phase-NAME` and all of them as
/// `weft-phases`, for weft-opt.
void registerPhasePipelines();

} // namespace weft

#endif // WEFT_COMPILER_PHASES_H
