//===- LowerTileToCudaStructure.cpp - Kernels, loops, order of accesses ---===//

#include "passes/Kernel/LowerTileKernels.h"
#include "passes/Kernel/LowerTileToCuda.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Threads of a block without a schedule.
static constexpr int64_t defaultThreads = 128;

CudaTileEmitter::CudaTileEmitter(ImplicitLocOpBuilder &builder, KernelOp kernel,
                                 const CudaArch &arch)
    : b(builder), kernel(kernel), arch(arch), threads(defaultThreads) {
  if (auto schedule =
          dyn_cast_or_null<CudaScheduleAttr>(kernel.getScheduleAttr())) {
    threads = schedule.getThreads();
    clusterSize = schedule.getCluster();
  }
  blockThreads = threads;
  if (auto schedule =
          dyn_cast_or_null<StreamScheduleAttr>(kernel.getScheduleAttr())) {
    threads = 32 * schedule.getMathWarps();
    blockThreads = threads + 32 * schedule.getLoadWarps();
    clusterSize = schedule.getCluster();
    isStreamed = true;
    SumParts parts = {schedule.getStepWarps(), clusterSize,
                      schedule.getWarpgroups()};
    if (parts.areKept())
      kernel.walk([&](ShareOp share) {
        keptShape = llvm::to_vector(
            cast<RankedTensorType>(share.getOutputs().front().getType())
                .getShape());
      });
  }
  if (auto schedule =
          dyn_cast_or_null<FlashScheduleAttr>(kernel.getScheduleAttr())) {
    threads = blockThreads =
        32 * schedule.getRowWarps() * schedule.getKeyWarps();
    clusterSize = schedule.getCluster();
  }
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// The arguments of the CUDA kernel interface: a pointer per buffer, the
/// symbols, the number of work items.
static SmallVector<Type> getArgumentTypes(KernelOp kernel, Builder &builder) {
  SmallVector<Type> types;
  for (BlockArgument buffer : kernel.getBuffers())
    types.push_back(
        cuda::PtrType::get(builder.getContext(),
                           cast<MemRefType>(buffer.getType()).getElementType(),
                           cuda::Space::Global));
  types.append(kernel.getSymbolArguments().size() + 1, builder.getIndexType());
  return types;
}

void CudaTileEmitter::emitArguments(cuda::KernelOp target) {
  llvm::DenseSet<Value> written;
  kernel.walk([&](StoreOp store) { written.insert(store.getView()); });
  kernel.walk([&](StoreHeadsOp store) { written.insert(store.getView()); });
  kernel.walk([&](AppendHeadsOp append) { written.insert(append.getCache()); });
  for (auto [symbol, argument] :
       llvm::zip(kernel.getSymbolArguments(),
                 target.getBlock().getArguments().drop_front(
                     kernel.getBufferCount())))
    values[symbol] = argument;
  for (auto [buffer, argument] :
       llvm::zip(kernel.getBuffers(), target.getBlock().getArguments())) {
    CudaView view = makeView(cast<MemRefType>(buffer.getType()), argument);
    std::optional<ArrayRef<int64_t>> constants = kernel.getConstants();
    bool isConstant =
        constants && llvm::is_contained(*constants, buffer.getArgNumber());
    // With dependent launches the kernel before may write after this one has
    // begun, and the L1 cache may hold what it found then.
    if (arch.hasDependentLaunch && !isConstant)
      view.hint = cuda::CacheHint::L2;
    else if (!written.contains(buffer))
      view.hint = cuda::CacheHint::ReadOnly;
    views[buffer] = view;
  }
}

LogicalResult CudaTileEmitter::emitKernel(StringRef name) {
  OperationState state(b.getLoc(), cuda::KernelOp::getOperationName());
  state.addAttribute("sym_name", b.getStringAttr(name));
  state.addAttribute("arch", b.getStringAttr(arch.name));
  state.addAttribute("threads", b.getI64IntegerAttr(blockThreads));
  state.addAttribute("cluster", b.getI64IntegerAttr(clusterSize));
  state.addAttribute("shared", b.getI64IntegerAttr(0));
  state.addRegion();
  auto target = cast<cuda::KernelOp>(b.create(state));
  target.setDependentLaunch(arch.hasDependentLaunch);
  SmallVector<Type> types = getArgumentTypes(kernel, b);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&target.getBody(), {}, types,
                SmallVector<Location>(types.size(), b.getLoc()));

  thread = cuda::ThreadIndexOp::create(b, b.getI32Type());
  Value item = cuda::BlockIndexOp::create(b, b.getIndexType());
  prologueEnd = item.getDefiningOp();
  // From here on, but within exchanges, all threads have arrived at the barrier
  // of the cluster and not waited for the others. What tile.all_gather reads it
  // has read when the blocks go on, so that it waits at once.
  bool isArriving =
      clusterSize > 1 && !isa<CudaScheduleAttr>(kernel.getScheduleAttr());
  if (isArriving)
    cuda::ClusterArriveOp::create(b, /*relaxed=*/true);
  bool isWaiting =
      kernel.walk([](WaitDependencyOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (arch.hasDependentLaunch) {
    // The next kernel may be prepared at once: its blocks start when all of
    // these run, so they take no place from them, and wait in turn. Kernels
    // that say so wait when they need what earlier kernels wrote.
    if (!isWaiting)
      cuda::WaitDependencyOp::create(b);
    cuda::LaunchDependentsOp::create(b);
  }
  emitArguments(target);
  if (clusterSize > 1)
    item = b.createOrFold<arith::DivUIOp>(item, index(clusterSize));
  values[kernel.getItem()] = item;
  if (BlockArgument end = kernel.getItemEnd())
    values[end] = add(item, index(1));
  scratchOffset = getPipelineBytes();
  stagingOffset = scratchOffset + kernel.getScratchBytes();
  if (failed(emitBlock(kernel.getBlock())))
    return failure();
  // No block may end while another one of the cluster reads its memory.
  if (isArriving)
    cuda::ClusterWaitOp::create(b);
  cuda::ReturnOp::create(b);

  int64_t shared = stagingOffset + stagingBytes;
  target.setShared(shared);
  if (shared > int64_t(arch.sharedBytes))
    return kernel.emitError("needs ")
           << shared << " bytes of shared memory for a block (" << stagingOffset
           << " of scratch), but '" << arch.name << "' has " << arch.sharedBytes
           << "; choose a schedule with smaller tiles";
  return success();
}

//===----------------------------------------------------------------------===//
// Order of memory accesses
//===----------------------------------------------------------------------===//

void PendingAccesses::clear() {
  reads.clear();
  writes.clear();
}

void PendingAccesses::add(const PendingAccesses &other) {
  reads.insert(other.reads.begin(), other.reads.end());
  for (const auto &[view, ops] : other.writes)
    writes[view].insert(ops.begin(), ops.end());
}

void CudaTileEmitter::beforeRead(Value view) {
  if (pending.writes.contains(view)) {
    emitBarrier();
    pending.clear();
  }
  pending.reads.insert(view);
}

/// Whether this is the loop over the work items of a call, which are one.
static bool isItemLoop(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  auto kernel = op->getParentOfType<KernelOp>();
  return loop && kernel.getItemEnd() && loop.getInitArgs().empty() &&
         loop.getLowerBound() == kernel.getItem() &&
         loop.getUpperBound() == kernel.getItemEnd();
}

/// Whether a number is the same whenever it is computed in a work item.
static bool isInvariant(Value value) {
  Operation *parent = value.getParentBlock()->getParentOp();
  for (; !isa<KernelOp>(parent); parent = parent->getParentOp())
    if (isa<FoldOp, LoopLikeOpInterface>(parent) && !isItemLoop(parent))
      return false;
  return true;
}

/// Whether two executions of a store write the same elements, each by the same
/// thread, or no element in common: its indices are sums of invariant numbers
/// and at most one loop index each, whose steps are as wide as the tile.
static bool isRepeatable(StoreOp store) {
  auto isTiledBy = [&](Value value, int64_t extent) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getArgNumber() != 0)
      return false;
    Value lower, step;
    Operation *loop = argument.getOwner()->getParentOp();
    if (auto forLoop = dyn_cast<scf::ForOp>(loop)) {
      lower = forLoop.getLowerBound();
      step = forLoop.getStep();
    } else if (auto fold = dyn_cast<FoldOp>(loop)) {
      lower = fold.getLower();
      step = fold.getStep();
    } else {
      return false;
    }
    APInt constant;
    return isInvariant(lower) && matchPattern(step, m_ConstantInt(&constant)) &&
           constant.sge(extent);
  };
  auto type = cast<RankedTensorType>(store.getTile().getType());
  SmallVector<int64_t> dims = store.getTileDims();
  for (auto [dim, index] : llvm::enumerate(store.getIndices())) {
    int64_t extent = 1;
    if (auto *found = llvm::find(dims, static_cast<int64_t>(dim));
        found != dims.end())
      extent = type.getDimSize(found - dims.begin());
    SmallVector<Value> terms = {index};
    bool hasLoop = false;
    while (!terms.empty()) {
      Value term = terms.pop_back_val();
      APInt constant;
      if (isInvariant(term) || matchPattern(term, m_ConstantInt(&constant)))
        continue;
      if (auto sum = term.getDefiningOp<arith::AddIOp>()) {
        llvm::append_range(terms, sum.getOperands());
        continue;
      }
      if (hasLoop || !isTiledBy(term, extent))
        return false;
      hasLoop = true;
    }
  }
  return true;
}

