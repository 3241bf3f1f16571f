//===- LowerOnnxBytes.cpp - Numbers of at most 8 bits ---------------------===//
//
// Kernels have no types for them: they are bytes, which Cast, QuantizeLinear
// and DequantizeLinear convert and other operators only move.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/LowerOnnx.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

FloatType graph::getByteFloat(Type tensor) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(tensor));
  return type && type.getWidth() <= 8 ? type : FloatType();
}

unsigned graph::getPackedBits(Type tensor) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(tensor));
  bool isPacked = type && type.getWidth() > 1 && type.getWidth() < 8;
  return isPacked ? type.getWidth() : 0;
}

Type graph::getStoredElement(Type element) {
  MLIRContext *context = element.getContext();
  if (getByteFloat(element) || getPackedBits(element))
    return IntegerType::get(context, 8);
  auto type = dyn_cast<IntegerType>(element);
  return type ? IntegerType::get(context, type.getWidth()) : element;
}

DenseElementsAttr OnnxLowering::toStored(DenseElementsAttr value) {
  Type from = value.getElementType(), to = getStoredElement(from);
  if (from == to)
    return value;
  bool isSigned = !graph::isUnsigned(from);
  if (getPackedBits(from))
    return value.mapValues(to, [&](const APInt &number) {
      return isSigned ? number.sext(8) : number.zext(8);
    });
  if (getByteFloat(from))
    return value.mapValues(to, [](const APFloat &number) {
      return number.bitcastToAPInt().zextOrTrunc(8);
    });
  return value.bitcast(to);
}

Value Scalars::extendBits(Value byte, unsigned bits, bool isUnsigned) {
  Value low = make<arith::TruncIOp>(b.getIntegerType(bits), byte);
  Type i8 = b.getIntegerType(8);
  return isUnsigned ? make<arith::ExtUIOp>(i8, low)
                    : make<arith::ExtSIOp>(i8, low);
}

Value Scalars::decode(Value byte, FloatType type) {
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  auto bits = [&](int64_t value) {
    return make<arith::ConstantOp>(b.getIntegerAttr(i32, value));
  };
  auto asFloat = [&](Value value) {
    return make<arith::BitcastOp>(f32, value);
  };
  auto code = [&](const APFloat &value) {
    return bits(value.bitcastToAPInt().getZExtValue());
  };
  const llvm::fltSemantics &format = type.getFloatSemantics();
  Value all = make<arith::ExtUIOp>(i32, byte);
  Value nan = number(f32, std::numeric_limits<double>::quiet_NaN());
  if (isa<Float8E8M0FNUType>(type)) {
    // 2^-127 is no normal number of f32.
    Value power = make<arith::ShLIOp>(all, bits(23));
    power = select(compare(Order::Equal, all, bits(0)), bits(1 << 22), power);
    return select(compare(Order::Equal, all, bits(0xff)), nan, asFloat(power));
  }
  unsigned mantissa = type.getFPMantissaWidth() - 1;
  int least = llvm::APFloat::semanticsMinExponent(format);
  unsigned signBit = type.getWidth() - 1;
  Value rest = make<arith::AndIOp>(all, bits((1 << signBit) - 1));
  Value small = mul(make<arith::UIToFPOp>(f32, rest),
                    number(f32, std::ldexp(1.0, least - int(mantissa))));
  // The exponent field of `least` is 1.
  Value large = asFloat(add(make<arith::ShLIOp>(rest, bits(23 - mantissa)),
                            bits(int64_t(127 + least - 1) << 23)));
  Value isSmall = compare(Order::Less, rest, bits(1 << mantissa));
  Value result = select(isSmall, small, large);
  Value isNegative =
      compare(Order::LessOrEqual, bits(1 << signBit), all, /*isUnsigned=*/true);
  if (isa<Float8E5M2Type>(type)) {
    Value infinity = code(APFloat::getInf(format));
    Value isNan = compare(Order::Less, infinity, rest);
    result =
        select(compare(Order::Equal, rest, infinity),
               number(f32, std::numeric_limits<double>::infinity()), result);
    result = select(isNan, nan, result);
  } else if (isa<Float8E4M3FNType>(type)) {
    Value isNan = compare(Order::Equal, rest, code(APFloat::getNaN(format)));
    result = select(isNan, nan, result);
  }
  result = select(isNegative, make<arith::NegFOp>(result), result);
  if (isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(type))
    result = select(compare(Order::Equal, all, code(APFloat::getNaN(format))),
                    nan, result);
  return result;
}

