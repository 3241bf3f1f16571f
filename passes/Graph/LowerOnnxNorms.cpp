//===- LowerOnnxNorms.cpp - Normalisations --------------------------------===//

#include "passes/Graph/LowerOnnx.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

namespace {
/// A tensor whose dimensions from `axis` on are normalised together.
struct Rows {
  OnnxLowering &l;
  Value tensor;
  Shape shape;
  int64_t axis;
  Type wide;
  Shape kept, folded;

  Rows(OnnxLowering &l, Value tensor, Shape shape, int64_t axis)
      : l(l), tensor(tensor), shape(shape),
        axis(axis < 0 ? axis + shape.size() : axis),
        wide(getWideType(getElementTypeOrSelf(tensor.getType()))),
        kept(ArrayRef(shape).take_front(this->axis)),
        folded(ArrayRef(shape).drop_front(this->axis)) {}

  Value read(Scalars &s, Indices i, Indices j) const {
    SmallVector<Value> place(i);
    llvm::append_range(place, j);
    return s.widen(s.read(tensor, place));
  }
  /// The mean of a function of the elements.
  Value mean(function_ref<Value(Scalars &, Indices, Value)> function) const {
    Value count = l.size(onnx::countElements(folded));
    Value sum = l.fold(kept, folded, l.makeScalar(wide, 0),
                       [&](Scalars &s, Indices i, Indices j, Value before) {
                         return s.add(before, function(s, i, read(s, i, j)));
                       });
    return l.map(kept, wide, {{sum, kept}}, [&](Scalars &s, ValueRange x) {
      return s.div(x[0], s.fromIndex(count, wide));
    });
  }
  /// 1 / sqrt(x + epsilon) of a statistic.
  Value invert(Value statistic, double epsilon) const {
    return l.map(kept, wide, {{statistic, kept}},
                 [&](Scalars &s, ValueRange x) {
                   Value sum = s.add(x[0], s.number(wide, epsilon));
                   return s.div(s.number(wide, 1), s.make<math::SqrtOp>(sum));
                 });
  }
};

/// An operand that is repeated over the dimensions before its own.
struct Repeated {
  Value tensor;
  Shape shape;

  Value read(Scalars &s, Indices place) const {
    SmallVector<Value> at(place.take_back(shape.size()));
    for (auto [index, size] : llvm::zip_equal(at, shape))
      if (size == Polynomial(1))
        index = s.index(0);
    return s.read(tensor, at);
  }
};
} // namespace

static std::optional<Repeated> getRepeated(OnnxLowering &l, Value value) {
  if (!value)
    return std::nullopt;
  return Repeated{l.get(value), shapeOf(value)};
}

/// Sets a result that is a statistic of each row, if it is read.
static void setStatistic(OnnxLowering &l, Value result, const Rows &rows,
                         Value statistic) {
  Value shaped = l.reshape(statistic, rows.kept, shapeOf(result));
  l.set(result, l.convert(shaped, shapeOf(result), elementOf(result)));
}

/// (x - mean) / sqrt(variance + epsilon), rounded to the type of the input,
/// then times `scale` plus `bias`, as the standard says.
static void lowerLayerNorm(OnnxLowering &l, const Rows &rows, Value result,
                           Value meanResult, Value deviationResult,
                           const Repeated &scale,
                           const std::optional<Repeated> &bias,
                           double epsilon) {
  Value mean = rows.mean([](Scalars &, Indices, Value x) { return x; });
  Value variance = rows.mean([&](Scalars &s, Indices i, Value x) {
    Value centred = s.sub(x, s.read(mean, i));
    return s.mul(centred, centred);
  });
  Value inverse = rows.invert(variance, epsilon);
  Type element = elementOf(result);
  Type stored = getElementTypeOrSelf(rows.tensor.getType());
  l.set(result, l.generate(rows.shape, element, [&](Scalars &s, Indices i) {
    Indices row = i.take_front(rows.axis);
    Value x = s.sub(s.widen(s.read(rows.tensor, i)), s.read(mean, row));
    x = s.mul(x, s.read(inverse, row));
    x = s.widen(s.narrow(x, stored));
    x = s.mul(x, s.convert(scale.read(s, i), x.getType()));
    if (bias)
      x = s.add(x, s.convert(bias->read(s, i), x.getType()));
    return s.narrow(x, element);
  }));
  if (meanResult)
    setStatistic(l, meanResult, rows, mean);
  if (deviationResult)
    setStatistic(l, deviationResult, rows, inverse);
}

