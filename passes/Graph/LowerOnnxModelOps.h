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

// Linear layers.
bool lowerToLinear(OnnxLowering &l, onnx::MatMulOp op);
bool lowerToLinear(OnnxLowering &l, onnx::GemmOp op);
bool lowerToLinear(OnnxLowering &l, onnx::MicrosoftFusedMatMulOp op);
bool lowerToLinear(OnnxLowering &l, onnx::MicrosoftMatMulNBitsOp op);
/// Each part of the outputs of one layer as a layer of its own.
bool lowerToLinear(OnnxLowering &l, onnx::SplitOp op);
/// The bias of the linear layer that made `input`, if nothing else reads that.
bool addLinearBias(OnnxLowering &l, Value input, Value bias, Value result);
/// Rows of a linear layer as those of layers for parts of its outputs, in
/// order; empty if they are of something else, or of parts already.
llvm::SmallVector<Value> splitLinear(OnnxLowering &l, Value rows,
                                     llvm::ArrayRef<int64_t> columns);

/// A matrix [rows, columns] of the file as com.microsoft stores quantized ones;
/// `zeroPoints` null: the middle of the range.
struct QuantizedMatrix {
  Value bytes, scales, zeroPoints;
  int64_t bits, block, rows, columns;
};
/// The weight whose numbers these mean, of the type of the scales; null if a
/// tensor is none of the file or has another form.
Value makeQuantizedWeight(OnnxLowering &l, const QuantizedMatrix &matrix);

bool lowerToRope(OnnxLowering &l, onnx::RotaryEmbeddingOp op);
bool lowerToRope(OnnxLowering &l, onnx::MicrosoftRotaryEmbeddingOp op);
bool lowerToAttention(OnnxLowering &l, onnx::AttentionOp op);

} // namespace weft::graph

#endif // WEFT_PASSES_GRAPH_LOWERONNXMODELOPS_H
