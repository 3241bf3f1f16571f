//===- LowerTileToCudaFlash.cpp - Softmax folds on tensor cores -----------===//
//
// A fold with merge softmax whose state warps hold is cut twice: warps divide
// the columns of each step, and the steps are dealt out to the splits of the
// schedule, step n to split n % splits. Block c of a cluster takes the splits
// c, c + cluster, ... one after the other; what each gives is merged in
// ascending order (LowerTileToCudaFlashState.cpp).
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
  memory.rows = schedule.getRows();
  memory.columns = values.getDimSize(1);
  fold.getBlock().walk([&](MmaOp mma) {
    auto load = mma.getRhs().getDefiningOp<LoadOp>();
    if (!load || memory.find(load))
      return;
    auto type = cast<RankedTensorType>(load.getType());
    memory.addPart(load, type.getDimSize(0), type.getShape().back());
  });
  memory.place(schedule.getKeyWarps(), schedule.getStages(),
               schedule.getSplits(), schedule.getCluster());
  return memory;
}

//===----------------------------------------------------------------------===//
// The order of steps
//===----------------------------------------------------------------------===//

Value CudaTileEmitter::narrow(Value index) {
  return b.createOrFold<arith::IndexCastOp>(b.getI32Type(), index);
}

/// Of a number that is not negative.
Value CudaTileEmitter::modulo(Value value, int64_t divisor) {
  return b.createOrFold<arith::RemUIOp>(value, number(divisor));
}

/// First step of a split of the block, or of its next split that has steps. If
/// one has none there are fewer steps than splits, and those that have one
/// follow each other from the first step's on.
Value CudaTileEmitter::splitBegin(const FlashSteps &steps, Value split) {
  Value begin = add(steps.aligned, split);
  begin = b.createOrFold<arith::SelectOp>(
      less(begin, steps.first), add(begin, number(steps.splits)), begin);
  return b.createOrFold<arith::SelectOp>(less(begin, steps.last), begin,
                                         steps.lowest);
}

/// The step behind `step`: of its split, or the first of the block's next one.
Value CudaTileEmitter::nextStep(const FlashSteps &steps, Value step) {
  Value later = add(step, number(steps.splits));
  if (clusterSize == steps.splits)
    return later;
  Value split = add(modulo(step, steps.splits), number(clusterSize));
  return b.createOrFold<arith::SelectOp>(less(later, steps.last), later,
                                         splitBegin(steps, split));
}