void CudaTileEmitter::beforeWrite(Value view, Operation *op) {
  bool conflict = pending.reads.contains(view);
  if (auto found = pending.writes.find(view); found != pending.writes.end()) {
    auto store = dyn_cast_or_null<StoreOp>(op);
    bool repeated = found->second.size() == 1 && found->second.contains(op);
    conflict |= !repeated || !store || !isRepeatable(store);
  }
  if (conflict) {
    emitBarrier();
    pending.clear();
  }
  if (!view)
    staged = nullptr;
  pending.writes[view].insert(op);
}

/// An iteration comes after another one: whatever the body accesses may be
/// pending at its start.
void CudaTileEmitter::enterLoop(Operation *loop) {
  loop->walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      pending.reads.insert(load.getView());
    else if (auto load = dyn_cast<memref::LoadOp>(op))
      pending.reads.insert(load.getMemRef());
    else if (auto store = dyn_cast<StoreOp>(op))
      pending.writes[store.getView()].insert(op);
    else if (isa<MmaOp>(op))
      for (Value operand : op->getOperands().take_front(2))
        if (auto late = operand.getDefiningOp<LoadOp>())
          pending.reads.insert(late.getView());
  });
  pending.reads.insert(Value());
  pending.writes[Value()].insert(nullptr);
}

