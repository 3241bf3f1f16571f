//===- MatrixEpilogue.cpp - What follows a multiplication -----------------===//

#include "passes/Kernel/MatrixEpilogue.h"
#include "passes/Kernel/HeadsEpilogue.h"

using namespace mlir;
using namespace weft;

void kernel::buildMatrixEpilogue(KernelBuilder &k, ArrayRef<MatrixSum> sums,
                                 ArrayRef<Operation *> ops,
                                 const OutputTile &tile) {
  llvm::MapVector<Value, Value> tiles;
  for (const MatrixSum &matrix : sums) {
    Value sum = matrix.sum;
    if (matrix.bias) {
      Value bias = k.load(k.getArgument(matrix.bias), {k.index(0), tile.column},
                          {1, tile.shape[1]}, Value(), {}, tile.columns);
      sum =
          k.create<arith::AddFOp>(sum, k.broadcast(k.toF32(bias), tile.shape));
    }
    Value result = matrix.op->getResult(0);
    tiles[result] = k.roundTo(
        sum, cast<RankedTensorType>(result.getType()).getElementType());
  }
  if (isHeadsEpilogue(ops))
    return buildHeadsEpilogue(k, tiles.front().second, ops, tile);
  for (Operation *op : ops) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto known = tiles.find(operand);
      if (known != tiles.end()) {
        operands.push_back(known->second);
        continue;
      }
      RowView view = k.getView(operand);
      operands.push_back(
          k.load(view.matrix,
                 {tile.row, k.add(tile.memoryColumn, k.index(view.offset))},
                 tile.shape, tile.rows, {}, tile.columns));
    }
    tiles[op->getResult(0)] = k.applyElementwise(op, operands);
  }
  for (auto &[value, result] : tiles)
    if (Value output = k.getOutput(value))
      k.store(result, output, {tile.row, tile.memoryColumn}, tile.rows, {},
              tile.columns);
}
