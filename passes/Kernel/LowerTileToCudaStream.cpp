//===- LowerTileToCudaStream.cpp - Roles, channels, tensor cores ----------===//
//
// A channel is a ring of slots in shared memory with two mbarriers each: `full`
// counts the bytes of a piece, `empty` the warps that have released it. Piece n
// is in slot n % slots, for the (n / slots)-th time: the barriers' phases
// follow from its number, so that no role keeps state.
//
// Tensor cores take the weight as left-hand operand (its fragments are one load
// of 16 bytes) and the rows of the input as columns: 16 columns of the tile by
// 8 of its rows are one accumulator. Warp w has the column tiles of column warp
// w % columnWarps and the part of each step of step warp w / columnWarps.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Columns and rows of a tile that one multiplication has, its values of k.
static constexpr int64_t mmaColumns = 16, mmaRows = 8, mmaSteps = 16;
/// 16-bit elements of a 16x16 block of a weight.
static constexpr int64_t blockElements = 256;
/// Elements between rows of sums in shared memory, beyond their columns: keeps
/// the rows that a warp writes at once in different banks.
static constexpr int64_t sumPadding = 4;
static constexpr int64_t elementBytes = 2;

static int64_t getPartBytes(MemRefType type) {
  int64_t elements = type.getNumElements();
  if (auto panels = dyn_cast<PanelsAttr>(type.getLayout()))
    elements = elements / panels.getColumns() * panels.getStride();
  return llvm::alignTo(elements * type.getElementTypeBitWidth() / 8, 128);
}

static cuda::PtrType sharedPointer(Type element) {
  return cuda::PtrType::get(element.getContext(), element, cuda::Space::Shared);
}

//===----------------------------------------------------------------------===//
// Shared memory and barriers
//===----------------------------------------------------------------------===//

static int64_t getBarrierBytes(int64_t count) {
  return llvm::alignTo(8 * count, 16);
}

static int64_t getSumBytes(ShareOp share) {
  auto type = cast<RankedTensorType>(share.getInput().getType());
  return llvm::alignTo(
      4 * type.getDimSize(0) * (type.getDimSize(1) + sumPadding), 128);
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
    bytes += 2 * getBarrierBytes(1) + getSumBytes(share);
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
  channel.full = makeBarriers(channel.slots);
  channel.empty = makeBarriers(channel.slots);
  kernel.walk([&](ShareOp share) {
    CudaShare &place = shares[share];
    place.ready = makeBarriers(1);
    place.done = makeBarriers(1);
    place.sums = cuda::SharedMemoryOp::create(b, sharedPointer(b.getF32Type()),
                                              pipelineBytes);
    pipelineBytes += getSumBytes(share);
  });
  channels[op.getResult()] = channel;

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
    if (clusterSize > 1)
      for (auto &[share, place] : shares)
        for (Value barrier : {place.ready, place.done})
          cuda::MBarrierInitOp::create(b, barrier, number(0), clusterSize);
    cuda::FenceMBarrierInitOp::create(b);
  });
  if (clusterSize > 1)
    cuda::ClusterBarrierOp::create(b);
  else
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

/// Consecutive pieces of memory that a copy is made of. Counts and offsets are
/// in elements.
struct CudaTileEmitter::CopyPieces {
  int64_t most;         ///< Pieces, at most.
  Value count;          ///< Pieces, i32.
  Value bytes;          ///< Of a piece, i32.
  Value source;         ///< Of the first piece, of type index.
  Value sourceStride;   ///< Between pieces, of type index.
  int64_t targetStride; ///< Between pieces.
};

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
  if (isa<FragmentsAttr>(view.getLayout())) {
    int64_t rowSize = view.getDimSize(1);
    pieces.most = target.getDimSize(0) / mmaColumns;
    pieces.count = b.createOrFold<arith::DivUIOp>(rows, number(mmaColumns));
    pieces.bytes = number(columns * mmaColumns * elementBytes);
    pieces.source = add(mul(row, rowSize), mul(column, mmaColumns));
    pieces.sourceStride = index(mmaColumns * rowSize);
    pieces.targetStride = mmaColumns * columns;
    return pieces;
  }
  if (auto panels = dyn_cast<PanelsAttr>(view.getLayout())) {
    Value viewRows = view.isDynamicDim(0)
                         ? values.at(kernel.getSymbolArguments()[0])
                         : index(view.getDimSize(0));
    Value panel =
        b.createOrFold<arith::DivUIOp>(column, index(panels.getColumns()));
    pieces.most = columns / panels.getColumns();
    pieces.count = number(pieces.most);
    pieces.bytes = mul(rows, panels.getStride() * elementBytes);
    pieces.sourceStride = mul(viewRows, panels.getStride());
    pieces.source =
        add(b.createOrFold<arith::MulIOp>(panel, pieces.sourceStride),
            mul(row, panels.getStride()));
    pieces.targetStride = target.getDimSize(0) * panels.getStride();
    return pieces;
  }
  return op.emitError("cannot copy a view of type ")
         << view << "; expected fragments or panels";
}

