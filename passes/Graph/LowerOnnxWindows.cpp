//===- LowerOnnxWindows.cpp - Convolutions and pools ----------------------===//

#include "passes/Graph/LowerOnnx.h"

#include "dialects/Onnx/Windows.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

static Shape getKernel(const onnx::Windows &windows) {
  Shape kernel;
  for (int64_t size : windows.kernel)
    kernel.push_back(Polynomial(size));
  return kernel;
}

namespace {
/// Where an element of a window lies in the input.
struct WindowPlace {
  SmallVector<Value> place; ///< Spatial.
  Value isInside;
};
} // namespace

static WindowPlace getPlace(Scalars &s, const onnx::Windows &windows,
                            ArrayRef<Value> sizes, Indices window,
                            Indices offset) {
  WindowPlace result{{}, s.number(s.b.getI1Type(), -1)};
  for (size_t d = 0; d < windows.kernel.size(); ++d) {
    Value at = s.add(s.mul(window[d], s.index(windows.strides[d])),
                     s.mul(offset[d], s.index(windows.dilations[d])));
    at = s.sub(at, s.index(windows.before[d]));
    result.isInside = s.both(
        result.isInside, s.both(s.compare(Order::LessOrEqual, s.index(0), at),
                                s.compare(Order::Less, at, sizes[d])));
    result.place.push_back(at);
  }
  return result;
}

static SmallVector<Value> getSpatial(OnnxLowering &l, Value input) {
  SmallVector<Value> sizes;
  Shape shape = shapeOf(input);
  for (const Polynomial &size : ArrayRef(shape).drop_front(2))
    sizes.push_back(l.size(size));
  return sizes;
}

/// Conv and ConvInteger, whose elements have zero points taken off.
static Value lowerConv(OnnxLowering &l, Operation *op,
                       const onnx::Windows &windows) {
  Value input = op->getOperand(0), weight = op->getOperand(1);
  Value source = l.get(input), kernel = l.get(weight);
  Shape shape = shapeOf(op->getResult(0)), weights = shapeOf(weight);
  int64_t group = op->getAttrOfType<IntegerAttr>("group").getInt();
  auto perGroup = onnx::divide(weights[0], Polynomial(group));
  if (!perGroup)
    return {};
  Value outputs = l.size(*perGroup), inputs = l.size(weights[1]);
  SmallVector<Value> sizes = getSpatial(l, input);
  Type element = elementOf(op->getResult(0)), wide = getWideType(element);
  Shape folded = {weights[1]};
  llvm::append_range(folded, getKernel(windows));
  auto integer = dyn_cast<onnx::ConvIntegerOp>(op);
  auto getZero = [&](Value zero) { return zero ? l.get(zero) : Value(); };
  Value inputZero = integer ? getZero(integer.getInputZeroPoint()) : Value();
  Value weightZero = integer ? getZero(integer.getWeightZeroPoint()) : Value();
  auto readZero = [&](Scalars &s, Value zero, Value channel) {
    auto type = cast<RankedTensorType>(zero.getType());
    bool isList = type.getRank() == 1 && type.getDimSize(0) != 1;
    SmallVector<Value> at(type.getRank(), isList ? channel : s.index(0));
    return s.read(zero, at);
  };
  bool inputNoSign = isUnsigned(input.getType());
  bool weightNoSign = isUnsigned(weight.getType());
  Value sum = l.fold(
      shape, folded, l.makeScalar(wide, 0),
      [&](Scalars &s, Indices i, Indices j, Value before) {
        WindowPlace at =
            getPlace(s, windows, sizes, i.drop_front(2), j.drop_front(1));
        return s.branch(
            at.isInside, wide,
            [&] {
              Value channel = s.add(
                  s.mul(s.make<arith::DivUIOp>(i[1], outputs), inputs), j[0]);
              SmallVector<Value> place = {i[0], channel};
              llvm::append_range(place, at.place);
              SmallVector<Value> inKernel = {i[1], j[0]};
              llvm::append_range(inKernel, j.drop_front(1));
              Value x = s.convert(s.read(source, place), wide, inputNoSign);
              Value w = s.convert(s.read(kernel, inKernel), wide, weightNoSign);
              if (inputZero)
                x = s.sub(x, s.convert(readZero(s, inputZero, channel), wide,
                                       inputNoSign));
              if (weightZero)
                w = s.sub(w, s.convert(readZero(s, weightZero, i[1]), wide,
                                       weightNoSign));
              return s.add(before, s.mul(x, w));
            },
            [&] { return before; });
      });
  auto conv = dyn_cast<onnx::ConvOp>(op);
  if (!conv || !conv.getBias())
    return l.convert(sum, shape, element);
  Value bias = l.get(conv.getBias());
  return l.generate(shape, element, [&](Scalars &s, Indices i) {
    return s.narrow(s.add(s.read(sum, i), s.widen(s.read(bias, i[1]))),
                    element);
  });
}

