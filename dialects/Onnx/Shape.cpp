//===- Shape.cpp - Shapes of numbers and symbols --------------------------===//

#include "dialects/Onnx/OnnxDialect.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;

onnx::Shape onnx::getShape(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto dims = dyn_cast_or_null<DimsAttr>(tensor.getEncoding());
  Shape shape;
  size_t next = 0;
  for (int64_t size : tensor.getShape()) {
    if (!ShapedType::isDynamic(size)) {
      shape.push_back(Polynomial(size));
      continue;
    }
    std::optional<Polynomial> named;
    if (dims)
      named = Polynomial::parse(dims.getSizes()[next++].getValue());
    shape.push_back(named ? *named : Polynomial::symbol("?"));
  }
  return shape;
}

RankedTensorType onnx::makeType(Type element, ArrayRef<Polynomial> shape) {
  Builder builder(element.getContext());
  SmallVector<int64_t> sizes;
  SmallVector<StringAttr> names;
  for (const Polynomial &size : shape) {
    std::optional<int64_t> constant = size.getConstant();
    sizes.push_back(constant ? *constant : ShapedType::kDynamic);
    if (!constant)
      names.push_back(builder.getStringAttr(size.str()));
  }
  Attribute encoding;
  if (!names.empty())
    encoding = DimsAttr::get(element.getContext(), names);
  return RankedTensorType::get(sizes, element, encoding);
}

RankedTensorType onnx::dropNames(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

std::string onnx::print(ArrayRef<Polynomial> shape) {
  std::string text = "[";
  for (const Polynomial &size : shape)
    text += (text.size() > 1 ? ", " : "") + size.str();
  return text + "]";
}

Polynomial onnx::countElements(ArrayRef<Polynomial> shape) {
  Polynomial count(1);
  for (const Polynomial &size : shape)
    count = count * size;
  return count;
}

bool onnx::isTensorShape(ArrayRef<Polynomial> shape) {
  constexpr int64_t mostElements = int64_t(1) << 56;
  int64_t elements = 1;
  for (const Polynomial &size : shape) {
    std::optional<int64_t> number = size.getConstant();
    if (size.hasOverflown() || (number && *number < 0))
      return false;
    // Also where another size is 0, because strides are products of sizes.
    if (number && *number > 1 &&
        (llvm::MulOverflow(elements, *number, elements) ||
         elements >= mostElements))
      return false;
  }
  return true;
}

Polynomial onnx::subtract(const Polynomial &a, const Polynomial &b) {
  return a + b * Polynomial(-1);
}

/// One monomial over another.
static std::optional<Polynomial::Monomial>
divide(Polynomial::Monomial a, const Polynomial::Monomial &b) {
  for (const std::string &symbol : b) {
    auto found = llvm::find(a, symbol);
    if (found == a.end())
      return std::nullopt;
    a.erase(found);
  }
  return a;
}

std::optional<Polynomial> onnx::divide(const Polynomial &a,
                                       const Polynomial &b) {
  if (b == Polynomial(0) || a.hasOverflown() || b.hasOverflown())
    return std::nullopt;
  if (a == b)
    return Polynomial(1);
  if (b.getTerms().size() != 1)
    return std::nullopt;
  const auto &[divisor, number] = *b.getTerms().begin();
  Polynomial quotient(0);
  for (const auto &[monomial, coefficient] : a.getTerms()) {
    auto rest = ::divide(monomial, divisor);
    // The least number over -1 is none of 64 bits.
    if (!rest ||
        (number == -1 && coefficient == std::numeric_limits<int64_t>::min()))
      return std::nullopt;
    if (coefficient % number != 0)
      return std::nullopt;
    Polynomial term(coefficient / number);
    for (const std::string &symbol : *rest)
      term = term * Polynomial::symbol(symbol);
    quotient += term;
  }
  return quotient;
}

std::optional<int> onnx::getSign(const Polynomial &a) {
  if (a.hasOverflown())
    return std::nullopt;
  if (std::optional<int64_t> constant = a.getConstant())
    return (*constant > 0) - (*constant < 0);
  // All terms have one sign and the number is not 0.
  auto found = a.getTerms().find({});
  if (found == a.getTerms().end())
    return std::nullopt;
  bool isPositive = found->second > 0;
  for (const auto &[monomial, coefficient] : a.getTerms())
    if ((coefficient > 0) != isPositive)
      return std::nullopt;
  return isPositive ? 1 : -1;
}

/// A position with ONNX's rules for what is negative or outside, where `low`
/// and `high` (relative to `size`) bound it.
static std::optional<Polynomial> clampPosition(const Polynomial &size,
                                               Polynomial position, int64_t low,
                                               int64_t high) {
  if (position.hasOverflown() || size.hasOverflown())
    return std::nullopt;
  std::optional<int> sign = onnx::getSign(position);
  // A sum such as -1 + n is a position from the start.
  bool isNumber = position.isConstant();
  if (isNumber && sign && *sign < 0)
    position += size;
  std::optional<int64_t> number = position.getConstant(),
                         length = size.getConstant();
  if (number && length)
    return Polynomial(std::clamp(*number, low, *length + high));
  if (number) {
    // Writers say "to the end" by the largest numbers.
    if (*number >= std::numeric_limits<int32_t>::max())
      return size + Polynomial(high);
    // Sizes are at least 1, so that a cut elsewhere may be outside.
    if (*number > 1)
      return std::nullopt;
  }
  // From the end with more than there is: before the start.
  auto constant = position.getTerms().find({});
  if (constant != position.getTerms().end() &&
      constant->second < std::numeric_limits<int32_t>::min())
    return Polynomial(low);
  return position;
}

std::optional<onnx::SliceRange> onnx::getSliceRange(const Polynomial &size,
                                                    const Polynomial &start,
                                                    const Polynomial &end,
                                                    int64_t step) {
  // The least number has no positive one.
  if (step == 0 || step == std::numeric_limits<int64_t>::min())
    return std::nullopt;
  bool isBackwards = step < 0;
  auto first = clampPosition(size, start, 0, isBackwards ? -1 : 0);
  auto last =
      clampPosition(size, end, isBackwards ? -1 : 0, isBackwards ? -1 : 0);
  if (!first || !last)
    return std::nullopt;
  Polynomial distance =
      isBackwards ? subtract(*first, *last) : subtract(*last, *first);
  if (std::optional<int64_t> number = distance.getConstant()) {
    int64_t count = *number <= 0 ? 0 : (*number - 1) / std::abs(step) + 1;
    return SliceRange{*first, Polynomial(count), step};
  }
  std::optional<Polynomial> count =
      divide(distance, Polynomial(std::abs(step)));
  if (!count)
    return std::nullopt;
  return SliceRange{*first, *count, step};
}
