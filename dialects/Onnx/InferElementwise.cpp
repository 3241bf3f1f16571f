//===- InferElementwise.cpp - Types of elementwise operators --------------===//

#include "dialects/Onnx/InferTypes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static Type getBool(Operation *op) {
  return IntegerType::get(op->getContext(), 1);
}

static Type getIndex(Operation *op) {
  return IntegerType::get(op->getContext(), 64);
}

LogicalResult onnx::inferSame(Operation *op, TypeInference &inference) {
  Shape shape = getShape(op->getOperand(0).getType());
  for (StringRef name : {"axis", "batch_axis", "time_axis"})
    if (auto axis = op->getAttrOfType<IntegerAttr>(name);
        axis && failed(inference.getAxis(axis.getInt(), shape.size())))
      return failure();
  return inference.add(getElement(op->getOperand(0)), shape);
}

LogicalResult onnx::inferPredicate(Operation *op, TypeInference &inference) {
  return inference.add(getBool(op), getShape(op->getOperand(0).getType()));
}

static LogicalResult addBroadcast(Operation *op, Type element,
                                  TypeInference &inference) {
  SmallVector<Shape> shapes;
  for (Value operand : op->getOperands())
    shapes.push_back(getShape(operand.getType()));
  FailureOr<Shape> shape = inference.broadcast(shapes);
  return failed(shape) ? failure() : inference.add(element, *shape);
}

LogicalResult onnx::inferBroadcast(Operation *op, TypeInference &inference) {
  if (op->getNumOperands() == 0)
    return inference.fail("found no inputs, expected at least one");
  // Exponents and shifts may have types of their own.
  if (!isa<PowOp, BitShiftOp>(op) &&
      failed(
          checkSameElement(SmallVector<Value>(op->getOperands()), inference)))
    return failure();
  return addBroadcast(op, getElement(op->getOperand(0)), inference);
}

LogicalResult onnx::inferComparison(Operation *op, TypeInference &inference) {
  if (failed(
          checkSameElement(SmallVector<Value>(op->getOperands()), inference)))
    return failure();
  return addBroadcast(op, getBool(op), inference);
}

LogicalResult onnx::inferWhere(WhereOp op, TypeInference &inference) {
  if (failed(checkTruth(op.getCondition(), "condition", inference)) ||
      failed(checkSameElement({op.getLhs(), op.getRhs()}, inference)))
    return failure();
  return addBroadcast(op, getElement(op.getLhs()), inference);
}

LogicalResult onnx::inferCast(Operation *op, TypeInference &inference) {
  return inference.add(op->getAttrOfType<TypeAttr>("to").getValue(),
                       getShape(op->getOperand(0).getType()));
}

LogicalResult onnx::inferCastLike(Operation *op, TypeInference &inference) {
  return inference.add(getElement(op->getOperand(1)),
                       getShape(op->getOperand(0).getType()));
}

LogicalResult onnx::inferDropout(DropoutOp op, TypeInference &inference) {
  Shape shape = getShape(op.getData().getType());
  (void)inference.add(getElement(op.getData()), shape);
  return inference.add(getBool(op), shape);
}

//===----------------------------------------------------------------------===//
// Along axes
//===----------------------------------------------------------------------===//

LogicalResult onnx::inferReduction(Operation *op, TypeInference &inference) {
  Shape shape = getShape(op->getOperand(0).getType());
  SmallVector<int64_t, 4> axes;
  if (op->getNumOperands() > 1) {
    FailureOr<SmallVector<int64_t, 4>> numbers =
        inference.getNumbers(op->getOperand(1));
    if (failed(numbers))
      return failure();
    FailureOr<SmallVector<int64_t, 4>> valid =
        inference.getAxes(*numbers, shape.size());
    if (failed(valid))
      return failure();
    axes = *valid;
  }
  auto get = [&](StringRef name) {
    return op->getAttrOfType<IntegerAttr>(name).getInt();
  };
  bool isAll = axes.empty() && get("noop_with_empty_axes") == 0;
  Shape result;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!isAll && !llvm::is_contained(axes, int64_t(dim)))
      result.push_back(size);
    else if (get("keepdims") != 0)
      result.push_back(Polynomial(1));
  }
  return inference.add(getElement(op->getOperand(0)), result);
}

LogicalResult onnx::inferArgReduction(Operation *op, TypeInference &inference) {
  Shape shape = getShape(op->getOperand(0).getType());
  auto get = [&](StringRef name) {
    return op->getAttrOfType<IntegerAttr>(name).getInt();
  };
  FailureOr<int64_t> axis = inference.getAxis(get("axis"), shape.size());
  if (failed(axis))
    return failure();
  if (get("keepdims") != 0)
    shape[*axis] = Polynomial(1);
  else
    shape.erase(shape.begin() + *axis);
  return inference.add(getIndex(op), shape);
}

LogicalResult onnx::inferCumulative(Operation *op, TypeInference &inference) {
  FailureOr<SmallVector<int64_t, 4>> axis =
      inference.getNumbers(op->getOperand(1));
  if (failed(axis))
    return failure();
  if (axis->size() != 1)
    return inference.fail("found a list as axis, expected one number");
  size_t rank = getShape(op->getOperand(0).getType()).size();
  if (failed(inference.getAxis(axis->front(), rank)))
    return failure();
  return inferSame(op, inference);
}

LogicalResult onnx::inferTopK(TopKOp op, TypeInference &inference) {
  Shape shape = getShape(op.getInput().getType());
  FailureOr<int64_t> axis = inference.getAxis(op.getAxis(), shape.size());
  FailureOr<Polynomial> k = inference.getElement(op.getK());
  if (failed(axis) || failed(k))
    return failure();
  if (getSign(subtract(shape[*axis], *k)) == -1)
    return inference.fail("found k " + k->str() + ", expected at most the " +
                          shape[*axis].str() + " elements of the axis");
  shape[*axis] = *k;
  (void)inference.add(getElement(op.getInput()), shape);
  return inference.add(getIndex(op), shape);
}
