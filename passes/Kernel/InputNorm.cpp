//===- InputNorm.cpp - A norm in front of a multiplication ----------------===//

#include "passes/Kernel/InputNorm.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

RowView kernel::getInputView(KernelBuilder &k, Value input) {
  auto norm = input.getDefiningOp<RmsNormOp>();
  return k.getView(norm ? norm.getInput() : input);
}

Value InputNorm::loadWeight(Value column, int64_t width) {
  SmallVector<int64_t> shape = {1, width};
  Value weight = k.toF32(
      k.load(k.getArgument(norm.getWeight()), {k.index(0), column}, shape));
  double offset = norm.getWeightOffset().convertToDouble();
  if (offset == 0)
    return weight;
  return k.create<arith::AddFOp>(weight, k.constant(shape, offset));
}

/// A division for each row, not for each element.
Value InputNorm::getInverseRoot(Value squares) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(squares.getType()).getShape();
  double size = cast<RankedTensorType>(norm.getType()).getShape().back();
  Value mean = k.scale(squares, 1.0 / size);
  Value root = k.create<math::SqrtOp>(k.create<arith::AddFOp>(
      mean, k.constant(shape, norm.getEpsilon().convertToDouble())));
  return k.create<arith::DivFOp>(k.constant(shape, 1), root);
}

std::pair<Value, Value> InputNorm::apply(Value tile, Value column) {
  auto type = cast<RankedTensorType>(tile.getType());
  Value x = k.toF32(tile);
  Value squares = k.reduce(tile::Reduction::Add, k.create<arith::MulFOp>(x, x));
  Value weight = loadWeight(column, type.getDimSize(1));
  // A weight that was not rounded again: one rounding, as that of the product
  // in f32.
  if (auto wide = weight.getDefiningOp<arith::ExtFOp>();
      wide && getElementTypeOrSelf(wide.getIn()) == type.getElementType()) {
    Value product = k.create<arith::MulFOp>(
        tile, k.broadcast(wide.getIn(), type.getShape()));
    return {product, squares};
  }
  Value product =
      k.create<arith::MulFOp>(x, k.broadcast(weight, type.getShape()));
  return {k.roundTo(product, type.getElementType()), squares};
}

Value InputNorm::normalize(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  Value x = k.toF32(tile);
  Value squares = k.reduce(tile::Reduction::Add, k.create<arith::MulFOp>(x, x));
  Value normal = k.create<arith::MulFOp>(
      x, k.broadcast(getInverseRoot(squares), type.getShape()));
  Value weight =
      k.broadcast(loadWeight(k.index(0), type.getDimSize(1)), type.getShape());
  return k.roundTo(k.create<arith::MulFOp>(normal, weight),
                   type.getElementType());
}

Value InputNorm::divide(Value sum, Value squares) {
  Value inverse = getInverseRoot(squares);
  auto sumType = cast<RankedTensorType>(sum.getType());
  if (inverse.getType() != sum.getType())
    inverse = k.broadcast(inverse, sumType.getShape());
  return k.create<arith::MulFOp>(sum, inverse);
}
