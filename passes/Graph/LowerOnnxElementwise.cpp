//===- LowerOnnxElementwise.cpp - Operators on single elements ------------===//

#include "passes/Graph/LowerOnnx.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

namespace {
/// Formulas on f32, f64 or integers.
class Formulas {
public:
  explicit Formulas(Scalars &s) : s(s) {}

  Scalars &s;

  Value number(Value like, double value) {
    return s.number(like.getType(), value);
  }
  Value plus(Value x, double y) { return s.add(x, number(x, y)); }
  Value times(Value x, double y) { return s.mul(x, number(x, y)); }
  Value exp(Value x) { return s.make<math::ExpOp>(x); }
  Value tanh(Value x) { return s.make<math::TanhOp>(x); }
  /// log(1 + exp(x)), which does not overflow for large x.
  Value softplus(Value x) {
    Value zero = number(x, 0);
    Value small = exp(s.make<arith::NegFOp>(s.make<math::AbsFOp>(x)));
    return s.add(s.max(x, zero), s.make<math::Log1pOp>(small));
  }
  Value sigmoid(Value x) {
    return s.div(number(x, 1), plus(exp(s.make<arith::NegFOp>(x)), 1));
  }
  /// alpha * (exp(x) - 1) for negative x.
  Value elu(Value x, double alpha) {
    Value low = times(s.make<math::ExpM1Op>(s.min(x, number(x, 0))), alpha);
    return s.select(s.compare(Order::Less, x, number(x, 0)), low, x);
  }
  Value gelu(Value x) {
    Value erf = s.make<math::ErfOp>(times(x, 0.70710678118654752));
    return s.mul(times(x, 0.5), plus(erf, 1));
  }
  Value tanhGelu(Value x) {
    Value cube = s.mul(s.mul(x, x), x);
    Value inner = times(s.add(x, times(cube, 0.044715)), 0.79788456080286536);
    return s.mul(times(x, 0.5), plus(tanh(inner), 1));
  }
  Value clamp(Value x, double low, double high) {
    return s.min(s.max(x, number(x, low)), number(x, high));
  }
  Value absolute(Value x) {
    return isa<FloatType>(x.getType())
               ? s.make<math::AbsFOp>(x)
               : s.select(s.compare(Order::Less, x, number(x, 0)),
                          s.sub(number(x, 0), x), x);
  }
  Value sign(Value x, bool isUnsigned) {
    Value zero = number(x, 0), one = number(x, 1);
    Value isNegative = s.compare(Order::Less, x, zero, isUnsigned);
    Value rest =
        s.select(s.compare(Order::Less, zero, x, isUnsigned), one, zero);
    if (isa<FloatType>(x.getType()))
      rest = s.select(s.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x), x,
                      rest);
    return s.select(isNegative, number(x, -1), rest);
  }
};
} // namespace

