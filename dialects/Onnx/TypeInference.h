//===- TypeInference.h - Types of results of operators ----------*- C++ -*-===//

#ifndef WEFT_DIALECTS_ONNX_TYPEINFERENCE_H
#define WEFT_DIALECTS_ONNX_TYPEINFERENCE_H

#include "dialects/Onnx/SymbolicValues.h"

#include <map>

namespace weft::onnx {

/// What a rule of InferTypes.h reads and writes.
class TypeInference {
public:
  explicit TypeInference(const SymbolicValues &values) : values(values) {}

  //===--------------------------------------------------------------------===//
  // For rules
  //===--------------------------------------------------------------------===//

  /// Says why there is no type: a sentence with what was found and expected.
  llvm::LogicalResult fail(const llvm::Twine &message);

  /// The type of the next result; fails if no tensor can have the shape.
  llvm::LogicalResult add(mlir::Type element, llvm::ArrayRef<Polynomial> shape);

  /// Elements of an operand that the types depend on; fails if they are not
  /// known and then names the operand as one whose values are needed.
  llvm::FailureOr<SymbolicValues::Elements> getElements(mlir::Value value);
  /// The same for an operand of one element.
  llvm::FailureOr<Polynomial> getElement(mlir::Value value);
  /// The same for elements that must be numbers.
  llvm::FailureOr<llvm::SmallVector<int64_t, 4>> getNumbers(mlir::Value value);

  /// The same for numbers of any kind, which a constant has.
  llvm::FailureOr<llvm::SmallVector<double, 4>> getReals(mlir::Value value);

  /// The index of an axis of a tensor of `rank` dimensions, counted from the
  /// end if it is negative.
  llvm::FailureOr<int64_t> getAxis(int64_t axis, int64_t rank);
  llvm::FailureOr<llvm::SmallVector<int64_t, 4>>
  getAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);
  /// The same of an operand that lists them.
  llvm::FailureOr<llvm::SmallVector<int64_t, 4>> getAxes(mlir::Value axes,
                                                         int64_t rank);

  /// Says that two sizes are the same. If one of them is a symbol that the
  /// other is not made of, the model is to be read again with the one in place
  /// of the other; two different numbers fail.
  llvm::FailureOr<Polynomial> unify(const Polynomial &a, const Polynomial &b);
  /// The size of a dimension that both are broadcast to.
  llvm::FailureOr<Polynomial> broadcast(const Polynomial &a,
                                        const Polynomial &b);
  llvm::FailureOr<Shape> broadcast(llvm::ArrayRef<Shape> shapes);

  //===--------------------------------------------------------------------===//
  // For those who call them
  //===--------------------------------------------------------------------===//

  llvm::ArrayRef<mlir::Type> getTypes() const { return types; }
  llvm::StringRef getMessage() const { return message; }
  /// Operands whose values would have been needed.
  llvm::ArrayRef<mlir::Value> getNeeded() const { return needed; }
  /// What symbols were found to be equal to.
  const std::map<std::string, Polynomial> &getEqualities() const {
    return equalities;
  }

private:
  const SymbolicValues &values;
  llvm::SmallVector<mlir::Type> types;
  std::string message;
  llvm::SmallVector<mlir::Value> needed;
  std::map<std::string, Polynomial> equalities;
};

} // namespace weft::onnx

#endif // WEFT_DIALECTS_ONNX_TYPEINFERENCE_H
