//===- HeadsEpilogue.cpp - Rotation and cache behind a layer --------------===//

#include "passes/Kernel/HeadsEpilogue.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

bool kernel::isHeadsEpilogue(ArrayRef<Operation *> ops) {
  return llvm::any_of(ops, llvm::IsaPred<RopeOp>);
}

/// First column of the layer's output that a value of heads is.
static int64_t getFirstColumn(Value value) {
  if (auto rope = value.getDefiningOp<RopeOp>())
    return getFirstColumn(rope.getInput());
  if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
    return getFirstColumn(expand.getSrc());
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  return slice ? slice.getStaticOffset(1) : 0;
}

static int64_t getColumnCount(Value heads) {
  auto type = cast<RankedTensorType>(heads.getType());
  return type.getDimSize(1) * type.getDimSize(2);
}

void kernel::buildHeadsEpilogue(KernelBuilder &k, Value result,
                                ArrayRef<Operation *> ops,
                                const OutputTile &tile) {
  RopeOp first;
  int64_t rotated = 0;
  for (Operation *op : ops)
    if (auto rope = dyn_cast<RopeOp>(op)) {
      first = first ? first : rope;
      rotated += getColumnCount(rope.getResult());
    }
  Value count = tile.rows ? tile.rows : k.index(tile.shape[0]);
  int64_t size = cast<RankedTensorType>(first.getType()).getDimSize(2);
  Value heads = k.create<tile::RotateOp>(
      k.toF32(result), k.getArgument(first.getCosine()),
      k.getArgument(first.getSine()), tile.row, tile.column, count, size,
      rotated);
  heads = k.roundTo(heads,
                    cast<RankedTensorType>(result.getType()).getElementType());
  // Calls `body` if the tile has some of columns [begin, begin + size).
  auto ifInside = [&](int64_t begin, int64_t size, function_ref<void()> body) {
    auto compare = [&](arith::CmpIPredicate predicate, Value a, int64_t c) {
      return k.create<arith::CmpIOp>(predicate, a, k.index(c));
    };
    Value ends = k.add(tile.column, k.index(tile.shape[1]));
    Value isInside = k.create<arith::AndIOp>(
        compare(arith::CmpIPredicate::slt, tile.column, begin + size),
        compare(arith::CmpIPredicate::sgt, ends, begin));
    k.ifThen(isInside, body);
  };
  for (Operation *op : ops) {
    if (auto rope = dyn_cast<RopeOp>(op)) {
      Value output = k.getOutput(rope.getResult());
      if (!output)
        continue;
      int64_t columns = getColumnCount(rope.getResult());
      ifInside(0, columns, [&] {
        Value left = k.sub(k.index(columns), tile.column);
        k.store(heads, output, {tile.row, tile.column}, tile.rows, {},
                tile.columns ? k.min(left, tile.columns) : left);
      });
      continue;
    }
    auto append = cast<CacheAppendOp>(op);
    int64_t begin = getFirstColumn(append.getInput());
    ifInside(begin, getColumnCount(append.getInput()), [&] {
      k.create<tile::AppendHeadsOp>(
          heads, k.getOutput(append.getResult()),
          k.getArgument(append.getSlots()), tile.row, tile.column, count,
          tile.columns ? tile.columns : k.index(tile.shape[1]), begin,
          append.getKind() == CacheKind::Key);
    });
  }
}
