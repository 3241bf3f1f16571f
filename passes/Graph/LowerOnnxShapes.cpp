//===- LowerOnnxShapes.cpp - Operators that move elements -----------------===//

#include "passes/Graph/LowerOnnx.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

static int64_t wrap(int64_t axis, size_t rank) {
  return axis < 0 ? axis + int64_t(rank) : axis;
}

static Value lowerTranspose(OnnxLowering &l, onnx::TransposeOp op) {
  Shape shape = shapeOf(op.getResult());
  int64_t rank = shape.size();
  SmallVector<int64_t> perm;
  if (op.getPerm())
    perm.assign(op.getPerm()->begin(), op.getPerm()->end());
  else
    perm = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(rank)));
  Value tensor = l.get(op.getData());
  return l.generate(shape, elementOf(op.getResult()),
                    [&](Scalars &s, Indices i) {
                      SmallVector<Value> place(rank);
                      for (auto [to, from] : llvm::enumerate(perm))
                        place[wrap(from, rank)] = i[to];
                      return s.read(tensor, place);
                    });
}

static Value lowerConcat(OnnxLowering &l, onnx::ConcatOp op) {
  Shape shape = shapeOf(op.getResult());
  int64_t axis = wrap(op.getAxis(), shape.size());
  Type element = elementOf(op.getResult());
  SmallVector<Value> tensors, ends;
  Polynomial end(0);
  for (Value input : op.getInputs()) {
    tensors.push_back(l.get(input));
    end += shapeOf(input)[axis];
    ends.push_back(l.size(end));
  }
  return l.generate(shape, element, [&](Scalars &s, Indices i) {
    // Inputs from the first; what is beyond the others is in the last one.
    std::function<Value(size_t)> pick = [&](size_t input) {
      auto read = [&] {
        SmallVector<Value> place(i);
        if (input > 0)
          place[axis] = s.sub(i[axis], ends[input - 1]);
        return s.read(tensors[input], place);
      };
      if (input + 1 == tensors.size())
        return read();
      return s.branch(s.compare(Order::Less, i[axis], ends[input]), element,
                      read, [&] { return pick(input + 1); });
    };
    return pick(0);
  });
}

static void lowerSplit(OnnxLowering &l, onnx::SplitOp op) {
  Value tensor = l.get(op.getInput());
  size_t rank = shapeOf(op.getInput()).size();
  int64_t axis = wrap(op.getAxis(), rank);
  Polynomial start(0);
  for (Value part : op.getOutputs()) {
    Value offset = l.size(start);
    l.set(part, l.generate(shapeOf(part), elementOf(part),
                           [&](Scalars &s, Indices i) {
                             SmallVector<Value> place(i);
                             place[axis] = s.add(i[axis], offset);
                             return s.read(tensor, place);
                           }));
    start += shapeOf(part)[axis];
  }
}

static Value lowerSlice(OnnxLowering &l, onnx::SliceOp op) {
  Shape shape = shapeOf(op.getData());
  const auto &starts = *l.symbolic.get(op.getStarts());
  const auto &ends = *l.symbolic.get(op.getEnds());
  SmallVector<int64_t, 4> axes =
      llvm::to_vector<4>(llvm::seq<int64_t>(starts.size()));
  SmallVector<int64_t, 4> steps(starts.size(), 1);
  if (op.getAxes())
    axes = *l.symbolic.getNumbers(op.getAxes());
  if (op.getSteps())
    steps = *l.symbolic.getNumbers(op.getSteps());
  struct Cut {
    int64_t axis, step;
    Value start, last;
  };
  SmallVector<Cut> cuts;
  for (auto [k, axis] : llvm::enumerate(axes)) {
    int64_t dim = wrap(axis, shape.size());
    auto range = *onnx::getSliceRange(shape[dim], starts[k], ends[k], steps[k]);
    cuts.push_back({dim, steps[k], l.size(range.start),
                    l.size(shape[dim] + Polynomial(-1))});
  }
  Value tensor = l.get(op.getData());
  return l.generate(
      shapeOf(op.getResult()), elementOf(op.getResult()),
      [&](Scalars &s, Indices i) {
        SmallVector<Value> place(i);
        for (const Cut &cut : cuts) {
          Value at = s.add(cut.start, s.mul(i[cut.axis], s.index(cut.step)));
          // A symbolic cut lies inside unless sizes do not fit each other.
          place[cut.axis] = s.max(s.min(at, cut.last), s.index(0));
        }
        return s.read(tensor, place);
      });
}

