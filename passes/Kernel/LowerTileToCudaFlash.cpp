//===- LowerTileToCudaFlash.cpp - Softmax folds on tensor cores -----------===//
//
// A fold with merge softmax whose state warps hold is cut twice: warps divide
// the columns of each step, and the steps are dealt out to the splits of the
// schedule, step n to split n % splits. A cluster has a block per split, a
// single block takes the splits one after the other, and what each gives is
// merged in ascending order (LowerTileToCudaFlashState.cpp).
//
// What multiplications read of buffers comes through a ring of slots that
// cp.async fills, `stages` - 1 steps ahead; where a step's tiles lie is looked
// up one step earlier still.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Bytes and 16-bit elements of a copy.
static constexpr int64_t chunkBytes = 16, chunkElements = 8;

bool weft::tile::isFlashFold(FoldOp fold) {
  return fold.getMerge() == Merge::Softmax && fold.getInit().size() == 3 &&
         getWarpTile(fold.getInit()[2].getType());
}

FlashMemory weft::tile::getFlashMemory(FoldOp fold,
                                       FlashScheduleAttr schedule) {
  FlashMemory memory;
  auto values = cast<RankedTensorType>(fold.getInit()[2].getType());
  memory.rows = values.getDimSize(0);
  memory.columns = values.getDimSize(1);
  fold.getBlock().walk([&](MmaOp mma) {
    auto load = mma.getRhs().getDefiningOp<LoadOp>();
    if (!load || memory.find(load))
      return;
    auto type = cast<RankedTensorType>(load.getType());
    memory.addPart(load, type.getDimSize(0), type.getShape().back());
  });
  memory.place(schedule.getKeyWarps(), schedule.getStages());
  return memory;
}

//===----------------------------------------------------------------------===//
// The order of steps
//===----------------------------------------------------------------------===//

/// First step of split `split` in [first, last), or one behind.
Value CudaTileEmitter::splitBegin(const FlashSteps &steps, Value split) {
  Value begin = add(steps.aligned, split);
  return b.createOrFold<arith::SelectOp>(
      less(begin, steps.first), add(begin, number(steps.splits)), begin);
}

/// The split and its first step, or those of the next split that has steps. If
/// it has none there are fewer steps than splits, and those that have one
/// follow each other from the first step's on.
FlashPlace CudaTileEmitter::splitFrom(const FlashSteps &steps, Value split) {
  Value begin = splitBegin(steps, split);
  Value isEmpty = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sge,
                                                begin, steps.last);
  Value firstSplit = b.createOrFold<arith::SubIOp>(steps.first, steps.aligned);
  return {b.createOrFold<arith::SelectOp>(isEmpty, firstSplit, split),
          b.createOrFold<arith::SelectOp>(isEmpty, steps.first, begin)};
}

FlashPlace CudaTileEmitter::nextStep(const FlashSteps &steps,
                                     const FlashPlace &place) {
  Value step = add(place.step, number(steps.splits));
  if (clusterSize > 1)
    return {place.split, step};
  Value isInside = less(step, steps.last);
  FlashPlace other = splitFrom(steps, add(place.split, number(1)));
  return {b.createOrFold<arith::SelectOp>(isInside, place.split, other.split),
          b.createOrFold<arith::SelectOp>(isInside, step, other.step)};
}

