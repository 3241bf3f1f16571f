//===- PipelineFolds.cpp - Roles and channels of a streaming kernel -------===//

#include "dialects/Tile/TileDialect.h"
#include "passes/Kernel/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace weft::kernel {
#define GEN_PASS_DEF_PIPELINEFOLDS
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;
using namespace weft::tile;

namespace {

class FoldPipeline {
public:
  FoldPipeline(KernelOp kernel, StreamScheduleAttr schedule)
      : kernel(kernel), schedule(schedule), b(kernel.getLoc(), kernel) {}

  LogicalResult run() {
    if (failed(findFold()))
      return failure();
    makeChannel();
    if (schedule.getLoadWarps() == 0) {
      buildTogether();
    } else {
      buildLoadRole();
      buildMathRole();
    }
    fold->erase();
    return success();
  }

private:
  /// Finds the fold, its loop over tiles and what its multiplications read.
  LogicalResult findFold() {
    SmallVector<FoldOp> folds;
    kernel.walk([&](FoldOp candidate) {
      if (llvm::any_of(candidate.getBlock().getOps<MmaOp>(), [](MmaOp mma) {
            return mma.getInstruction() == MmaInstruction::Tensor;
          }))
        folds.push_back(candidate);
    });
    if (folds.size() != 1)
      return kernel.emitError("cannot pipeline a kernel with ")
             << folds.size()
             << " folds on tensor cores; expected one, or another schedule";
    fold = folds.front();
    tiles = dyn_cast<scf::ForOp>(fold->getParentOp());
    if (!tiles || tiles->getParentOp() != kernel || tiles.getNumResults() != 0)
      return fold.emitError("cannot pipeline a fold outside a loop over tiles "
                            "at the top level of its kernel");
    APInt lower, upper, step;
    if (!matchPattern(fold.getLower(), m_ConstantInt(&lower)) ||
        !matchPattern(fold.getUpper(), m_ConstantInt(&upper)) ||
        !matchPattern(fold.getStep(), m_ConstantInt(&step)) || lower != 0 ||
        upper.getSExtValue() % step.getSExtValue() != 0)
      return fold.emitError("cannot pipeline a fold unless it runs from 0 to a "
                            "multiple of its step");
    steps = upper.getSExtValue() / step.getSExtValue();
    for (Operation &op : fold.getBlock().without_terminator()) {
      auto load = dyn_cast<LoadOp>(op);
      if (load && llvm::is_contained(kernel.getBuffers(), load.getView()))
        loads.push_back(load);
      else if (!load && !isa<MmaOp>(op) && !isPure(&op))
        return op.emitError("cannot be pipelined in a fold; expected loads, "
                            "multiplications and index arithmetic");
    }
    return success();
  }

