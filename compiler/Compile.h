//===- Compile.h - From a model to an artifact ------------------*- C++ -*-===//

#ifndef WEFT_COMPILER_COMPILE_H
#define WEFT_COMPILER_COMPILE_H

#include "compiler/CompileOptions.h"
#include "compiler/Phases.h"
#include "models/common/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace weft {

struct ArtifactOptions {
  std::string path;             ///< Of the .weft file.
  bool externalWeights = false; ///< Weights in a file beside it.
  bool keepIr = true;           ///< Keep each phase's IR in the DBUG section.
  /// Matrices of at least this many bytes are not stored: the runtime generates
  /// values with a deviation of 0.02 from `generatedSeed` when it loads them.
  /// 0: all are stored.
  uint64_t generatedBytes = 0;
  uint64_t generatedSeed = 0;
  /// Files that the text layer needs: (name, content).
  std::vector<std::pair<std::string, std::string>> tokenizerFiles = {};
  /// Called with the number of bytes of weights written, from any thread, and
  /// before with the total and 0.
  std::function<void(uint64_t total, uint64_t written)> progress = {};
};

/// Runs the phases that `run` asks for, generates code and writes the artifact.
/// The file appears complete or not at all. Errors are diagnostics on the
/// module's context.
mlir::LogicalResult compileToArtifact(mlir::ModuleOp module,
                                      const WeightSource &weights,
                                      const CompileOptions &options,
                                      PhaseRun run,
                                      const ArtifactOptions &artifact);

} // namespace weft

#endif // WEFT_COMPILER_COMPILE_H