/// The steps of this block: its split's in a cluster, else all.
FlashSteps CudaTileEmitter::getFlashSteps(FoldOp op) {
  auto schedule = cast<FlashScheduleAttr>(kernel.getScheduleAttr());
  auto narrow = [&](Value value) {
    return b.createOrFold<arith::IndexCastOp>(b.getI32Type(), values.at(value));
  };
  FlashSteps steps;
  steps.splits = schedule.getSplits();
  steps.first = narrow(op.getLower());
  steps.last = narrow(op.getUpper());
  steps.aligned = b.createOrFold<arith::SubIOp>(
      steps.first,
      b.createOrFold<arith::RemUIOp>(steps.first, number(steps.splits)));
  if (clusterSize == 1) {
    steps.begin = splitFrom(steps, number(0));
    steps.count = b.createOrFold<arith::SubIOp>(steps.last, steps.first);
    return steps;
  }
  Value rank = cuda::ClusterRankOp::create(b, b.getI32Type());
  steps.begin = {rank, splitBegin(steps, rank)};
  Value span = b.createOrFold<arith::SubIOp>(
      add(steps.last, number(steps.splits - 1)), steps.begin.step);
  // Negative if the split has no step: rounds to 0 or less.
  steps.count = b.createOrFold<arith::DivSIOp>(span, number(steps.splits));
  return steps;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Operations of a step that say where its tiles lie, and what of that other
/// operations compute: what the loads' operands are.
struct CudaTileEmitter::StepAddresses {
  SmallVector<Operation *> ops;  ///< In their order.
  SmallVector<Value> operands;   ///< Of loads, not constant.
  SmallVector<Operation *> body; ///< What computes with the step's tiles.
};

/// The operations of the block that the given ones need, and these. What the
/// loads of the ring need is left out.
static llvm::SmallPtrSet<Operation *, 32>
getNeeded(Block &block, const FlashMemory &memory,
          SmallVector<Operation *> work) {
  llvm::SmallPtrSet<Operation *, 32> needed;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    auto load = dyn_cast<LoadOp>(op);
    if ((load && memory.find(load)) || !needed.insert(op).second)
      continue;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *definer = operand.getDefiningOp())
          if (definer->getBlock() == &block)
            work.push_back(definer);
    });
  }
  return needed;
}

/// Whether elements with consecutive indices are consecutive in memory.
static bool isConsecutive(const DimAddress &dim) {
  return dim.size() == 1 && dim[0].divisor == 1 && !dim[0].count &&
         dim[0].stride == 1;
}

FailureOr<CudaTileEmitter::StepAddresses>
CudaTileEmitter::getStepAddresses(FoldOp op) {
  Block &block = op.getBlock();
  StepAddresses addresses;
  SmallVector<Operation *> sources;
  for (const RingPart &part : flash->parts) {
    LoadOp load = part.load;
    auto type = cast<RankedTensorType>(load.getType());
    if (load->getBlock() != &block || type.getRank() != 2 ||
        type.getElementTypeBitWidth() != 16 ||
        type.getDimSize(1) % chunkElements != 0 || load.getColumns() ||
        !llvm::is_contained(kernel.getBuffers(), load.getView()) ||
        !isConsecutive(views.at(load.getView()).dims[load.getTileDims()[1]]))
      return load.emitError("cannot be copied ahead; expected rows of a "
                            "multiple of 8 consecutive f16 or bf16 "
                            "elements of a buffer");
    for (Value operand : load->getOperands()) {
      Operation *definer = operand.getDefiningOp();
      if (!definer || definer->getBlock() != &block)
        continue;
      sources.push_back(definer);
      if (!definer->hasTrait<OpTrait::ConstantLike>() &&
          !llvm::is_contained(addresses.operands, operand))
        addresses.operands.push_back(operand);
    }
  }
  auto forAddresses = getNeeded(block, *flash, sources);
  auto forState = getNeeded(block, *flash, {block.getTerminator()});
  for (Operation &inner : block.without_terminator()) {
    if (forAddresses.contains(&inner)) {
      if (!isa<memref::LoadOp>(inner) && !isPure(&inner))
        return inner.emitError("cannot be computed ahead of its step");
      addresses.ops.push_back(&inner);
    }
    if (forState.contains(&inner))
      addresses.body.push_back(&inner);
  }
  return addresses;
}