static bool lowerPad(OnnxLowering &l, onnx::PadOp op) {
  Shape shape = shapeOf(op.getData());
  const auto &pads = *l.symbolic.get(op.getPads());
  SmallVector<int64_t, 4> axes =
      llvm::to_vector<4>(llvm::seq<int64_t>(shape.size()));
  if (op.getAxes())
    axes = *l.symbolic.getNumbers(op.getAxes());
  StringRef mode = op.getMode();
  if (!llvm::is_contained({"constant", "edge", "reflect", "wrap"}, mode))
    return false;
  Type element = elementOf(op.getResult());
  Value tensor = l.get(op.getData());
  Value value = op.getConstantValue() ? l.get(op.getConstantValue()) : Value();
  size_t valueRank =
      op.getConstantValue() ? shapeOf(op.getConstantValue()).size() : 0;
  struct Side {
    int64_t axis;
    Value before, size;
  };
  SmallVector<Side> sides;
  for (auto [k, axis] : llvm::enumerate(axes)) {
    int64_t dim = wrap(axis, shape.size());
    sides.push_back({dim, l.size(pads[k]), l.size(shape[dim])});
  }
  l.set(
      op.getResult(),
      l.generate(shapeOf(op.getResult()), element, [&](Scalars &s, Indices i) {
        SmallVector<Value> place(i);
        Value isInside = s.number(s.b.getI1Type(), -1);
        Value zero = s.index(0), one = s.index(1);
        for (const Side &side : sides) {
          Value at = s.sub(i[side.axis], side.before);
          Value last = s.sub(side.size, one);
          Value inside = s.both(s.compare(Order::LessOrEqual, zero, at),
                                s.compare(Order::Less, at, side.size));
          isInside = s.both(isInside, inside);
          if (mode == "edge") {
            at = s.min(s.max(at, zero), last);
          } else if (mode == "wrap") {
            Value rest = s.make<arith::RemSIOp>(at, side.size);
            at = s.select(s.compare(Order::Less, rest, zero),
                          s.add(rest, side.size), rest);
          } else if (mode == "reflect") {
            // Back and forth between the first and the last element.
            Value period = s.max(s.add(last, last), one);
            Value rest = s.make<arith::RemSIOp>(at, period);
            rest = s.select(s.compare(Order::Less, rest, zero),
                            s.add(rest, period), rest);
            at = s.min(rest, s.sub(period, rest));
            at = s.min(at, last);
          }
          place[side.axis] = at;
        }
        if (mode != "constant")
          return s.read(tensor, place);
        return s.branch(
            isInside, element, [&] { return s.read(tensor, place); },
            [&] {
              if (!value)
                return s.number(element, 0);
              SmallVector<Value> zeros(valueRank, s.index(0));
              return s.read(value, zeros);
            });
      }));
  return true;
}

static Value lowerTile(OnnxLowering &l, onnx::TileOp op) {
  Shape shape = shapeOf(op.getInput());
  Value tensor = l.get(op.getInput());
  SmallVector<Value> sizes;
  for (const Polynomial &size : shape)
    sizes.push_back(l.size(size));
  return l.generate(shapeOf(op.getResult()), elementOf(op.getResult()),
                    [&](Scalars &s, Indices i) {
                      SmallVector<Value> place;
                      for (auto [index, size] : llvm::zip_equal(i, sizes))
                        place.push_back(s.make<arith::RemUIOp>(index, size));
                      return s.read(tensor, place);
                    });
}

