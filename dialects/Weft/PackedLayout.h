//===- PackedLayout.h - Order of a packed matrix in memory ------*- C++ -*-===//
//
// A packed matrix [N, K] lies in memory as a tensor whose indices are digits of
// n and of k: numbers of a mixed radix. One list of digits says everything
// about a layout: its shape, where an element lies, how it is read.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_WEFT_PACKEDLAYOUT_H
#define WEFT_DIALECTS_WEFT_PACKEDLAYOUT_H

#include "mlir/Support/LLVM.h"

namespace weft {

/// `coordinate / divisor % count` of n, or of k if `isInner`; a count of 0 has
/// no remainder: the digit counts all blocks of `divisor` that there are.
struct LayoutDigit {
  bool isInner;
  int64_t divisor, count;

  /// Values of the digit for a dimension of `size`, rounded up.
  int64_t getSize(int64_t size) const {
    return count ? count : (size + divisor - 1) / divisor;
  }
};

/// One dimension of a packed matrix: digits, the most significant first.
using PackedDim = llvm::SmallVector<LayoutDigit, 3>;

/// The dimensions of a matrix in core matrices, `[N/16, K/128, 32, 8, 8]`: see
/// CoreMatrixLayoutAttr.
llvm::SmallVector<PackedDim> getCoreMatrixDims();

/// Rows and columns of a core matrix, and what the outputs and the inputs of a
/// weight are multiples of: those of consecutive bytes.
inline constexpr int64_t coreMatrixSize = 8;
inline constexpr int64_t fragmentSize = 2 * coreMatrixSize;
inline constexpr int64_t coreMatrixInputs = 128;

} // namespace weft

#endif // WEFT_DIALECTS_WEFT_PACKEDLAYOUT_H