/// What the loads of a step need.
FailureOr<SmallVector<Value>>
CudaTileEmitter::emitStepAddresses(FoldOp op, const StepAddresses &addresses,
                                   Value step) {
  values[op.getIndex()] =
      b.createOrFold<arith::IndexCastOp>(b.getIndexType(), step);
  for (Operation *inner : addresses.ops)
    if (failed(emitOp(inner)))
      return failure();
  return lookup(addresses.operands);
}

/// Starts copying the tiles of a step into a slot.
LogicalResult CudaTileEmitter::emitStepCopies(const StepAddresses &addresses,
                                              ValueRange operands, Value slot) {
  bind(addresses.operands, operands);
  for (Operation *inner : addresses.ops)
    if (inner->hasTrait<OpTrait::ConstantLike>() && failed(emitOp(inner)))
      return failure();
  Value slotStart = mul(slot, flash->slotBytes / 2);
  for (const RingPart &part : flash->parts) {
    LoadOp load = part.load;
    auto type = cast<RankedTensorType>(load.getType());
    beforeRead(load.getView());
    CudaAccess access =
        makeAccess(load.getView(), load.getIndices(), load.getTileDims(), type);
    if (load.getRows())
      access.rows = clampCount(load.getRows(), type.getDimSize(0));
    Value target = cuda::SharedMemoryOp::create(
        b,
        cuda::PtrType::get(b.getContext(), type.getElementType(),
                           cuda::Space::Shared),
        part.offset);
    TileLayout layout{type.getDimSize(0), type.getDimSize(1) / chunkElements,
                      threads};
    for (int64_t i = 0; i * threads < layout.elements(); ++i) {
      TilePosition position = layout.isReplicated() ? makePosition(layout, i)
                                                    : positionOf(layout, i);
      guarded(position.inside, [&] {
        Value column = mul(position.column, chunkElements);
        Value to = add(slotStart, add(mul(position.row, part.pitch), column));
        Value from = offsetOf(access, {clampRow(access, position.row), column});
        cuda::CopyAsyncOp::create(b, target, to, access.pointer, from,
                                  chunkBytes, Value());
      });
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The fold
//===----------------------------------------------------------------------===//

LogicalResult CudaTileEmitter::emitFlashFold(FoldOp op) {
  auto schedule = dyn_cast_or_null<FlashScheduleAttr>(kernel.getScheduleAttr());
  if (!schedule || flash || op->getParentOfType<LoopLikeOpInterface>() ||
      op->getParentOfType<FoldOp>())
    return op.emitError("can be cut over warps once in a kernel with a "
                        "#tile.flash_schedule, outside of loops");
  flash = getFlashMemory(op, schedule);
  flashRows = number(flash->rows);
  op.getBlock().walk([&](MmaOp mma) {
    if (auto heads = mma.getLhs().getDefiningOp<LoadHeadsOp>())
      flashRows =
          mul(clampCount(heads.getRows(), flash->rows), heads.getHeads());
  });
  FailureOr<StepAddresses> addresses = getStepAddresses(op);
  if (failed(addresses))
    return failure();
  emitEmptyState();
  FlashSteps steps = getFlashSteps(op);
  int64_t ahead = schedule.getStages() - 1;
  LogicalResult result = success();
  auto run = [&](LogicalResult step) {
    if (failed(step))
      result = failure();
  };
  // Steps behind the last one are looked up as if they were the first.
  auto lookUp = [&](Value isInside, Value step) -> SmallVector<Value> {
    FailureOr<SmallVector<Value>> operands = emitStepAddresses(
        op, *addresses,
        b.createOrFold<arith::SelectOp>(isInside, step, steps.first));
    run(operands);
    return succeeded(operands) ? *operands : SmallVector<Value>();
  };
  guarded(less(number(0), steps.count), [&] {
    FlashPlace place = steps.begin;
    for (int64_t i = 0; i < ahead; ++i) {
      guarded(i == 0 ? Value() : less(number(i), steps.count), [&] {
        FailureOr<SmallVector<Value>> operands =
            emitStepAddresses(op, *addresses, place.step);
        run(operands);
        if (succeeded(operands))
          run(emitStepCopies(*addresses, *operands, number(i)));
      });
      cuda::CommitCopiesOp::create(b);
      place = nextStep(steps, place);
    }
    SmallVector<Value> carried = lookup(op.getInit());
    size_t stateSize = carried.size();
    llvm::append_range(carried,
                       lookUp(less(number(ahead), steps.count), place.step));
    place = nextStep(steps, place);
    llvm::append_range(carried, ValueRange{steps.begin.split, steps.begin.step,
                                           place.split, place.step});
    if (failed(result))
      return;
    auto loop =
        scf::ForOp::create(b, number(0), steps.count, number(1), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    run(emitFlashStep(op, *addresses, steps, loop, stateSize));
  });
  return result;
}

/// The body of the loop over steps. It carries the state, where the tiles of
/// the next step to be copied lie, the split and number of the step, and those
/// of the next one to be looked up.
LogicalResult CudaTileEmitter::emitFlashStep(FoldOp op,
                                             const StepAddresses &addresses,
                                             const FlashSteps &steps,
                                             scf::ForOp loop,
                                             size_t stateSize) {
  auto schedule = cast<FlashScheduleAttr>(kernel.getScheduleAttr());
  int64_t ahead = schedule.getStages() - 1;
  Value number_ = loop.getInductionVar();
  SmallVector<Value> carried(loop.getRegionIterArgs());
  ValueRange operands =
      ValueRange(carried).slice(stateSize, addresses.operands.size());
  ValueRange places = ValueRange(carried).take_back(4);
  FlashPlace place = {places[0], places[1]}, next = {places[2], places[3]};
  auto slotOf = [&](Value step) -> Value {
    return b.createOrFold<arith::RemUIOp>(step, number(schedule.getStages()));
  };

  // The step's tiles have arrived, and all warps are through with the slot that
  // is filled next: that of the step before.
  cuda::WaitCopiesOp::create(b, ahead - 1);
  emitBarrier();
  Value copied = add(number_, number(ahead));
  LogicalResult result = success();
  guarded(less(copied, steps.count), [&] {
    result = emitStepCopies(addresses, operands, slotOf(copied));
  });
  if (failed(result))
    return failure();
  cuda::CommitCopiesOp::create(b);
  Value isInside = less(add(copied, number(1)), steps.count);
  FailureOr<SmallVector<Value>> nextOperands = emitStepAddresses(
      op, addresses,
      b.createOrFold<arith::SelectOp>(isInside, next.step, steps.first));
  if (failed(nextOperands))
    return failure();

  flashSlot = slotOf(number_);
  values[op.getIndex()] =
      b.createOrFold<arith::IndexCastOp>(b.getIndexType(), place.step);
  bind(op.getState(), ValueRange(carried).take_front(stateSize));
  for (Operation *inner : addresses.body) {
    b.setLoc(inner->getLoc());
    if (failed(emitOp(inner)))
      return failure();
  }
  b.setLoc(op.getLoc());
  SmallVector<Value> state =
      lookup(op.getBlock().getTerminator()->getOperands());
  SmallVector<Value> start = lookup(op.getInit());
  Value isLast = b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::sge, add(place.step, number(steps.splits)),
      steps.last);
  auto end = scf::IfOp::create(b, TypeRange(ValueRange(state)), isLast,
                               /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(end.thenBlock());
    emitSplitEnd(state, flashSlot);
    scf::YieldOp::create(b, start);
    b.setInsertionPointToStart(end.elseBlock());
    scf::YieldOp::create(b, state);
  }
  FlashPlace after = nextStep(steps, place), afterNext = nextStep(steps, next);
  SmallVector<Value> yielded(end.getResults());
  llvm::append_range(yielded, *nextOperands);
  llvm::append_range(yielded, ValueRange{after.split, after.step,
                                         afterNext.split, afterNext.step});
  scf::YieldOp::create(b, yielded);
  return success();
}