//===----------------------------------------------------------------------===//
// Blocks and loops
//===----------------------------------------------------------------------===//

LogicalResult CudaTileEmitter::emitBlock(Block &block) {
  staged = nullptr;
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    if (failed(emitOp(&op)))
      return failure();
  }
  b.setLoc(block.getTerminator()->getLoc());
  staged = nullptr;
  return success();
}

LogicalResult CudaTileEmitter::emitOp(Operation *op) {
  if (failed(checkTileRanks(op)))
    return failure();
  if (isOnWarpTiles(op))
    return emitOnWarpTiles(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ScratchOp scratch) { return emitScratch(scratch), success(); })
      .Case([&](LoadOp load) { return emitLoad(load); })
      .Case([&](StoreOp store) { return emitStore(store); })
      .Case(
          [&](memref::LoadOp load) { return emitElementLoad(load), success(); })
      .Case([&](FoldOp fold) {
        if (isFlashFold(fold))
          return emitFlashFold(fold);
        return emitLoop(fold, fold.getLower(), fold.getUpper(), fold.getStep(),
                        fold.getInit(), fold.getBlock());
      })
      .Case([&](ChannelOp channel) { return emitChannel(channel); })
      .Case([&](RoleOp role) { return emitRole(role); })
      .Case([&](ProduceOp produce) { return emitProduce(produce); })
      .Case([&](ConsumeOp consume) { return emitConsume(consume); })
      .Case([&](ShareOp share) { return emitShare(share); })
      .Case([&](AllGatherOp gather) { return emitAllGather(gather); })
      .Case([&](ClusterBarrierOp) {
        meetBlocks(/*relaxed=*/true);
        return success();
      })
      .Case([&](ShareSoftmaxOp share) { return emitShareSoftmax(share); })
      .Case([&](StoreHeadsOp store) { return emitStoreHeads(store); })
      .Case([&](RotateOp rotate) { return emitRotate(rotate); })
      .Case([&](AppendHeadsOp append) { return emitAppendHeads(append); })
      .Case([&](ClusterRankOp rank) {
        values[rank.getResult()] =
            clusterSize == 1
                ? index(0)
                : Value(cuda::ClusterRankOp::create(b, b.getIndexType()));
        return success();
      })
      .Case([&](WaitDependencyOp wait) { return emitWait(wait); })
      .Case([&](MmaOp mma) { return emitMma(mma); })
      .Case([&](ReduceOp reduce) { return emitReduce(reduce); })
      .Case(
          [&](BroadcastOp repeat) { return emitBroadcast(repeat), success(); })
      .Case([&](SplatOp splat) { return emitSplat(splat), success(); })
      .Case([&](ExtractOp extract) {
        values[extract.getResult()] = registerOf(extract.getInput(), 0);
        return success();
      })
      .Case([&](IotaOp iota) { return emitIota(iota), success(); })
      .Case([&](SliceOp slice) { return emitSlice(slice), success(); })
      .Case([&](JoinOp join) { return emitJoin(join), success(); })
      .Case([&](scf::ForOp loop) -> LogicalResult {
        if (failed(checkSigned(loop)))
          return failure();
        return emitLoop(loop, loop.getLowerBound(), loop.getUpperBound(),
                        loop.getStep(), loop.getInitArgs(), *loop.getBody());
      })
      .Case([&](scf::IfOp branch) { return emitIf(branch); })
      .Case([&](scf::WhileOp loop) { return emitWhile(loop); })
      .Case([&](arith::ConstantOp constant) { return emitConstant(constant); })
      .Default([&](Operation *other) -> LogicalResult {
        if (isArithmetic(other) &&
            (isOnNumbers(other) || other->hasTrait<OpTrait::Elementwise>()))
          return emitElementwise(other);
        return rejectOperation(other, "memref.load");
      });
}