  /// Shared memory that holds what a load reads: its rows in the order of the
  /// view's dimensions.
  MemRefType getPartType(LoadOp load) {
    auto view = cast<MemRefType>(load.getView().getType());
    SmallVector<int64_t> shape(view.getRank(), 1);
    auto tile = cast<RankedTensorType>(load.getType());
    for (auto [dim, size] :
         llvm::zip_equal(load.getTileDims(), tile.getShape()))
      shape[dim] = size;
    return MemRefType::get(shape, view.getElementType(), view.getLayout());
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  /// The channel, and the numbers that both roles count by.
  void makeChannel() {
    b.setInsertionPoint(tiles);
    SmallVector<MemRefType> parts;
    for (LoadOp load : loads)
      parts.push_back(getPartType(load));
    channel = ChannelOp::create(b, ChannelType::get(b.getContext(), parts),
                                schedule.getSlots());
    // The steps of this block: an equal part of the fold, cut at whole steps.
    Value rank = ClusterRankOp::create(b);
    int64_t blocks = schedule.getCluster();
    auto cut = [&](Value number) -> Value {
      if (steps % blocks == 0)
        return b.createOrFold<arith::MulIOp>(number, index(steps / blocks));
      return b.createOrFold<arith::DivUIOp>(
          b.createOrFold<arith::MulIOp>(number, index(steps)), index(blocks));
    };
    firstStep = cut(rank);
    Value end = cut(b.createOrFold<arith::AddIOp>(rank, index(1)));
    stepCount = steps % blocks == 0
                    ? index(steps / blocks)
                    : b.createOrFold<arith::SubIOp>(end, firstStep);
    Value span = b.createOrFold<arith::SubIOp>(tiles.getUpperBound(),
                                               tiles.getLowerBound());
    tileCount = b.createOrFold<arith::CeilDivSIOp>(span, tiles.getStep());
    pieceCount = b.createOrFold<arith::MulIOp>(tileCount, stepCount);
  }

  //===--------------------------------------------------------------------===//
  // The role that loads
  //===--------------------------------------------------------------------===//

  /// Pieces in the order of their copies: tile by tile, step by step. Counted
  /// and not divided out of the number, as one warp does this for every piece.
  struct Cursor {
    Value piece, tile, step;
  };

  void buildLoadRole() {
    auto role = RoleOp::create(b, "load", schedule.getLoadWarps());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&role.getBody());
    Value slots = index(schedule.getSlots()), zero = index(0);
    Value first = b.createOrFold<arith::MinSIOp>(pieceCount, slots);
    Cursor start = {zero, zero, zero};
    Cursor cursor = buildProduceLoop(start, first, ProducePart::Early);
    WaitDependencyOp::create(b);
    buildProduceLoop(start, first, ProducePart::Late);
    if (schedule.getCluster() == 1) {
      buildProduceLoop(cursor, pieceCount, ProducePart::All);
      return;
    }
    // A piece behind the first ones waits for the release of one. When half of
    // a tile's pieces are released the sums of the tile before have been read;
    // when all are released, those of this one will be stored.
    auto loop = scf::ForOp::create(b, zero, tileCount, index(1),
                                   {cursor.piece, cursor.tile, cursor.step});
    b.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getInductionVar();
    cursor = {loop.getRegionIterArg(0), loop.getRegionIterArg(1),
              loop.getRegionIterArg(2)};
    Value before = b.createOrFold<arith::MulIOp>(tile, stepCount);
    Value half = b.createOrFold<arith::CeilDivUIOp>(stepCount, index(2));
    Value phase = b.createOrFold<arith::MulIOp>(tile, index(2));
    for (Value count : {half, stepCount}) {
      Value released = b.createOrFold<arith::AddIOp>(before, count);
      Value end = b.createOrFold<arith::MinSIOp>(
          pieceCount, b.createOrFold<arith::AddIOp>(released, slots));
      cursor = buildProduceLoop(cursor, end, ProducePart::All);
      ClusterBarrierOp::create(b, phase);
      phase = b.createOrFold<arith::AddIOp>(phase, index(1));
    }
    scf::YieldOp::create(b, {cursor.piece, cursor.tile, cursor.step});
  }

  /// Pieces from `from` to before `end`; returns where it goes on.
  Cursor buildProduceLoop(Cursor from, Value end, ProducePart part) {
    auto loop = scf::ForOp::create(b, from.piece, end, index(1),
                                   {from.tile, from.step});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getRegionIterArg(0), step = loop.getRegionIterArg(1);
    buildProduce(loop.getInductionVar(), tile, step, part,
                 /*isInside=*/Value());
    Value next = b.createOrFold<arith::AddIOp>(step, index(1));
    Value isLast =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, stepCount);
    Value nextTile = b.createOrFold<arith::AddIOp>(tile, index(1));
    scf::YieldOp::create(b,
                         {arith::SelectOp::create(b, isLast, nextTile, tile),
                          arith::SelectOp::create(b, isLast, index(0), next)});
    return {end, loop.getResult(0), loop.getResult(1)};
  }

