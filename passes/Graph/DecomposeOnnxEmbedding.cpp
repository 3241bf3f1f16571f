//===- DecomposeOnnxEmbedding.cpp - EmbedLayerNormalization ---------------===//

#include "passes/Graph/DecomposeOnnx.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

OnnxResults graph::decomposeEmbedding(OnnxEmitter &e, Operation *operation) {
  auto op = dyn_cast<onnx::MicrosoftEmbedLayerNormalizationOp>(operation);
  if (!op || !op.getSegmentIds() != !op.getSegmentEmbedding())
    return {};
  Value sum = e.make("Gather", {op.getWordEmbedding(), op.getInputIds()});
  Value positions;
  if (Value ids = op.getPositionIds())
    positions = e.make("Gather", {op.getPositionEmbedding(), ids});
  else
    positions = e.make("Slice", {op.getPositionEmbedding(), e.list(0),
                                 e.sizeOf(op.getInputIds(), 1), e.list(0)});
  sum = e.make("Add", {sum, positions});
  if (op.getSegmentIds())
    sum = e.make("Add", {sum, e.make("Gather", {op.getSegmentEmbedding(),
                                                op.getSegmentIds()})});
  Value result =
      e.make("LayerNormalization", {sum, op.getGamma(), op.getBeta()},
             {{"epsilon", op.getEpsilonAttr()}});
  OnnxResults results = {result, {}, sum};
  if (op.getMaskIndex().use_empty())
    return results;
  // The number of tokens that are not padding.
  Type i32 = e.builder.getI32Type();
  if (Value mask = op.getMask()) {
    results[1] = e.make("ReduceSum", {e.cast(mask, i32), e.list(1)},
                        {{"keepdims", e.attribute(0)}});
    return results;
  }
  auto zero = RankedTensorType::get(1, i32);
  results[1] = e.make("ConstantOfShape", e.sizeOf(op.getInputIds(), 0),
                      {{"value", DenseElementsAttr::get(zero, int32_t(0))}});
  return results;
}
