//===- LowerOnnxReductions.cpp - Operators along axes ---------------------===//

#include "passes/Graph/LowerOnnx.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

static double getLowest(Type type) {
  if (isa<FloatType>(type))
    return -std::numeric_limits<double>::infinity();
  return 0;
}

/// The least (or largest) number of a type, from which Max (Min) starts.
static Value makeExtreme(Scalars &s, Type type, bool isLeast, bool isUnsigned) {
  if (isa<FloatType>(type))
    return s.number(type, isLeast ? getLowest(type) : -getLowest(type));
  unsigned bits = type.getIntOrFloatBitWidth();
  APInt value = isUnsigned
                    ? (isLeast ? APInt(bits, 0) : APInt::getMaxValue(bits))
                    : (isLeast ? APInt::getSignedMinValue(bits)
                               : APInt::getSignedMaxValue(bits));
  return s.make<arith::ConstantOp>(s.b.getIntegerAttr(type, value));
}

namespace {
/// The dimensions of a tensor, some of which are folded.
struct Split {
  SmallVector<bool> isFolded;
  Shape kept, folded;

  /// One dimension is folded.
  Split(ArrayRef<Polynomial> shape, int64_t axis)
      : isFolded(shape.size(), false) {
    isFolded[axis] = true;
    for (auto [dim, size] : llvm::enumerate(shape))
      (isFolded[dim] ? folded : kept).push_back(size);
  }
  Split(ArrayRef<Polynomial> shape, ArrayRef<bool> which)
      : isFolded(which.begin(), which.end()) {
    for (auto [size, fold] : llvm::zip_equal(shape, which))
      (fold ? folded : kept).push_back(size);
  }
  /// Place in the tensor.
  SmallVector<Value> join(Indices kept, Indices folded) const {
    SmallVector<Value> place;
    for (bool fold : isFolded) {
      Indices &from = fold ? folded : kept;
      place.push_back(from.front());
      from = from.drop_front();
    }
    return place;
  }
};
} // namespace

