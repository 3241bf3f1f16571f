//===- SymbolicValues.cpp - Small tensors that are known ------------------===//

#include "dialects/Onnx/OnnxDialect.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

using Elements = SymbolicValues::Elements;

std::optional<Elements> onnx::readElements(Attribute value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || dense.getNumElements() > SymbolicValues::maxElements)
    return std::nullopt;
  Elements elements;
  if (auto type = dyn_cast<IntegerType>(dense.getElementType())) {
    bool isSigned = type.getWidth() > 1 && !type.isUnsigned();
    for (const APInt &number : dense.getValues<APInt>()) {
      if (!isSigned && number.getActiveBits() > 63)
        return std::nullopt;
      elements.push_back(isSigned ? number.getSExtValue()
                                  : int64_t(number.getZExtValue()));
    }
    return elements;
  }
  if (!isa<FloatType>(dense.getElementType()))
    return std::nullopt;
  for (const APFloat &number : dense.getValues<APFloat>()) {
    bool isExact = false;
    APSInt integer(64, /*isUnsigned=*/false);
    (void)number.convertToInteger(integer, APFloat::rmTowardZero, &isExact);
    if (!isExact)
      return std::nullopt;
    elements.push_back(integer.getSExtValue());
  }
  return elements;
}

const Elements *SymbolicValues::get(Value value) const {
  auto found = known.find(value);
  return found == known.end() ? nullptr : &found->second;
}

