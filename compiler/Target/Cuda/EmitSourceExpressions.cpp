//===- EmitSourceExpressions.cpp - Operations as C++ expressions ----------===//
//
// Types as docs/cuda.md has them: index and i64 are i64 (long long), i32 is
// int, i1 is bool. Signed overflow is undefined in C++ and wraps in arith, so
// i32 and i64 sums and products without `nsw` are computed unsigned; an index,
// which counts things in memory, is taken to be in range.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/Cuda/EmitSourcePrinter.h"

#include "llvm/ADT/TypeSwitch.h"

#include <charconv>

using namespace mlir;
using namespace weft::cuda;

Expr SourcePrinter::refuse(Operation *op, const Twine &why) {
  if (!isRefused) {
    InFlightDiagnostic diagnostic =
        op->emitOpError("can't be printed as CUDA C++");
    if (!why.isTriviallyEmpty())
      diagnostic << ": " << why;
  }
  isRefused = true;
  return {"0"};
}

/// The type of a number or of a vector's elements.
static Type elementType(Value value) {
  return getElementTypeOrSelf(value.getType());
}

static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

Expr SourcePrinter::value(Value value, StringRef element) {
  auto name = names.find(value);
  if (name != names.end())
    return {element.empty() || !isa<VectorType>(value.getType())
                ? name->second
                : name->second + "[" + element.str() + "]"};
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  // A vector of equal elements that is wanted as a whole.
  auto vector = dyn_cast<VectorType>(value.getType());
  if (vector && element.empty() &&
      isa<arith::ConstantOp, vector::BroadcastOp>(op)) {
    prelude.use("splat");
    std::string single;
    if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
      single = argument(broadcast.getSource());
    else
      single = constant(op, cast<arith::ConstantOp>(op).getValue(),
                        vector.getElementType(), /*typed=*/true)
                   .text;
    return {"splat<" + std::to_string(vector.getNumElements()) + ">(" + single +
            ")"};
  }
  return define(result, element);
}

std::string SourcePrinter::argument(Value operand, StringRef element) {
  auto constantOp = operand.getDefiningOp<arith::ConstantOp>();
  if (constantOp && (!element.empty() || !isa<VectorType>(operand.getType())))
    return constant(constantOp, constantOp.getValue(), elementType(operand),
                    /*typed=*/true)
        .text;
  return value(operand, element).text;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The shortest decimal number that reads as this one.
template <typename T> static std::string printFloat(T number) {
  char digits[32];
  auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number);
  assert(error == std::errc() && "the buffer holds every number");
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text + (std::is_same_v<T, float> ? "f" : "");
}

Expr SourcePrinter::constant(Operation *op, Attribute attribute, Type type,
                             bool typed) {
  if (auto elements = dyn_cast<DenseElementsAttr>(attribute))
    attribute = elements.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    APFloat single = number.getValue();
    if (type.isBF16() || type.isF16()) {
      uint64_t bits = single.bitcastToAPInt().getZExtValue();
      return {printType(type) + "{" + std::to_string(bits) + "}"};
    }
    if (!type.isF32() && !type.isF64())
      return refuse(op, "a constant of this type");
    if (single.isNaN() || single.isInfinity()) {
      uint64_t bits = single.bitcastToAPInt().getZExtValue();
      if (single.isInfinity()) {
        prelude.use("inf");
        return {single.isNegative() ? "-inf()" : "inf()", Level::Unary};
      }
      return {type.isF32()
                  ? "__uint_as_float(" + std::to_string(bits) + "u)"
                  : "__longlong_as_double(" + std::to_string(bits) + "ll)"};
    }
    return {type.isF32() ? printFloat(single.convertToFloat())
                         : printFloat(single.convertToDouble()),
            single.isNegative() ? Level::Unary : Level::Primary};
  }
  auto number = dyn_cast<IntegerAttr>(attribute);
  if (!number)
    return refuse(op, "a constant of this type");
  if (type.isInteger(1))
    return {number.getValue().isZero() ? "false" : "true"};
  int64_t content = number.getValue().getSExtValue();
  bool isLong = type.isIndex() || type.isInteger(64);
  if (!isLong && !type.isInteger(32) && !type.isInteger(16) &&
      !type.isInteger(8))
    return refuse(op, "a constant of this type");
  // The least number has no literal: its positive one is out of range.
  if (content == std::numeric_limits<int64_t>::min())
    return {"(-9223372036854775807ll - 1)"};
  if (type.isInteger(32) && content == std::numeric_limits<int32_t>::min())
    return {"(-2147483647 - 1)"};
  bool fits = content == int32_t(content);
  Expr result = {std::to_string(content) +
                     (isLong && (typed || !fits) ? "ll" : ""),
                 content < 0 ? Level::Unary : Level::Primary};
  if (typed && (type.isInteger(8) || type.isInteger(16)))
    return {printType(type) + "(" + result.text + ")"};
  return result;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