Value Scalars::encode(Value value, FloatType type, bool saturates) {
  Type i32 = b.getI32Type(), i8 = b.getIntegerType(8);
  auto bits = [&](int64_t value) {
    return make<arith::ConstantOp>(b.getIntegerAttr(i32, value));
  };
  const llvm::fltSemantics &format = type.getFloatSemantics();
  auto code = [&](const APFloat &number) {
    return bits(number.bitcastToAPInt().getZExtValue());
  };
  bool isUnsignedZero = isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(type);
  bool isFinite = isa<Float4E2M1FNType>(type);
  int mantissa = type.getFPMantissaWidth() - 1;
  int least = llvm::APFloat::semanticsMinExponent(format);
  Value all = make<arith::BitcastOp>(i32, value);
  Value rest = make<arith::AndIOp>(all, bits(0x7fffffff));
  Value isNegative = compare(Order::Less, all, bits(0));
  Value isNan = compare(Order::Less, bits(0x7f800000), rest);
  // Units of the last place are 2^(exponent - mantissa).
  Value exponent = sub(make<arith::ShRUIOp>(rest, bits(23)), bits(127));
  exponent = max(exponent, bits(least));
  // No larger than what is too large in any case, so that 2^-scale is normal.
  exponent = min(exponent, bits(120));
  Value scale = sub(bits(127 + mantissa), exponent);
  Value inverse = make<arith::BitcastOp>(b.getF32Type(),
                                         make<arith::ShLIOp>(scale, bits(23)));
  Value magnitude = make<math::AbsFOp>(value);
  Value units = make<math::RoundEvenOp>(mul(magnitude, inverse));
  units = min(units, number(units.getType(), 1 << 16));
  Value found =
      add(make<arith::FPToSIOp>(i32, units),
          make<arith::ShLIOp>(sub(exponent, bits(least)), bits(mantissa)));
  Value largest = code(APFloat::getLargest(format));
  Value over = largest;
  if (!saturates && !isFinite)
    over = isa<Float8E5M2Type>(type) ? code(APFloat::getInf(format))
                                     : code(APFloat::getNaN(format));
  Value isOver = compare(Order::Less, largest, found);
  found = select(isOver, over, found);
  Value sign = bits(1 << (type.getWidth() - 1));
  Value negative = make<arith::OrIOp>(found, sign);
  if (isUnsignedZero)
    negative = select(compare(Order::Equal, found, bits(0)), found, negative);
  found = select(isNegative, negative, found);
  // A type without NaN has -0 for it.
  Value nan = isFinite ? sign : code(APFloat::getNaN(format));
  found = select(isNan, nan, found);
  return make<arith::TruncIOp>(i8, found);
}

Value Scalars::encodePower(Value value, bool saturates, StringRef mode) {
  Type i32 = b.getI32Type();
  auto bits = [&](int64_t value) {
    return make<arith::ConstantOp>(b.getIntegerAttr(i32, value));
  };
  Value all = make<arith::BitcastOp>(i32, value);
  Value exponent =
      make<arith::AndIOp>(make<arith::ShRUIOp>(all, bits(23)), bits(0xff));
  Value fraction = make<arith::AndIOp>(all, bits(0x7fffff));
  Value roundsUp = number(b.getI1Type(), 0);
  if (mode == "up")
    roundsUp = compare(Order::Less, bits(0), fraction);
  else if (mode == "nearest")
    // A tie goes up unless the result would be 2^-127.
    roundsUp = select(compare(Order::Equal, exponent, bits(0)),
                      compare(Order::Less, bits(1 << 22), fraction),
                      compare(Order::LessOrEqual, bits(1 << 22), fraction));
  Value isSpecial = compare(Order::Equal, exponent, bits(0xff));
  Value next = add(exponent, make<arith::ExtUIOp>(i32, roundsUp));
  if (saturates)
    next = min(next, bits(0xfe));
  return make<arith::TruncIOp>(b.getIntegerType(8),
                               select(isSpecial, bits(0xff), next));
}