static Value lowerTrilu(OnnxLowering &l, onnx::TriluOp op) {
  Value k = op.getK() ? l.get(op.getK()) : Value();
  size_t kRank = op.getK() ? shapeOf(op.getK()).size() : 0;
  Shape shape = shapeOf(op.getResult());
  size_t rank = shape.size();
  Type element = elementOf(op.getResult());
  Value tensor = l.get(op.getInput());
  return l.generate(shape, element, [&](Scalars &s, Indices i) {
    Value offset = s.index(0);
    if (k)
      offset = s.toIndex(s.read(k, SmallVector<Value>(kRank, s.index(0))));
    Value diagonal = s.sub(i[rank - 1], i[rank - 2]);
    Value keeps = op.getUpper()
                      ? s.compare(Order::LessOrEqual, offset, diagonal)
                      : s.compare(Order::LessOrEqual, diagonal, offset);
    return s.select(keeps, s.read(tensor, i), s.number(element, 0));
  });
}

static Value lowerRange(OnnxLowering &l, onnx::RangeOp op) {
  Type element = elementOf(op.getResult());
  Value start = l.get(op.getStart()), delta = l.get(op.getDelta());
  auto first = [](Scalars &s, Value tensor) {
    int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
    return s.read(tensor, SmallVector<Value>(rank, s.index(0)));
  };
  return l.generate(
      shapeOf(op.getResult()), element, [&](Scalars &s, Indices i) {
        Value step = s.widen(first(s, delta));
        Value place = s.fromIndex(i[0], step.getType());
        return s.narrow(s.add(s.widen(first(s, start)), s.mul(place, step)),
                        element);
      });
}

static Value lowerOneHot(OnnxLowering &l, onnx::OneHotOp op) {
  Shape shape = shapeOf(op.getResult());
  int64_t axis = wrap(op.getAxis(), shape.size());
  Value indices = l.get(op.getIndices()), values = l.get(op.getValues());
  Value depth = l.size(shape[axis]);
  return l.generate(
      shape, elementOf(op.getResult()), [&](Scalars &s, Indices i) {
        SmallVector<Value> place(i);
        place.erase(place.begin() + axis);
        Value hot = s.convert(s.read(indices, place), s.b.getI64Type());
        hot = s.toIndex(hot);
        Value isNegative = s.compare(Order::Less, hot, s.index(0));
        hot = s.select(isNegative, s.add(hot, depth), hot);
        Value isOn = s.compare(Order::Equal, hot, i[axis]);
        Value on = s.select(isOn, s.index(1), s.index(0));
        return s.read(values, on);
      });
}

static Value lowerBlocks(OnnxLowering &l, Operation *op, bool toSpace) {
  Value data = op->getOperand(0), result = op->getResult(0),
        tensor = l.get(data);
  int64_t block = op->getAttrOfType<IntegerAttr>("blocksize").getInt();
  bool isDepthFirst = op->getAttrOfType<StringAttr>("mode").getValue() == "DCR";
  Value channels = l.size(toSpace ? shapeOf(result)[1] : shapeOf(data)[1]);
  return l.generate(
      shapeOf(result), elementOf(result), [&](Scalars &s, Indices i) {
        Value b = s.index(block), square = s.index(block * block);
        auto div = [&](Value x, Value y) {
          return s.make<arith::DivUIOp>(x, y);
        };
        auto rem = [&](Value x, Value y) {
          return s.make<arith::RemUIOp>(x, y);
        };
        if (!toSpace) {
          Value inside = div(i[1], channels);
          return s.read(tensor, {i[0], rem(i[1], channels),
                                 s.add(s.mul(i[2], b), div(inside, b)),
                                 s.add(s.mul(i[3], b), rem(inside, b))});
        }
        Value inside = s.add(s.mul(rem(i[2], b), b), rem(i[3], b));
        Value depth = isDepthFirst ? s.add(s.mul(inside, channels), i[1])
                                   : s.add(s.mul(i[1], square), inside);
        return s.read(tensor, {i[0], depth, div(i[2], b), div(i[3], b)});
      });
}