/// The steps of this block: step n is in block n % cluster.
FlashSteps CudaTileEmitter::getFlashSteps(FoldOp op) {
  auto schedule = cast<FlashScheduleAttr>(kernel.getScheduleAttr());
  auto subtract = [&](Value a, Value c) {
    return b.createOrFold<arith::SubIOp>(a, c);
  };
  FlashSteps steps;
  steps.splits = schedule.getSplits();
  steps.first = narrow(values.at(op.getLower()));
  steps.last = narrow(values.at(op.getUpper()));
  steps.aligned = subtract(steps.first, modulo(steps.first, steps.splits));
  Value rank = number(0), skipped = number(0);
  if (clusterSize > 1) {
    rank = cuda::ClusterRankOp::create(b, b.getI32Type());
    skipped = modulo(subtract(add(rank, number(clusterSize)),
                              modulo(steps.first, clusterSize)),
                     clusterSize);
  }
  steps.lowest = add(steps.first, skipped);
  // Negative if there is none: rounds to 0 or less.
  steps.count = subtract(steps.last, steps.lowest);
  if (clusterSize > 1)
    steps.count = b.createOrFold<arith::DivSIOp>(
        add(steps.count, number(clusterSize - 1)), number(clusterSize));
  steps.begin =
      clusterSize < steps.splits ? splitBegin(steps, rank) : steps.lowest;
  return steps;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

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

FailureOr<StepAddresses> CudaTileEmitter::getStepAddresses(FoldOp op) {
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

/// Whether rows follow each other at the same distance in memory.
static bool isStrided(const DimAddress &dim) {
  return dim.size() == 1 && dim[0].divisor == 1 && !dim[0].count &&
         !dim[0].isPerRow;
}

/// Copies whose rows a thread has at the same distance: their addresses are
/// sums of one number and constants, which instructions take as they are. Rows
/// behind the last one inside become zeros.
void CudaTileEmitter::emitStridedCopies(const RingPart &part,
                                        const CudaAccess &access,
                                        const TileLayout &layout, Value target,
                                        Value slotStart) {
  TilePosition first = positionOf(layout, 0);
  Value column = mul(first.column, chunkElements);
  Value to = add(slotStart, add(mul(first.row, part.pitch), column));
  Value from = b.createOrFold<arith::IndexCastOp>(
      b.getIndexType(), offsetOf(access, {first.row, column}));
  Value rowsLeft;
  if (access.rows)
    rowsLeft = b.createOrFold<arith::SubIOp>(access.rows, first.row);
  int64_t step = threads / layout.columns;
  int64_t stride = access.dims[0].address[0].stride;
  for (int64_t row = 0; row < layout.rows; row += step) {
    Value isThere = row + step > layout.rows
                        ? less(first.row, number(layout.rows - row))
                        : Value();
    guarded(isThere, [&] {
      cuda::CopyAsyncOp::create(
          b, target, add(to, number(row * part.pitch)), access.pointer,
          add(from, index(row * stride)), chunkBytes,
          rowsLeft ? less(number(row), rowsLeft) : Value());
    });
  }
}

void CudaTileEmitter::emitPlacedCopies(const RingPart &part,
                                       const CudaAccess &access,
                                       const TileLayout &layout, Value target,
                                       Value slotStart) {
  for (int64_t i = 0; i * threads < layout.elements(); ++i) {
    TilePosition position =
        layout.isReplicated() ? makePosition(layout, i) : positionOf(layout, i);
    guarded(position.inside, [&] {
      Value column = mul(position.column, chunkElements);
      Value to = add(slotStart, add(mul(position.row, part.pitch), column));
      Value from = offsetOf(access, {clampRow(access, position.row), column});
      Value isValid;
      if (access.rows)
        isValid = less(position.row, access.rows);
      cuda::CopyAsyncOp::create(b, target, to, access.pointer, from, chunkBytes,
                                isValid);
    });
  }
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
    if (!access.dims[0].origin && isStrided(access.dims[0].address) &&
        threads % layout.columns == 0)
      emitStridedCopies(part, access, layout, target, slotStart);
    else
      emitPlacedCopies(part, access, layout, target, slotStart);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The fold
//===----------------------------------------------------------------------===//

/// Whether what the fold begins with has been lowered.
LogicalResult CudaTileEmitter::requireLowered(FoldOp op,
                                              ArrayRef<Operation *> ops) {
  auto isLowered = [&](Value value) {
    return op.getBody().isAncestor(value.getParentRegion()) ||
           values.contains(value) || views.contains(value);
  };
  bool all = isLowered(op.getLower()) && isLowered(op.getUpper());
  for (Operation *inner : ops)
    all &= llvm::all_of(inner->getOperands(), isLowered);
  if (all)
    return success();
  return op.emitError("begins at the tile.wait_dependency before it, but its "
                      "steps need what is computed between the two");
}

/// Waits for earlier kernels. The fold whose steps are said to be settled
/// begins here.
LogicalResult CudaTileEmitter::emitWait(WaitDependencyOp op) {
  if (op.getSettled()) {
    for (FoldOp fold : op->getBlock()->getOps<FoldOp>())
      if (op->isBeforeInBlock(fold) && isFlashFold(fold))
        return beginFlashFold(fold, values.at(op.getSettled()));
    return op.emitError("says that steps are settled, but no fold with merge "
                        "softmax whose state warps hold stands behind it");
  }
  if (arch.hasDependentLaunch)
    cuda::WaitDependencyOp::create(b);
  return success();
}

/// Looks up where the first steps' tiles lie and starts to copy them. Where
/// `settled` is given these wait for earlier kernels, unless all are settled;
/// in any case what follows does.
LogicalResult CudaTileEmitter::beginFlashFold(FoldOp op, Value settled) {
  auto schedule = dyn_cast_or_null<FlashScheduleAttr>(kernel.getScheduleAttr());
  if (!schedule || flash || op->getParentOfType<LoopLikeOpInterface>() ||
      op->getParentOfType<FoldOp>())
    return op.emitError("can be cut over warps once in a kernel with a "
                        "#tile.flash_schedule, outside of loops");
  flash = getFlashMemory(op, schedule);
  FailureOr<StepAddresses> addresses = getStepAddresses(op);
  if (failed(addresses) || failed(requireLowered(op, addresses->ops)))
    return failure();
  FlashSteps steps = getFlashSteps(op);
  flashStart = FlashStart{op, std::move(*addresses), steps, {}, {}};
  Value next = steps.begin, newest = steps.first;
  int64_t ahead = schedule.getStages() - 1;
  SmallVector<SmallVector<Value>> places;
  for (int64_t i = 0; i <= ahead; ++i) {
    // Steps behind the last one are looked up as if they were the first.
    Value isThere = less(number(i), steps.count);
    Value step = b.createOrFold<arith::SelectOp>(isThere, next, steps.first);
    FailureOr<SmallVector<Value>> operands =
        emitStepAddresses(op, flashStart->addresses, step);
    if (failed(operands))
      return failure();
    places.push_back(std::move(*operands));
    if (settled && i < ahead)
      newest = b.createOrFold<arith::MaxSIOp>(newest, step);
    next = nextStep(steps, next);
  }
  flashStart->lookedUp = places.pop_back_val();
  flashStart->next = next;
  bool isWaiting = settled && arch.hasDependentLaunch;
  if (isWaiting)
    guarded(less(narrow(settled), add(newest, number(1))),
            [&] { cuda::WaitDependencyOp::create(b); });
  LogicalResult result = success();
  for (auto [i, operands] : llvm::enumerate(places)) {
    guarded(less(number(i), steps.count), [&] {
      if (failed(emitStepCopies(flashStart->addresses, operands, number(i))))
        result = failure();
    });
    cuda::CommitCopiesOp::create(b);
  }
  if (isWaiting)
    cuda::WaitDependencyOp::create(b);
  return result;
}

LogicalResult CudaTileEmitter::emitFlashFold(FoldOp op) {
  if ((!flashStart || flashStart->fold != op) && failed(beginFlashFold(op)))
    return failure();
  const FlashSteps &steps = flashStart->steps;
  // Splits without steps give nothing.
  if (flash->states > 1)
    guarded(less(b.createOrFold<arith::SubIOp>(steps.last, steps.first),
                 number(steps.splits)),
            [&] { emitEmptyStates(); });
  // The state of the splits before, where one block has several.
  SmallVector<Value> init = lookup(op.getInit());
  SmallVector<Value> carried = init;
  if (flash->mergesInMemory)
    storeState(init, number(0));
  else if (clusterSize == 1 && steps.splits > 1)
    llvm::append_range(carried, init);
  size_t stateSize = carried.size();
  llvm::append_range(carried, flashStart->lookedUp);
  llvm::append_range(carried, ValueRange{steps.begin, flashStart->next});
  auto loop = scf::ForOp::create(b, number(0), steps.count, number(1), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    if (failed(emitFlashStep(op, loop)))
      return failure();
  }
  if (flash->keepsStates())
    return success();
  // All steps are done: the state takes the place of their tiles.
  emitBarrier();
  storeState(loop.getResults().take_front(stateSize).take_back(init.size()),
             number(0));
  return success();
}

/// The body of the loop over steps. It carries the state of the split and, in a
/// single block, of those before, where the tiles of the next step to be copied
/// lie, the number of the step, and that of the next one to be looked up.
LogicalResult CudaTileEmitter::emitFlashStep(FoldOp op, scf::ForOp loop) {
  auto schedule = cast<FlashScheduleAttr>(kernel.getScheduleAttr());
  const FlashSteps &steps = flashStart->steps;
  const StepAddresses &addresses = flashStart->addresses;
  int64_t ahead = schedule.getStages() - 1;
  Value number_ = loop.getInductionVar();
  ValueRange carried = loop.getRegionIterArgs();
  size_t stateSize = op.getInit().size();
  Value step = carried.drop_back().back(), next = carried.back();
  ValueRange operands =
      carried.drop_back(2).take_back(addresses.operands.size());
  ValueRange states = carried.drop_back(2 + addresses.operands.size());
  auto slotOf = [&](Value step) -> Value {
    return modulo(step, schedule.getStages());
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
      b.createOrFold<arith::SelectOp>(isInside, next, steps.first));
  if (failed(nextOperands))
    return failure();

  flashSlot = slotOf(number_);
  values[op.getIndex()] =
      b.createOrFold<arith::IndexCastOp>(b.getIndexType(), step);
  bind(op.getState(), states.take_front(stateSize));
  for (Operation *inner : addresses.body) {
    b.setLoc(inner->getLoc());
    if (failed(emitOp(inner)))
      return failure();
  }
  b.setLoc(op.getLoc());
  SmallVector<Value> yielded = emitSplitEnd(
      op, step, lookup(op.getBlock().getTerminator()->getOperands()),
      states.drop_front(stateSize));
  llvm::append_range(yielded, *nextOperands);
  llvm::append_range(yielded,
                     ValueRange{nextStep(steps, step), nextStep(steps, next)});
  scf::YieldOp::create(b, yielded);
  return success();
}

/// The states to go on with behind a step that leaves its split's in `state`:
/// behind the last step of a split it is merged into `before` or, if that is
/// empty, stored, and the next split begins.
SmallVector<Value> CudaTileEmitter::emitSplitEnd(FoldOp op, Value step,
                                                 SmallVector<Value> state,
                                                 ValueRange before) {
  const FlashSteps &steps = flashStart->steps;
  SmallVector<Value> kept = state;
  llvm::append_range(kept, before);
  // A block's only split ends with its loop.
  if (clusterSize == steps.splits && before.empty())
    return kept;
  Value isLast = b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::sge, add(step, number(steps.splits)), steps.last);
  auto end = scf::IfOp::create(b, TypeRange(ValueRange(kept)), isLast,
                               /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(end.thenBlock());
  SmallVector<Value> started = lookup(op.getInit());
  if (flash->mergesInMemory)
    mergeIntoMemory(state);
  else if (before.empty())
    storeState(state, b.createOrFold<arith::DivUIOp>(modulo(step, steps.splits),
                                                     number(clusterSize)));
  else
    llvm::append_range(started, mergeStates(before, state));
  scf::YieldOp::create(b, started);
  b.setInsertionPointToStart(end.elseBlock());
  scf::YieldOp::create(b, kept);
  return SmallVector<Value>(end.getResults());
}
