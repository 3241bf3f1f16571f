//===- LowerTileToCudaShare.cpp - Sums over the blocks of a cluster -------===//
//
// The warps of a block add up what they have of a sum in shared memory; then
// every block reads its columns of the sums of all, in the order of their
// ranks. Two mbarriers in each block, which all blocks of the cluster arrive
// at: `ready` says that the sums can be read, `done` that they have been.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Elements between rows of sums in shared memory, beyond their columns: keeps
/// the rows that a warp writes at once in different banks.
static constexpr int64_t sumPadding = 4;

static int64_t getPitch(RankedTensorType sum) {
  return sum.getDimSize(1) + sumPadding;
}

int64_t weft::tile::getSumBytes(Value sum) {
  auto type = cast<RankedTensorType>(sum.getType());
  return llvm::alignTo(4 * type.getDimSize(0) * getPitch(type), 128);
}

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

/// Calls `body` for each element that a lane has of a sum, with its place.
void CudaTileEmitter::forSumElements(
    Value sum, Value columnWarp,
    function_ref<void(Value at, Value element)> body) {
  auto type = cast<RankedTensorType>(sum.getType());
  int64_t pitch = getPitch(type);
  const LanePosition &lane = lanePosition();
  Value held = values.at(sum);
  if (type.getDimSize(1) == 1) {
    // The lanes of a group have parts of the same rows, all column warps the
    // same ones.
    int64_t rowTiles = type.getDimSize(0) / AccumulatorLayout::tileRows;
    SmallVector<Value> rows;
    for (int64_t j = 0; j < rowTiles; ++j) {
      Value part = registerOf(sum, j);
      for (int64_t mask : {1, 2})
        part = arith::AddFOp::create(
            b, part,
            cuda::ShuffleXorOp::create(b, part.getType(), part,
                                       b.getI64IntegerAttr(mask)));
      rows.push_back(part);
    }
    guarded(
        both(equal(lane.inGroup, number(0)), equal(columnWarp, number(0))),
        [&] {
          for (auto [j, part] : llvm::enumerate(rows))
            body(mul(add(lane.group, number(j * AccumulatorLayout::tileRows)),
                     pitch),
                 part);
        });
    return;
  }
  // Element i of accumulator (m, j): column group + 8 * (i / 2) of column tile
  // m, row 2 * inGroup + i % 2 of row tile j.
  AccumulatorLayout layout = accumulatorLayout(type);
  Value corner =
      add(mul(columnWarp, layout.columnTiles * AccumulatorLayout::tileColumns),
          add(lane.group, mul(lane.inGroup, 2 * pitch)));
  for (int64_t m = 0; m < layout.columnTiles; ++m)
    for (int64_t j = 0; j < layout.rowTiles; ++j)
      for (int64_t i = 0; i < 4; ++i)
        body(add(corner,
                 number(m * AccumulatorLayout::tileColumns + i / 2 * 8 +
                        (j * AccumulatorLayout::tileRows + i % 2) * pitch)),
             vector::ExtractOp::create(b, held, 4 * layout.number(m, j) + i));
}

/// A block's columns of a sum whose parts lie at the same place in all blocks.
Value CudaTileEmitter::addBlocks(Value sum, Value pointer, Value rank,
                                 RankedTensorType result) {
  auto type = cast<RankedTensorType>(sum.getType());
  bool isRepeated = type.getDimSize(1) == 1;
  SmallVector<Value> parts;
  for (int64_t block = 0; block < clusterSize; ++block)
    parts.push_back(clusterSize == 1 ? pointer
                                     : mapToCluster(pointer, number(block)));
  TileLayout layout = layoutOf(result);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < layout.registers(); ++i) {
    TilePosition position = positionOf(layout, i);
    Value at = mul(position.row, getPitch(type));
    if (!isRepeated)
      at = add(add(at, position.column), mul(rank, layout.columns));
    Value total;
    for (Value part : parts) {
      Value element = cuda::LoadOp::create(b, b.getF32Type(), part, at,
                                           cuda::CacheHint::Default);
      total = total ? Value(arith::AddFOp::create(b, total, element)) : element;
    }
    registers.push_back(total);
  }
  return pack(result, registers);
}

LogicalResult CudaTileEmitter::emitShare(ShareOp op) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  const CudaShare &place = shares.at(op);
  Value round = b.createOrFold<arith::IndexCastOp>(b.getI32Type(),
                                                   values.at(op.getRound()));
  Value parity = b.createOrFold<arith::AndIOp>(round, number(1));
  Value warp = lanePosition().warp;
  Value columnWarp =
      b.createOrFold<arith::RemUIOp>(warp, number(schedule.getColumnWarps()));
  Value stepWarp =
      b.createOrFold<arith::DivUIOp>(warp, number(schedule.getColumnWarps()));
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
      for (auto [sum, pointer] : llvm::zip_equal(op.getInputs(), place.sums))
        forSumElements(
            sum, columnWarp, [&, pointer = pointer](Value at, Value element) {
              if (s < schedule.getStepWarps() - 1)
                element = arith::AddFOp::create(
                    b, element,
                    cuda::LoadOp::create(b, b.getF32Type(), pointer, at,
                                         cuda::CacheHint::Default));
              cuda::StoreOp::create(b, element, pointer, at);
            });
    });
    emitBarrier();
  }
  Value rank = number(0);
  if (clusterSize > 1) {
    guarded(less(thread, number(clusterSize)),
            [&] { arriveAt(place.ready, thread); });
    cuda::MBarrierWaitOp::create(b, place.ready, number(0), parity,
                                 b.getUnitAttr());
    rank = cuda::ClusterRankOp::create(b, b.getI32Type());
  }
  for (auto [sum, pointer, result] :
       llvm::zip_equal(op.getInputs(), place.sums, op.getOutputs()))
    values[result] =
        addBlocks(sum, pointer, rank, cast<RankedTensorType>(result.getType()));
  if (clusterSize > 1) {
    emitBarrier();
    guarded(less(thread, number(clusterSize)),
            [&] { arriveAt(place.done, thread); });
  }
  return success();
}