/// Each element of the result looks for the elements whose windows it lies in.
static Value lowerConvTranspose(OnnxLowering &l, onnx::ConvTransposeOp op,
                                const onnx::Windows &windows) {
  Value source = l.get(op.getInput()), kernel = l.get(op.getWeight());
  Value bias = op.getBias() ? l.get(op.getBias()) : Value();
  Shape shape = shapeOf(op.getResult()), weights = shapeOf(op.getWeight());
  Polynomial inGroup = *onnx::divide(weights[0], Polynomial(op.getGroup()));
  Value inputs = l.size(inGroup), outputs = l.size(weights[1]);
  SmallVector<Value> sizes = getSpatial(l, op.getInput());
  Type element = elementOf(op.getResult()), wide = getWideType(element);
  Shape folded = {inGroup};
  llvm::append_range(folded, getKernel(windows));
  Value sum = l.fold(
      shape, folded, l.makeScalar(wide, 0),
      [&](Scalars &s, Indices i, Indices j, Value before) {
        Value group = s.make<arith::DivUIOp>(i[1], outputs);
        Value channel = s.add(s.mul(group, inputs), j[0]);
        SmallVector<Value> place = {i[0], channel};
        SmallVector<Value> inKernel = {channel,
                                       s.make<arith::RemUIOp>(i[1], outputs)};
        Value isInside = s.number(s.b.getI1Type(), -1);
        for (size_t d = 0; d < sizes.size(); ++d) {
          Value offset = s.mul(j[1 + d], s.index(windows.dilations[d]));
          Value at = s.sub(s.add(i[2 + d], s.index(windows.before[d])), offset);
          Value stride = s.index(windows.strides[d]);
          Value rest = s.make<arith::RemSIOp>(at, stride);
          Value window = s.make<arith::DivSIOp>(at, stride);
          for (Value condition : {s.compare(Order::Equal, rest, s.index(0)),
                                  s.compare(Order::LessOrEqual, s.index(0), at),
                                  s.compare(Order::Less, window, sizes[d])})
            isInside = s.both(isInside, condition);
          place.push_back(window);
          inKernel.push_back(j[1 + d]);
        }
        return s.branch(
            isInside, wide,
            [&] {
              Value x = s.widen(s.read(source, place));
              Value w = s.convert(s.read(kernel, inKernel), wide);
              return s.add(before, s.mul(x, w));
            },
            [&] { return before; });
      });
  if (!bias)
    return l.convert(sum, shape, element);
  return l.generate(shape, element, [&](Scalars &s, Indices i) {
    Value x = s.add(s.read(sum, i), s.widen(s.read(bias, i[1])));
    return s.narrow(x, element);
  });
}

