//===- LowerOnnxPlaces.cpp - Gather and scatter ---------------------------===//

#include "passes/Graph/LowerOnnx.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

using Order = Scalars::Order;

static int64_t wrap(int64_t axis, size_t rank) {
  return axis < 0 ? axis + int64_t(rank) : axis;
}

/// An element of a tensor of indices as a place in a dimension: negative ones
/// count from its end.
static Value readPlace(Scalars &s, Value indices, Indices i, Value size) {
  Value place = s.toIndex(s.read(indices, i));
  Value isNegative = s.compare(Order::Less, place, s.index(0));
  return s.select(isNegative, s.add(place, size), place);
}

/// A place that is inside in any case, so that nothing else in memory is read.
static Value keepInside(Scalars &s, Value place, Value size) {
  return s.max(s.min(place, s.sub(size, s.index(1))), s.index(0));
}

static Value lowerGather(OnnxLowering &l, onnx::GatherOp op) {
  Shape data = shapeOf(op.getData());
  int64_t axis = wrap(op.getAxis(), data.size());
  int64_t count = shapeOf(op.getIndices()).size();
  Value tensor = l.get(op.getData()), indices = l.get(op.getIndices());
  Value size = l.size(data[axis]);
  return l.generate(
      shapeOf(op.getResult()), elementOf(op.getResult()),
      [&](Scalars &s, Indices i) {
        SmallVector<Value> place(i.take_front(axis));
        place.push_back(keepInside(
            s, readPlace(s, indices, i.slice(axis, count), size), size));
        llvm::append_range(place, i.drop_front(axis + count));
        return s.read(tensor, place);
      });
}

static Value lowerGatherElements(OnnxLowering &l, onnx::GatherElementsOp op) {
  Shape data = shapeOf(op.getData());
  int64_t axis = wrap(op.getAxis(), data.size());
  Value tensor = l.get(op.getData()), indices = l.get(op.getIndices());
  Value size = l.size(data[axis]);
  return l.generate(shapeOf(op.getResult()), elementOf(op.getResult()),
                    [&](Scalars &s, Indices i) {
                      SmallVector<Value> place(i);
                      place[axis] =
                          keepInside(s, readPlace(s, indices, i, size), size);
                      return s.read(tensor, place);
                    });
}

static Value lowerGatherND(OnnxLowering &l, onnx::GatherNDOp op) {
  Shape data = shapeOf(op.getData()), indices = shapeOf(op.getIndices());
  int64_t depth = *indices.back().getConstant(), batch = op.getBatchDims();
  int64_t outer = indices.size() - 1;
  Value tensor = l.get(op.getData()), list = l.get(op.getIndices());
  SmallVector<Value> sizes;
  for (int64_t k = 0; k < depth; ++k)
    sizes.push_back(l.size(data[batch + k]));
  return l.generate(shapeOf(op.getResult()), elementOf(op.getResult()),
                    [&](Scalars &s, Indices i) {
                      SmallVector<Value> place(i.take_front(batch));
                      SmallVector<Value> at(i.take_front(outer));
                      at.push_back({});
                      for (int64_t k = 0; k < depth; ++k) {
                        at.back() = s.index(k);
                        place.push_back(keepInside(
                            s, readPlace(s, list, at, sizes[k]), sizes[k]));
                      }
                      llvm::append_range(place, i.drop_front(outer));
                      return s.read(tensor, place);
                    });
}

/// What an update does to an element.
static Value combine(Scalars &s, StringRef reduction, Value before,
                     Value update, bool isUnsigned) {
  if (reduction == "add")
    return s.add(before, update);
  if (reduction == "mul")
    return s.mul(before, update);
  if (reduction == "min")
    return s.min(before, update, isUnsigned);
  if (reduction == "max")
    return s.max(before, update, isUnsigned);
  return update;
}

/// Each element looks for its updates along the axis, in order.
static Value lowerScatterElements(OnnxLowering &l, onnx::ScatterElementsOp op) {
  Shape shape = shapeOf(op.getData()), updated = shapeOf(op.getIndices());
  int64_t axis = wrap(op.getAxis(), shape.size());
  Type element = elementOf(op.getResult());
  Value data = l.get(op.getData()), indices = l.get(op.getIndices());
  Value updates = l.get(op.getUpdates());
  Value size = l.size(shape[axis]);
  SmallVector<Value> limits;
  for (const Polynomial &extent : updated)
    limits.push_back(l.size(extent));
  bool hasNoSign = isUnsigned(op.getData().getType());
  return l.fold(
      shape, {updated[axis]}, data,
      [&](Scalars &s, Indices i, Indices j, Value before) {
        SmallVector<Value> at(i);
        at[axis] = j[0];
        Value isInside = s.number(s.b.getI1Type(), -1);
        for (auto [dim, limit] : llvm::enumerate(limits))
          if (int64_t(dim) != axis)
            isInside = s.both(isInside, s.compare(Order::Less, i[dim], limit));
        auto keep = [&] { return before; };
        return s.branch(
            isInside, element,
            [&] {
              Value isHere = s.compare(
                  Order::Equal, readPlace(s, indices, at, size), i[axis]);
              Value update = s.read(updates, at);
              Value after =
                  s.narrow(combine(s, op.getReduction(), s.widen(before),
                                   s.widen(update), hasNoSign),
                           element);
              return s.select(isHere, after, before);
            },
            keep);
      });
}

