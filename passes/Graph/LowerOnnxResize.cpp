//===- LowerOnnxResize.cpp - Resize, one axis after the other -------------===//

#include "passes/Graph/LowerOnnx.h"

#include "dialects/Onnx/Resize.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

/// A constant [outputs, taps].
template <typename Number>
static Value makeTable(OnnxLowering &l, const onnx::ResizeTaps &taps,
                       ArrayRef<Number> numbers, Type element) {
  auto type = RankedTensorType::get(
      {int64_t(numbers.size()) / taps.taps, taps.taps}, element);
  return arith::ConstantOp::create(l.builder, l.loc,
                                   DenseElementsAttr::get(type, numbers));
}

/// Resizes one axis of a tensor, whose elements become those of `result`.
static Value resizeAxis(OnnxLowering &l, onnx::ResizeOp op, Value tensor,
                        ArrayRef<Polynomial> shape,
                        const onnx::ResizedAxis &axis) {
  onnx::ResizeTaps taps = onnx::getResizeTaps(op, axis);
  Type element = getElementTypeOrSelf(tensor.getType());
  Type i64 = l.builder.getI64Type(), f32 = l.builder.getF32Type();
  Value places = makeTable(l, taps, ArrayRef(taps.places), i64);
  auto read = [&](Scalars &s, Indices i, Value tap) {
    SmallVector<Value> place(i);
    place[axis.axis] = s.toIndex(s.read(places, {i[axis.axis], tap}));
    return s.read(tensor, place);
  };
  Value result;
  if (op.getMode() == "nearest") {
    result = l.generate(shape, element, [&](Scalars &s, Indices i) {
      return read(s, i, s.index(0));
    });
  } else {
    Value weights = makeTable(l, taps, ArrayRef(taps.weights), f32);
    result = l.fold(shape, {Polynomial(taps.taps)}, l.makeScalar(element, 0),
                    [&](Scalars &s, Indices i, Indices tap, Value before) {
                      Value weight = s.convert(
                          s.read(weights, {i[axis.axis], tap[0]}), element);
                      return s.add(before, s.mul(read(s, i, tap[0]), weight));
                    });
  }
  if (llvm::none_of(taps.isOutside, [](bool outside) { return outside; }))
    return result;
  auto type = RankedTensorType::get(int64_t(taps.isOutside.size()),
                                    l.builder.getI1Type());
  Value outside = arith::ConstantOp::create(
      l.builder, l.loc, DenseElementsAttr::get(type, ArrayRef(taps.isOutside)));
  double value = op.getExtrapolationValue().convertToDouble();
  return l.generate(shape, element, [&](Scalars &s, Indices i) {
    return s.select(s.read(outside, i[axis.axis]), s.number(element, value),
                    s.read(result, i));
  });
}

bool OnnxLowering::lowerResize(Operation *op) {
  auto resize = dyn_cast<onnx::ResizeOp>(op);
  if (!resize)
    return false;
  onnx::TypeInference inference(symbolic);
  FailureOr<SmallVector<onnx::ResizedAxis>> axes =
      onnx::getResizedAxes(resize, inference);
  bool isKnown =
      llvm::is_contained({"nearest", "linear", "cubic"}, resize.getMode());
  if (failed(axes) || !isKnown)
    return false;
  Shape shape = shapeOf(resize.getInput());
  Type element = elementOf(resize.getResult());
  // Sums are of numbers with fractions.
  Type wide = isa<FloatType>(element) || resize.getMode() == "nearest"
                  ? getWideType(element)
                  : builder.getF32Type();
  bool hasNoSign = isUnsigned(resize.getInput().getType());
  Value tensor = get(resize.getInput());
  if (wide != element)
    tensor = map(shape, wide, {{tensor, shape}}, [&](Scalars &s, ValueRange x) {
      return s.convert(x[0], wide, hasNoSign);
    });
  for (const onnx::ResizedAxis &axis : *axes) {
    shape[axis.axis] = Polynomial(axis.output);
    tensor = resizeAxis(*this, resize, tensor, shape, axis);
  }
  if (wide != element)
    tensor =
        map(shape, element, {{tensor, shape}}, [&](Scalars &s, ValueRange x) {
          return s.convert(x[0], element, false, hasNoSign);
        });
  set(resize.getResult(), tensor);
  return true;
}