std::optional<SmallVector<int64_t, 4>>
SymbolicValues::getNumbers(Value value) const {
  const Elements *elements = get(value);
  if (!elements)
    return std::nullopt;
  SmallVector<int64_t, 4> numbers;
  for (const Polynomial &element : *elements) {
    std::optional<int64_t> number = element.getConstant();
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

using Maybe = std::optional<Polynomial>;

static Maybe truth(std::optional<bool> value) {
  return value ? Maybe(Polynomial(*value)) : std::nullopt;
}

/// Whether a < b, where it is the same for all sizes.
static std::optional<bool> isLess(const Polynomial &a, const Polynomial &b) {
  if (a == b)
    return false;
  std::optional<int> sign = getSign(subtract(b, a));
  return sign ? std::optional(*sign > 0) : std::nullopt;
}

static Maybe divideElement(Operation *op, const Polynomial &a,
                           const Polynomial &b) {
  std::optional<int64_t> x = a.getConstant(), y = b.getConstant();
  bool isInteger = isa<IntegerType>(
      cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
  // The least number over -1 is none of 64 bits.
  bool overflows = x == std::numeric_limits<int64_t>::min() && y == -1;
  if (isInteger && x && y && *y != 0 && !overflows)
    return Polynomial(*x / *y);
  return divide(a, b);
}

static Maybe applyBinary(Operation *op, const Polynomial &a,
                         const Polynomial &b) {
  std::optional<int64_t> x = a.getConstant(), y = b.getConstant();
  return llvm::TypeSwitch<Operation *, Maybe>(op)
      .Case<AddOp, SumOp>([&](auto) { return a + b; })
      .Case([&](SubOp) { return subtract(a, b); })
      .Case([&](MulOp) { return a * b; })
      .Case([&](DivOp) { return divideElement(op, a, b); })
      .Case([&](ModOp mod) -> Maybe {
        if (!x || !y || *y == 0)
          return std::nullopt;
        int64_t rest = *y == -1 ? 0 : *x % *y;
        if (!mod.getFmod() && rest != 0 && (rest < 0) != (*y < 0))
          rest += *y;
        return Polynomial(rest);
      })
      .Case([&](EqualOp) -> Maybe {
        if (a == b)
          return Polynomial(1);
        return getSign(subtract(a, b)) ? Maybe(Polynomial(0)) : std::nullopt;
      })
      .Case([&](LessOp) { return truth(isLess(a, b)); })
      .Case([&](GreaterOp) { return truth(isLess(b, a)); })
      .Case([&](LessOrEqualOp) -> Maybe {
        auto less = isLess(b, a);
        return less ? truth(!*less) : std::nullopt;
      })
      .Case([&](GreaterOrEqualOp) -> Maybe {
        auto less = isLess(a, b);
        return less ? truth(!*less) : std::nullopt;
      })
      .Case<MinOp, MaxOp>([&](auto) -> Maybe {
        std::optional<bool> less = isLess(a, b);
        if (!less)
          return std::nullopt;
        return *less == isa<MinOp>(op) ? a : b;
      })
      .Case<AndOp, OrOp>([&](auto) -> Maybe {
        if (!x || !y)
          return std::nullopt;
        return Polynomial(isa<AndOp>(op) ? *x && *y : *x || *y);
      })
      .Default([](Operation *) { return Maybe(); });
}

/// Position in `shape` of position `index` of the broadcast shape `result`.
static int64_t broadcastIndex(int64_t index, ArrayRef<int64_t> result,
                              ArrayRef<int64_t> shape) {
  int64_t position = 0, stride = 1;
  for (size_t i = 0; i < result.size(); ++i) {
    size_t dim = result.size() - 1 - i;
    int64_t coordinate = index % result[dim];
    index /= result[dim];
    if (i >= shape.size())
      continue;
    int64_t size = shape[shape.size() - 1 - i];
    position += (size == 1 ? 0 : coordinate) * stride;
    stride *= size;
  }
  return position;
}

static ArrayRef<int64_t> getSizes(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

using BinaryFormula =
    llvm::function_ref<Maybe(const Polynomial &, const Polynomial &)>;

/// Applies an operator of two operands, or of many from the left.
static std::optional<Elements> evaluateBroadcast(Operation *op,
                                                 const SymbolicValues &values,
                                                 BinaryFormula apply) {
  ArrayRef<int64_t> sizes = getSizes(op->getResult(0));
  Elements result;
  for (int64_t i = 0, count = ShapedType::getNumElements(sizes); i < count;
       ++i) {
    Maybe element;
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      const Elements *elements = values.get(operand);
      if (!elements)
        return std::nullopt;
      const Polynomial &next =
          (*elements)[broadcastIndex(i, sizes, getSizes(operand))];
      element = number == 0 ? Maybe(next) : apply(*element, next);
      if (!element)
        return std::nullopt;
    }
    if (!element)
      return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

/// Ceil or Floor. A quotient that is not whole has no polynomial, but what it
/// is rounded to has one.
static std::optional<Elements> evaluateRound(Operation *op,
                                             const SymbolicValues &values) {
  Value input = op->getOperand(0);
  if (const Elements *elements = values.get(input))
    return *elements;
  auto div = input.getDefiningOp<DivOp>();
  if (!div)
    return std::nullopt;
  // Smaller quotients are not rounded to a whole number in 32 bits, either.
  constexpr int64_t limit = 1 << 22;
  unsigned width =
      cast<RankedTensorType>(input.getType()).getElementTypeBitWidth();
  return evaluateBroadcast(
      div, values, [&](const Polynomial &a, const Polynomial &b) -> Maybe {
        std::optional<int64_t> x = a.getConstant(), y = b.getConstant();
        if (!x || !y || *y == 0 || width < 32 || std::abs(*x) >= limit ||
            std::abs(*y) >= limit)
          return std::nullopt;
        return Polynomial(isa<CeilOp>(op) ? llvm::divideCeilSigned(*x, *y)
                                          : llvm::divideFloorSigned(*x, *y));
      });
}

/// The larger one of 0 and each element.
static std::optional<Elements> evaluateRelu(ReluOp op,
                                            const SymbolicValues &values) {
  const Elements *elements = values.get(op.getInput());
  if (!elements)
    return std::nullopt;
  Elements result;
  for (const Polynomial &element : *elements) {
    std::optional<int> sign = getSign(element);
    if (!sign)
      return std::nullopt;
    result.push_back(*sign > 0 ? element : Polynomial(0));
  }
  return result;
}

static std::optional<Elements> evaluateCast(CastOp op,
                                            const SymbolicValues &values) {
  const Elements *elements = values.get(op.getInput());
  auto type = cast<RankedTensorType>(op.getType());
  if (!elements)
    return std::nullopt;
  if (type.getElementType().isInteger(1)) {
    Elements result;
    for (const Polynomial &element : *elements) {
      std::optional<int> sign = getSign(element);
      if (!sign)
        return std::nullopt;
      result.push_back(Polynomial(*sign != 0));
    }
    return result;
  }
  // Wrapping and rounding are not followed.
  return type.getElementTypeBitWidth() < 16 ? std::nullopt
                                            : std::optional(*elements);
}

static std::optional<Elements> evaluateWhere(WhereOp op,
                                             const SymbolicValues &values) {
  ArrayRef<int64_t> sizes = getSizes(op.getResult());
  auto condition = values.getNumbers(op.getCondition());
  if (!condition)
    return std::nullopt;
  Elements result;
  for (int64_t i = 0, count = ShapedType::getNumElements(sizes); i < count;
       ++i) {
    bool isTrue =
        (*condition)[broadcastIndex(i, sizes, getSizes(op.getCondition()))];
    Value chosen = isTrue ? op.getLhs() : op.getRhs();
    const Elements *elements = values.get(chosen);
    if (!elements)
      return std::nullopt;
    result.push_back((*elements)[broadcastIndex(i, sizes, getSizes(chosen))]);
  }
  return result;
}

/// Whether a tensor is a scalar or a list.
static bool isList(Value value) { return getSizes(value).size() <= 1; }

static std::optional<Elements> evaluateSlice(SliceOp op,
                                             const SymbolicValues &values) {
  const Elements *data = values.get(op.getData());
  auto starts = values.getNumbers(op.getStarts());
  if (!data || !starts || starts->size() != 1 || !isList(op.getData()))
    return std::nullopt;
  int64_t step = 1, start = starts->front(), size = data->size();
  if (op.getSteps()) {
    auto steps = values.getNumbers(op.getSteps());
    if (!steps)
      return std::nullopt;
    step = steps->front();
  }
  if (start < 0)
    start += size;
  start = std::clamp<int64_t>(start, 0, step < 0 ? size - 1 : size);
  Elements result;
  for (int64_t i = 0; i < getSizes(op.getResult())[0]; ++i) {
    int64_t index = start + i * step;
    if (index < 0 || index >= size)
      return std::nullopt;
    result.push_back((*data)[index]);
  }
  return result;
}

static std::optional<Elements> evaluateGather(GatherOp op,
                                              const SymbolicValues &values) {
  const Elements *data = values.get(op.getData());
  auto indices = values.getNumbers(op.getIndices());
  if (!data || !indices || getSizes(op.getData()).size() != 1)
    return std::nullopt;
  Elements result;
  for (int64_t index : *indices) {
    int64_t size = data->size();
    if (index < -size || index >= size)
      return std::nullopt;
    result.push_back((*data)[index < 0 ? index + size : index]);
  }
  return result;
}

static std::optional<Elements> evaluateReduce(Operation *op,
                                              const SymbolicValues &values) {
  const Elements *data = values.get(op->getOperand(0));
  if (!data || !isList(op->getOperand(0)) || data->empty())
    return std::nullopt;
  if (ShapedType::getNumElements(getSizes(op->getResult(0))) != 1)
    return std::nullopt;
  Polynomial total = data->front();
  for (const Polynomial &element : ArrayRef(*data).drop_front())
    total = isa<ReduceProdOp>(op) ? total * element : total + element;
  return Elements{total};
}

/// Places of elements that are not 0, dimension by dimension.
static std::optional<Elements> evaluateNonZero(NonZeroOp op,
                                               const SymbolicValues &values) {
  auto numbers = values.getNumbers(op.getInput());
  if (!numbers)
    return std::nullopt;
  ArrayRef<int64_t> sizes = getSizes(op.getInput());
  Elements result;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    int64_t inner = ShapedType::getNumElements(sizes.drop_front(dim + 1));
    for (auto [index, number] : llvm::enumerate(*numbers))
      if (number != 0)
        result.push_back(int64_t(index) / inner % sizes[dim]);
  }
  return result;
}

static std::optional<Elements> evaluate(Operation *op,
                                        const SymbolicValues &values) {
  auto copy = [&](Value value) -> std::optional<Elements> {
    const Elements *elements = values.get(value);
    return elements ? std::optional(*elements) : std::nullopt;
  };
  return llvm::TypeSwitch<Operation *, std::optional<Elements>>(op)
      .Case([&](ConstantOp constant) {
        return readElements(constant.getValue());
      })
      .Case([&](ShapeOp shape) {
        Shape sizes = getShape(shape.getData().getType());
        int64_t rank = sizes.size(), start = shape.getStart(),
                end = shape.getEnd().value_or(rank);
        auto clamp = [&](int64_t i) {
          return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank);
        };
        Elements result;
        for (int64_t i = clamp(start); i < clamp(end); ++i)
          result.push_back(sizes[i]);
        return std::optional(result);
      })
      .Case([&](SizeOp size) {
        return std::optional(
            Elements{countElements(getShape(size.getData().getType()))});
      })
      .Case<IdentityOp, SqueezeOp, UnsqueezeOp, ReshapeOp, FlattenOp>(
          [&](auto) { return copy(op->getOperand(0)); })
      .Case([&](CastOp cast) { return evaluateCast(cast, values); })
      .Case([&](CastLikeOp cast) { return copy(cast.getInput()); })
      .Case<FloorOp, CeilOp>([&](auto) { return evaluateRound(op, values); })
      .Case([&](ReluOp relu) { return evaluateRelu(relu, values); })
      .Case([&](NegOp neg) -> std::optional<Elements> {
        auto elements = copy(neg.getInput());
        if (elements)
          for (Polynomial &element : *elements)
            element = element * Polynomial(-1);
        return elements;
      })
      .Case([&](NotOp negation) -> std::optional<Elements> {
        auto numbers = values.getNumbers(negation.getInput());
        if (!numbers)
          return std::nullopt;
        Elements result;
        for (int64_t number : *numbers)
          result.push_back(Polynomial(number == 0));
        return result;
      })
      .Case<AddOp, SumOp, SubOp, MulOp, DivOp, ModOp, EqualOp, LessOp,
            GreaterOp, LessOrEqualOp, GreaterOrEqualOp, MinOp, MaxOp, AndOp,
            OrOp>([&](auto) {
        return evaluateBroadcast(op, values,
                                 [&](const Polynomial &a, const Polynomial &b) {
                                   return applyBinary(op, a, b);
                                 });
      })
      .Case([&](WhereOp where) { return evaluateWhere(where, values); })
      .Case([&](ConcatOp concat) -> std::optional<Elements> {
        Elements result;
        for (Value input : concat.getInputs()) {
          const Elements *elements = values.get(input);
          if (!elements || getSizes(input).size() != 1)
            return std::nullopt;
          llvm::append_range(result, *elements);
        }
        return result;
      })
      .Case([&](GatherOp gather) { return evaluateGather(gather, values); })
      .Case([&](SliceOp slice) { return evaluateSlice(slice, values); })
      .Case([&](NonZeroOp nonZero) { return evaluateNonZero(nonZero, values); })
      .Case<ReduceProdOp, ReduceSumOp>(
          [&](auto) { return evaluateReduce(op, values); })
      .Case([&](ExpandOp expand) -> std::optional<Elements> {
        const Elements *elements = values.get(expand.getInput());
        if (!elements || elements->size() != 1)
          return std::nullopt;
        return Elements(
            ShapedType::getNumElements(getSizes(expand.getResult())),
            elements->front());
      })
      .Case([&](ConstantOfShapeOp constant) -> std::optional<Elements> {
        std::optional<Elements> value =
            constant.getValue() ? readElements(*constant.getValue())
                                : std::optional(Elements{Polynomial(0)});
        if (!value || value->empty())
          return std::nullopt;
        return Elements(
            ShapedType::getNumElements(getSizes(constant.getResult())),
            value->front());
      })
      .Case([&](RangeOp range) -> std::optional<Elements> {
        const Elements *start = values.get(range.getStart());
        const Elements *delta = values.get(range.getDelta());
        if (!start || !delta)
          return std::nullopt;
        Elements result;
        for (int64_t i = 0, count = getSizes(range.getResult())[0]; i < count;
             ++i)
          result.push_back(start->front() + delta->front() * Polynomial(i));
        return result;
      })
      .Default([](Operation *) { return std::nullopt; });
}

void SymbolicValues::visit(Operation *op) {
  if (auto split = dyn_cast<SplitOp>(op)) {
    const Elements *data = get(split.getInput());
    if (!data || getSizes(split.getInput()).size() != 1)
      return;
    Elements copy = *data;
    ArrayRef<Polynomial> rest(copy);
    for (Value part : split.getOutputs()) {
      size_t size = getSizes(part)[0];
      known[part] = Elements(rest.take_front(size));
      rest = rest.drop_front(size);
    }
    return;
  }
  if (op->getNumResults() != 1)
    return;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() > maxElements)
    return;
  std::optional<Elements> elements = evaluate(op, *this);
  // What overflows is not followed: the operator may wrap.
  if (elements && llvm::none_of(*elements, [](const Polynomial &element) {
        return element.hasOverflown();
      }))
    known[op->getResult(0)] = std::move(*elements);
}
