//===- MatrixEpilogue.h - What follows a multiplication ---------*- C++ -*-===//
//
// The end of every kernel of linear layers: bias, the elementwise operations of
// the dispatch and the stores, on a tile of outputs.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_MATRIXEPILOGUE_H
#define WEFT_PASSES_KERNEL_MATRIXEPILOGUE_H

#include "passes/Kernel/KernelBuilder.h"

namespace weft::kernel {

/// A finished sum of a layer: f32, of the shape of the tile.
struct MatrixSum {
  mlir::Operation *op; ///< weft.linear or weft.grouped_linear.
  mlir::Value bias;    ///< In the dispatch; null without one.
  mlir::Value sum;
};

/// Where a tile lies.
struct OutputTile {
  mlir::Value row;
  mlir::Value column;       ///< In the layers' outputs: of biases.
  mlir::Value memoryColumn; ///< In the rows of activations.
  llvm::SmallVector<int64_t, 2> shape;
  mlir::Value rows, columns; ///< Inside, at least 1; null: all.
};

/// Emits the epilogue `ops` on the sums and the stores of what is yielded.
void buildMatrixEpilogue(KernelBuilder &k, llvm::ArrayRef<MatrixSum> sums,
                         llvm::ArrayRef<mlir::Operation *> ops,
                         const OutputTile &tile);

} // namespace weft::kernel

#endif // WEFT_PASSES_KERNEL_MATRIXEPILOGUE_H
