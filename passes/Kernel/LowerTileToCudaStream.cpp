//===- LowerTileToCudaStream.cpp - Roles and channels ---------------------===//
//
// A channel is a ring of slots in shared memory with two mbarriers each: `full`
// counts the bytes of a piece, `empty` the warps that have released it. Piece n
// is in slot n % slots, for the (n / slots)-th time: the barriers' phases
// follow from its number, so that no role keeps state.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/PackedLayout.h"
#include "passes/Kernel/LowerTileToCuda.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

static constexpr int64_t elementBytes = 2;

static int64_t getPartBytes(MemRefType type) {
  return llvm::alignTo(
      type.getNumElements() * type.getElementTypeBitWidth() / 8, 128);
}

cuda::PtrType weft::tile::sharedPointer(Type element) {
  return cuda::PtrType::get(element.getContext(), element, cuda::Space::Shared);
}

//===----------------------------------------------------------------------===//
// Shared memory and barriers
//===----------------------------------------------------------------------===//

static int64_t getBarrierBytes(int64_t count) {
  return llvm::alignTo(8 * count, 16);
}

/// Bytes of all channels and shares of the kernel.
int64_t CudaTileEmitter::getPipelineBytes() {
  int64_t bytes = 0;
  kernel.walk([&](ChannelOp channel) {
    int64_t slot = 0;
    for (MemRefType part : channel.getType().getParts())
      slot += getPartBytes(part);
    bytes +=
        channel.getSlots() * slot + 2 * getBarrierBytes(channel.getSlots());
  });
  kernel.walk([&](ShareOp share) {
    for (const SumMemory &sum : getSums(share))
      bytes += sum.getBytes();
  });
  if (auto schedule =
          dyn_cast_or_null<FlashScheduleAttr>(kernel.getScheduleAttr()))
    kernel.walk([&](FoldOp fold) {
      if (isFlashFold(fold))
        bytes += getFlashMemory(fold, schedule).bytes;
    });
  return llvm::alignTo(bytes, 128);
}

/// Places the channel and what shares need, makes the barriers.
LogicalResult CudaTileEmitter::emitChannel(ChannelOp op) {
  CudaChannel channel;
  channel.slots = op.getSlots();
  for (MemRefType part : op.getType().getParts()) {
    channel.partOffsets.push_back(pipelineBytes + channel.slotBytes);
    channel.slotBytes += getPartBytes(part);
  }
  pipelineBytes += channel.slots * channel.slotBytes;
  Type i64 = b.getI64Type();
  auto makeBarriers = [&](int64_t count) -> Value {
    Value pointer =
        cuda::SharedMemoryOp::create(b, sharedPointer(i64), pipelineBytes);
    pipelineBytes += getBarrierBytes(count);
    return pointer;
  };
  bool isAsync = hasAsyncChannel();
  if (!isAsync) {
    channel.full = makeBarriers(channel.slots);
    channel.empty = makeBarriers(channel.slots);
  }
  kernel.walk([&](ShareOp share) {
    for (const SumMemory &sum : getSums(share)) {
      sharedSums[share].push_back(cuda::SharedMemoryOp::create(
          b, sharedPointer(b.getF32Type()), pipelineBytes));
      pipelineBytes += sum.getBytes();
    }
  });
  channels[op.getResult()] = channel;
  if (isAsync)
    return success();

  guarded(equal(thread, number(0)), [&] {
    auto loop =
        scf::ForOp::create(b, number(0), number(channel.slots), number(1));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value slot = loop.getInductionVar();
      cuda::MBarrierInitOp::create(b, channel.full, slot, 1);
      cuda::MBarrierInitOp::create(b, channel.empty, slot, threads / 32);
    }
    cuda::FenceMBarrierInitOp::create(b);
  });
  cuda::BarrierOp::create(b, IntegerAttr(), IntegerAttr());
  return success();
}

