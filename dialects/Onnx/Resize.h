//===- Resize.h - How Resize makes elements along an axis -------*- C++ -*-===//

#ifndef WEFT_DIALECTS_ONNX_RESIZE_H
#define WEFT_DIALECTS_ONNX_RESIZE_H

#include "dialects/Onnx/OnnxDialect.h"

namespace weft::onnx {

/// An axis that a Resize changes. Its sizes are known.
struct ResizedAxis {
  int64_t axis;
  int64_t input, output;     ///< Elements before and after.
  double scale;              ///< Of the output to the input.
  double start = 0, end = 1; ///< Part of the input, for tf_crop_and_resize.
};

/// The axes that change, in order; fails where sizes are not known.
llvm::FailureOr<llvm::SmallVector<ResizedAxis>>
getResizedAxes(ResizeOp op, TypeInference &inference);

/// An element of the output is the sum of `taps` elements of the input, each
/// with its weight.
struct ResizeTaps {
  int64_t taps = 0;
  /// Of `taps` x outputs; places are inside of the input.
  llvm::SmallVector<int64_t> places;
  llvm::SmallVector<float> weights;
  /// Outputs that are extrapolated: they have the value of the operator.
  llvm::SmallVector<bool> isOutside;
};

/// Source: Resize of the ONNX standard.
ResizeTaps getResizeTaps(ResizeOp op, const ResizedAxis &axis);

} // namespace weft::onnx

#endif // WEFT_DIALECTS_ONNX_RESIZE_H
