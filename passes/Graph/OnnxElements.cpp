//===- OnnxElements.cpp - What an element of a tensor is ------------------===//

#include "passes/Graph/OnnxElements.h"

#include "passes/Graph/OnnxPatterns.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Kind = Element::Kind;

/// Graphs that make masks are some dozens of operators deep.
static constexpr unsigned maxDepth = 96;

/// A place that is not known. What depends on it is made of this symbol.
static const char *const unknownPlace = "%?";

Polynomial OnnxElements::getVariable(unsigned dim) {
  return Polynomial::symbol("%" + std::to_string(dim));
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

static bool isNeverNegative(const Polynomial &value) {
  return llvm::all_of(value.getTerms(),
                      [](const auto &term) { return term.second >= 0; });
}

/// Whether value >= 0.
static Condition isNonNegative(const Polynomial &value) {
  if (std::optional<int64_t> number = value.getConstant())
    return *number >= 0 ? Condition::always() : Condition::never();
  if (isNeverNegative(value))
    return Condition::always();
  return {false, {value}};
}

Condition Condition::operator&(const Condition &other) const {
  if (isFalse || other.isFalse)
    return never();
  Condition both = *this;
  for (const Polynomial &value : other.nonNegative)
    if (!llvm::is_contained(both.nonNegative, value))
      both.nonNegative.push_back(value);
  return both;
}

std::optional<Condition> Condition::invert() const {
  if (isFalse)
    return always();
  if (nonNegative.empty())
    return never();
  if (nonNegative.size() > 1)
    return std::nullopt;
  return isNonNegative(nonNegative.front() * Polynomial(-1) + Polynomial(-1));
}

std::optional<double> Element::getNumber() const {
  if (kind == Kind::Integer)
    if (std::optional<int64_t> value = integer.getConstant())
      return double(*value);
  if (kind != Kind::Choice)
    return std::nullopt;
  if (condition.isAlways() || number == otherwise)
    return number;
  return condition.isFalse ? std::optional(otherwise) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// A known element as one of two numbers.
static std::optional<Element> asChoice(const Element &element) {
  if (element.kind == Kind::Choice)
    return element;
  if (element.kind == Kind::Truth)
    return Element::makeChoice(element.condition, 1, 0);
  if (std::optional<double> number = element.getNumber())
    return Element::makeNumber(*number);
  return std::nullopt;
}

/// A known element as a truth value: whether it is not 0.
static std::optional<Condition> asTruth(const Element &element) {
  if (element.kind == Kind::Truth)
    return element.condition;
  if (std::optional<double> number = element.getNumber())
    return *number != 0 ? Condition::always() : Condition::never();
  if (element.kind != Kind::Choice)
    return std::nullopt;
  if (element.number != 0 && element.otherwise == 0)
    return element.condition;
  if (element.number == 0 && element.otherwise != 0)
    return element.condition.invert();
  return std::nullopt;
}

/// function(a, b) of two numbers, of which one at most depends on a condition,
/// or both on the same.
static Element combine(const Element &a, const Element &b,
                       function_ref<double(double, double)> function) {
  std::optional<Element> x = asChoice(a), y = asChoice(b);
  if (!x || !y)
    return {};
  std::optional<double> p = x->getNumber(), q = y->getNumber();
  if (p && q)
    return Element::makeNumber(function(*p, *q));
  if (q)
    return Element::makeChoice(x->condition, function(x->number, *q),
                               function(x->otherwise, *q));
  if (p)
    return Element::makeChoice(y->condition, function(*p, y->number),
                               function(*p, y->otherwise));
  if (x->condition.nonNegative == y->condition.nonNegative)
    return Element::makeChoice(x->condition, function(x->number, y->number),
                               function(x->otherwise, y->otherwise));
  return {};
}

/// Sums of masks, products of truth values as numbers: the first number only
/// where both conditions hold.
static Element addMasks(const Element &a, const Element &b) {
  auto isMask = [](const Element &x) {
    return x.kind == Kind::Choice && x.number == 0 && x.otherwise <= -1e4;
  };
  if (isMask(a) && isMask(b))
    return Element::makeChoice(a.condition & b.condition, 0,
                               std::min(a.otherwise, b.otherwise));
  return combine(a, b, [](double x, double y) { return x + y; });
}

static Element multiply(const Element &a, const Element &b) {
  std::optional<Element> x = asChoice(a), y = asChoice(b);
  auto isTruth = [](const std::optional<Element> &e) {
    return e && e->number == 1 && e->otherwise == 0;
  };
  if (isTruth(x) && isTruth(y))
    return Element::makeChoice(x->condition & y->condition, 1, 0);
  return combine(a, b, [](double p, double q) { return p * q; });
}

/// condition ? a : b
static Element select(const Condition &condition, const Element &a,
                      const Element &b) {
  if (condition.isAlways())
    return a;
  if (condition.isFalse)
    return b;
  if (a.kind == Kind::Truth && b.kind == Kind::Truth) {
    if (b.condition.isFalse)
      return Element::makeTruth(condition & a.condition);
    std::optional<Condition> inverse = condition.invert();
    if (a.condition.isFalse && inverse)
      return Element::makeTruth(*inverse & b.condition);
    return {};
  }
  std::optional<Element> x = asChoice(a), y = asChoice(b);
  if (!x || !y)
    return {};
  std::optional<double> p = x->getNumber(), q = y->getNumber();
  if (p && q)
    return Element::makeChoice(condition, *p, *q);
  if (q && x->otherwise == *q)
    return Element::makeChoice(condition & x->condition, x->number, *q);
  std::optional<Condition> inverse = condition.invert();
  if (p && y->otherwise == *p && inverse)
    return Element::makeChoice(*inverse & y->condition, y->number, *p);
  return {};
}

static Element compare(Operation *op, const Element &a, const Element &b) {
  if (a.kind == Kind::Integer && b.kind == Kind::Integer) {
    Polynomial less = onnx::subtract(b.integer, a.integer), one = Polynomial(1);
    if (isa<onnx::LessOrEqualOp>(op))
      return Element::makeTruth(isNonNegative(less));
    if (isa<onnx::LessOp>(op))
      return Element::makeTruth(isNonNegative(onnx::subtract(less, one)));
    Polynomial greater = less * Polynomial(-1);
    if (isa<onnx::GreaterOrEqualOp>(op))
      return Element::makeTruth(isNonNegative(greater));
    if (isa<onnx::GreaterOp>(op))
      return Element::makeTruth(isNonNegative(onnx::subtract(greater, one)));
  }
  if (!isa<onnx::EqualOp>(op))
    return {};
  if (a.kind == Kind::Integer && b.kind == Kind::Integer &&
      a.integer == b.integer)
    return Element::makeTruth(Condition::always());
  Element same =
      combine(a, b, [](double x, double y) { return x == y ? 1.0 : 0.0; });
  std::optional<Condition> truth = asTruth(same);
  return truth ? Element::makeTruth(*truth) : Element();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The place in an operand that is broadcast to the result.
static SmallVector<Polynomial, 4> broadcastPlace(Value operand,
                                                 OnnxElements::Place place) {
  onnx::Shape shape = getShape(operand);
  SmallVector<Polynomial, 4> result(place.take_back(shape.size()));
  for (auto [index, size] : llvm::zip_equal(result, shape))
    if (size == Polynomial(1))
      index = Polynomial(0);
  return result;
}

/// The place in a tensor of the same elements and another shape. Places that
/// are joined or split are not known.
static SmallVector<Polynomial, 4> reshapePlace(const onnx::Shape &from,
                                               const onnx::Shape &to,
                                               OnnxElements::Place place) {
  SmallVector<Polynomial, 4> result(from.size(), Polynomial(0));
  auto isLong = [](const Polynomial &size) { return size != Polynomial(1); };
  SmallVector<unsigned> source, target;
  for (unsigned dim = 0; dim < from.size(); ++dim)
    if (isLong(from[dim]))
      source.push_back(dim);
  for (unsigned dim = 0; dim < to.size(); ++dim)
    if (isLong(to[dim]))
      target.push_back(dim);
  bool isSame = source.size() == target.size() &&
                llvm::all_of(llvm::zip_equal(source, target), [&](auto pair) {
                  return from[std::get<0>(pair)] == to[std::get<1>(pair)];
                });
  for (unsigned i = 0; i < source.size(); ++i)
    result[source[i]] =
        isSame ? place[target[i]] : Polynomial::symbol(unknownPlace);
  return result;
}

std::optional<Polynomial> OnnxElements::getInteger(Value value, Place place,
                                                   unsigned depth) const {
  Element element = evaluate(value, place, depth + 1);
  if (element.kind == Kind::Integer)
    return element.integer;
  std::optional<double> number = element.getNumber();
  if (!number || *number != std::trunc(*number))
    return std::nullopt;
  return Polynomial(int64_t(*number));
}

/// The sum of equal integers.
Element OnnxElements::addUp(onnx::ReduceSumOp op, Place place,
                            unsigned depth) const {
  std::optional<SmallVector<int64_t, 4>> axes =
      op.getAxes() ? getIntegers(op.getAxes()) : std::nullopt;
  if (!axes)
    return {};
  onnx::Shape shape = getShape(op.getData());
  int64_t rank = shape.size();
  llvm::SmallBitVector isSummed(rank);
  for (int64_t axis : *axes)
    isSummed.set(axis < 0 ? axis + rank : axis);
  Polynomial count(1);
  SmallVector<Polynomial, 4> at;
  for (int64_t dim = 0, next = 0; dim < rank; ++dim) {
    if (isSummed[dim]) {
      count = count * shape[dim];
      at.push_back(Polynomial::symbol(unknownPlace));
      next += op.getKeepdims() != 0;
    } else {
      at.push_back(place[next++]);
    }
  }
  std::optional<Polynomial> each = getInteger(op.getData(), at, depth);
  bool isConstant = each && each->getConstant();
  return isConstant ? Element::makeInteger(*each * count) : Element();
}

/// An element of Gather and GatherND.
Element OnnxElements::gather(Operation *op, Place place, unsigned depth) const {
  Value data = op->getOperand(0), indices = op->getOperand(1);
  onnx::Shape shape = getShape(data);
  size_t rank = getShape(indices).size();
  SmallVector<Polynomial, 4> at;
  auto add = [&](Value from, Place where, size_t dim) {
    std::optional<Polynomial> index = getInteger(from, where, depth);
    if (index && index->getConstant() && *index->getConstant() < 0)
      index = *index + shape[dim];
    at.push_back(index ? *index : Polynomial::symbol(unknownPlace));
  };
  if (auto gather = dyn_cast<onnx::GatherOp>(op)) {
    size_t axis = gather.getAxis() < 0 ? gather.getAxis() + shape.size()
                                       : gather.getAxis();
    at.append(place.begin(), place.begin() + axis);
    add(indices, place.slice(axis, rank), axis);
    at.append(place.begin() + axis + rank, place.end());
    return evaluate(data, at, depth + 1);
  }
  if (cast<onnx::GatherNDOp>(op).getBatchDims() != 0)
    return {};
  std::optional<int64_t> count = getColumns(indices);
  if (!count)
    return {};
  SmallVector<Polynomial, 4> where(place.take_front(rank - 1));
  where.emplace_back();
  for (int64_t i = 0; i < *count; ++i) {
    where.back() = Polynomial(i);
    add(indices, where, i);
  }
  at.append(place.begin() + (rank - 1), place.end());
  return evaluate(data, at, depth + 1);
}

/// Operators whose elements are those of an operand.
Element OnnxElements::evaluateMover(Operation *op, Place place,
                                    unsigned depth) const {
  Value data = op->getOperand(0);
  if (isa<onnx::GatherOp, onnx::GatherNDOp>(op))
    return gather(op, place, depth);
  if (isa<onnx::UnsqueezeOp, onnx::SqueezeOp, onnx::ReshapeOp, onnx::FlattenOp>(
          op))
    return evaluate(
        data, reshapePlace(getShape(data), getShape(op->getResult(0)), place),
        depth + 1);
  if (isa<onnx::ExpandOp>(op))
    return evaluate(data, broadcastPlace(data, place), depth + 1);
  if (auto transpose = dyn_cast<onnx::TransposeOp>(op)) {
    if (!transpose.getPerm())
      return {};
    ArrayRef<int64_t> perm = *transpose.getPerm();
    SmallVector<Polynomial, 4> at(place.size());
    for (auto [dim, source] : llvm::enumerate(perm))
      at[source] = place[dim];
    return evaluate(data, at, depth + 1);
  }
  if (auto slice = dyn_cast<onnx::SliceOp>(op)) {
    onnx::Shape shape = getShape(data);
    SmallVector<Polynomial, 4> at(place);
    int64_t count = getShape(slice.getStarts())[0].getConstant().value_or(0);
    for (int64_t i = 0; i < count; ++i) {
      auto read = [&](Value list) {
        return getInteger(list, {Polynomial(i)}, depth);
      };
      std::optional<Polynomial> axis =
          slice.getAxes() ? read(slice.getAxes()) : Polynomial(i);
      std::optional<Polynomial> step =
          slice.getSteps() ? read(slice.getSteps()) : Polynomial(1);
      std::optional<Polynomial> start = read(slice.getStarts()),
                                end = read(slice.getEnds());
      if (!axis || !axis->getConstant() || !step || !step->getConstant() ||
          !start || !end)
        return {};
      int64_t dim = *axis->getConstant();
      dim = dim < 0 ? dim + int64_t(shape.size()) : dim;
      std::optional<onnx::SliceRange> range =
          onnx::getSliceRange(shape[dim], *start, *end, *step->getConstant());
      if (!range)
        return {};
      at[dim] = range->start + place[dim] * Polynomial(range->step);
    }
    return evaluate(data, at, depth + 1);
  }
  auto concat = dyn_cast<onnx::ConcatOp>(op);
  if (!concat)
    return {};
  int64_t axis = concat.getAxis() < 0 ? concat.getAxis() + int64_t(place.size())
                                      : concat.getAxis();
  std::optional<int64_t> index = place[axis].getConstant();
  if (!index)
    return {};
  for (Value part : concat.getInputs()) {
    std::optional<int64_t> size = getShape(part)[axis].getConstant();
    if (!size)
      return {};
    if (*index < *size) {
      SmallVector<Polynomial, 4> at(place);
      at[axis] = Polynomial(*index);
      return evaluate(part, at, depth + 1);
    }
    *index -= *size;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static Element fromAttribute(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return Element::makeNumber(number.getValueAsDouble());
  auto integer = dyn_cast<IntegerAttr>(attribute);
  if (!integer)
    return {};
  if (integer.getType().isInteger(1))
    return Element::makeTruth(
        integer.getValue().isZero() ? Condition::never() : Condition::always());
  return Element::makeInteger(Polynomial(integer.getValue().getSExtValue()));
}

static Element readConstant(ElementsAttr value, OnnxElements::Place place) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return {};
  if (dense.isSplat())
    return fromAttribute(dense.getSplatValue<Attribute>());
  int64_t flat = 0;
  for (auto [index, size] :
       llvm::zip_equal(place, dense.getType().getShape())) {
    std::optional<int64_t> number = index.getConstant();
    if (!number || *number < 0 || *number >= size)
      return {};
    flat = flat * size + *number;
  }
  return fromAttribute(dense.getValues<Attribute>()[flat]);
}

/// Conversion to the type of a result.
static Element convert(const Element &element, Type to) {
  if (to.isInteger(1)) {
    std::optional<Condition> truth = asTruth(element);
    return truth ? Element::makeTruth(*truth) : Element();
  }
  if (element.kind == Kind::Truth)
    return Element::makeChoice(element.condition, 1, 0);
  return element;
}

Element OnnxElements::evaluateOperand(Operation *op, unsigned operand,
                                      Place place, unsigned depth) const {
  Value value = op->getOperand(operand);
  return evaluate(value, broadcastPlace(value, place), depth + 1);
}

Element OnnxElements::evaluate(Value value, Place place, unsigned depth) const {
  if (depth > maxDepth)
    return {};
  if (auto known = assumed.find(value); known != assumed.end())
    return known->second(place);
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto constant = dyn_cast<onnx::ConstantOp>(op))
    return readConstant(constant.getValue(), place);
  if (auto filled = dyn_cast<onnx::ConstantOfShapeOp>(op)) {
    std::optional<ElementsAttr> number = filled.getValue();
    return number ? readConstant(*number, {Polynomial(0)})
                  : Element::makeNumber(0);
  }
  if (auto shape = dyn_cast<onnx::ShapeOp>(op)) {
    std::optional<int64_t> index = place[0].getConstant();
    onnx::Shape sizes = getShape(shape.getData());
    int64_t start = shape.getStart();
    start = start < 0 ? start + int64_t(sizes.size()) : start;
    if (!index || *index + start >= int64_t(sizes.size()) || *index + start < 0)
      return {};
    return Element::makeInteger(sizes[*index + start]);
  }
  auto operand = [&](unsigned i) {
    return evaluateOperand(op, i, place, depth);
  };
  if (isa<onnx::IdentityOp>(op))
    return operand(0);
  if (isa<onnx::CastOp>(op))
    return convert(operand(0), getElementTypeOrSelf(value.getType()));
  if (auto range = dyn_cast<onnx::RangeOp>(op)) {
    std::optional<Polynomial> start = getInteger(range.getStart(), {}, depth),
                              step = getInteger(range.getDelta(), {}, depth);
    if (!start || !step)
      return {};
    return Element::makeInteger(*start + *step * place[0]);
  }
  if (auto sum = dyn_cast<onnx::CumSumOp>(op)) {
    std::optional<Polynomial> axis = getInteger(
        sum.getAxis(),
        SmallVector<Polynomial>(getShape(sum.getAxis()).size(), Polynomial(0)),
        depth);
    Element each = operand(0);
    if (!axis || !axis->getConstant() || each.getNumber() != 1.0 ||
        sum.getExclusive() || sum.getReverse())
      return {};
    int64_t dim = *axis->getConstant();
    return Element::makeInteger(
        place[dim < 0 ? dim + int64_t(place.size()) : dim] + Polynomial(1));
  }
  if (auto sum = dyn_cast<onnx::ReduceSumOp>(op))
    return addUp(sum, place, depth);
  if (auto trilu = dyn_cast<onnx::TriluOp>(op)) {
    std::optional<Polynomial> k =
        trilu.getK()
            ? getInteger(trilu.getK(),
                         SmallVector<Polynomial>(getShape(trilu.getK()).size(),
                                                 Polynomial(0)),
                         depth)
            : Polynomial(0);
    if (!k)
      return {};
    Polynomial above =
        onnx::subtract(place.back(), place[place.size() - 2] + *k);
    Condition kept =
        isNonNegative(trilu.getUpper() ? above : above * Polynomial(-1));
    Element x = operand(0);
    return select(kept, x,
                  x.kind == Kind::Truth ? Element::makeTruth(Condition::never())
                                        : Element::makeNumber(0));
  }
  if (isa<onnx::AddOp, onnx::SubOp, onnx::MulOp>(op)) {
    Element a = operand(0), b = operand(1);
    if (a.kind == Kind::Integer && b.kind == Kind::Integer)
      return Element::makeInteger(isa<onnx::AddOp>(op) ? a.integer + b.integer
                                  : isa<onnx::SubOp>(op)
                                      ? onnx::subtract(a.integer, b.integer)
                                      : a.integer * b.integer);
    if (isa<onnx::AddOp>(op))
      return addMasks(a, b);
    if (isa<onnx::MulOp>(op))
      return multiply(a, b);
    return combine(a, b, [](double x, double y) { return x - y; });
  }
  if (isa<onnx::MaxOp, onnx::ClipOp>(op) && op->getNumOperands() == 2) {
    // What is not negative is not below 0.
    Element a = operand(0), b = operand(1);
    bool isSame = a.kind == Kind::Integer && isNeverNegative(a.integer) &&
                  b.getNumber() == 0.0;
    return isSame ? a : Element();
  }
  if (isa<onnx::EqualOp, onnx::LessOp, onnx::LessOrEqualOp, onnx::GreaterOp,
          onnx::GreaterOrEqualOp>(op))
    return compare(op, operand(0), operand(1));
  if (isa<onnx::AndOp, onnx::OrOp>(op)) {
    std::optional<Condition> a = asTruth(operand(0)), b = asTruth(operand(1));
    if (!a || !b)
      return {};
    if (isa<onnx::AndOp>(op))
      return Element::makeTruth(*a & *b);
    if (a->isAlways() || b->isFalse)
      return Element::makeTruth(*a);
    if (b->isAlways() || a->isFalse)
      return Element::makeTruth(*b);
    return {};
  }
  if (isa<onnx::NotOp>(op)) {
    std::optional<Condition> truth = asTruth(operand(0));
    std::optional<Condition> inverse = truth ? truth->invert() : std::nullopt;
    return inverse ? Element::makeTruth(*inverse) : Element();
  }
  if (isa<onnx::WhereOp>(op)) {
    std::optional<Condition> truth = asTruth(operand(0));
    return truth ? select(*truth, operand(1), operand(2)) : Element();
  }
  return evaluateMover(op, place, depth);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

std::optional<CausalMask> graph::matchCausalMask(const OnnxElements &elements,
                                                 Value mask,
                                                 const Polynomial &offset) {
  onnx::Shape shape = getShape(mask);
  if (shape.size() < 2 || shape.size() > 4)
    return std::nullopt;
  SmallVector<Polynomial, 4> place;
  for (auto [dim, size] : llvm::enumerate(shape))
    place.push_back(size == Polynomial(1) ? Polynomial(0)
                                          : OnnxElements::getVariable(dim));
  // A query of one row sees what its only row says.
  Polynomial query = place[place.size() - 2], key = place.back();
  Element element = elements.get(mask, place);
  Condition visible;
  if (element.kind == Kind::Truth)
    visible = element.condition;
  else if (element.kind == Kind::Choice && element.number == 0 &&
           element.otherwise <= -1e4)
    visible = element.condition;
  else if (element.kind == Kind::Choice && element.otherwise == 0 &&
           element.number <= -1e4 && element.condition.invert())
    visible = *element.condition.invert();
  else
    return std::nullopt;
  Polynomial distance = onnx::subtract(query + offset, key);
  CausalMask causal;
  bool isCausal = false;
  for (const Polynomial &value : visible.nonNegative) {
    if (value == distance) {
      isCausal = true;
      continue;
    }
    // window - 1 - distance
    std::optional<int64_t> limit = (value + distance).getConstant();
    if (!limit || *limit < 0 || causal.window)
      return std::nullopt;
    causal.window = *limit + 1;
  }
  if (visible.isFalse || !isCausal)
    return std::nullopt;
  return causal;
}