/// One input, one result; null if the operator is another one.
static Value applyUnary(Operation *op, Scalars &s, Value x, bool isUnsigned) {
  Formulas f(s);
  auto alpha = [&](StringRef name = "alpha") {
    return op->getAttrOfType<FloatAttr>(name).getValueAsDouble();
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<onnx::IdentityOp>([&](auto) { return x; })
      .Case<onnx::AbsOp>([&](auto) { return isUnsigned ? x : f.absolute(x); })
      .Case<onnx::NegOp>([&](auto) {
        return isa<FloatType>(x.getType()) ? s.make<arith::NegFOp>(x)
                                           : s.sub(f.number(x, 0), x);
      })
      .Case<onnx::SqrtOp>([&](auto) { return s.make<math::SqrtOp>(x); })
      .Case<onnx::ReciprocalOp>([&](auto) { return s.div(f.number(x, 1), x); })
      .Case<onnx::ExpOp>([&](auto) { return f.exp(x); })
      .Case<onnx::LogOp>([&](auto) { return s.make<math::LogOp>(x); })
      .Case<onnx::ErfOp>([&](auto) { return s.make<math::ErfOp>(x); })
      .Case<onnx::TanhOp>([&](auto) { return f.tanh(x); })
      .Case<onnx::SigmoidOp>([&](auto) { return f.sigmoid(x); })
      .Case<onnx::SinOp>([&](auto) { return s.make<math::SinOp>(x); })
      .Case<onnx::CosOp>([&](auto) { return s.make<math::CosOp>(x); })
      .Case<onnx::TanOp>([&](auto) {
        return s.div(s.make<math::SinOp>(x), s.make<math::CosOp>(x));
      })
      .Case<onnx::AsinOp>([&](auto) { return s.make<math::AsinOp>(x); })
      .Case<onnx::AcosOp>([&](auto) { return s.make<math::AcosOp>(x); })
      .Case<onnx::AtanOp>([&](auto) { return s.make<math::AtanOp>(x); })
      .Case<onnx::SinhOp>([&](auto) { return s.make<math::SinhOp>(x); })
      .Case<onnx::CoshOp>([&](auto) { return s.make<math::CoshOp>(x); })
      .Case<onnx::AsinhOp>([&](auto) { return s.make<math::AsinhOp>(x); })
      .Case<onnx::AcoshOp>([&](auto) { return s.make<math::AcoshOp>(x); })
      .Case<onnx::AtanhOp>([&](auto) { return s.make<math::AtanhOp>(x); })
      .Case<onnx::FloorOp>([&](auto) { return s.make<math::FloorOp>(x); })
      .Case<onnx::CeilOp>([&](auto) { return s.make<math::CeilOp>(x); })
      .Case<onnx::RoundOp>([&](auto) { return s.make<math::RoundEvenOp>(x); })
      .Case<onnx::SignOp>([&](auto) { return f.sign(x, isUnsigned); })
      .Case<onnx::ReluOp>([&](auto) { return s.max(x, f.number(x, 0)); })
      .Case<onnx::SoftplusOp>([&](auto) { return f.softplus(x); })
      .Case<onnx::SoftsignOp>(
          [&](auto) { return s.div(x, f.plus(f.absolute(x), 1)); })
      .Case<onnx::HardSwishOp>([&](auto) {
        return s.mul(x, f.clamp(f.plus(f.times(x, 1.0 / 6), 0.5), 0, 1));
      })
      .Case<onnx::MishOp>([&](auto) { return s.mul(x, f.tanh(f.softplus(x))); })
      .Case<onnx::LeakyReluOp>([&](auto) {
        return s.select(s.compare(Order::Less, x, f.number(x, 0)),
                        f.times(x, alpha()), x);
      })
      .Case<onnx::EluOp>([&](auto) { return f.elu(x, alpha()); })
      .Case<onnx::SeluOp>(
          [&](auto) { return f.times(f.elu(x, alpha()), alpha("gamma")); })
      .Case<onnx::CeluOp>([&](auto) {
        return s.add(s.max(x, f.number(x, 0)),
                     f.times(s.make<math::ExpM1Op>(f.times(
                                 s.min(x, f.number(x, 0)), 1 / alpha())),
                             alpha()));
      })
      .Case<onnx::ThresholdedReluOp>([&](auto) {
        return s.select(s.compare(Order::Less, f.number(x, alpha()), x), x,
                        f.number(x, 0));
      })
      .Case<onnx::HardSigmoidOp>([&](auto) {
        return f.clamp(f.plus(f.times(x, alpha()), alpha("beta")), 0, 1);
      })
      .Case<onnx::ShrinkOp>([&](auto) {
        double bias = alpha("bias"), limit = alpha("lambd");
        Value low = s.select(s.compare(Order::Less, x, f.number(x, -limit)),
                             f.plus(x, bias), f.number(x, 0));
        return s.select(s.compare(Order::Less, f.number(x, limit), x),
                        f.plus(x, -bias), low);
      })
      .Case<onnx::GeluOp>([&](onnx::GeluOp gelu) {
        return gelu.getApproximate() == "tanh" ? f.tanhGelu(x) : f.gelu(x);
      })
      .Case<onnx::MicrosoftGeluOp>([&](auto) { return f.gelu(x); })
      .Case<onnx::SwishOp, onnx::MicrosoftQuickGeluOp>(
          [&](auto) { return s.mul(x, f.sigmoid(f.times(x, alpha()))); })
      .Case<onnx::NotOp, onnx::BitwiseNotOp>([&](auto) { return s.invert(x); })
      .Default([](Operation *) { return Value(); });
}

/// The rest of a division of integers; 0 for the divisors 0 and -1, with which
/// the instruction may trap.
static Value getRest(Scalars &s, Value x, Value y, bool isUnsigned) {
  Value one = s.number(x.getType(), 1);
  Value isTrap = s.compare(Order::Equal, y, s.number(x.getType(), 0));
  if (isUnsigned)
    return s.make<arith::RemUIOp>(x, s.select(isTrap, one, y));
  isTrap =
      s.either(isTrap, s.compare(Order::Equal, y, s.number(x.getType(), -1)));
  return s.make<arith::RemSIOp>(x, s.select(isTrap, one, y));
}

static Value applyMod(onnx::ModOp op, Scalars &s, Value x, Value y,
                      bool isUnsigned) {
  if (isa<FloatType>(x.getType()))
    return s.sub(x, s.mul(s.make<math::TruncOp>(s.div(x, y)), y));
  Value rest = getRest(s, x, y, isUnsigned);
  if (isUnsigned || op.getFmod())
    return rest;
  // The sign of the divisor.
  Value zero = s.number(x.getType(), 0);
  Value differs = s.make<arith::XOrIOp>(s.compare(Order::Less, rest, zero),
                                        s.compare(Order::Less, y, zero));
  Value isExact = s.compare(Order::Equal, rest, zero);
  return s.select(s.both(differs, s.invert(isExact)), s.add(rest, y), rest);
}

/// x to the power of y, both f32 or f64. The polynomial of powf is for positive
/// x.
static Value applyFloatPow(Scalars &s, Value x, Value y) {
  Type type = x.getType();
  Value zero = s.number(type, 0), one = s.number(type, 1);
  Value power = s.make<math::PowFOp>(s.make<math::AbsFOp>(x), y);
  auto isWhole = [&](Value z) {
    return s.compare(Order::Equal, s.make<math::FloorOp>(z), z);
  };
  Value isOdd = s.invert(isWhole(s.mul(y, s.number(type, 0.5))));
  Value negative = s.select(isOdd, s.make<arith::NegFOp>(power), power);
  Value nan = s.number(type, std::numeric_limits<double>::quiet_NaN());
  negative = s.select(isWhole(y), negative, nan);
  Value result = s.select(s.compare(Order::Less, x, zero), negative, power);
  return s.select(s.compare(Order::Equal, y, zero), one, result);
}

/// x to the power of y, which may have another type.
static Value applyPow(Scalars &s, Value x, Value y) {
  if (isa<FloatType>(x.getType()))
    return applyFloatPow(s, x, s.convert(y, x.getType()));
  Type f32 = s.b.getF32Type();
  Value power = applyFloatPow(s, s.convert(x, f32), s.convert(y, f32));
  // Whole powers are whole; the polynomial may be off in the last bit.
  return s.convert(s.make<math::RoundEvenOp>(power), x.getType());
}

static Value applyShift(onnx::BitShiftOp op, Scalars &s, Value x, Value y) {
  Value bits = s.number(x.getType(), x.getType().getIntOrFloatBitWidth());
  Value shifted = op.getDirection() == "LEFT" ? s.make<arith::ShLIOp>(x, y)
                                              : s.make<arith::ShRUIOp>(x, y);
  return s.select(s.compare(Order::Less, y, bits, true), shifted,
                  s.number(x.getType(), 0));
}

static Value applyBinary(Operation *op, Scalars &s, Value x, Value y,
                         bool isUnsigned) {
  Formulas f(s);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<onnx::AddOp, onnx::SumOp, onnx::MeanOp>(
          [&](auto) { return s.add(x, y); })
      .Case<onnx::SubOp>([&](auto) { return s.sub(x, y); })
      .Case<onnx::MulOp>([&](auto) { return s.mul(x, y); })
      .Case<onnx::DivOp>([&](auto) { return s.div(x, y, isUnsigned); })
      .Case<onnx::MinOp>([&](auto) { return s.min(x, y, isUnsigned); })
      .Case<onnx::MaxOp>([&](auto) { return s.max(x, y, isUnsigned); })
      .Case<onnx::ModOp>(
          [&](onnx::ModOp mod) { return applyMod(mod, s, x, y, isUnsigned); })
      .Case<onnx::PowOp>([&](auto) { return applyPow(s, x, y); })
      .Case<onnx::PReluOp>([&](auto) {
        return s.select(s.compare(Order::Less, x, f.number(x, 0)), s.mul(x, y),
                        x);
      })
      .Case([&](onnx::SwiGLUOp gated) {
        Value scaled = f.times(x, gated.getAlpha().convertToDouble());
        return s.mul(s.mul(x, f.sigmoid(scaled)), y);
      })
      .Case<onnx::AndOp, onnx::BitwiseAndOp>([&](auto) { return s.both(x, y); })
      .Case<onnx::OrOp, onnx::BitwiseOrOp>([&](auto) { return s.either(x, y); })
      .Case<onnx::XorOp, onnx::BitwiseXorOp>(
          [&](auto) { return s.make<arith::XOrIOp>(x, y); })
      .Case<onnx::BitShiftOp>(
          [&](onnx::BitShiftOp shift) { return applyShift(shift, s, x, y); })
      .Case<onnx::EqualOp>([&](auto) { return s.compare(Order::Equal, x, y); })
      .Case<onnx::LessOp>(
          [&](auto) { return s.compare(Order::Less, x, y, isUnsigned); })
      .Case<onnx::GreaterOp>(
          [&](auto) { return s.compare(Order::Less, y, x, isUnsigned); })
      .Case<onnx::LessOrEqualOp>(
          [&](auto) { return s.compare(Order::LessOrEqual, x, y, isUnsigned); })
      .Case<onnx::GreaterOrEqualOp>(
          [&](auto) { return s.compare(Order::LessOrEqual, y, x, isUnsigned); })
      .Default([](Operation *) { return Value(); });
}

/// Operators of any number of inputs from the left.
static Value applyAll(Operation *op, Scalars &s, ValueRange x,
                      bool isUnsigned) {
  if (auto where = dyn_cast<onnx::WhereOp>(op))
    return s.select(x[0], x[1], x[2]);
  if (isa<onnx::MicrosoftBiasGeluOp>(op))
    return Formulas(s).gelu(s.add(x[0], x[1]));
  if (isa<onnx::MicrosoftFastGeluOp>(op))
    return Formulas(s).tanhGelu(x.size() > 1 ? s.add(x[0], x[1]) : x[0]);
  if (auto clip = dyn_cast<onnx::ClipOp>(op)) {
    Value result = x.front();
    unsigned next = 1;
    if (clip.getMin())
      result = s.max(result, x[next++], isUnsigned);
    return clip.getMax() ? s.min(result, x[next], isUnsigned) : result;
  }
  if (isa<onnx::IsNaNOp>(op))
    return s.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x[0], x[0]);
  if (auto isInf = dyn_cast<onnx::IsInfOp>(op)) {
    Value no = s.number(s.b.getI1Type(), 0), result = no;
    double infinity = std::numeric_limits<double>::infinity();
    for (auto [wanted, value] :
         {std::pair(isInf.getDetectPositive(), infinity),
          std::pair(isInf.getDetectNegative(), -infinity)})
      if (wanted)
        result = s.either(result, s.compare(Order::Equal, x[0],
                                            s.number(x[0].getType(), value)));
    return result;
  }
  if (x.size() == 1)
    if (Value value = applyUnary(op, s, x[0], isUnsigned))
      return value;
  Value result = x.front();
  // Min, Max, Sum and Mean of one input are that input.
  if (x.size() == 1 &&
      !isa<onnx::MinOp, onnx::MaxOp, onnx::SumOp, onnx::MeanOp>(op))
    return {};
  for (Value next : x.drop_front()) {
    result = applyBinary(op, s, result, next, isUnsigned);
    if (!result)
      return {};
  }
  if (isa<onnx::MeanOp>(op))
    result = s.div(result, s.number(result.getType(), x.size()), isUnsigned);
  return result;
}

