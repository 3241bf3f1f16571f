//===- PackedWeights.h - Weights of few bits in loops -----------*- C++ -*-===//
//
// Internal to the pass weft-lower-onnx. How com.microsoft stores quantized
// weights: elements of 2 or 4 bits lie in bytes, the first in the lowest bits,
// and blocks of elements of a row have a scale and a zero point. Source: the
// operator reference of ONNX Runtime (ContribOperators.md).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_GRAPH_PACKEDWEIGHTS_H
#define WEFT_PASSES_GRAPH_PACKEDWEIGHTS_H

#include "passes/Graph/LowerOnnx.h"

namespace weft::graph {

/// Rows of quantized elements; all tensors are flat.
struct PackedWeights {
  Value bytes, scales;
  Value zeroPoints; ///< Null: the middle of the range.
  int64_t bits;
  int64_t rowBytes;  ///< Of elements.
  int64_t rowBlocks; ///< Scales of a row.
  int64_t block;     ///< Elements that have the same scale.
  /// Whether zero points are numbers like scales, or packed like elements.
  bool isZeroNumber = false;
  /// Rows whose packed zero points lie together; the next ones begin with a new
  /// byte.
  int64_t zeroRows = 1;

  /// Element `column` of a row, as f32.
  Value read(Scalars &s, Value row, Value column) const;
};

/// All elements of a tensor in one dimension.
Value flatten(OnnxLowering &l, Value value);

} // namespace weft::graph

#endif // WEFT_PASSES_GRAPH_PACKEDWEIGHTS_H
