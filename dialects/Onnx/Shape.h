//===- Shape.h - Shapes of numbers and symbols ------------------*- C++ -*-===//

#ifndef WEFT_DIALECTS_ONNX_SHAPE_H
#define WEFT_DIALECTS_ONNX_SHAPE_H

#include "dialects/Weft/Polynomial.h"

#include "mlir/IR/BuiltinTypes.h"

namespace weft::onnx {

/// Sizes of a tensor, outermost first.
using Shape = llvm::SmallVector<Polynomial, 4>;

/// The shape that a type of the dialect says. A dynamic size without a name, as
/// in IR written by hand, is the symbol "?".
Shape getShape(mlir::Type type);

/// A tensor type of the dialect with this shape.
mlir::RankedTensorType makeType(mlir::Type element,
                                llvm::ArrayRef<Polynomial> shape);

/// The same type without the names of its sizes.
mlir::RankedTensorType dropNames(mlir::RankedTensorType type);

/// "[2, n, 2*n + 1]"
std::string print(llvm::ArrayRef<Polynomial> shape);

/// Whether a tensor can have the shape: no size is negative or has overflown,
/// and those that are numbers make less than 2^56 elements.
bool isTensorShape(llvm::ArrayRef<Polynomial> shape);

/// The number of elements.
Polynomial countElements(llvm::ArrayRef<Polynomial> shape);

Polynomial subtract(const Polynomial &a, const Polynomial &b);
/// a / b if it is a polynomial (with whole coefficients) for all values of the
/// symbols; b is a product of symbols and a number, or equal to a.
std::optional<Polynomial> divide(const Polynomial &a, const Polynomial &b);
/// The sign of a polynomial (-1, 0, 1) if it is the same for all values of the
/// symbols, which are sizes: not negative.
std::optional<int> getSign(const Polynomial &a);

/// What a slice of a dimension takes: `count` elements from `start`, `step`
/// apart.
struct SliceRange {
  Polynomial start, count;
  int64_t step = 1;
};

/// The elements that ONNX means by `start`, `end` and `step`: negative
/// positions count from the end, what lies outside is cut off. A symbolic
/// position is taken to lie inside. Nothing if it cannot be said as
/// polynomials.
std::optional<SliceRange> getSliceRange(const Polynomial &size,
                                        const Polynomial &start,
                                        const Polynomial &end, int64_t step);

} // namespace weft::onnx

#endif // WEFT_DIALECTS_ONNX_SHAPE_H
