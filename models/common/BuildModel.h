//===- BuildModel.h - From config and weights to the weft dialect ---------===//
//
// One builder for all families: what differs between them is data in
// ModelConfig and ModelWeights.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_MODELS_COMMON_BUILDMODEL_H
#define WEFT_MODELS_COMMON_BUILDMODEL_H

#include "models/common/ModelConfig.h"
#include "models/common/ModelWeights.h"
#include "models/common/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <string>

namespace weft {

struct BuildOptions {
  /// Type of activations; nothing: that of the config.
  std::optional<ElementType> activationType = {};
  /// Type of the key and value caches; nothing: that of activations.
  std::optional<ElementType> cacheType = {};
  /// Type of matrices and embeddings; nothing: as stored. A weight whose type
  /// in the IR is not the stored one is converted when its bytes are read.
  std::optional<ElementType> weightType = {};
  int64_t blockSize = 64; ///< Positions of a cache block.
  /// The step of a decoder chooses ids by its logits.
  bool samples = false;
  std::string name; ///< Of the model; for META.
};

/// A module with the entry `step` (decoders) or `encode` (encoders) of
/// docs/architecture.md and the attribute weft.meta. In `weft.symbols` a size
/// may be "NAME + CONSTANT" (of sequence_starts: "sequences + 1"). The weights
/// must have been checked against `source`. All types in `options` must be f32,
/// f16 or bf16. Each operation's location is named after its part of the model.
mlir::OwningOpRef<mlir::ModuleOp> buildModel(mlir::MLIRContext &context,
                                             const ModelConfig &config,
                                             const ModelWeights &weights,
                                             const WeightSource &source,
                                             const BuildOptions &options);

} // namespace weft

#endif // WEFT_MODELS_COMMON_BUILDMODEL_H