static Value lowerAveragePool(OnnxLowering &l, Operation *op,
                              const onnx::Windows &windows) {
  Value input = op->getOperand(0), source = l.get(input);
  Shape shape = shapeOf(op->getResult(0)), kernel = getKernel(windows);
  SmallVector<Value> sizes = getSpatial(l, input);
  Type element = elementOf(op->getResult(0)), wide = getWideType(element);
  auto norm = dyn_cast<onnx::LpPoolOp>(op);
  double power = norm ? double(norm.getP()) : 1;
  Value sum = l.fold(shape, kernel, l.makeScalar(wide, 0),
                     [&](Scalars &s, Indices i, Indices j, Value before) {
                       WindowPlace at =
                           getPlace(s, windows, sizes, i.drop_front(2), j);
                       return s.branch(
                           at.isInside, wide,
                           [&] {
                             SmallVector<Value> place(i.take_front(2));
                             llvm::append_range(place, at.place);
                             Value x = s.widen(s.read(source, place));
                             if (norm)
                               x = s.make<math::PowFOp>(s.make<math::AbsFOp>(x),
                                                        s.number(wide, power));
                             return s.add(before, x);
                           },
                           [&] { return before; });
                     });
  auto average = dyn_cast<onnx::AveragePoolOp>(op);
  bool countsPads = average && average.getCountIncludePad();
  // A window of ceil_mode may reach beyond the padding, which never counts.
  SmallVector<Value> ends;
  for (auto [d, size] : llvm::enumerate(sizes))
    ends.push_back(
        l.size(shapeOf(input)[2 + d] + Polynomial(windows.after[d])));
  Value count = l.fold(
      shape, kernel, l.makeScalar(wide, 0),
      [&](Scalars &s, Indices i, Indices j, Value before) {
        WindowPlace at = getPlace(s, windows, sizes, i.drop_front(2), j);
        Value counts = at.isInside;
        if (countsPads) {
          counts = s.number(s.b.getI1Type(), -1);
          for (auto [place, end] : llvm::zip_equal(at.place, ends))
            counts = s.both(counts, s.compare(Order::Less, place, end));
        }
        return s.select(counts, s.add(before, s.number(wide, 1)), before);
      });
  return l.map(shape, element, {{sum, shape}, {count, shape}},
               [&](Scalars &s, ValueRange x) {
                 Value y =
                     norm
                         ? s.make<math::PowFOp>(x[0], s.number(wide, 1 / power))
                         : s.div(x[0], x[1]);
                 return s.narrow(y, element);
               });
}

static void lowerMaxPool(OnnxLowering &l, onnx::MaxPoolOp op,
                         const onnx::Windows &windows) {
  Value source = l.get(op.getInput());
  Shape shape = shapeOf(op.getResult()), kernel = getKernel(windows);
  SmallVector<Value> sizes = getSpatial(l, op.getInput());
  Type element = elementOf(op.getResult()), wide = getWideType(element);
  bool hasNoSign = isUnsigned(op.getInput().getType());
  Scalars outer(l.builder, l.loc);
  unsigned bits = wide.getIntOrFloatBitWidth();
  Value lowest =
      isa<FloatType>(wide)
          ? outer.number(wide, -std::numeric_limits<double>::infinity())
          : outer.make<arith::ConstantOp>(l.builder.getIntegerAttr(
                wide,
                hasNoSign ? APInt(bits, 0) : APInt::getSignedMinValue(bits)));
  auto read = [&](Scalars &s, Indices i, const WindowPlace &at) {
    SmallVector<Value> place(i.take_front(2));
    llvm::append_range(place, at.place);
    return s.widen(s.read(source, place));
  };
  Value largest =
      l.fold(shape, kernel, lowest,
             [&](Scalars &s, Indices i, Indices j, Value before) {
               WindowPlace at = getPlace(s, windows, sizes, i.drop_front(2), j);
               return s.branch(
                   at.isInside, wide,
                   [&] { return s.max(before, read(s, i, at), hasNoSign); },
                   [&] { return before; });
             });
  l.set(op.getResult(), l.convert(largest, shape, element));
  if (op.getIndices().use_empty())
    return;
  // The first place of the largest element, counted in the whole tensor.
  Type i64 = l.builder.getI64Type();
  Value channels = l.size(shape[1]);
  bool isColumnMajor = op.getStorageOrder() != 0;
  l.set(op.getIndices(),
        l.fold(shape, kernel, l.makeScalar(i64, -1),
               [&](Scalars &s, Indices i, Indices j, Value before) {
                 WindowPlace at =
                     getPlace(s, windows, sizes, i.drop_front(2), j);
                 return s.branch(
                     at.isInside, i64,
                     [&] {
                       Value isIt = s.both(
                           s.compare(Order::Equal, read(s, i, at),
                                     s.read(largest, i)),
                           s.compare(Order::Less, before, s.number(i64, 0)));
                       Value place = s.add(s.mul(i[0], channels), i[1]);
                       Value all = s.index(1), inside = s.index(0);
                       for (size_t d = 0; d < sizes.size(); ++d) {
                         size_t dim = isColumnMajor ? sizes.size() - 1 - d : d;
                         inside =
                             s.add(s.mul(inside, sizes[dim]), at.place[dim]);
                         all = s.mul(all, sizes[dim]);
                       }
                       place = s.add(s.mul(place, all), inside);
                       return s.select(isIt, s.fromIndex(place, i64), before);
                     },
                     [&] { return before; });
               }));
}

