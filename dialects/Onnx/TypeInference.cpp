//===- TypeInference.cpp - Types of results of operators ------------------===//

#include "dialects/Onnx/OnnxDialect.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

LogicalResult TypeInference::fail(const Twine &text) {
  message = text.str();
  return failure();
}

LogicalResult TypeInference::add(Type element, ArrayRef<Polynomial> shape) {
  if (!isTensorShape(shape))
    return fail("found a result of shape " + print(shape) +
                ", expected sizes that are not negative and less than 2^56 "
                "elements");
  types.push_back(makeType(element, shape));
  return success();
}

FailureOr<SymbolicValues::Elements> TypeInference::getElements(Value value) {
  if (const SymbolicValues::Elements *elements = values.get(value))
    return *elements;
  needed.push_back(value);
  return fail("its shape depends on values of an input that are not known");
}

FailureOr<Polynomial> TypeInference::getElement(Value value) {
  FailureOr<SymbolicValues::Elements> elements = getElements(value);
  if (failed(elements))
    return failure();
  if (elements->size() != 1)
    return fail("found a list of " + Twine(elements->size()) +
                " numbers, expected one number");
  return elements->front();
}

FailureOr<SmallVector<int64_t, 4>> TypeInference::getNumbers(Value value) {
  if (auto numbers = values.getNumbers(value))
    return *numbers;
  needed.push_back(value);
  return fail("it depends on values of an input that are not known");
}

FailureOr<SmallVector<double, 4>> TypeInference::getReals(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (dense && isa<FloatType>(dense.getElementType()))
      return llvm::map_to_vector<4>(
          dense.getValues<APFloat>(),
          [](const APFloat &number) { return number.convertToDouble(); });
  }
  FailureOr<SmallVector<int64_t, 4>> numbers = getNumbers(value);
  if (failed(numbers))
    return failure();
  return SmallVector<double, 4>(numbers->begin(), numbers->end());
}

FailureOr<int64_t> TypeInference::getAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return fail("found axis " + Twine(axis) + ", expected one of a tensor of " +
                Twine(rank) + " dimensions");
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t, 4>>
TypeInference::getAxes(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t, 4> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> index = getAxis(axis, rank);
    if (failed(index))
      return failure();
    if (llvm::is_contained(result, *index))
      return fail("found axis " + Twine(axis) + " twice, expected each once");
    result.push_back(*index);
  }
  return result;
}

FailureOr<SmallVector<int64_t, 4>> TypeInference::getAxes(Value axes,
                                                          int64_t rank) {
  FailureOr<SmallVector<int64_t, 4>> numbers = getNumbers(axes);
  if (failed(numbers))
    return failure();
  return getAxes(*numbers, rank);
}

/// The name of a polynomial that is one symbol.
static std::optional<std::string> getSymbol(const Polynomial &size) {
  if (size.getTerms().size() != 1)
    return std::nullopt;
  const auto &[monomial, coefficient] = *size.getTerms().begin();
  if (monomial.size() != 1 || coefficient != 1)
    return std::nullopt;
  return monomial.front();
}

static bool mentions(const Polynomial &size, const std::string &symbol) {
  return llvm::any_of(size.getTerms(), [&](const auto &term) {
    return llvm::is_contained(term.first, symbol);
  });
}

FailureOr<Polynomial> TypeInference::unify(const Polynomial &a,
                                           const Polynomial &b) {
  if (a == b && !a.hasOverflown())
    return a;
  std::optional<std::string> left = getSymbol(a), right = getSymbol(b);
  if (right && !a.hasOverflown() && !mentions(a, *right)) {
    equalities.try_emplace(*right, a);
    return a;
  }
  if (left && !b.hasOverflown() && !mentions(b, *left)) {
    equalities.try_emplace(*left, b);
    return b;
  }
  return fail("found the sizes " + a.str() + " and " + b.str() +
              ", expected equal ones");
}

FailureOr<Polynomial> TypeInference::broadcast(const Polynomial &a,
                                               const Polynomial &b) {
  if (a == Polynomial(1))
    return b;
  if (b == Polynomial(1))
    return a;
  return unify(a, b);
}

FailureOr<Shape> TypeInference::broadcast(ArrayRef<Shape> shapes) {
  size_t rank = 0;
  for (const Shape &shape : shapes)
    rank = std::max(rank, shape.size());
  Shape result(rank, Polynomial(1));
  for (const Shape &shape : shapes)
    for (auto [dim, size] : llvm::enumerate(shape)) {
      Polynomial &target = result[rank - shape.size() + dim];
      FailureOr<Polynomial> both = broadcast(target, size);
      if (failed(both))
        return failure();
      target = *both;
    }
  return result;
}