static void lowerRmsNorm(OnnxLowering &l, const Rows &rows, Value result,
                         Value deviationResult, const Repeated &scale,
                         double epsilon) {
  Value square =
      rows.mean([](Scalars &s, Indices, Value x) { return s.mul(x, x); });
  Value inverse = rows.invert(square, epsilon);
  Type element = elementOf(result);
  l.set(result, l.generate(rows.shape, element, [&](Scalars &s, Indices i) {
    Value x = s.mul(s.widen(s.read(rows.tensor, i)),
                    s.read(inverse, i.take_front(rows.axis)));
    x = s.widen(s.narrow(x, element));
    Value y = s.convert(scale.read(s, i), x.getType());
    return s.narrow(s.mul(x, y), element);
  }));
  if (deviationResult)
    setStatistic(l, deviationResult, rows, inverse);
}

/// The sum of input, skip and bias, and what is normalised of it.
static void lowerSkipNorm(OnnxLowering &l, Operation *op) {
  Value sum = op->getResult(3);
  Shape shape = shapeOf(sum);
  Type element = elementOf(sum);
  auto layer = dyn_cast<onnx::MicrosoftSkipLayerNormalizationOp>(op);
  auto simplified =
      dyn_cast<onnx::MicrosoftSkipSimplifiedLayerNormalizationOp>(op);
  SmallVector<Value> terms = {op->getOperand(0), op->getOperand(1)};
  if (Value bias = layer ? layer.getBias() : simplified.getBias())
    terms.push_back(bias);
  Type wide = getWideType(element);
  SmallVector<std::pair<Value, Shape>> inputs;
  for (Value term : terms)
    inputs.push_back({l.get(term), shapeOf(term)});
  // Not rounded in between: squares of f16 overflow.
  Value total = l.map(shape, wide, inputs, [](Scalars &s, ValueRange x) {
    Value value = s.widen(x[0]);
    for (Value next : x.drop_front())
      value = s.add(value, s.widen(next));
    return value;
  });
  l.set(sum, l.convert(total, shape, element));
  Rows rows(l, total, shape, -1);
  Value deviation = op->getResult(2).use_empty() ? Value() : op->getResult(2);
  if (layer) {
    Value mean = layer.getMean().use_empty() ? Value() : layer.getMean();
    lowerLayerNorm(l, rows, layer.getResult(), mean, deviation,
                   *getRepeated(l, layer.getGamma()),
                   getRepeated(l, layer.getBeta()),
                   layer.getEpsilon().convertToDouble());
    return;
  }
  lowerRmsNorm(l, rows, simplified.getResult(), deviation,
               *getRepeated(l, simplified.getGamma()),
               simplified.getEpsilon().convertToDouble());
}

/// Normalises groups of channels of [batch, channels, ...] and scales channels.
static Value lowerGroups(OnnxLowering &l, Value input, Value scale, Value bias,
                         int64_t groups, double epsilon) {
  Shape shape = shapeOf(input);
  Polynomial inGroup = *onnx::divide(shape[1], Polynomial(groups));
  Shape grouped = {shape[0], Polynomial(groups), inGroup};
  llvm::append_range(grouped, ArrayRef(shape).drop_front(2));
  Value tensor = l.reshape(l.get(input), shape, grouped);
  Rows rows(l, tensor, grouped, 2);
  Value mean = rows.mean([](Scalars &, Indices, Value x) { return x; });
  Value variance = rows.mean([&](Scalars &s, Indices i, Value x) {
    Value centred = s.sub(x, s.read(mean, i));
    return s.mul(centred, centred);
  });
  Value inverse = rows.invert(variance, epsilon);
  Value gamma = l.get(scale), beta = l.get(bias), source = l.get(input);
  Value size = l.size(inGroup);
  Type element = getElementTypeOrSelf(source.getType());
  return l.generate(shape, element, [&](Scalars &s, Indices i) {
    Value group[] = {i[0], s.make<arith::DivUIOp>(i[1], size)};
    Value x = s.sub(s.widen(s.read(source, i)), s.read(mean, group));
    x = s.mul(x, s.read(inverse, group));
    x = s.mul(x, s.widen(s.read(gamma, i[1])));
    return s.narrow(s.add(x, s.widen(s.read(beta, i[1]))), element);
  });
}

static Value lowerBatchNorm(OnnxLowering &l, onnx::BatchNormalizationOp op) {
  Value source = l.get(op.getInput());
  Value lists[] = {l.get(op.getScale()), l.get(op.getBias()),
                   l.get(op.getMean()), l.get(op.getVariance())};
  double epsilon = op.getEpsilon().convertToDouble();
  Type element = elementOf(op.getResult());
  return l.generate(
      shapeOf(op.getResult()), element, [&](Scalars &s, Indices i) {
        Value x = s.widen(s.read(source, i));
        auto read = [&](unsigned list) {
          return s.convert(s.read(lists[list], i[1]), x.getType());
        };
        Value variance = s.add(read(3), s.number(x.getType(), epsilon));
        Value y = s.div(s.sub(x, read(2)), s.make<math::SqrtOp>(variance));
        return s.narrow(s.add(s.mul(y, read(0)), read(1)), element);
      });
}

