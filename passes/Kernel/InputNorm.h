//===- InputNorm.h - A norm in front of a multiplication --------*- C++ -*-===//
//
// Linear layers of normalised rows, without a kernel for the norm:
//
//   y[r, n] = (sum over k of W[n, k] * round(x[r, k] * w[k])) / rms(x[r, :])
//
// The squares are summed in the fold over k beside the products, and the
// division comes with the epilogue (Zhang and Sennrich, 2019, for the norm).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_INPUTNORM_H
#define WEFT_PASSES_KERNEL_INPUTNORM_H

#include "passes/Kernel/KernelBuilder.h"

namespace weft::kernel {

/// Where the input of a linear layer lies: that of its norm, if the kernel
/// computes the norm too.
RowView getInputView(KernelBuilder &k, mlir::Value input);

class InputNorm {
public:
  InputNorm(KernelBuilder &k, RmsNormOp norm) : k(k), norm(norm) {}

  /// A step of the input, columns [column, column + C) of some rows, times the
  /// norm's weight, of the input's element type; and the sums of its squares,
  /// f32 [rows, 1].
  std::pair<mlir::Value, mlir::Value> apply(mlir::Value tile,
                                            mlir::Value column);

  /// Rows with all their columns, normalised, of the input's element type.
  mlir::Value normalize(mlir::Value tile);

  /// `sum`, f32 [rows, N], divided by what the sums of squares of all columns
  /// say: [rows, N], or [rows, 1].
  mlir::Value divide(mlir::Value sum, mlir::Value squares);

private:
  /// f32 [1, width]: the norm's weight, with its offset.
  mlir::Value loadWeight(mlir::Value column, int64_t width);
  /// 1 / the root of the mean that sums of the squares of rows have.
  mlir::Value getInverseRoot(mlir::Value squares);

  KernelBuilder &k;
  RmsNormOp norm;
};

} // namespace weft::kernel

#endif // WEFT_PASSES_KERNEL_INPUTNORM_H