Expr SourcePrinter::binary(Operation *op, StringRef symbol, Level level,
                           StringRef element) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  // Operands of comparisons and bit operations are easier to read apart.
  Level left = level == Level::Bits ? Level::Unary
               : level == Level::Equality || level == Level::Relational
                   ? Level::Additive
                   : level;
  Level right = left == Level::Unary || left == Level::Or || left == Level::And
                    ? left
                    : Level(int(left) + 1);
  if (level == Level::Equality || level == Level::Relational)
    right = Level::Additive;
  if (level == Level::Or)
    left = right = Level::Equality;
  // Two literals would be computed as int.
  std::string first = isConstant(lhs) && isConstant(rhs)
                          ? argument(lhs, element)
                          : value(lhs, element).as(left);
  return {first + " " + symbol.str() + " " + value(rhs, element).as(right),
          level};
}

Expr SourcePrinter::call(const Twine &function, Operation *op,
                         StringRef element) {
  std::string text = function.str() + "(";
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    text += (i == 0 ? "" : ", ") + argument(operand, element);
  return {text + ")"};
}

static std::string unsignedName(Type type) {
  if (type.isInteger(1))
    return "bool";
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return "u" + std::to_string(width);
}

Expr SourcePrinter::unsignedCast(Value operand, StringRef element) {
  Expr expr = value(operand, element);
  if (!expr.bits.empty())
    return {expr.bits, expr.bitsLevel};
  return {unsignedName(elementType(operand)) + "(" + expr.text + ")"};
}

/// The integer constant, if it is one (also as a vector of equal elements).
static std::optional<APInt> getConstant(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number;
  return std::nullopt;
}

Expr SourcePrinter::wrapped(Operation *op, StringRef symbol, Level level,
                            StringRef element) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  Type type = elementType(lhs);
  std::optional<APInt> number = getConstant(rhs);
  Expr left = unsignedCast(lhs, element), right = value(rhs, element);
  if (number && number->isNegative())
    right = {unsignedName(type) + "(" + right.text + ")"};
  else if (!right.bits.empty())
    right = {right.bits, right.bitsLevel};
  // Operands of bit operations are easier to read apart.
  Level least = level == Level::Bits ? Level::Unary : level;
  std::string bits = left.as(least) + " " + symbol.str() + " " +
                     right.as(std::min(Level(int(least) + 1), Level::Primary));
  Expr result = {printType(type) + "(" + bits + ")"};
  // Narrower numbers are computed as int, which has more bits.
  if (type.getIntOrFloatBitWidth() >= 32) {
    result.bits = bits;
    result.bitsLevel = level;
  }
  return result;
}

Expr SourcePrinter::compare(arith::CmpIOp op, StringRef element) {
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = op.getPredicate();
  auto symbol = [&]() -> StringRef {
    switch (predicate) {
    case Predicate::eq:
      return "==";
    case Predicate::ne:
      return "!=";
    case Predicate::slt:
    case Predicate::ult:
      return "<";
    case Predicate::sle:
    case Predicate::ule:
      return "<=";
    case Predicate::sgt:
    case Predicate::ugt:
      return ">";
    case Predicate::sge:
    case Predicate::uge:
      return ">=";
    }
    llvm_unreachable("unknown predicate");
  }();
  bool isEquality = predicate == Predicate::eq || predicate == Predicate::ne;
  Level level = isEquality ? Level::Equality : Level::Relational;
  // bool compares as 0 and 1 in C++, and as 0 and -1 signed.
  bool isBool = elementType(op.getLhs()).isInteger(1);
  bool isSigned = predicate >= Predicate::slt && predicate <= Predicate::sge;
  if (isBool && isSigned)
    return {"int(" + value(op.getRhs(), element).text + ") " + symbol.str() +
                " int(" + value(op.getLhs(), element).text + ")",
            level};
  if (isEquality || isSigned || isBool)
    return binary(op, symbol, level, element);
  return {unsignedCast(op.getLhs(), element).as(Level::Additive) + " " +
              symbol.str() + " " +
              unsignedCast(op.getRhs(), element).as(Level::Additive),
          level};
}