static Value lowerLpNorm(OnnxLowering &l, onnx::LpNormalizationOp op) {
  Shape shape = shapeOf(op.getInput());
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + shape.size() : op.getAxis();
  Shape kept(shape);
  kept.erase(kept.begin() + axis);
  Value source = l.get(op.getInput());
  Type element = elementOf(op.getResult()), wide = getWideType(element);
  bool isSquare = op.getP() == 2;
  Value sum = l.fold(kept, {shape[axis]}, l.makeScalar(wide, 0),
                     [&](Scalars &s, Indices i, Indices j, Value before) {
                       SmallVector<Value> place(i);
                       place.insert(place.begin() + axis, j[0]);
                       Value x = s.widen(s.read(source, place));
                       x = isSquare ? s.mul(x, x) : s.make<math::AbsFOp>(x);
                       return s.add(before, x);
                     });
  return l.generate(shape, element, [&](Scalars &s, Indices i) {
    SmallVector<Value> place(i);
    place.erase(place.begin() + axis);
    Value norm = s.read(sum, place);
    if (isSquare)
      norm = s.make<math::SqrtOp>(norm);
    // A vector of zeros stays one.
    Value isZero = s.compare(Scalars::Order::Equal, norm, s.number(wide, 0));
    Value divisor = s.select(isZero, s.number(wide, 1), norm);
    return s.narrow(s.div(s.widen(s.read(source, i)), divisor), element);
  });
}

bool OnnxLowering::lowerNorm(Operation *op) {
  auto used = [](Value value) { return value.use_empty() ? Value() : value; };
  if (auto norm = dyn_cast<onnx::LayerNormalizationOp>(op)) {
    Rows rows(*this, get(norm.getInput()), shapeOf(norm.getInput()),
              norm.getAxis());
    lowerLayerNorm(*this, rows, norm.getResult(), used(norm.getMean()),
                   used(norm.getInvStdDev()),
                   *getRepeated(*this, norm.getScale()),
                   getRepeated(*this, norm.getBias()),
                   norm.getEpsilon().convertToDouble());
    return true;
  }
  if (auto norm = dyn_cast<onnx::RMSNormalizationOp>(op)) {
    Rows rows(*this, get(norm.getInput()), shapeOf(norm.getInput()),
              norm.getAxis());
    lowerRmsNorm(*this, rows, norm.getResult(), {},
                 *getRepeated(*this, norm.getScale()),
                 norm.getEpsilon().convertToDouble());
    return true;
  }
  if (auto norm = dyn_cast<onnx::MicrosoftSimplifiedLayerNormalizationOp>(op)) {
    Rows rows(*this, get(norm.getInput()), shapeOf(norm.getInput()),
              norm.getAxis());
    lowerRmsNorm(*this, rows, norm.getResult(), used(norm.getInvStdDev()),
                 *getRepeated(*this, norm.getScale()),
                 norm.getEpsilon().convertToDouble());
    return true;
  }
  if (isa<onnx::MicrosoftSkipLayerNormalizationOp,
          onnx::MicrosoftSkipSimplifiedLayerNormalizationOp>(op)) {
    lowerSkipNorm(*this, op);
    return true;
  }
  if (auto norm = dyn_cast<onnx::GroupNormalizationOp>(op)) {
    set(norm.getResult(),
        lowerGroups(*this, norm.getInput(), norm.getScale(), norm.getBias(),
                    norm.getNumGroups(), norm.getEpsilon().convertToDouble()));
    return true;
  }
  if (auto norm = dyn_cast<onnx::InstanceNormalizationOp>(op)) {
    auto channels = shapeOf(norm.getInput())[1].getConstant();
    if (!channels)
      return false;
    set(norm.getResult(),
        lowerGroups(*this, norm.getInput(), norm.getScale(), norm.getBias(),
                    *channels, norm.getEpsilon().convertToDouble()));
    return true;
  }
  if (auto norm = dyn_cast<onnx::BatchNormalizationOp>(op)) {
    if (norm.getTrainingMode())
      return false;
    set(norm.getResult(), lowerBatchNorm(*this, norm));
    set(norm.getRunningMean(), get(norm.getMean()));
    set(norm.getRunningVariance(), get(norm.getVariance()));
    return true;
  }
  if (auto norm = dyn_cast<onnx::LpNormalizationOp>(op)) {
    set(norm.getResult(), lowerLpNorm(*this, norm));
    return true;
  }
  return false;
}
