//===- LowerTileToCudaAsync.cpp - Channels that all warps fill ------------===//
//
// Without bulk copies the threads that multiply copy as well, 16 bytes at a
// time. A piece is a group of such copies of each thread; there is a group for
// each piece number, empty behind the last piece. Piece n has arrived when at
// most slots - 2 later groups are under way and a barrier has made the copies
// of all threads known; the same barrier says that every warp is through with
// piece n - 1, whose slot piece n + slots - 1 takes, copied in the body that
// consumes piece n.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Bytes of a copy, and 16-bit elements of it.
static constexpr int64_t chunkBytes = 16, chunkElements = 8;

bool CudaTileEmitter::hasAsyncChannel() {
  auto schedule =
      dyn_cast_or_null<StreamScheduleAttr>(kernel.getScheduleAttr());
  return schedule && schedule.getLoadWarps() == 0;
}

LogicalResult CudaTileEmitter::emitAsyncProduce(ProduceOp op) {
  if (op.getPart() != ProducePart::All)
    return op.emitError("cannot copy a part of a piece without bulk copies");
  const CudaChannel &channel = channels.at(op.getChannel());
  Value slot = getSlot(channel, op.getPiece()).first;
  SmallVector<std::pair<CopyOp, CopyPieces>> copies;
  if (failed(emitCopies(op, copies)))
    return failure();
  for (auto &[copy, pieces] : copies)
    emitAsyncCopy(copy, pieces, channel, slot);
  cuda::CommitCopiesOp::create(b);
  return success();
}

/// The chunks of all pieces, one after the other, are dealt out to the threads.
void CudaTileEmitter::emitAsyncCopy(CopyOp op, const CopyPieces &pieces,
                                    const CudaChannel &channel, Value slot) {
  unsigned part = cast<BlockArgument>(op.getTarget()).getArgNumber();
  Type element = cast<MemRefType>(op.getTarget().getType()).getElementType();
  Value target = cuda::SharedMemoryOp::create(
      b, cuda::PtrType::get(b.getContext(), element, cuda::Space::Shared),
      channel.partOffsets[part]);
  Value slotStart = mul(slot, channel.slotBytes / 2);
  int64_t chunks = pieces.mostBytes / chunkBytes;
  TileLayout layout{pieces.most, chunks, threads};
  for (int64_t i = 0; i * threads < layout.elements(); ++i) {
    TilePosition position = makePosition(layout, i);
    Value inside = both(position.inside, less(position.row, pieces.count));
    if (getConstantIntValue(pieces.bytes) != pieces.mostBytes)
      inside =
          both(inside, less(mul(position.column, chunkBytes), pieces.bytes));
    guarded(inside, [&] {
      Value offset = mul(position.column, chunkElements);
      Value row =
          b.createOrFold<arith::IndexCastOp>(b.getIndexType(), position.row);
      Value from = add(pieces.source,
                       b.createOrFold<arith::MulIOp>(row, pieces.sourceStride));
      from = add(from,
                 b.createOrFold<arith::IndexCastOp>(b.getIndexType(), offset));
      Value to =
          add(slotStart, add(mul(position.row, pieces.targetStride), offset));
      cuda::CopyAsyncOp::create(b, target, to, views.at(op.getView()).pointer,
                                from, chunkBytes, Value());
    });
  }
}

void CudaTileEmitter::waitForAsyncPiece(const CudaChannel &channel) {
  cuda::WaitCopiesOp::create(b, channel.slots - 2);
  emitBarrier();
}