/// Each element looks for its updates in the list of places, in order.
static Value lowerScatterND(OnnxLowering &l, onnx::ScatterNDOp op) {
  Shape shape = shapeOf(op.getData()), list = shapeOf(op.getIndices());
  int64_t depth = *list.back().getConstant();
  Type element = elementOf(op.getResult());
  Value data = l.get(op.getData()), indices = l.get(op.getIndices());
  Value updates = l.get(op.getUpdates());
  SmallVector<Value> sizes;
  for (int64_t k = 0; k < depth; ++k)
    sizes.push_back(l.size(shape[k]));
  bool hasNoSign = isUnsigned(op.getData().getType());
  return l.fold(
      shape, ArrayRef(list).drop_back(), data,
      [&](Scalars &s, Indices i, Indices j, Value before) {
        Value isHere = s.number(s.b.getI1Type(), -1);
        SmallVector<Value> at(j);
        at.push_back({});
        for (int64_t k = 0; k < depth; ++k) {
          at.back() = s.index(k);
          isHere = s.both(isHere,
                          s.compare(Order::Equal,
                                    readPlace(s, indices, at, sizes[k]), i[k]));
        }
        SmallVector<Value> place(j);
        llvm::append_range(place, i.drop_front(depth));
        Value update = s.read(updates, place);
        Value after = s.narrow(combine(s, op.getReduction(), s.widen(before),
                                       s.widen(update), hasNoSign),
                               element);
        return s.select(isHere, after, before);
      });
}

/// Rows of `update` go to `write_indices[batch]` and the places after it.
static Value lowerTensorScatter(OnnxLowering &l, onnx::TensorScatterOp op) {
  Shape shape = shapeOf(op.getPast()), rows = shapeOf(op.getUpdate());
  int64_t axis = wrap(op.getAxis(), shape.size());
  Type element = elementOf(op.getResult());
  Value past = l.get(op.getPast()), update = l.get(op.getUpdate());
  Value starts = op.getWriteIndices() ? l.get(op.getWriteIndices()) : Value();
  Value size = l.size(shape[axis]), count = l.size(rows[axis]);
  bool isCircular = op.getMode() == "circular";
  return l.generate(shape, element, [&](Scalars &s, Indices i) {
    Value start = starts ? s.toIndex(s.read(starts, i[0])) : s.index(0);
    Value row = s.sub(i[axis], start);
    if (isCircular) {
      Value rest = s.make<arith::RemSIOp>(row, size);
      row = s.select(s.compare(Order::Less, rest, s.index(0)),
                     s.add(rest, size), rest);
    }
    Value isNew = s.both(s.compare(Order::LessOrEqual, s.index(0), row),
                         s.compare(Order::Less, row, count));
    SmallVector<Value> place(i);
    place[axis] = row;
    return s.branch(
        isNew, element, [&] { return s.read(update, place); },
        [&] { return s.read(past, i); });
  });
}

bool OnnxLowering::lowerPlaces(Operation *op) {
  Value result = llvm::TypeSwitch<Operation *, Value>(op)
                     .Case([&](onnx::GatherOp gather) {
                       return lowerGather(*this, gather);
                     })
                     .Case([&](onnx::GatherElementsOp gather) {
                       return lowerGatherElements(*this, gather);
                     })
                     .Case([&](onnx::GatherNDOp gather) {
                       return lowerGatherND(*this, gather);
                     })
                     .Case([&](onnx::ScatterElementsOp scatter) {
                       return lowerScatterElements(*this, scatter);
                     })
                     .Case([&](onnx::ScatterNDOp scatter) {
                       return lowerScatterND(*this, scatter);
                     })
                     .Case([&](onnx::TensorScatterOp scatter) {
                       return lowerTensorScatter(*this, scatter);
                     })
                     .Default([](Operation *) { return Value(); });
  if (result)
    set(op->getResult(0), result);
  return result != nullptr;
}
