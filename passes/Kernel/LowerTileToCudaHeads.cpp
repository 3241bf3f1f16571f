//===- LowerTileToCudaHeads.cpp - Rotated columns, heads into caches ------===//

#include "passes/Kernel/LowerTileToCuda.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// The column of a matrix that an element of a tile stands in, i32.
static Value columnOf(ImplicitLocOpBuilder &b, Value column,
                      const TilePosition &position) {
  Value first = b.createOrFold<arith::IndexCastOp>(b.getI32Type(), column);
  return b.createOrFold<arith::AddIOp>(first, position.column);
}

/// The two columns of a pair are in one thread or in lanes of one warp: a
/// tile's columns and the threads are even.
LogicalResult CudaTileEmitter::emitRotate(RotateOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  TileLayout layout = layoutOf(type);
  const CudaView &cosines = views.at(op.getCosine()),
                 &sines = views.at(op.getSine());
  int64_t angles = cast<MemRefType>(op.getCosine().getType()).getDimSize(1);
  Value lastRow = add(clampCount(op.getRows(), layout.rows), number(-1));
  Value firstRow = values.at(op.getRow());
  beforeRead(op.getCosine());
  beforeRead(op.getSine());
  auto widen = [&](Value value) {
    return b.createOrFold<arith::IndexCastOp>(b.getIndexType(), value);
  };
  PairPlace pair = getPairPlace(layout.getFirstElements());
  bool hasPairs = pair.lanes == 0;
  SmallVector<Value> registers;
  for (int64_t i = 0; i < layout.registers(); i += hasPairs ? 2 : 1) {
    TilePosition position = positionOf(layout, i);
    Value column = columnOf(b, values.at(op.getColumn()), position);
    Value inHead =
        b.createOrFold<arith::RemUIOp>(column, number(op.getHeadSize()));
    Value angle = min(b.createOrFold<arith::DivUIOp>(inHead, number(2)),
                      number(angles - 1));
    Value at =
        add(mul(add(firstRow, widen(min(position.row, lastRow))), angles),
            widen(angle));
    auto load = [&](const CudaView &view) -> Value {
      return cuda::LoadOp::create(b, b.getF32Type(), view.pointer, at,
                                  view.hint);
    };
    Value cosine = load(cosines), sine = load(sines);
    Value isRotated = both(less(column, number(op.getColumns())),
                           less(inHead, number(2 * angles)));
    auto rotate = [&](Value own, Value other, Value signedSine) {
      Value rotated =
          arith::AddFOp::create(b, arith::MulFOp::create(b, own, cosine),
                                arith::MulFOp::create(b, other, signedSine));
      registers.push_back(arith::SelectOp::create(b, isRotated, rotated, own));
    };
    // The first of a pair: x cos - y sin; the second: y cos + x sin.
    Value own = registerOf(op.getTile(), i);
    Value negative = arith::NegFOp::create(b, sine);
    if (hasPairs) {
      Value next = registerOf(op.getTile(), i ^ pair.registers);
      rotate(own, next, negative);
      rotate(next, own, sine);
      continue;
    }
    Value isFirst =
        equal(b.createOrFold<arith::AndIOp>(column, number(1)), number(0));
    rotate(own,
           cuda::ShuffleXorOp::create(b, own.getType(), own,
                                      b.getI64IntegerAttr(pair.lanes)),
           arith::SelectOp::create(b, isFirst, negative, sine));
  }
  values[op.getResult()] = pack(type, registers);
  return success();
}

LogicalResult CudaTileEmitter::emitAppendHeads(AppendHeadsOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  TileLayout layout = layoutOf(type);
  const CudaView &cache = views.at(op.getCache()),
                 &slots = views.at(op.getSlots());
  auto cacheType = cast<MemRefType>(op.getCache().getType());
  int64_t heads = cacheType.getDimSize(1);
  int64_t size = cacheType.getDimSize(op.getKeys() ? 2 : 3);
  int64_t blockSize = cacheType.getDimSize(op.getKeys() ? 3 : 2);
  int64_t first = op.getFirst();
  Value rows = clampCount(op.getRows(), layout.rows),
        columns = clampCount(op.getColumns(), layout.columns);
  // A thread's neighbours in a head, which are consecutive in a cache of
  // values.
  int64_t width = std::min<int64_t>(layout.consecutive,
                                    128 / type.getElementTypeBitWidth());
  if (size % width != 0 || first % width != 0 ||
      !isMultipleOf(op.getColumn(), width) ||
      !isMultipleOf(op.getColumns(), width))
    width = 1;
  auto widen = [&](Value value) {
    return b.createOrFold<arith::IndexCastOp>(b.getIndexType(), value);
  };
  beforeRead(op.getSlots());
  beforeWrite(op.getCache(), op);
  for (int64_t i = 0; i < layout.registers(); i += width) {
    TilePosition position = positionOf(layout, i);
    Value column =
        add(columnOf(b, values.at(op.getColumn()), position), number(-first));
    Value isHead = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                                 column, number(heads * size));
    Value isInside =
        both(both(position.inside, isHead),
             both(less(position.row, rows), less(position.column, columns)));
    guarded(isInside, [&] {
      Value slot = cuda::LoadOp::create(
          b, b.getI32Type(), slots.pointer,
          add(values.at(op.getRow()), widen(position.row)), slots.hint);
      Value block = b.createOrFold<arith::DivUIOp>(slot, number(blockSize));
      Value inBlock = b.createOrFold<arith::RemUIOp>(slot, number(blockSize));
      Value head = b.createOrFold<arith::DivUIOp>(column, number(size));
      Value inHead = b.createOrFold<arith::RemUIOp>(column, number(size));
      Value place = op.getKeys() ? add(mul(inHead, blockSize), inBlock)
                                 : add(mul(inBlock, size), inHead);
      Value at = add(mul(widen(block), heads * size * blockSize),
                     widen(add(mul(head, size * blockSize), place)));
      if (!op.getKeys() && width > 1) {
        cuda::StoreOp::create(b,
                              sliceVector(b, values.at(op.getTile()), i, width),
                              cache.pointer, at);
        return;
      }
      for (int64_t e = 0; e < width; ++e)
        cuda::StoreOp::create(b, registerOf(op.getTile(), i + e), cache.pointer,
                              add(at, index(e * blockSize)));
    });
  }
  return success();
}
