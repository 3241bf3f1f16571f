//===- LowerOnnxQuantization.cpp - Numbers of few bits --------------------===//

#include "passes/Graph/LowerOnnx.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

/// Where the scale of an element is: one for all, one along an axis, or one for
/// each block along it.
static SmallVector<Value> getScalePlace(Scalars &s, Indices i, size_t scaleRank,
                                        bool isOne, int64_t axis,
                                        int64_t block) {
  if (isOne)
    return SmallVector<Value>(scaleRank, s.index(0));
  if (block == 0)
    return {i[axis]};
  SmallVector<Value> place(i);
  place[axis] = s.make<arith::DivUIOp>(i[axis], s.index(block));
  return place;
}

namespace {
struct Scaling {
  Value scale, zero;
  FloatType scaleByte; ///< Set if the scale is stored as a byte.
  size_t rank, zeroRank;
  bool isOne;
  int64_t axis, block;

  Scaling(OnnxLowering &l, Value input, Value scaleValue, Value zeroValue,
          int64_t axisAttr, int64_t block)
      : scale(l.get(scaleValue)), zero(zeroValue ? l.get(zeroValue) : Value()),
        scaleByte(getByteFloat(scaleValue.getType())), block(block) {
    Shape shape = shapeOf(scaleValue);
    rank = shape.size();
    zeroRank = zeroValue ? shapeOf(zeroValue).size() : 0;
    isOne = onnx::countElements(shape) == Polynomial(1) && block == 0;
    int64_t inputRank = shapeOf(input).size();
    axis = axisAttr < 0 ? axisAttr + inputRank : axisAttr;
  }
  SmallVector<Value> getPlace(Scalars &s, Indices i) const {
    return getScalePlace(s, i, rank, isOne, axis, block);
  }
  /// One for all may be a scalar or a list, whatever the scale is.
  Value readZero(Scalars &s, Indices place) const {
    if (isOne)
      return s.read(zero, SmallVector<Value>(zeroRank, s.index(0)));
    return s.read(zero, place);
  }
  Value readScale(Scalars &s, Indices place) const {
    Value x = s.read(scale, place);
    return scaleByte ? s.decode(x, scaleByte) : s.convert(x, s.b.getF32Type());
  }
};
} // namespace

/// The least and the largest number of an integer type.
static std::pair<double, double> getRange(Type type, bool isUnsigned) {
  unsigned bits = type.getIntOrFloatBitWidth();
  if (isUnsigned)
    return {0, std::pow(2.0, bits) - 1};
  return {-std::pow(2.0, bits - 1), std::pow(2.0, bits - 1) - 1};
}

static bool lowerQuantize(OnnxLowering &l, onnx::QuantizeLinearOp op) {
  Type element = elementOf(op.getResult()), stored = op.getResult().getType();
  FloatType byte = getByteFloat(stored);
  if (!isa<IntegerType>(element) || isa_and_present<Float8E8M0FNUType>(byte))
    return false;
  bool hasNoSign = isUnsigned(stored), saturates = op.getSaturate() != 0;
  Scaling scaling(l, op.getInput(), op.getScale(), op.getZeroPoint(),
                  op.getAxis(), op.getBlockSize());
  Value source = l.get(op.getInput());
  bool fromNoSign = isUnsigned(op.getInput().getType());
  auto [low, high] = getRange(getElementTypeOrSelf(stored), hasNoSign);
  l.set(
      op.getResult(),
      l.generate(shapeOf(op.getResult()), element, [&](Scalars &s, Indices i) {
        Type f32 = s.b.getF32Type();
        SmallVector<Value> place = scaling.getPlace(s, i);
        Value x = s.convert(s.read(source, i), f32, fromNoSign);
        Value y = s.div(x, scaling.readScale(s, place));
        if (byte) {
          if (scaling.zero)
            y = s.add(y, s.decode(scaling.readZero(s, place), byte));
          return s.encode(y, byte, saturates);
        }
        y = s.make<math::RoundEvenOp>(y);
        if (scaling.zero)
          y = s.add(y, s.convert(scaling.readZero(s, place), f32, hasNoSign));
        y = s.min(s.max(y, s.number(f32, low)), s.number(f32, high));
        return s.convert(y, element, false, hasNoSign);
      }));
  return true;
}