LogicalResult CudaTileEmitter::emitProduce(ProduceOp op) {
  const CudaChannel &channel = channels.at(op.getChannel());
  auto [slot, parity] = getSlot(channel, op.getPiece());
  SmallVector<std::pair<CopyOp, CopyPieces>> copies;
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
  Value lane = b.createOrFold<arith::AndIOp>(thread, number(31));
  if (op.getPart() == ProducePart::All) {
    // The slot's last piece has been released: the phase before this one's.
    Value before = b.createOrFold<arith::XOrIOp>(parity, number(1));
    cuda::MBarrierWaitOp::create(b, channel.empty, slot, before, UnitAttr());
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

AccumulatorLayout CudaTileEmitter::accumulatorLayout(Type tile) {
  auto type = cast<RankedTensorType>(tile);
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  return {type.getDimSize(1) / mmaColumns / schedule.getColumnWarps(),
          type.getDimSize(0) / mmaRows};
}

LogicalResult CudaTileEmitter::emitConsume(ConsumeOp op) {
  const CudaChannel &channel = channels.at(op.getChannel());
  auto [slot, parity] = getSlot(channel, op.getPiece());
  cuda::MBarrierWaitOp::create(b, channel.full, slot, parity, UnitAttr());
  for (auto [number, part] : llvm::enumerate(op.getParts()))
    slotParts[part] = {channel.partOffsets[number], slot, channel.slotBytes};
  bind(op.getState(), lookup(op.getInit()));
  SmallVector<MmaOp> products;
  for (Operation &inner : op.getBlock().without_terminator()) {
    b.setLoc(inner.getLoc());
    if (auto mma = dyn_cast<MmaOp>(inner)) {
      products.push_back(mma);
      continue;
    }
    // What multiplications read of a slot they read as fragments.
    if (isa<LoadOp>(inner))
      continue;
    if (failed(emitOp(&inner)))
      return failure();
  }
  if (failed(emitTensorProducts(products)))
    return failure();
  b.setLoc(op.getLoc());
  bind(op.getResults(), lookup(op.getBlock().getTerminator()->getOperands()));
  // The lanes have read the slot before one of them says so.
  cuda::WarpBarrierOp::create(b);
  Value lane = b.createOrFold<arith::AndIOp>(thread, number(31));
  guarded(equal(lane, number(0)),
          [&] { cuda::MBarrierArriveOp::create(b, channel.empty, slot); });
  return success();
}

Value weft::tile::sliceVector(ImplicitLocOpBuilder &b, Value vector,
                              int64_t first, int64_t count) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(vector::ExtractOp::create(b, vector, first + i));
  auto type = VectorType::get(
      count, cast<VectorType>(vector.getType()).getElementType());
  return vector::FromElementsOp::create(b, type, elements);
}

/// All multiplications of a piece: they share the fragments of the input.
LogicalResult
CudaTileEmitter::emitTensorProducts(MutableArrayRef<MmaOp> products) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  int64_t step = schedule.getStep();
  int64_t warpStep = step / schedule.getStepWarps();
  Value lane = b.createOrFold<arith::AndIOp>(thread, number(31));
  Value warp = b.createOrFold<arith::DivUIOp>(thread, number(32));
  Value columnWarp =
      b.createOrFold<arith::RemUIOp>(warp, number(schedule.getColumnWarps()));
  Value stepWarp =
      b.createOrFold<arith::DivUIOp>(warp, number(schedule.getColumnWarps()));
  auto partOf = [&](Value operand) {
    return slotParts.at(operand.getDefiningOp<LoadOp>().getView());
  };
  auto input = cast<MemRefType>(
      products.front().getLhs().getDefiningOp<LoadOp>().getView().getType());
  auto panels = dyn_cast<PanelsAttr>(input.getLayout());
  if (!panels)
    return products.front().emitError(
               "needs the input in panels, found a view of type ")
           << input;

  SmallVector<SmallVector<Value>> sums; // vector<4xf32> each.
  for (MmaOp mma : products) {
    AccumulatorLayout layout = accumulatorLayout(mma.getType());
    SmallVector<Value> &own = sums.emplace_back();
    Value held = values.at(mma.getAccumulator());
    for (int64_t i = 0; i < layout.count(); ++i)
      own.push_back(sliceVector(b, held, 4 * i, 4));
  }
  SlotPart rows = partOf(products.front().getLhs());
  Value rowPointer = cuda::SharedMemoryOp::create(
      b, sharedPointer(input.getElementType()), rows.offset);
  Type fragment = VectorType::get(4, b.getI32Type());
  // Lane l addresses row l % 8 of the (l / 8)-th 8 values of k.
  Value laneRow =
      mul(b.createOrFold<arith::RemUIOp>(lane, number(8)), panels.getStride());
  Value laneStep = mul(b.createOrFold<arith::DivUIOp>(lane, number(8)), 8);
  for (int64_t k = 0; k < warpStep; k += 2 * mmaSteps) {
    // Left-hand fragments of two values of k16, of all column tiles.
    SmallVector<SmallVector<Value>> left;
    for (MmaOp mma : products) {
      SlotPart part = partOf(mma.getRhs());
      AccumulatorLayout layout = accumulatorLayout(mma.getType());
      Value pointer = cuda::SharedMemoryOp::create(
          b, sharedPointer(b.getI32Type()), part.offset);
      SmallVector<Value> &own = left.emplace_back();
      for (int64_t m = 0; m < layout.columnTiles; ++m)
        for (int64_t half = 0; half < 2; ++half) {
          // Counted in 4 bytes: two elements.
          Value at = mul(part.slot, part.slotBytes / 4);
          Value tile = add(mul(columnWarp, layout.columnTiles), number(m));
          at = add(at, mul(tile, mmaColumns * step / 2));
          at = add(at, mul(stepWarp, warpStep / mmaSteps * blockElements / 2));
          at = add(at, number((k / mmaSteps + half) * blockElements / 2));
          at = add(at, mul(lane, 4));
          own.push_back(cuda::LoadOp::create(b, fragment, pointer, at,
                                             cuda::CacheHint::Default));
        }
    }
    Value warpK = add(mul(stepWarp, warpStep), number(k));
    Value panel =
        b.createOrFold<arith::DivUIOp>(warpK, number(panels.getColumns()));
    Value inPanel =
        b.createOrFold<arith::RemUIOp>(warpK, number(panels.getColumns()));
    Value start = mul(rows.slot, rows.slotBytes / elementBytes);
    start = add(start, mul(panel, input.getDimSize(0) * panels.getStride()));
    start = add(start, add(inPanel, add(laneRow, laneStep)));
    int64_t rowTiles = input.getDimSize(0) / mmaRows;
    for (int64_t j = 0; j < rowTiles; ++j) {
      Value at = add(start, number(j * mmaRows * panels.getStride()));
      Value right =
          cuda::LoadMatrixOp::create(b, fragment, rowPointer, at, UnitAttr());
      Value halves[] = {sliceVector(b, right, 0, 2),
                        sliceVector(b, right, 2, 2)};
      for (auto [number, product] : llvm::enumerate(products)) {
        MmaOp mma = product;
        AccumulatorLayout layout = accumulatorLayout(mma.getType());
        for (int64_t m = 0; m < layout.columnTiles; ++m)
          for (int64_t half = 0; half < 2; ++half) {
            Value &sum = sums[number][layout.number(m, j)];
            sum = cuda::MmaOp::create(
                b, sum.getType(), TypeAttr::get(input.getElementType()),
                left[number][2 * m + half], halves[half], sum);
          }
      }
    }
  }
  for (auto [number, product] : llvm::enumerate(products)) {
    MmaOp mma = product;
    SmallVector<Value> elements;
    for (Value sum : sums[number])
      for (int64_t i = 0; i < 4; ++i)
        elements.push_back(vector::ExtractOp::create(b, sum, i));
    values[mma.getResult()] = vector::FromElementsOp::create(
        b, cast<VectorType>(convert(mma.getType())), elements);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

/// The same place in the shared memory of block `rank` of the cluster.
Value CudaTileEmitter::mapToCluster(Value pointer, Value rank) {
  Type element = cast<cuda::PtrType>(pointer.getType()).getElement();
  return cuda::MapClusterOp::create(
      b, cuda::PtrType::get(b.getContext(), element, cuda::Space::Cluster),
      pointer, rank);
}

/// Arrives at the barrier of block `rank`.
void CudaTileEmitter::arriveAt(Value barrier, Value rank) {
  cuda::MBarrierArriveClusterOp::create(b, mapToCluster(barrier, rank),
                                        number(0));
}

/// Adds what the step warps have in shared memory, then what the blocks of the
/// cluster have, in the order of their ranks.
LogicalResult CudaTileEmitter::emitShare(ShareOp op) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  auto type = cast<RankedTensorType>(op.getInput().getType());
  const CudaShare &place = shares.at(op);
  AccumulatorLayout layout = accumulatorLayout(type);
  int64_t pitch = type.getDimSize(1) + sumPadding;
  Value round = b.createOrFold<arith::IndexCastOp>(b.getI32Type(),
                                                   values.at(op.getRound()));
  Value parity = b.createOrFold<arith::AndIOp>(round, number(1));
  Value held = values.at(op.getInput());
  Value lane = b.createOrFold<arith::AndIOp>(thread, number(31));
  Value warp = b.createOrFold<arith::DivUIOp>(thread, number(32));
  Value columnWarp =
      b.createOrFold<arith::RemUIOp>(warp, number(schedule.getColumnWarps()));
  Value stepWarp =
      b.createOrFold<arith::DivUIOp>(warp, number(schedule.getColumnWarps()));
  Value group = b.createOrFold<arith::DivUIOp>(lane, number(4));
  Value inGroup = b.createOrFold<arith::RemUIOp>(lane, number(4));
  // Element i of accumulator (m, j): column group + 8 * (i / 2) of column tile
  // m, row 2 * inGroup + i % 2 of row tile j.
  Value corner = add(mul(columnWarp, layout.columnTiles * mmaColumns),
                     add(group, mul(inGroup, 2 * pitch)));
  auto forElements = [&](function_ref<void(Value at, Value element)> body) {
    for (int64_t m = 0; m < layout.columnTiles; ++m)
      for (int64_t j = 0; j < layout.rowTiles; ++j)
        for (int64_t i = 0; i < 4; ++i)
          body(add(corner, number(m * mmaColumns + i / 2 * 8 +
                                  (j * mmaRows + i % 2) * pitch)),
               vector::ExtractOp::create(b, held, 4 * layout.number(m, j) + i));
  };
  // The blocks of the cluster, and the threads of this one, are through with
  // the sums of the last round.
  if (clusterSize > 1) {
    Value isLater = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                                  round, number(0));
    guarded(isLater, [&] {
      cuda::MBarrierWaitOp::create(
          b, place.done, number(0),
          b.createOrFold<arith::XOrIOp>(parity, number(1)), b.getUnitAttr());
    });
  }
  emitBarrier();
  for (int64_t s = schedule.getStepWarps() - 1; s >= 0; --s) {
    guarded(equal(stepWarp, number(s)), [&] {
      forElements([&](Value at, Value element) {
        if (s < schedule.getStepWarps() - 1)
          element = arith::AddFOp::create(
              b, element,
              cuda::LoadOp::create(b, b.getF32Type(), place.sums, at,
                                   cuda::CacheHint::Default));
        cuda::StoreOp::create(b, element, place.sums, at);
      });
    });
    emitBarrier();
  }
  if (clusterSize > 1) {
    guarded(less(thread, number(clusterSize)),
            [&] { arriveAt(place.ready, thread); });
    cuda::MBarrierWaitOp::create(b, place.ready, number(0), parity,
                                 b.getUnitAttr());
  }
  TileLayout resultLayout = layoutOf(op.getType());
  Value offset = number(0);
  if (clusterSize > 1)
    offset = mul(cuda::ClusterRankOp::create(b, b.getI32Type()),
                 resultLayout.columns);
  SmallVector<Value> sumsOf, registers;
  if (clusterSize > 1)
    for (int64_t rank = 0; rank < clusterSize; ++rank)
      sumsOf.push_back(mapToCluster(place.sums, number(rank)));
  for (int64_t i = 0; i < resultLayout.registers(); ++i) {
    TilePosition position = positionOf(resultLayout, i);
    Value at = add(add(mul(position.row, pitch), position.column), offset);
    Value sum;
    for (int64_t rank = 0; rank < clusterSize; ++rank) {
      Value part =
          clusterSize == 1
              ? Value(cuda::LoadOp::create(b, b.getF32Type(), place.sums, at,
                                           cuda::CacheHint::Default))
              : Value(cuda::LoadOp::create(b, b.getF32Type(), sumsOf[rank], at,
                                           cuda::CacheHint::Default));
      sum = sum ? Value(arith::AddFOp::create(b, sum, part)) : part;
    }
    registers.push_back(sum);
  }
  values[op.getResult()] = pack(op.getType(), registers);
  if (clusterSize > 1) {
    emitBarrier();
    guarded(less(thread, number(clusterSize)),
            [&] { arriveAt(place.done, thread); });
  }
  return success();
}