  /// Copies a piece; nothing if there is a condition that does not hold.
  void buildProduce(Value piece, Value tile, Value tileStep, ProducePart part,
                    Value isInside) {
    OpBuilder::InsertionGuard guard(b);
    Value step = b.createOrFold<arith::AddIOp>(firstStep, tileStep);
    IRMapping mapping;
    mapping.map(tiles.getInductionVar(),
                b.createOrFold<arith::AddIOp>(
                    tiles.getLowerBound(),
                    b.createOrFold<arith::MulIOp>(tile, tiles.getStep())));
    mapping.map(fold.getIndex(),
                b.createOrFold<arith::MulIOp>(step, fold.getStep()));
    auto produce = ProduceOp::create(b, part, channel, piece);
    Block *body = b.createBlock(&produce.getBody());
    for (LoadOp load : loads) {
      Value target = body->addArgument(getPartType(load), load.getLoc());
      SmallVector<Value> indices;
      for (Value position : load.getIndices())
        indices.push_back(materialize(position, mapping));
      // Rows of the part are along the view's first dimension.
      Value rows =
          load.getTileDims().front() == 0 ? load.getRows() : load.getColumns();
      rows = rows ? materialize(rows, mapping)
                  : index(cast<MemRefType>(target.getType()).getDimSize(0));
      if (isInside)
        rows = b.createOrFold<arith::SelectOp>(isInside, rows, index(0));
      CopyOp::create(b, load.getView(), indices, target, rows,
                     isConstant(load.getView()));
    }
  }

  /// Quotient and remainder of small numbers. A GPU divides 64-bit numbers
  /// slowly.
  std::pair<Value, Value> divide(Value dividend, Value divisor) {
    auto narrow = [&](Value value) -> Value {
      return arith::IndexCastOp::create(b, b.getI32Type(), value);
    };
    auto widen = [&](Value value) -> Value {
      return arith::IndexCastOp::create(b, b.getIndexType(), value);
    };
    Value a = narrow(dividend), c = narrow(divisor);
    return {widen(arith::DivUIOp::create(b, a, c)),
            widen(arith::RemUIOp::create(b, a, c))};
  }

  bool isConstant(Value view) {
    std::optional<ArrayRef<int64_t>> constants = kernel.getConstants();
    auto argument = dyn_cast<BlockArgument>(view);
    return constants && argument &&
           llvm::is_contained(*constants, argument.getArgNumber());
  }