/// Cast and CastLike.
static Value applyCast(Operation *op, Scalars &s, Value x) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  bool fromUnsigned = isUnsigned(from);
  if (FloatType byte = getByteFloat(from))
    x = s.decode(x, byte);
  if (FloatType byte = getByteFloat(to)) {
    bool saturates = op->getAttrOfType<IntegerAttr>("saturate").getInt() != 0;
    x = s.convert(x, s.b.getF32Type(), fromUnsigned);
    auto mode = op->getAttrOfType<StringAttr>("round_mode");
    return isa<Float8E8M0FNUType>(byte)
               ? s.encodePower(x, saturates, mode.getValue())
               : s.encode(x, byte, saturates);
  }
  Type element = elementOf(op->getResult(0));
  x = s.convert(x, element, fromUnsigned, isUnsigned(to));
  unsigned bits = getPackedBits(to);
  return bits ? s.extendBits(x, bits, isUnsigned(to)) : x;
}

/// Whether an operator works on single elements of inputs broadcast to the
/// shape of its result.
static bool isElementwise(Operation *op) {
  return isa<
      onnx::IdentityOp, onnx::AbsOp, onnx::NegOp, onnx::SqrtOp,
      onnx::ReciprocalOp, onnx::ExpOp, onnx::LogOp, onnx::ErfOp, onnx::TanhOp,
      onnx::SigmoidOp, onnx::SinOp, onnx::CosOp, onnx::TanOp, onnx::AsinOp,
      onnx::AcosOp, onnx::AtanOp, onnx::SinhOp, onnx::CoshOp, onnx::AsinhOp,
      onnx::AcoshOp, onnx::AtanhOp, onnx::FloorOp, onnx::CeilOp, onnx::RoundOp,
      onnx::SignOp, onnx::ReluOp, onnx::SoftplusOp, onnx::SoftsignOp,
      onnx::HardSwishOp, onnx::MishOp, onnx::LeakyReluOp, onnx::EluOp,
      onnx::SeluOp, onnx::CeluOp, onnx::ThresholdedReluOp, onnx::HardSigmoidOp,
      onnx::ShrinkOp, onnx::GeluOp, onnx::SwishOp, onnx::NotOp,
      onnx::BitwiseNotOp, onnx::MicrosoftGeluOp, onnx::MicrosoftQuickGeluOp,
      onnx::MicrosoftFastGeluOp, onnx::MicrosoftBiasGeluOp, onnx::AddOp,
      onnx::SubOp, onnx::MulOp, onnx::DivOp, onnx::PowOp, onnx::PReluOp,
      onnx::SwiGLUOp, onnx::ModOp, onnx::AndOp, onnx::OrOp, onnx::XorOp,
      onnx::BitwiseAndOp, onnx::BitwiseOrOp, onnx::BitwiseXorOp,
      onnx::BitShiftOp, onnx::EqualOp, onnx::LessOp, onnx::GreaterOp,
      onnx::LessOrEqualOp, onnx::GreaterOrEqualOp, onnx::MinOp, onnx::MaxOp,
      onnx::SumOp, onnx::MeanOp, onnx::WhereOp, onnx::ClipOp, onnx::IsNaNOp,
      onnx::IsInfOp>(op);
}