LogicalResult CudaTileEmitter::emitLoop(Operation *op, Value lower, Value upper,
                                        Value step, ValueRange init,
                                        Block &body) {
  if (isItemLoop(op)) {
    values[body.getArgument(0)] = values.at(lower);
    return emitBlock(body);
  }
  // What pieces are multiplied with is read without looking back.
  bool isWritten = false;
  op->walk([&](ConsumeOp consume) {
    for (auto load : consume.getBlock().getOps<LoadOp>())
      isWritten |= pending.writes.contains(load.getView());
  });
  if (isWritten) {
    emitBarrier();
    pending.clear();
  }
  auto loop = scf::ForOp::create(b, values.at(lower), values.at(upper),
                                 values.at(step), lookup(init));
  PendingAccesses before = pending;
  enterLoop(op);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    values[body.getArgument(0)] = loop.getInductionVar();
    bind(body.getArguments().drop_front(), loop.getRegionIterArgs());
    if (failed(emitBlock(body)))
      return failure();
    // A loop without results got its terminator from the builder.
    if (!init.empty())
      scf::YieldOp::create(b, lookup(body.getTerminator()->getOperands()));
  }
  pending.add(before);
  b.setLoc(op->getLoc());
  bind(op->getResults(), loop.getResults());
  return success();
}

LogicalResult CudaTileEmitter::emitIf(scf::IfOp op) {
  auto branch = scf::IfOp::create(b, convert(op.getResultTypes()),
                                  values.at(op.getCondition()),
                                  !op.getElseRegion().empty());
  PendingAccesses before = pending, after;
  for (auto [from, to] : llvm::zip(op->getRegions(), branch->getRegions())) {
    pending = before;
    if (!from.empty()) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&to.front());
      if (failed(emitBlock(from.front())))
        return failure();
      if (op.getNumResults() != 0)
        scf::YieldOp::create(
            b, lookup(from.front().getTerminator()->getOperands()));
    }
    after.add(pending);
  }
  pending = std::move(after);
  b.setLoc(op.getLoc());
  bind(op.getResults(), branch.getResults());
  return success();
}

LogicalResult CudaTileEmitter::emitWhile(scf::WhileOp op) {
  auto loop = scf::WhileOp::create(b, convert(op.getResultTypes()),
                                   lookup(op.getInits()));
  PendingAccesses before = pending;
  enterLoop(op);
  OpBuilder::InsertionGuard guard(b);
  auto enter = [&](Region &region, Block *source) {
    SmallVector<Type> types = convert(source->getArgumentTypes());
    Block *block =
        b.createBlock(&region, region.end(), types,
                      SmallVector<Location>(types.size(), b.getLoc()));
    bind(source->getArguments(), block->getArguments());
    return emitBlock(*source);
  };
  if (failed(enter(loop.getBefore(), op.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  scf::ConditionOp::create(b, values.at(condition.getCondition()),
                           lookup(condition.getArgs()));
  // The loop ends behind the first region, whichever iteration it is.
  PendingAccesses atEnd = pending;
  if (failed(enter(loop.getAfter(), op.getAfterBody())))
    return failure();
  scf::YieldOp::create(b, lookup(op.getYieldOp().getOperands()));
  pending = std::move(atEnd);
  pending.add(before);
  b.setLoc(op.getLoc());
  bind(op.getResults(), loop.getResults());
  return success();
}