  /// `value`, computed inside the loops that are mapped, at the insertion
  /// point.
  Value materialize(Value value, IRMapping &mapping) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || !tiles->isProperAncestor(op))
      return value;
    for (Value operand : op->getOperands())
      materialize(operand, mapping);
    b.clone(*op, mapping);
    return mapping.lookup(value);
  }

  //===--------------------------------------------------------------------===//
  // The role that computes
  //===--------------------------------------------------------------------===//

  void buildMathRole() {
    auto role = RoleOp::create(b, "math", schedule.getMathWarps());
    // Roles stand in the order of their warps.
    role->moveBefore(role->getPrevNode());
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&role.getBody());
    auto dependency = WaitDependencyOp::create(b);
    // What a block computes before its first tile. Constants are there before
    // the kernels ahead have ended.
    for (Operation *op : getComputedFirst()) {
      auto load = dyn_cast<LoadOp>(op);
      if (load && isConstant(load.getView()))
        op->moveBefore(dependency);
      else
        op->moveBefore(body, body->end());
    }
    tiles->moveBefore(body, body->end());

    buildConsumeLoop();
  }

  /// What a block computes on tiles before its first one.
  SmallVector<Operation *> getComputedFirst() {
    SmallVector<Operation *> ops;
    for (Operation &op : kernel.getBlock()) {
      if (&op == tiles)
        break;
      if (isa<StoreOp>(op) ||
          llvm::any_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
        ops.push_back(&op);
    }
    return ops;
  }

  //===--------------------------------------------------------------------===//
  // One role that does both
  //===--------------------------------------------------------------------===//

  /// All warps copy `slots - 1` pieces ahead: once every warp has begun with a
  /// piece the slot of the piece before is free.
  void buildTogether() {
    Value ahead = index(schedule.getSlots() - 1);
    auto produce = [&](Value piece) {
      auto [tile, step] = divide(piece, stepCount);
      buildProduce(piece, tile, step, ProducePart::All,
                   arith::CmpIOp::create(b, arith::CmpIPredicate::slt, piece,
                                         pieceCount));
    };
    auto loop = scf::ForOp::create(b, index(0), ahead, index(1));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      produce(loop.getInductionVar());
    }
    for (Operation *op : getComputedFirst())
      op->moveBefore(tiles);
    ConsumeOp consume = buildConsumeLoop();
    b.setInsertionPointToStart(&consume.getBlock());
    produce(arith::AddIOp::create(b, consume.getPiece(), ahead));
  }

  /// Replaces the fold by a loop over the pieces of a tile.
  ConsumeOp buildConsumeLoop() {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(fold);
    Value round = b.createOrFold<arith::DivUIOp>(
        b.createOrFold<arith::SubIOp>(tiles.getInductionVar(),
                                      tiles.getLowerBound()),
        tiles.getStep());
    Value before = b.createOrFold<arith::MulIOp>(round, stepCount);
    SmallVector<Value> zeros;
    for (Value init : fold.getInit()) {
      RankedTensorType type = getAccumulatorType(init);
      zeros.push_back(
          arith::ConstantOp::create(b, DenseElementsAttr::get(type, 0.0f)));
    }
    auto loop = scf::ForOp::create(b, index(0), stepCount, index(1), zeros);
    b.setInsertionPointToStart(loop.getBody());
    Value piece = b.createOrFold<arith::AddIOp>(before, loop.getInductionVar());
    IRMapping mapping;
    mapping.map(fold.getIndex(), b.createOrFold<arith::MulIOp>(
                                     b.createOrFold<arith::AddIOp>(
                                         firstStep, loop.getInductionVar()),
                                     fold.getStep()));
    SmallVector<Type> types(ValueRange(zeros).getTypes());
    auto consume =
        ConsumeOp::create(b, types, channel, piece, loop.getRegionIterArgs());
    scf::YieldOp::create(b, consume.getResults());
    b.createBlock(&consume.getBody());
    for (LoadOp load : loads) {
      Value part =
          consume.getBlock().addArgument(getPartType(load), load.getLoc());
      SmallVector<Value> origin(load.getIndices().size(), index(0));
      mapping.map(load.getResult(),
                  LoadOp::create(b, load.getType(), part, origin, Value(),
                                 Value(), load.getDimsAttr())
                      .getResult());
    }
    for (auto [state, type] : llvm::zip_equal(fold.getState(), types))
      mapping.map(state, consume.getBlock().addArgument(type, fold.getLoc()));
    for (Operation &op : fold.getBlock().without_terminator())
      if (isa<RankedTensorType>(op.getResult(0).getType()) &&
          !mapping.contains(op.getResult(0)))
        clone(op, mapping);
    SmallVector<Value> next;
    for (Value value : fold.getBlock().getTerminator()->getOperands())
      next.push_back(mapping.lookup(value));
    YieldOp::create(b, next);
    fold->replaceAllUsesWith(loop.getResults());
    return consume;
  }

  /// Copies an operation of the fold's body. What is added to the state is a
  /// part of a sum, as the state is.
  void clone(Operation &op, IRMapping &mapping) {
    for (Value operand : op.getOperands())
      if (!isa<RankedTensorType>(operand.getType()))
        materialize(operand, mapping);
    Operation *copy = b.clone(op, mapping);
    bool isAdded = isa<MmaOp>(op) || (isa<ReduceOp>(op) && op.hasOneUse() &&
                                      isa<arith::AddFOp>(*op.user_begin()));
    bool isNext = isa<arith::AddFOp>(op) &&
                  llvm::is_contained(fold.getState(), op.getOperand(0));
    if (isAdded || isNext)
      copy->getResult(0).setType(getAccumulatorType(op.getResult(0)));
  }

  RankedTensorType getAccumulatorType(Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    return RankedTensorType::get(type.getShape(), type.getElementType(),
                                 AccumulatorAttr::get(b.getContext()));
  }

  KernelOp kernel;
  StreamScheduleAttr schedule;
  ImplicitLocOpBuilder b;
  FoldOp fold;
  scf::ForOp tiles;
  int64_t steps = 0; ///< Of the whole fold.
  SmallVector<LoadOp> loads;
  Value channel, firstStep, stepCount, tileCount, pieceCount;
};

struct PipelineFolds : public kernel::impl::PipelineFoldsBase<PipelineFolds> {
  void runOnOperation() override {
    SmallVector<KernelOp> kernels;
    getOperation()->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels) {
      auto schedule =
          dyn_cast_or_null<StreamScheduleAttr>(kernel.getScheduleAttr());
      if (schedule && failed(FoldPipeline(kernel, schedule).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
