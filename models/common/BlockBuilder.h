//===- BlockBuilder.h - Operations and layers of a model --------*- C++ -*-===//
//
// Internal to BuildModel.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_MODELS_COMMON_BLOCKBUILDER_H
#define WEFT_MODELS_COMMON_BLOCKBUILDER_H

#include "models/common/BuildModel.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace weft {

/// Cosine and sine of one RoPE table for the tokens of a step.
struct RopeValues {
  mlir::Value cosine, sine;
};

/// Builds layers from what their entry point provides: its arguments, caches
/// and RoPE tables.
class BlockBuilder {
public:
  BlockBuilder(mlir::MLIRContext &context, const ModelConfig &config,
               const ModelWeights &weights, const WeightSource &source,
               const BuildOptions &options);

protected:
  static constexpr int64_t dynamic = mlir::ShapedType::kDynamic;

  mlir::Type convert(ElementType type);
  mlir::RankedTensorType getType(llvm::ArrayRef<int64_t> shape,
                                 mlir::Type element) {
    return mlir::RankedTensorType::get(shape, element);
  }
  mlir::RankedTensorType getRows(int64_t size) {
    return getType({dynamic, size}, activationType);
  }
  /// Operations made from here on belong to this part of the model.
  void enter(const llvm::Twine &name);

  // Layers: of a decoder, of an encoder.
  mlir::Value buildLayer(int64_t index, mlir::Value x);
  mlir::Value buildEncoderLayer(int64_t index, mlir::Value x);

  // Operations.
  mlir::Value embed(mlir::Value ids, const Weight &table, double scale = 1.0);
  mlir::Value norm(mlir::Value x, const NormWeights &weights,
                   const llvm::Twine &name);
  mlir::Value linear(mlir::Value x, const LinearWeights &weights,
                     const llvm::Twine &name, mlir::Type resultElement);
  mlir::Value add(mlir::Value a, mlir::Value b, const llvm::Twine &name);

  mlir::OpBuilder builder;
  const ModelConfig &config;
  const ModelWeights &weights;
  const WeightSource &source;
  const BuildOptions &options;
  mlir::Type activationType, cacheType;
  mlir::Location loc;
  /// The entry's arguments by name, and the current values of its caches.
  llvm::StringMap<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> keyCaches, valueCaches;
  /// Of full layers and of sliding layers.
  RopeValues fullRope, slidingRope;

private:
  mlir::Value buildAttention(int64_t index, mlir::Value x);
  mlir::Value buildMlp(int64_t index, mlir::Value x);
  mlir::Value buildExperts(const LayerWeights &layer, mlir::Value x);

  mlir::Value weight(const Weight &weight);
  mlir::Value rmsNorm(mlir::Value x, const Weight &weight,
                      const llvm::Twine &name);
  mlir::Value linear(mlir::Value x, const LinearWeights &weights,
                     const llvm::Twine &name) {
    return linear(x, weights, name, activationType);
  }
  mlir::Value splitHeads(mlir::Value x, int64_t heads);
  mlir::Value joinHeads(mlir::Value x);
  mlir::Value rope(mlir::Value x, int64_t layer);
};

} // namespace weft

#endif // WEFT_MODELS_COMMON_BLOCKBUILDER_H
