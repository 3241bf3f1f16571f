//===- OnnxElements.h - What an element of a tensor is ----------*- C++ -*-===//
//
// Masks and positions are computed by graphs of operators on whole tensors.
// This finds what one element of such a tensor is, as a function of its place.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_GRAPH_ONNXELEMENTS_H
#define WEFT_PASSES_GRAPH_ONNXELEMENTS_H

#include "dialects/Onnx/OnnxDialect.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace weft::graph {

/// Polynomials over sizes and places that are all at least 0; none: always
/// true.
struct Condition {
  bool isFalse = false;
  llvm::SmallVector<Polynomial, 2> nonNegative;

  static Condition always() { return {}; }
  static Condition never() { return {true, {}}; }
  bool isAlways() const { return !isFalse && nonNegative.empty(); }
  /// Both hold.
  Condition operator&(const Condition &other) const;
  /// The opposite; nothing if it is no such condition.
  std::optional<Condition> invert() const;
};

/// An element: nothing known; an integer; a truth value; or one of two numbers,
/// the first if the condition holds.
struct Element {
  enum class Kind { Unknown, Integer, Truth, Choice };

  Kind kind = Kind::Unknown;
  Polynomial integer;
  Condition condition;
  double number = 0, otherwise = 0;

  static Element makeInteger(const Polynomial &value) {
    Element element;
    element.kind = Kind::Integer;
    element.integer = value;
    return element;
  }
  static Element makeTruth(const Condition &condition) {
    Element element;
    element.kind = Kind::Truth;
    element.condition = condition;
    return element;
  }
  static Element makeChoice(const Condition &condition, double number,
                            double otherwise) {
    Element element;
    element.kind = Kind::Choice;
    element.condition = condition;
    element.number = number;
    element.otherwise = otherwise;
    return element;
  }
  static Element makeNumber(double number) {
    return makeChoice(Condition::always(), number, number);
  }
  /// The number that it is, whatever the condition.
  std::optional<double> getNumber() const;
};

class OnnxElements {
public:
  using Place = llvm::ArrayRef<Polynomial>;

  /// Takes elements of an argument of the function to be what `element` says.
  void assume(mlir::Value argument, std::function<Element(Place)> element) {
    assumed[argument] = std::move(element);
  }

  /// The element at a place, one index for each dimension.
  Element get(mlir::Value value, Place place) const {
    return evaluate(value, place, 0);
  }

  /// The variable of dimension `dim` in a place, which stands for any index.
  static Polynomial getVariable(unsigned dim);

private:
  Element evaluate(mlir::Value value, Place place, unsigned depth) const;
  Element evaluateMover(mlir::Operation *op, Place place, unsigned depth) const;
  Element evaluateOperand(mlir::Operation *op, unsigned operand, Place place,
                          unsigned depth) const;
  Element addUp(onnx::ReduceSumOp op, Place place, unsigned depth) const;
  Element gather(mlir::Operation *op, Place place, unsigned depth) const;
  std::optional<Polynomial> getInteger(mlir::Value value, Place place,
                                       unsigned depth) const;

  llvm::DenseMap<mlir::Value, std::function<Element(Place)>> assumed;
};

/// Which keys a mask of an attention shows to the query at position q of the
/// new ones: key k if k <= q + offset, and q + offset - k < window.
struct CausalMask {
  int64_t window = 0; ///< 0: none.
};

/// Whether a mask, of truth values or of numbers that are added to scores, is a
/// causal one for queries that come behind `offset` earlier keys.
std::optional<CausalMask> matchCausalMask(const OnnxElements &elements,
                                          mlir::Value mask,
                                          const Polynomial &offset);

} // namespace weft::graph

#endif // WEFT_PASSES_GRAPH_ONNXELEMENTS_H