Expr SourcePrinter::compare(arith::CmpFOp op, StringRef element) {
  using Predicate = arith::CmpFPredicate;
  Type type = elementType(op.getLhs());
  if (!type.isF32() && !type.isF64())
    return refuse(op, "arithmetic is on f32 and f64 only");
  auto plain = [&](StringRef symbol, Level level) {
    return binary(op, symbol, level, element);
  };
  // The comparison that is false where this one is true, NaN included.
  auto negated = [&](StringRef symbol) -> Expr {
    return {"!(" + plain(symbol, Level::Relational).text + ")", Level::Unary};
  };
  auto helper = [&](StringRef name, bool isNegated) -> Expr {
    prelude.use(name);
    Expr expr = call(name, op, element);
    return isNegated ? Expr{"!" + expr.text, Level::Unary} : expr;
  };
  switch (op.getPredicate()) {
  case Predicate::AlwaysFalse:
    return {"false"};
  case Predicate::AlwaysTrue:
    return {"true"};
  case Predicate::OEQ:
    return plain("==", Level::Equality);
  case Predicate::UNE:
    return plain("!=", Level::Equality);
  case Predicate::OGT:
    return plain(">", Level::Relational);
  case Predicate::OGE:
    return plain(">=", Level::Relational);
  case Predicate::OLT:
    return plain("<", Level::Relational);
  case Predicate::OLE:
    return plain("<=", Level::Relational);
  case Predicate::UGT:
    return negated("<=");
  case Predicate::UGE:
    return negated("<");
  case Predicate::ULT:
    return negated(">=");
  case Predicate::ULE:
    return negated(">");
  case Predicate::ONE:
    return helper("differ", false);
  case Predicate::UEQ:
    return helper("differ", true);
  case Predicate::ORD:
    return helper("ordered", false);
  case Predicate::UNO:
    return helper("ordered", true);
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

std::optional<Expr> SourcePrinter::integerOp(OpResult result,
                                             StringRef element) {
  Operation *op = result.getOwner();
  Type type = getElementTypeOrSelf(op->getResult(0).getType());
  bool isBool = type.isInteger(1);
  auto arithmetic = [&](auto typedOp, StringRef symbol, Level level) -> Expr {
    if (isBool)
      return refuse(op, "arithmetic on i1");
    if (type.isIndex() ||
        (bitEnumContainsAll(typedOp.getOverflowFlags(),
                            arith::IntegerOverflowFlags::nsw) &&
         type.getIntOrFloatBitWidth() >= 32))
      return binary(op, symbol, level, element);
    return wrapped(op, symbol, level, element);
  };
  // Operations on unsigned numbers: the right operand is one too.
  auto asUnsigned = [&](StringRef symbol, Level level) -> Expr {
    if (isBool)
      return refuse(op, "arithmetic on i1");
    // Narrower numbers would be extended with their sign.
    if (type.isIndex() || type.getIntOrFloatBitWidth() < 32)
      return {printType(type) + "(" +
              unsignedCast(op->getOperand(0), element).as(level) + " " +
              symbol.str() + " " +
              unsignedCast(op->getOperand(1), element).as(Level::Unary) + ")"};
    return wrapped(op, symbol, level, element);
  };
  // int is what C++ computes with; narrower results are cut again.
  auto narrow = [&](Expr expr) -> Expr {
    return type.isInteger(8) || type.isInteger(16)
               ? Expr{printType(type) + "(" + expr.text + ")"}
               : expr;
  };
  auto function = [&](StringRef name) {
    return narrow(call(name, op, element));
  };
  auto unsignedFunction = [&](StringRef name) -> Expr {
    return {printType(type) + "(" + name.str() + "(" +
            unsignedCast(op->getOperand(0), element).text + ", " +
            unsignedCast(op->getOperand(1), element).text + "))"};
  };
  auto bits = [&](StringRef symbol, StringRef logical) {
    if (!isBool)
      return binary(op, symbol, Level::Bits, element);
    Level level = logical == "&&"   ? Level::And
                  : logical == "||" ? Level::Or
                                    : Level::Equality;
    return binary(op, logical, level, element);
  };
  auto prelude = [&](StringRef name) -> StringRef {
    this->prelude.use(name);
    return name;
  };
  // Both halves of a product, or a sum with its carry, of 32-bit numbers.
  auto extended = [&](StringRef wide) -> Expr {
    if (!type.isInteger(32))
      return refuse(op, "only i32 is supported");
    if (result.getResultNumber() == 0)
      return wrapped(op, "*", Level::Multiplicative, element);
    bool isSigned = wide == "i64";
    auto operand = [&](int i) {
      Value number = op->getOperand(i);
      return isSigned ? value(number, element) : unsignedCast(number, element);
    };
    return {"int((" + wide.str() + "(" + operand(0).text + ") * " +
            operand(1).as(Level::Unary) + ") >> 32)"};
  };
  return TypeSwitch<Operation *, std::optional<Expr>>(op)
      .Case([&](arith::AddIOp add) -> Expr {
        std::optional<APInt> number = getConstant(add.getRhs());
        if (number && type.isIndex() && number->isNegative() &&
            !number->isMinSignedValue())
          return {value(add.getLhs(), element).as(Level::Additive) + " - " +
                      std::to_string(-number->getSExtValue()),
                  Level::Additive};
        return arithmetic(add, "+", Level::Additive);
      })
      .Case([&](arith::SubIOp sub) {
        return arithmetic(sub, "-", Level::Additive);
      })
      .Case([&](arith::MulIOp mul) {
        return arithmetic(mul, "*", Level::Multiplicative);
      })
      .Case([&](arith::ShLIOp shift) {
        return arithmetic(shift, "<<", Level::Bits);
      })
      .Case([&](arith::ShRSIOp) {
        return binary(op, ">>", Level::Bits, element);
      })
      .Case([&](arith::ShRUIOp) { return asUnsigned(">>", Level::Bits); })
      .Case([&](arith::DivSIOp) {
        return narrow(binary(op, "/", Level::Multiplicative, element));
      })
      .Case([&](arith::RemSIOp) {
        return narrow(binary(op, "%", Level::Multiplicative, element));
      })
      .Case([&](arith::DivUIOp) {
        return asUnsigned("/", Level::Multiplicative);
      })
      .Case([&](arith::RemUIOp) {
        return asUnsigned("%", Level::Multiplicative);
      })
      .Case([&](arith::CeilDivSIOp) { return function(prelude("ceil_div")); })
      .Case([&](arith::FloorDivSIOp) { return function(prelude("floor_div")); })
      .Case([&](arith::CeilDivUIOp) {
        return unsignedFunction(prelude("ceil_div_unsigned"));
      })
      .Case([&](arith::AndIOp) { return bits("&", "&&"); })
      .Case([&](arith::OrIOp) { return bits("|", "||"); })
      .Case([&](arith::XOrIOp) { return bits("^", "!="); })
      .Case([&](arith::MinSIOp) { return function("min"); })
      .Case([&](arith::MaxSIOp) { return function("max"); })
      .Case([&](arith::MinUIOp) { return unsignedFunction("min"); })
      .Case([&](arith::MaxUIOp) { return unsignedFunction("max"); })
      .Case([&](math::AbsIOp) { return function("abs"); })
      .Case([&](math::CtPopOp) -> Expr {
        return type.isInteger(32) ? function("__popc")
                                  : refuse(op, "only i32 is supported");
      })
      .Case([&](math::CountLeadingZerosOp) -> Expr {
        return type.isInteger(32) ? function("__clz")
                                  : refuse(op, "only i32 is supported");
      })
      .Case([&](arith::MulUIExtendedOp) { return extended("u64"); })
      .Case([&](arith::MulSIExtendedOp) { return extended("i64"); })
      .Case([&](arith::CmpIOp cmp) { return compare(cmp, element); })
      .Default([](Operation *) { return std::nullopt; });
}
