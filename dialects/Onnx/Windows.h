//===- Windows.h - Where the windows of a convolution lie -------*- C++ -*-===//

#ifndef WEFT_DIALECTS_ONNX_WINDOWS_H
#define WEFT_DIALECTS_ONNX_WINDOWS_H

#include "dialects/Onnx/OnnxDialect.h"

namespace weft::onnx {

/// The windows of a convolution or pool along its spatial dimensions, one
/// element for each of them.
struct Windows {
  llvm::SmallVector<int64_t, 3> kernel, strides, dilations;
  /// Elements that are missing before the first element. The pad behind the
  /// last one is where the last window ends.
  llvm::SmallVector<int64_t, 3> before, after;
  llvm::SmallVector<Polynomial, 3> outputs; ///< How many windows there are.

  /// Reads the attributes (`auto_pad`, `kernel_shape`, `strides`, ...) of a
  /// convolution, whose kernel is that of `weight`, or a pool (`weight` null).
  /// Explicit pads allow symbolic sizes where the stride is 1.
  static llvm::FailureOr<Windows> get(mlir::Operation *op, mlir::Value weight,
                                      TypeInference &inference);
  /// The windows of the convolution that a ConvTranspose is the gradient of:
  /// `outputs` are the sizes of its result.
  static llvm::FailureOr<Windows> getTransposed(ConvTransposeOp op,
                                                TypeInference &inference);

private:
  llvm::LogicalResult read(mlir::Operation *op, mlir::Value weight,
                           TypeInference &inference);
};

} // namespace weft::onnx

#endif // WEFT_DIALECTS_ONNX_WINDOWS_H