bool OnnxLowering::lowerElementwise(Operation *op) {
  if (isElementwise(op)) {
    Value result = op->getResult(0);
    Type element = elementOf(result);
    bool hasNoSign = isUnsigned(op->getOperands().back().getType());
    set(result, map(shapeOf(result), element, op->getOperands(),
                    [&](Scalars &s, ValueRange arguments) {
                      SmallVector<Value> wide;
                      for (Value argument : arguments)
                        wide.push_back(s.widen(argument));
                      return s.narrow(applyAll(op, s, wide, hasNoSign),
                                      element);
                    }));
    return true;
  }
  if (isa<onnx::CastOp, onnx::CastLikeOp>(op)) {
    Value result = op->getResult(0);
    set(result,
        map(shapeOf(result), elementOf(result), ValueRange(op->getOperand(0)),
            [&](Scalars &s, ValueRange x) { return applyCast(op, s, x[0]); }));
    return true;
  }
  if (auto cast = dyn_cast<onnx::BitCastOp>(op)) {
    Type element = elementOf(cast.getResult());
    set(cast.getResult(),
        map(shapeOf(cast.getResult()), element, ValueRange(cast.getInput()),
            [&](Scalars &s, ValueRange x) {
              // A truth value is stored as a byte.
              if (x[0].getType().isInteger(1) || element.isInteger(1))
                return s.convert(x[0], element);
              return x[0].getType() == element
                         ? x[0]
                         : s.make<arith::BitcastOp>(element, x[0]);
            }));
    return true;
  }
  if (auto dropout = dyn_cast<onnx::DropoutOp>(op)) {
    // Training draws random numbers.
    if (Value training = dropout.getTrainingMode()) {
      auto numbers = symbolic.getNumbers(training);
      if (!numbers || numbers->front() != 0)
        return false;
    }
    set(dropout.getResult(), get(dropout.getData()));
    set(dropout.getMask(),
        generate(shapeOf(dropout.getMask()), builder.getI1Type(),
                 [&](Scalars &s, Indices) {
                   return s.number(s.b.getI1Type(), -1);
                 }));
    return true;
  }
  return false;
}
