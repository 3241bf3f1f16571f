//===- OnnxPatterns.h - What patterns of operators look for -----*- C++ -*-===//
//
// Shared by the passes that recognise whole operations in graphs of single
// operators of ONNX.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_GRAPH_ONNXPATTERNS_H
#define WEFT_PASSES_GRAPH_ONNXPATTERNS_H

#include "dialects/Onnx/OnnxDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace weft::graph {

/// The number that a tensor of one element holds, if it is known: a constant,
/// a static size, or arithmetic on these.
std::optional<double> getScalar(mlir::Value value);

/// Whether a tensor of one element holds this number, up to the rounding of
/// the type that it was written in.
bool isScalar(mlir::Value value, double number);

/// The integers of a constant.
std::optional<llvm::SmallVector<int64_t, 4>> getIntegers(mlir::Value value);

/// An operand of a commutative operator that `accept` likes, and the other
/// one; nothing if it likes none.
template <typename Op>
std::optional<std::pair<mlir::Value, mlir::Value>>
splitOperands(Op op, llvm::function_ref<bool(mlir::Value)> accept) {
  if (accept(op.getLhs()))
    return std::pair(op.getLhs(), op.getRhs());
  if (accept(op.getRhs()))
    return std::pair(op.getRhs(), op.getLhs());
  return std::nullopt;
}

/// The value behind conversions to another floating-point type.
mlir::Value stripCasts(mlir::Value value);

/// Sizes of a value.
inline onnx::Shape getShape(mlir::Value value) {
  return onnx::getShape(value.getType());
}
/// The last size of a value if it is a number.
std::optional<int64_t> getColumns(mlir::Value value);
/// Whether a value is a vector of this many elements.
bool isVector(mlir::Value value, int64_t size);
/// Whether elements are of a floating-point type.
bool isFloat(mlir::Value value);

/// A product of values and a number, through multiplications and divisions by
/// numbers; of the results inside only the product may be read.
struct Product {
  double coefficient = 1;
  llvm::SmallVector<mlir::Value, 4> factors;
};
Product flattenProduct(mlir::Value value);

/// Heads [batch, heads, length, size] or, if `headDim` is 2, [batch, length,
/// heads, size], whose numbers of heads and elements are known, as [batch,
/// length, heads * size].
mlir::Value joinHeads(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value heads, int64_t headDim);
/// The inverse: heads of type `type`.
mlir::Value splitHeads(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value joined, mlir::RankedTensorType type,
                       int64_t headDim);
/// The value with dimensions 1 and 2 of 4 exchanged.
mlir::Value exchangeHeads(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value heads);

/// The patterns of weft-simplify-onnx.
void addSimplifyPatterns(mlir::RewritePatternSet &patterns);

/// Applies patterns to each function of the module until none matches;
/// operators that nothing reads any more are gone then.
llvm::LogicalResult applyOnnxPatterns(mlir::ModuleOp module,
                                      mlir::RewritePatternSet &&patterns);

/// A tensor of integers with one dimension.
mlir::Value makeIntegers(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::ArrayRef<int64_t> numbers);

/// The remark that operators were recognised as a whole operation.
void remarkApplied(mlir::Operation *op, llvm::StringRef pass,
                   const llvm::Twine &what);
/// The remark that they were not, and why.
void remarkMissed(mlir::Operation *op, llvm::StringRef pass,
                  const llvm::Twine &reason);

} // namespace weft::graph

#endif // WEFT_PASSES_GRAPH_ONNXPATTERNS_H