/// What an element adds to a reduction.
static Value reduceStep(Operation *op, Scalars &s, Value x, Value total,
                        bool isUnsigned) {
  auto absolute = [&](Value y) {
    return isa<FloatType>(y.getType())
               ? s.make<math::AbsFOp>(y)
               : s.max(y, s.sub(s.number(y.getType(), 0), y));
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<onnx::ReduceMaxOp>(
          [&](auto) { return s.max(total, x, isUnsigned); })
      .Case<onnx::ReduceMinOp>(
          [&](auto) { return s.min(total, x, isUnsigned); })
      .Case<onnx::ReduceProdOp>([&](auto) { return s.mul(total, x); })
      .Case<onnx::ReduceL1Op>([&](auto) { return s.add(total, absolute(x)); })
      .Case<onnx::ReduceL2Op, onnx::ReduceSumSquareOp>(
          [&](auto) { return s.add(total, s.mul(x, x)); })
      .Default([&](Operation *) { return s.add(total, x); });
}

/// Reduces the dimensions of `split`; the result has the kept ones.
static Value reduce(OnnxLowering &l, Operation *op, Value tensor,
                    const Split &split, bool isUnsigned) {
  Type element = getElementTypeOrSelf(tensor.getType());
  Type wide = getWideType(element);
  Scalars outer(l.builder, l.loc);
  Value init =
      isa<onnx::ReduceMaxOp, onnx::ReduceMinOp>(op)
          ? makeExtreme(outer, wide, isa<onnx::ReduceMaxOp>(op), isUnsigned)
          : outer.number(wide, isa<onnx::ReduceProdOp>(op) ? 1 : 0);
  return l.fold(split.kept, split.folded, init,
                [&](Scalars &s, Indices i, Indices j, Value total) {
                  Value x = s.widen(s.read(tensor, split.join(i, j)));
                  return reduceStep(op, s, x, total, isUnsigned);
                });
}

static bool isReduction(Operation *op) {
  return isa<onnx::ReduceSumOp, onnx::ReduceMeanOp, onnx::ReduceMaxOp,
             onnx::ReduceMinOp, onnx::ReduceProdOp, onnx::ReduceL1Op,
             onnx::ReduceL2Op, onnx::ReduceLogSumOp, onnx::ReduceLogSumExpOp,
             onnx::ReduceSumSquareOp>(op);
}

/// The dimensions that a Reduce operator reduces.
static SmallVector<bool> getReduced(Operation *op,
                                    const onnx::SymbolicValues &symbolic) {
  int64_t rank = shapeOf(op->getOperand(0)).size();
  SmallVector<int64_t, 4> axes;
  if (op->getNumOperands() > 1)
    axes = *symbolic.getNumbers(op->getOperand(1));
  bool isAll =
      axes.empty() &&
      op->getAttrOfType<IntegerAttr>("noop_with_empty_axes").getInt() == 0;
  SmallVector<bool> reduced(rank, isAll);
  for (int64_t axis : axes)
    reduced[axis < 0 ? axis + rank : axis] = true;
  return reduced;
}

static Value lowerReduce(OnnxLowering &l, Operation *op) {
  Value data = op->getOperand(0), result = op->getResult(0);
  Shape shape = shapeOf(data);
  Split split(shape, getReduced(op, l.symbolic));
  Value tensor = l.get(data);
  Type element = elementOf(result), wide = getWideType(element);
  bool hasNoSign = isUnsigned(data.getType());
  Value total;
  if (isa<onnx::ReduceLogSumExpOp>(op)) {
    // exp(x - max) does not overflow.
    Scalars outer(l.builder, l.loc);
    Value largest =
        l.fold(split.kept, split.folded,
               makeExtreme(outer, wide, /*isLeast=*/true, false),
               [&](Scalars &s, Indices i, Indices j, Value most) {
                 return s.max(most, s.widen(s.read(tensor, split.join(i, j))));
               });
    Value sum = l.fold(split.kept, split.folded, outer.number(wide, 0),
                       [&](Scalars &s, Indices i, Indices j, Value before) {
                         Value x = s.widen(s.read(tensor, split.join(i, j)));
                         Value scaled = s.sub(x, s.read(largest, i));
                         return s.add(before, s.make<math::ExpOp>(scaled));
                       });
    total = l.map(split.kept, wide, {{sum, split.kept}, {largest, split.kept}},
                  [&](Scalars &s, ValueRange x) {
                    return s.add(s.make<math::LogOp>(x[0]), x[1]);
                  });
  } else {
    total = reduce(l, op, tensor, split, hasNoSign);
  }
  Value count;
  if (isa<onnx::ReduceMeanOp>(op))
    count = l.size(onnx::countElements(split.folded));
  bool isFinal =
      isa<onnx::ReduceMeanOp, onnx::ReduceL2Op, onnx::ReduceLogSumOp>(op);
  if (isFinal || wide != element)
    total = l.map(split.kept, element, {{total, split.kept}},
                  [&](Scalars &s, ValueRange x) {
                    Value value = x[0];
                    if (count)
                      value = s.div(value, s.fromIndex(count, wide));
                    else if (isa<onnx::ReduceL2Op>(op))
                      value = s.make<math::SqrtOp>(value);
                    else if (isa<onnx::ReduceLogSumOp>(op))
                      value = s.make<math::LogOp>(value);
                    return s.narrow(value, element);
                  });
  return l.reshape(total, split.kept, shapeOf(result));
}

static Value lowerArg(OnnxLowering &l, Operation *op) {
  Value data = op->getOperand(0), result = op->getResult(0);
  Shape shape = shapeOf(data);
  int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
  SmallVector<bool> which(shape.size(), false);
  which[axis < 0 ? axis + shape.size() : axis] = true;
  Split split(shape, which);
  Value tensor = l.get(data);
  bool isMax = isa<onnx::ArgMaxOp>(op), hasNoSign = isUnsigned(data.getType());
  bool isLast =
      op->getAttrOfType<IntegerAttr>("select_last_index").getInt() != 0;
  Scalars outer(l.builder, l.loc);
  Value best = l.fold(
      split.kept, split.folded,
      makeExtreme(outer, getWideType(elementOf(data)), isMax, hasNoSign),
      [&](Scalars &s, Indices i, Indices j, Value most) {
        Value x = s.widen(s.read(tensor, split.join(i, j)));
        return isMax ? s.max(most, x, hasNoSign) : s.min(most, x, hasNoSign);
      });
  Type i64 = l.builder.getI64Type();
  Value found =
      l.fold(split.kept, split.folded, outer.number(i64, -1),
             [&](Scalars &s, Indices i, Indices j, Value place) {
               Value x = s.widen(s.read(tensor, split.join(i, j)));
               Value isBest = s.compare(Order::Equal, x, s.read(best, i));
               if (!isLast)
                 isBest = s.both(
                     isBest, s.compare(Order::Less, place, s.number(i64, 0)));
               return s.select(isBest, s.fromIndex(j[0], i64), place);
             });
  return l.reshape(found, split.kept, shapeOf(result));
}

Value OnnxLowering::softmax(Value tensor, ArrayRef<Polynomial> shape,
                            int64_t axis, Type element, bool zeroMasked) {
  Split split(shape, axis);
  Type wide = getWideType(getElementTypeOrSelf(tensor.getType()));
  Scalars outer(builder, loc);
  Value largest =
      fold(split.kept, split.folded, outer.number(wide, getLowest(wide)),
           [&](Scalars &s, Indices i, Indices j, Value most) {
             return s.max(most, s.widen(s.read(tensor, split.join(i, j))));
           });
  auto exponential = [&](Scalars &s, Indices kept, Indices place) {
    Value x = s.sub(s.widen(s.read(tensor, place)), s.read(largest, kept));
    return s.make<math::ExpOp>(x);
  };
  Value sum = fold(split.kept, split.folded, outer.number(wide, 0),
                   [&](Scalars &s, Indices i, Indices j, Value before) {
                     return s.add(before, exponential(s, i, split.join(i, j)));
                   });
  return generate(shape, element, [&](Scalars &s, Indices place) {
    SmallVector<Value> kept(place);
    kept.erase(kept.begin() + axis);
    Value value = s.div(exponential(s, kept, place), s.read(sum, kept));
    if (zeroMasked) {
      Value lowest = s.number(wide, getLowest(wide));
      value = s.select(s.compare(Order::Equal, s.read(largest, kept), lowest),
                       s.number(wide, 0), value);
    }
    return s.narrow(value, element);
  });
}

static Value lowerLogSoftmax(OnnxLowering &l, onnx::LogSoftmaxOp op) {
  Shape shape = shapeOf(op.getInput());
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + shape.size() : op.getAxis();
  Split split(shape, axis);
  Value tensor = l.get(op.getInput());
  Type element = elementOf(op.getResult()), wide = getWideType(element);
  Scalars outer(l.builder, l.loc);
  Value largest =
      l.fold(split.kept, split.folded, outer.number(wide, getLowest(wide)),
             [&](Scalars &s, Indices i, Indices j, Value most) {
               return s.max(most, s.widen(s.read(tensor, split.join(i, j))));
             });
  Value sum = l.fold(split.kept, split.folded, outer.number(wide, 0),
                     [&](Scalars &s, Indices i, Indices j, Value before) {
                       Value x =
                           s.sub(s.widen(s.read(tensor, split.join(i, j))),
                                 s.read(largest, i));
                       return s.add(before, s.make<math::ExpOp>(x));
                     });
  return l.generate(shape, element, [&](Scalars &s, Indices place) {
    SmallVector<Value> kept(place);
    kept.erase(kept.begin() + axis);
    Value x = s.sub(s.widen(s.read(tensor, place)), s.read(largest, kept));
    return s.narrow(s.sub(x, s.make<math::LogOp>(s.read(sum, kept))), element);
  });
}

/// 1 for the first of the largest elements, 0 for others.
static Value lowerHardmax(OnnxLowering &l, onnx::HardmaxOp op) {
  Shape shape = shapeOf(op.getInput());
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + shape.size() : op.getAxis();
  Split split(shape, axis);
  Value tensor = l.get(op.getInput());
  Type element = elementOf(op.getResult());
  Type i64 = l.builder.getI64Type();
  Scalars outer(l.builder, l.loc);
  Value place =
      l.fold(split.kept, split.folded, outer.number(i64, 0),
             [&](Scalars &s, Indices i, Indices j, Value before) {
               Value best = s.read(tensor, split.join(i, s.toIndex(before)));
               Value isBetter =
                   s.compare(Order::Less, s.widen(best),
                             s.widen(s.read(tensor, split.join(i, j))));
               return s.select(isBetter, s.fromIndex(j[0], i64), before);
             });
  return l.generate(shape, element, [&](Scalars &s, Indices i) {
    SmallVector<Value> kept(i);
    kept.erase(kept.begin() + axis);
    return s.select(
        s.compare(Order::Equal, s.toIndex(s.read(place, kept)), i[axis]),
        s.number(element, 1), s.number(element, 0));
  });
}

/// Sums or products of the elements up to each one.
static Value lowerCumulative(OnnxLowering &l, Operation *op) {
  Value data = op->getOperand(0);
  Shape shape = shapeOf(data);
  int64_t axis = l.symbolic.getNumbers(op->getOperand(1))->front();
  axis = axis < 0 ? axis + shape.size() : axis;
  auto get = [&](StringRef name) {
    return op->getAttrOfType<IntegerAttr>(name).getInt() != 0;
  };
  bool isReverse = get("reverse"), isExclusive = get("exclusive");
  bool isSum = isa<onnx::CumSumOp>(op);
  Value tensor = l.get(data);
  Type element = elementOf(data);
  Scalars outer(l.builder, l.loc);
  Value total = l.fold(
      shape, {shape[axis]}, outer.number(getWideType(element), isSum ? 0 : 1),
      [&](Scalars &s, Indices i, Indices j, Value before) {
        SmallVector<Value> place(i);
        place[axis] = j[0];
        Value x = s.widen(s.read(tensor, place));
        Value first = isReverse ? i[axis] : j[0];
        Value second = isReverse ? j[0] : i[axis];
        Value counts = s.compare(isExclusive ? Order::Less : Order::LessOrEqual,
                                 first, second);
        return s.select(counts, isSum ? s.add(before, x) : s.mul(before, x),
                        before);
      });
  return l.convert(total, shape, element);
}

/// The rank of each element is how many come before it; element k is the one of
/// rank k.
Value OnnxLowering::topPlaces(Value tensor, ArrayRef<Polynomial> shape,
                              ArrayRef<Polynomial> result, int64_t axis,
                              bool isLargest, bool hasNoSign) {
  Type i64 = builder.getI64Type();
  Scalars outer(builder, loc);
  Value rank =
      fold(shape, {shape[axis]}, outer.number(i64, 0),
           [&](Scalars &s, Indices i, Indices j, Value before) {
             SmallVector<Value> place(i);
             place[axis] = j[0];
             Value x = s.widen(s.read(tensor, i));
             Value y = s.widen(s.read(tensor, place));
             Value precedes = isLargest
                                  ? s.compare(Order::Less, x, y, hasNoSign)
                                  : s.compare(Order::Less, y, x, hasNoSign);
             // Of equal elements the first comes first.
             Value isEqual = s.both(s.compare(Order::Equal, x, y),
                                    s.compare(Order::Less, j[0], i[axis]));
             return s.select(s.either(precedes, isEqual),
                             s.add(before, s.number(i64, 1)), before);
           });
  return fold(result, {shape[axis]}, outer.number(i64, 0),
              [&](Scalars &s, Indices i, Indices j, Value before) {
                SmallVector<Value> place(i);
                place[axis] = j[0];
                Value isIt = s.compare(Order::Equal, s.read(rank, place),
                                       s.fromIndex(i[axis], i64));
                return s.select(isIt, s.fromIndex(j[0], i64), before);
              });
}

static void lowerTopK(OnnxLowering &l, onnx::TopKOp op) {
  Shape shape = shapeOf(op.getInput()), result = shapeOf(op.getValues());
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + shape.size() : op.getAxis();
  Value tensor = l.get(op.getInput());
  Value places = l.topPlaces(tensor, shape, result, axis, op.getLargest() != 0,
                             isUnsigned(op.getInput().getType()));
  l.set(op.getIndices(), places);
  l.set(op.getValues(), l.generate(result, elementOf(op.getValues()),
                                   [&](Scalars &s, Indices i) {
                                     SmallVector<Value> place(i);
                                     place[axis] = s.toIndex(s.read(places, i));
                                     return s.read(tensor, place);
                                   }));
}

bool OnnxLowering::lowerReduction(Operation *op) {
  if (isReduction(op)) {
    set(op->getResult(0), lowerReduce(*this, op));
    return true;
  }
  if (isa<onnx::ArgMaxOp, onnx::ArgMinOp>(op)) {
    set(op->getResult(0), lowerArg(*this, op));
    return true;
  }
  if (auto top = dyn_cast<onnx::TopKOp>(op)) {
    lowerTopK(*this, top);
    return true;
  }
  if (isa<onnx::CumSumOp, onnx::CumProdOp>(op)) {
    set(op->getResult(0), lowerCumulative(*this, op));
    return true;
  }
  if (auto log = dyn_cast<onnx::LogSoftmaxOp>(op)) {
    set(log.getResult(), lowerLogSoftmax(*this, log));
    return true;
  }
  if (auto hard = dyn_cast<onnx::HardmaxOp>(op)) {
    set(hard.getResult(), lowerHardmax(*this, hard));
    return true;
  }
  if (auto soft = dyn_cast<onnx::SoftmaxOp>(op)) {
    Shape shape = shapeOf(soft.getInput());
    int64_t axis = soft.getAxis();
    set(soft.getResult(), softmax(get(soft.getInput()), shape,
                                  axis < 0 ? axis + shape.size() : axis,
                                  elementOf(soft.getResult())));
    return true;
  }
  return false;
}
