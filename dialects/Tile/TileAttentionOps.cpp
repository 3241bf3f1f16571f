//===- TileAttentionOps.cpp - Verifiers of heads and softmax states -------===//

#include "dialects/Tile/TileDialect.h"

using namespace mlir;
using namespace weft::tile;

static LogicalResult verifyHeads(Operation *op, Value view, Value tileValue,
                                 int64_t heads, int64_t headSize) {
  auto memory = cast<MemRefType>(view.getType());
  auto tile = cast<RankedTensorType>(tileValue.getType());
  if (memory.getRank() != 2 || tile.getRank() != 2 ||
      memory.getElementType() != tile.getElementType())
    return op->emitOpError("needs a view and a tile of two dimensions and one "
                           "element type, found ")
           << memory << " and " << tile;
  if (heads < 1 || heads > tile.getDimSize(0))
    return op->emitOpError("needs 1 to ")
           << tile.getDimSize(0) << " heads, as the tile has rows, found "
           << heads;
  if (tile.getDimSize(1) > headSize)
    return op->emitOpError("tile has more columns than a head of ")
           << headSize << ": " << tile;
  return success();
}

LogicalResult LoadHeadsOp::verify() {
  return verifyHeads(*this, getView(), getResult(), getHeads(), getHeadSize());
}

LogicalResult StoreHeadsOp::verify() {
  return verifyHeads(*this, getView(), getTile(), getHeads(), getHeadSize());
}

LogicalResult ShareSoftmaxOp::verify() {
  auto maximum = cast<RankedTensorType>(getMaximum().getType());
  auto values = cast<RankedTensorType>(getValues().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (maximum.getRank() != 2 || values.getRank() != 2 ||
      result.getRank() != 2 || maximum.getDimSize(1) != 1 ||
      maximum.getDimSize(0) != values.getDimSize(0) ||
      result.getDimSize(0) > values.getDimSize(0) ||
      values.getDimSize(1) % result.getDimSize(1) != 0)
    return emitOpError("takes [R, 1], [R, 1] and [R, C] to [R, C / n] or its "
                       "first rows, found ")
           << maximum << ", " << values << " and " << result;
  auto fold = getValues().getDefiningOp<FoldOp>();
  if (!fold || fold.getMerge() != Merge::Softmax ||
      ValueRange(fold.getResults()) !=
          ValueRange(getOperation()->getOperands()))
    return emitOpError("needs the state of a tile.fold with merge softmax");
  return success();
}

LogicalResult RotateOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  auto angles = cast<MemRefType>(getCosine().getType());
  if (tile.getRank() != 2 || tile.getDimSize(1) % 2 != 0 ||
      angles.getRank() != 2 || !angles.getElementType().isF32())
    return emitOpError("needs a tile of pairs of columns and rows of f32 "
                       "angles, found ")
           << tile << " and " << angles;
  if (2 * angles.getDimSize(1) > static_cast<int64_t>(getHeadSize()) ||
      getColumns() % getHeadSize() != 0)
    return emitOpError("rotates whole heads with at most half as many angles "
                       "as columns, found ")
           << angles.getDimSize(1) << " angles for heads of " << getHeadSize()
           << " in " << getColumns() << " columns";
  return success();
}

LogicalResult AppendHeadsOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  auto cache = cast<MemRefType>(getCache().getType());
  auto slots = cast<MemRefType>(getSlots().getType());
  if (tile.getRank() != 2 || cache.getRank() != 4 || slots.getRank() != 1 ||
      tile.getElementType() != cache.getElementType() ||
      !slots.getElementType().isInteger(32))
    return emitOpError("needs a tile of two dimensions, a cache of four with "
                       "its element type and slots of type i32, found ")
           << tile << ", " << cache << " and " << slots;
  return success();
}