static Value lowerGlobalPool(OnnxLowering &l, Operation *op) {
  Value source = l.get(op->getOperand(0));
  Shape shape = shapeOf(op->getOperand(0));
  Shape kept(ArrayRef(shape).take_front(2)),
      folded(ArrayRef(shape).drop_front(2));
  Type element = elementOf(op->getResult(0)), wide = getWideType(element);
  bool isMax = isa<onnx::GlobalMaxPoolOp>(op);
  double start = isMax ? -std::numeric_limits<double>::infinity() : 0;
  Value total = l.fold(kept, folded, l.makeScalar(wide, start),
                       [&](Scalars &s, Indices i, Indices j, Value before) {
                         SmallVector<Value> place(i);
                         llvm::append_range(place, j);
                         Value x = s.widen(s.read(source, place));
                         return isMax ? s.max(before, x) : s.add(before, x);
                       });
  Value count = l.size(onnx::countElements(folded));
  Value result =
      l.map(kept, element, {{total, kept}}, [&](Scalars &s, ValueRange x) {
        Value y = x[0];
        if (!isMax)
          y = s.div(y, s.fromIndex(count, wide));
        return s.narrow(y, element);
      });
  return l.reshape(result, kept, shapeOf(op->getResult(0)));
}

bool OnnxLowering::lowerWindow(Operation *op) {
  if (isa<onnx::GlobalAveragePoolOp, onnx::GlobalMaxPoolOp>(op)) {
    set(op->getResult(0), lowerGlobalPool(*this, op));
    return true;
  }
  if (auto transpose = dyn_cast<onnx::ConvTransposeOp>(op)) {
    onnx::TypeInference inference(symbolic);
    FailureOr<onnx::Windows> windows =
        onnx::Windows::getTransposed(transpose, inference);
    if (succeeded(windows))
      set(transpose.getResult(),
          lowerConvTranspose(*this, transpose, *windows));
    return succeeded(windows);
  }
  bool isConv = isa<onnx::ConvOp, onnx::ConvIntegerOp>(op);
  if (!isConv && !isa<onnx::AveragePoolOp, onnx::LpPoolOp, onnx::MaxPoolOp>(op))
    return false;
  onnx::TypeInference inference(symbolic);
  FailureOr<onnx::Windows> windows =
      onnx::Windows::get(op, isConv ? op->getOperand(1) : Value(), inference);
  if (failed(windows))
    return false;
  if (auto pool = dyn_cast<onnx::MaxPoolOp>(op)) {
    lowerMaxPool(*this, pool, *windows);
    return true;
  }
  Value result = isConv ? lowerConv(*this, op, *windows)
                        : lowerAveragePool(*this, op, *windows);
  if (result)
    set(op->getResult(0), result);
  return result != nullptr;
}
