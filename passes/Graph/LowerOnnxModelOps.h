//===- LowerOnnxModelOps.h - Operators that are model operations *- C++ -*-===//
//
// Internal to the pass weft-lower-onnx. Each function makes a model operation
// of an operator, or returns false if its form is one that no model operation
// computes.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_GRAPH_LOWERONNXMODELOPS_H
#define WEFT_PASSES_GRAPH_LOWERONNXMODELOPS_H

#include "passes/Graph/LowerOnnx.h"

namespace weft::graph {

/// Whether model operations compute in the type of a value.
inline bool isModelType(Value value) {
  Type element = mlir::getElementTypeOrSelf(value.getType());
  return element.isF32() || element.isF16() || element.isBF16();
}

bool lowerToRope(OnnxLowering &l, onnx::RotaryEmbeddingOp op);
bool lowerToRope(OnnxLowering &l, onnx::MicrosoftRotaryEmbeddingOp op);
bool lowerToAttention(OnnxLowering &l, onnx::AttentionOp op);

} // namespace weft::graph

#endif // WEFT_PASSES_GRAPH_LOWERONNXMODELOPS_H