static bool lowerDequantize(OnnxLowering &l, onnx::DequantizeLinearOp op) {
  Value source = l.get(op.getInput());
  if (!isa<IntegerType>(elementOf(op.getInput())))
    return false;
  FloatType byte = getByteFloat(op.getInput().getType());
  bool hasNoSign = isUnsigned(op.getInput().getType());
  Scaling scaling(l, op.getInput(), op.getScale(), op.getZeroPoint(),
                  op.getAxis(), op.getBlockSize());
  Type element = elementOf(op.getResult());
  l.set(
      op.getResult(),
      l.generate(shapeOf(op.getResult()), element, [&](Scalars &s, Indices i) {
        Type f32 = s.b.getF32Type(), i32 = s.b.getI32Type();
        SmallVector<Value> place = scaling.getPlace(s, i);
        Value scale = scaling.readScale(s, place);
        if (byte) {
          Value x = s.decode(s.read(source, i), byte);
          if (scaling.zero)
            x = s.sub(x, s.decode(scaling.readZero(s, place), byte));
          return s.narrow(s.mul(x, scale), element);
        }
        Value x = s.convert(s.read(source, i), i32, hasNoSign);
        if (scaling.zero)
          x = s.sub(x, s.convert(scaling.readZero(s, place), i32, hasNoSign));
        return s.narrow(s.mul(s.convert(x, f32), scale), element);
      }));
  return true;
}

/// Scale and zero point from the range of the values, which includes 0.
static void lowerDynamic(OnnxLowering &l, onnx::DynamicQuantizeLinearOp op) {
  Type f32 = l.builder.getF32Type(), i8 = l.builder.getIntegerType(8);
  Shape shape = shapeOf(op.getInput());
  Value source = l.get(op.getInput());
  auto extreme = [&](bool isMax) {
    return l.fold({}, shape, l.makeScalar(f32, 0),
                  [&](Scalars &s, Indices, Indices j, Value before) {
                    Value x = s.read(source, j);
                    return isMax ? s.max(before, x) : s.min(before, x);
                  });
  };
  Value most = extreme(true), least = extreme(false);
  Value scale =
      l.map({}, f32, {{most, {}}, {least, {}}}, [&](Scalars &s, ValueRange x) {
        return s.div(s.sub(x[0], x[1]), s.number(f32, 255));
      });
  auto saturate = [&](Scalars &s, Value x) {
    x = s.min(s.max(x, s.number(f32, 0)), s.number(f32, 255));
    return s.convert(s.make<math::RoundEvenOp>(x), i8, false, true);
  };
  Value zero =
      l.map({}, i8, {{least, {}}, {scale, {}}}, [&](Scalars &s, ValueRange x) {
        Value y = s.div(s.sub(s.number(f32, 0), x[0]), x[1]);
        return saturate(s, y);
      });
  l.set(op.getScale(), scale);
  l.set(op.getZeroPoint(), zero);
  l.set(op.getResult(), l.generate(shape, i8, [&](Scalars &s, Indices i) {
    Value y = s.div(s.read(source, i), s.read(scale, {}));
    y = s.make<math::RoundEvenOp>(y);
    return saturate(s, s.add(y, s.convert(s.read(zero, {}), f32, true)));
  }));
}

bool OnnxLowering::lowerQuantization(Operation *op) {
  if (auto quantize = dyn_cast<onnx::QuantizeLinearOp>(op))
    return lowerQuantize(*this, quantize);
  if (auto dequantize = dyn_cast<onnx::DequantizeLinearOp>(op))
    return lowerDequantize(*this, dequantize);
  if (auto dynamic = dyn_cast<onnx::DynamicQuantizeLinearOp>(op)) {
    lowerDynamic(*this, dynamic);
    return true;
  }
  return false;
}
