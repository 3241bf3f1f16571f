//===- SymbolicValues.h - Small tensors that are known ----------*- C++ -*-===//
//
// Shape arithmetic of ONNX graphs is done on tensors: Shape, Gather, Concat,
// Mul, ... give the operand of a Reshape. This finds the elements of such
// tensors as polynomials over the symbols that sizes are made of.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_ONNX_SYMBOLICVALUES_H
#define WEFT_DIALECTS_ONNX_SYMBOLICVALUES_H

#include "dialects/Onnx/Shape.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace weft::onnx {

class SymbolicValues {
public:
  /// Elements in row-major order.
  using Elements = llvm::SmallVector<Polynomial, 4>;

  /// Tensors of more elements are not followed.
  static constexpr int64_t maxElements = 256;

  /// Finds what is known of the results of an operation, whose operands have
  /// been visited before and whose results have their types.
  void visit(mlir::Operation *op);

  /// The elements of a value; null if they are not known. A number that is not
  /// whole makes a tensor unknown.
  const Elements *get(mlir::Value value) const;

  /// The elements if they are numbers.
  std::optional<llvm::SmallVector<int64_t, 4>>
  getNumbers(mlir::Value value) const;

private:
  llvm::DenseMap<mlir::Value, Elements> known;
};

/// The elements of a constant of integers, truth values or whole floating-point
/// numbers; nothing if there are more than SymbolicValues::maxElements.
std::optional<SymbolicValues::Elements> readElements(mlir::Attribute value);

} // namespace weft::onnx

#endif // WEFT_DIALECTS_ONNX_SYMBOLICVALUES_H
