//===- KernelBuilder.h - From a dispatch to a tile kernel -------*- C++ -*-===//
//
// What the builders of the kernel classes share: where a value of a dispatch's
// body lies in memory, and how elementwise operations are applied to tiles.
//
// Memory as kernels see it: an activation [rows, ...] is a matrix [rows, C]
// with C the product of its other dimensions; a vector [N] is a matrix [1, N];
// i32 tensors and caches keep their rank, except that a block table is flat and
// the bias of an attention one column. A
// weight in core matrices is the matrix [N, K], and an activation in panels
// (see AssignLayouts.cpp) is [rows, C] like any other: where their elements lie
// is said by the layout of the memref.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_KERNELBUILDER_H
#define WEFT_PASSES_KERNEL_KERNELBUILDER_H

#include "passes/Kernel/TileBuilder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace weft::kernel {

/// An activation in memory: row r, trailing coordinates (i, j, ...) lie in
/// column offset + i * strides[0] + j * strides[1] + ... of row r of `matrix`.
struct RowView {
  mlir::Value matrix;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape;   ///< Trailing dimensions.
  llvm::SmallVector<int64_t> strides; ///< One per trailing dimension.
};

/// One kernel under construction.
class KernelBuilder : public TileBuilder {
public:
  KernelBuilder(mlir::OpBuilder &builder, DispatchOp dispatch,
                tile::KernelOp kernel, tile::ScheduleInterface schedule);

  DispatchOp dispatch;
  tile::KernelOp kernel;
  tile::ScheduleInterface schedule;

  /// The program's symbol: number of rows.
  mlir::Value rows() { return kernel.getSymbolArguments()[0]; }
  mlir::Value item() { return kernel.getItem(); }
  mlir::Value itemEnd() { return kernel.getItemEnd(); }
  /// Body operations of the dispatch that are not reshapes or slices.
  llvm::SmallVector<mlir::Operation *> getOps();

  /// The kernel argument of a block argument of the dispatch.
  mlir::Value getArgument(mlir::Value value);
  /// The kernel argument that a yielded value is written to; null if the
  /// value is not yielded. A value that is yielded twice is written once.
  mlir::Value getOutput(mlir::Value value);
  /// Where an activation lies, through reshapes and slices.
  RowView getView(mlir::Value value);

  /// Applies a pointwise operation (arith on floats, activation, gated
  /// activation, soft cap) to tiles given for its operands, each in the
  /// operand's element type; the result has the result's element type.
  mlir::Value applyElementwise(mlir::Operation *op, mlir::ValueRange tiles);

private:
  llvm::DenseMap<mlir::Value, mlir::Value> arguments, outputs;
};

/// Attributes of a dispatch that weft-assign-layouts makes: for each input or
/// result `#tile.panels<...>`, or `unit` for row-major.
inline constexpr llvm::StringLiteral inputLayoutsName = "input_layouts";
inline constexpr llvm::StringLiteral resultLayoutsName = "result_layouts";

/// The layout that an input or a result was given; null: row-major.
tile::PanelsAttr getInputLayout(DispatchOp dispatch, unsigned input);
tile::PanelsAttr getResultLayout(DispatchOp dispatch, unsigned result);

/// Types in which a kernel sees an input or a result of a dispatch; see the
/// file comment.
mlir::MemRefType getInputType(DispatchOp dispatch, unsigned input);
mlir::MemRefType getResultType(DispatchOp dispatch, unsigned result);

/// The tensor in the body whose leading dimension is the rows of the program,
/// its first symbol; null: no operation of the body is known to have rows.
mlir::Value getRowsTensor(DispatchOp dispatch);

// One builder per kernel class. Each fills the kernel's body; the grid is what
// getGrid says for the dispatch.
mlir::LogicalResult buildMatrixKernel(KernelBuilder &k);
mlir::LogicalResult buildStreamKernel(KernelBuilder &k);
mlir::LogicalResult buildRowsKernel(KernelBuilder &k);
mlir::LogicalResult buildHeadsKernel(KernelBuilder &k);
mlir::LogicalResult buildAdjustKernel(KernelBuilder &k);
mlir::LogicalResult buildSampleKernel(KernelBuilder &k);

/// The most heads that an operation of a heads kernel has.
int64_t getMostHeads(DispatchOp dispatch);
mlir::LogicalResult buildAttentionKernel(KernelBuilder &k);
mlir::LogicalResult buildFlashKernel(KernelBuilder &k);

} // namespace weft::kernel

#endif // WEFT_PASSES_KERNEL_KERNELBUILDER_H
