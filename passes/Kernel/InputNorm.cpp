//===- InputNorm.cpp - A norm in front of a multiplication ----------------===//

#include "passes/Kernel/InputNorm.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

RowView kernel::getInputView(KernelBuilder &k, Value input) {
  auto norm = input.getDefiningOp<RmsNormOp>();
  return k.getView(norm ? norm.getInput() : input);
}

std::pair<Value, Value> InputNorm::apply(Value tile, Value column) {
  auto type = cast<RankedTensorType>(tile.getType());
  Value x = k.toF32(tile);
  Value squares = k.reduce(tile::Reduction::Add, k.create<arith::MulFOp>(x, x));
  SmallVector<int64_t> shape = {1, type.getDimSize(1)};
  Value weight = k.toF32(
      k.load(k.getArgument(norm.getWeight()), {k.index(0), column}, shape));
  double offset = norm.getWeightOffset().convertToDouble();
  if (offset != 0)
    weight = k.create<arith::AddFOp>(weight, k.constant(shape, offset));
  Value product =
      k.create<arith::MulFOp>(x, k.broadcast(weight, type.getShape()));
  return {k.roundTo(product, type.getElementType()), squares};
}

Value InputNorm::divide(Value sum, Value squares) {
  auto type = cast<RankedTensorType>(squares.getType());
  double size = cast<RankedTensorType>(norm.getType()).getShape().back();
  Value mean = k.scale(squares, 1.0 / size);
  Value root = k.create<math::SqrtOp>(k.create<arith::AddFOp>(
      mean, k.constant(type.getShape(), norm.getEpsilon().convertToDouble())));
  auto sumType = cast<RankedTensorType>(sum.getType());
  if (type.getShape() != sumType.getShape())
    root = k.broadcast(root, sumType.getShape());
  return k.create<arith::DivFOp>(sum, root);
}
