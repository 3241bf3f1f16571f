//===- DecomposeBuilder.h - Shorthand for decompositions --------*- C++ -*-===//
//
// Decompositions are made of two forms, both one `linalg.generic`: a tensor
// whose elements are computed independently (`parallel`), and a tensor whose
// elements are sums, maxima, ... over one more loop (`reduce`). Operands say
// with which loops they are indexed; bodies compute on scalars, and may read
// any tensor at computed indices (`load`).
//
// Arithmetic is in f32: `extend` widens what is read, `round` narrows what is
// written, once.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_WEFT_DECOMPOSEBUILDER_H
#define WEFT_DIALECTS_WEFT_DECOMPOSEBUILDER_H

#include "dialects/Weft/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace weft {

class DecomposeBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// A tensor and the loops that index it, outermost dimension first.
  struct Operand {
    mlir::Value tensor;
    llvm::SmallVector<int64_t> loops;
  };
  using Sizes = llvm::SmallVector<mlir::OpFoldResult>;
  /// Gets the operands' elements; a reduction's accumulator comes last.
  using Body = llvm::function_ref<mlir::Value(mlir::ValueRange)>;

  /// Builds before `op`, with its location.
  DecomposeBuilder(mlir::OpBuilder &builder, mlir::Operation *op)
      : ImplicitLocOpBuilder(op->getLoc(), builder) {
    setInsertionPoint(op);
  }

  //===--- Tensors --------------------------------------------------------===//

  Sizes sizesOf(mlir::Value tensor);
  mlir::Value sizeOf(mlir::Value tensor, int64_t dim);

  /// A tensor of the given sizes; loop i indexes dimension i.
  mlir::Value parallel(llvm::ArrayRef<mlir::OpFoldResult> sizes,
                       mlir::Type elementType, llvm::ArrayRef<Operand> operands,
                       Body body);

  /// A tensor of the given sizes, indexed like that of `parallel`, reduced
  /// over one more loop, numbered sizes.size(), which must index an operand.
  mlir::Value reduce(llvm::ArrayRef<mlir::OpFoldResult> sizes,
                     mlir::TypedAttr initial, llvm::ArrayRef<Operand> operands,
                     Body body);

  /// `value` with exactly the type of the operation's result.
  mlir::Value castTo(mlir::Value value, mlir::Type type);

  /// The tensor converted to the result's element type, one rounding.
  mlir::Value roundTensor(mlir::Value tensor, mlir::Type elementType);

  //===--- Scalars --------------------------------------------------------===//

  mlir::Value f32(float value);
  mlir::Value i32(int64_t value);
  mlir::Value index(int64_t value);
  mlir::Value loop(int64_t number);
  mlir::Value toIndex(mlir::Value integer);
  mlir::Value toI32(mlir::Value index);
  mlir::Value extend(mlir::Value value);
  mlir::Value round(mlir::Value value, mlir::Type type);
  mlir::Value load(mlir::Value tensor, llvm::ArrayRef<mlir::Value> indices);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// Signed comparison of integers or ordered comparison of floats.
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value equal(mlir::Value a, mlir::Value b);

  /// The activation of an f32 value.
  mlir::Value activate(Activation function, mlir::Value x);
  /// cap * tanh(x / cap)
  mlir::Value softcap(mlir::Value x, float cap);
  /// Element [leading..., n, k] of a matrix, which may be packed.
  mlir::Value loadMatrix(mlir::Value matrix,
                         std::optional<PackedLayoutInterface> layout,
                         llvm::ArrayRef<mlir::Value> leading, mlir::Value n,
                         mlir::Value k);

private:
  mlir::Value generic(mlir::Value init, int64_t loops,
                      llvm::ArrayRef<Operand> operands, Body body);
};

} // namespace weft

#endif // WEFT_DIALECTS_WEFT_DECOMPOSEBUILDER_H