/// Slot and phase parity of a piece, as i32.
std::pair<Value, Value> CudaTileEmitter::getSlot(const CudaChannel &channel,
                                                 Value piece) {
  Value n =
      b.createOrFold<arith::IndexCastOp>(b.getI32Type(), values.at(piece));
  Value slots = number(channel.slots);
  Value slot = b.createOrFold<arith::RemUIOp>(n, slots);
  Value turn = b.createOrFold<arith::DivUIOp>(n, slots);
  return {slot, b.createOrFold<arith::AndIOp>(turn, number(1))};
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult CudaTileEmitter::emitOps(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    b.setLoc(op.getLoc());
    if (failed(emitOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult CudaTileEmitter::emitRole(RoleOp op) {
  roleWarps += op.getWarps();
  pending.clear();
  OpBuilder::InsertionGuard guard(b);
  if (otherRoles)
    b.setInsertionPointToStart(otherRoles);
  otherRoles = nullptr;
  if (32 * roleWarps < blockThreads) {
    // The warps behind these go another way from here on.
    auto branch = scf::IfOp::create(b, less(thread, number(32 * roleWarps)),
                                    /*withElseRegion=*/true);
    otherRoles = branch.elseBlock();
    b.setInsertionPointToStart(branch.thenBlock());
  }
  LogicalResult result = emitOps(op.getBody().front());
  pending.clear();
  return result;
}

/// Waits for the threads that share tiles: all of the block, or of the role.
void CudaTileEmitter::emitBarrier() {
  if (threads == blockThreads)
    cuda::BarrierOp::create(b, IntegerAttr(), IntegerAttr());
  else
    cuda::BarrierOp::create(b, b.getI64IntegerAttr(1),
                            b.getI64IntegerAttr(threads));
}

//===----------------------------------------------------------------------===//
// Producing
//===----------------------------------------------------------------------===//

FailureOr<CudaTileEmitter::CopyPieces>
CudaTileEmitter::getCopyPieces(CopyOp op) {
  auto view = cast<MemRefType>(op.getView().getType());
  auto target = cast<MemRefType>(op.getTarget().getType());
  Value row = values.at(op.getIndices()[0]),
        column = values.at(op.getIndices()[1]);
  Value rows = b.createOrFold<arith::IndexCastOp>(b.getI32Type(),
                                                  values.at(op.getRows()));
  int64_t columns = target.getDimSize(1);
  CopyPieces pieces;
  if (isa<CoreMatricesAttr>(view.getLayout())) {
    int64_t rowSize = view.getDimSize(1);
    pieces.most = target.getDimSize(0) / fragmentSize;
    pieces.count = b.createOrFold<arith::DivUIOp>(rows, number(fragmentSize));
    pieces.mostBytes = columns * fragmentSize * elementBytes;
    pieces.bytes = number(pieces.mostBytes);
    pieces.source = add(mul(row, rowSize), mul(column, fragmentSize));
    pieces.sourceStride = index(fragmentSize * rowSize);
    pieces.targetStride = fragmentSize * columns;
    return pieces;
  }
  if (auto panels = dyn_cast<PanelsAttr>(view.getLayout())) {
    // Whole groups of rows, from the beginning of one.
    constexpr int64_t groupRows = PanelsAttr::groupRows;
    Value groups = b.createOrFold<arith::DivUIOp>(
        add(rows, number(groupRows - 1)), number(groupRows));
    Value panel =
        b.createOrFold<arith::DivUIOp>(column, index(panels.getColumns()));
    pieces.most = columns / panels.getColumns();
    pieces.count = number(pieces.most);
    pieces.mostBytes =
        target.getDimSize(0) * panels.getColumns() * elementBytes;
    pieces.bytes = mul(groups, groupRows * panels.getColumns() * elementBytes);
    pieces.sourceStride =
        mul(views.at(op.getView()).rowCount, panels.getColumns());
    pieces.source =
        add(b.createOrFold<arith::MulIOp>(panel, pieces.sourceStride),
            mul(row, panels.getColumns()));
    pieces.targetStride = target.getDimSize(0) * panels.getColumns();
    return pieces;
  }
  if (view.getDimSize(0) == 1) {
    pieces.most = 1;
    pieces.count = rows;
    pieces.mostBytes = columns * view.getElementTypeBitWidth() / 8;
    pieces.bytes = number(pieces.mostBytes);
    pieces.source = column;
    pieces.sourceStride = index(0);
    pieces.targetStride = 0;
    return pieces;
  }
  return op.emitError("cannot copy a view of type ")
         << view << "; expected core matrices, panels or one row";
}

/// Emits a body but for its copies, and says what each is made of.
LogicalResult CudaTileEmitter::emitCopies(
    ProduceOp op, SmallVectorImpl<std::pair<CopyOp, CopyPieces>> &copies) {
  for (Operation &inner : op.getBody().front()) {
    auto copy = dyn_cast<CopyOp>(inner);
    b.setLoc(inner.getLoc());
    if (!copy) {
      if (failed(emitOp(&inner)))
        return failure();
      continue;
    }
    FailureOr<CopyPieces> pieces = getCopyPieces(copy);
    if (failed(pieces))
      return failure();
    copies.push_back({copy, *pieces});
  }
  return success();
}

LogicalResult CudaTileEmitter::emitProduce(ProduceOp op) {
  if (hasAsyncChannel())
    return emitAsyncProduce(op);
  const CudaChannel &channel = channels.at(op.getChannel());
  auto [slot, parity] = getSlot(channel, op.getPiece());
  SmallVector<std::pair<CopyOp, CopyPieces>> copies;
  if (failed(emitCopies(op, copies)))
    return failure();
  Value lane = b.createOrFold<arith::AndIOp>(thread, number(31));
  if (op.getPart() == ProducePart::All) {
    // The slot's last piece has been released: the phase before this one's.
    Value before = b.createOrFold<arith::XOrIOp>(parity, number(1));
    cuda::MBarrierWaitOp::create(b, channel.empty, slot, before);
  }
  if (op.getPart() != ProducePart::Late) {
    guarded(equal(lane, number(0)), [&] {
      Value bytes;
      for (auto &[copy, pieces] : copies) {
        Value part = b.createOrFold<arith::MulIOp>(pieces.count, pieces.bytes);
        bytes = bytes ? add(bytes, part) : part;
      }
      cuda::MBarrierExpectOp::create(b, channel.full, slot, bytes);
    });
    // No byte may arrive before it is expected.
    cuda::WarpBarrierOp::create(b);
  }
  Value slotStart = mul(slot, channel.slotBytes / elementBytes);
  for (auto &[copy, pieces] : copies) {
    bool early = copy.getConstant();
    if ((op.getPart() == ProducePart::Early && !early) ||
        (op.getPart() == ProducePart::Late && early))
      continue;
    if (pieces.most > 32)
      return copy.emitError("copies ")
             << pieces.most << " pieces; expected at most one for each lane";
    unsigned number = cast<BlockArgument>(copy.getTarget()).getArgNumber();
    Type element =
        cast<MemRefType>(copy.getTarget().getType()).getElementType();
    Value target = cuda::SharedMemoryOp::create(b, sharedPointer(element),
                                                channel.partOffsets[number]);
    guarded(less(lane, pieces.count), [&, &pieces = pieces,
                                       copy = copy]() mutable {
      Value wide = b.createOrFold<arith::IndexCastOp>(b.getIndexType(), lane);
      Value from =
          add(pieces.source,
              b.createOrFold<arith::MulIOp>(wide, pieces.sourceStride));
      Value to = add(slotStart, mul(lane, pieces.targetStride));
      cuda::CopyBulkOp::create(b, target, to, views.at(copy.getView()).pointer,
                               from, pieces.bytes, channel.full, slot,
                               early ? cuda::CacheHint::Stream
                                     : cuda::CacheHint::Keep);
    });
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Consuming
//===----------------------------------------------------------------------===//

LogicalResult CudaTileEmitter::emitConsume(ConsumeOp op) {
  const CudaChannel &channel = channels.at(op.getChannel());
  auto [slot, parity] = getSlot(channel, op.getPiece());
  bool isAsync = hasAsyncChannel();
  if (isAsync)
    waitForAsyncPiece(channel);
  else
    cuda::MBarrierWaitOp::create(b, channel.full, slot, parity);
  for (auto [number, part] : llvm::enumerate(op.getParts()))
    slotParts[part] = {channel.partOffsets[number], slot, channel.slotBytes};
  bind(op.getState(), lookup(op.getInit()));
  if (failed(emitFragments(op)))
    return failure();
  b.setLoc(op.getLoc());
  bind(op.getResults(), lookup(op.getBlock().getTerminator()->getOperands()));
  if (isAsync)
    return success();
  // The lanes have read the slot before one of them says so.
  cuda::WarpBarrierOp::create(b);
  Value lane = b.createOrFold<arith::AndIOp>(thread, number(31));
  guarded(equal(lane, number(0)),
          [&] { cuda::MBarrierArriveOp::create(b, channel.empty, slot); });
  return success();
}