static Value lowerReverseSequence(OnnxLowering &l, onnx::ReverseSequenceOp op) {
  Value tensor = l.get(op.getInput()), lengths = l.get(op.getSequenceLens());
  Shape shape = shapeOf(op.getInput());
  int64_t batch = wrap(op.getBatchAxis(), shape.size()),
          time = wrap(op.getTimeAxis(), shape.size());
  Value most = l.size(shape[time]);
  return l.generate(
      shapeOf(op.getResult()), elementOf(op.getResult()),
      [&](Scalars &s, Indices i) {
        Value length = s.min(s.toIndex(s.read(lengths, i[batch])), most);
        SmallVector<Value> place(i);
        Value back = s.sub(s.sub(length, s.index(1)), i[time]);
        place[time] =
            s.select(s.compare(Order::Less, i[time], length), back, i[time]);
        return s.read(tensor, place);
      });
}

bool OnnxLowering::lowerShape(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<onnx::ReshapeOp, onnx::FlattenOp, onnx::SqueezeOp,
            onnx::UnsqueezeOp>([&](auto) {
        Value data = op->getOperand(0), result = op->getResult(0);
        set(result, reshape(get(data), shapeOf(data), shapeOf(result)));
        return true;
      })
      .Case([&](onnx::TransposeOp transpose) {
        set(transpose.getResult(), lowerTranspose(*this, transpose));
        return true;
      })
      .Case([&](onnx::ConcatOp concat) {
        set(concat.getResult(), lowerConcat(*this, concat));
        return true;
      })
      .Case([&](onnx::SplitOp split) {
        lowerSplit(*this, split);
        return true;
      })
      .Case([&](onnx::SliceOp slice) {
        set(slice.getResult(), lowerSlice(*this, slice));
        return true;
      })
      .Case([&](onnx::PadOp pad) { return lowerPad(*this, pad); })
      .Case([&](onnx::ExpandOp expand) {
        Value result = expand.getResult();
        set(result, map(shapeOf(result), elementOf(result),
                        ValueRange(expand.getInput()),
                        [](Scalars &, ValueRange x) { return x[0]; }));
        return true;
      })
      .Case([&](onnx::TileOp tile) {
        set(tile.getResult(), lowerTile(*this, tile));
        return true;
      })
      .Case([&](onnx::TriluOp trilu) {
        set(trilu.getResult(), lowerTrilu(*this, trilu));
        return true;
      })
      .Case([&](onnx::RangeOp range) {
        set(range.getResult(), lowerRange(*this, range));
        return true;
      })
      .Case([&](onnx::ConstantOfShapeOp constant) {
        Value result = constant.getResult();
        Type element = elementOf(result);
        TypedAttr value = builder.getZeroAttr(element);
        if (constant.getValue()) {
          auto dense = cast<DenseElementsAttr>(*constant.getValue());
          if (dense.getNumElements() != 1)
            return false;
          value = cast<TypedAttr>(*toStored(dense).value_begin<Attribute>());
        }
        set(result,
            generate(shapeOf(result), element, [&](Scalars &s, Indices) {
              return s.make<arith::ConstantOp>(value);
            }));
        return true;
      })
      .Case([&](onnx::EyeLikeOp eye) {
        Type element = elementOf(eye.getResult());
        set(eye.getResult(),
            generate(shapeOf(eye.getResult()), element,
                     [&](Scalars &s, Indices i) {
                       Value column = s.add(i[0], s.index(eye.getK()));
                       Value isOne = s.compare(Order::Equal, i[1], column);
                       return s.select(isOne, s.number(element, 1),
                                       s.number(element, 0));
                     }));
        return true;
      })
      .Case([&](onnx::OneHotOp oneHot) {
        set(oneHot.getResult(), lowerOneHot(*this, oneHot));
        return true;
      })
      .Case<onnx::DepthToSpaceOp, onnx::SpaceToDepthOp>([&](auto) {
        set(op->getResult(0),
            lowerBlocks(*this, op, isa<onnx::DepthToSpaceOp>(op)));
        return true;
      })
      .Case([&](onnx::ReverseSequenceOp reverse) {
        set(reverse.getResult(), lowerReverseSequence(*this, reverse));
        return true;
      })
      .Default([](Operation *) { return false; });
}
