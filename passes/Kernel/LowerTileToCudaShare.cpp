//===- LowerTileToCudaShare.cpp - Sums over the blocks of a cluster -------===//
//
// The warps of a block add up what they have of a sum in shared memory, the
// last step warp first: one after the other, or, if a block is alone and has
// the memory, each leaves its own and who reads the sum adds up. Then every
// block reads its columns of the sums of all, in the order of their ranks.
//
// The blocks of a cluster meet at its barrier twice in a round: when all have
// read the sums of the round before, and when those of this one can be read.
// Threads arrive as soon as they have done their part and wait when they need
// that of the others; the first meeting has the whole round for it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/PackedLayout.h"
#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

SmallVector<SumMemory> CudaTileEmitter::getSums(ShareOp op) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  SmallVector<std::array<int64_t, 2>> shapes;
  for (Value sum : op.getInputs()) {
    auto type = cast<RankedTensorType>(sum.getType());
    shapes.push_back({type.getDimSize(0), type.getDimSize(1)});
  }
  return getSumMemory(
      shapes, {schedule.getStepWarps(), clusterSize, schedule.getWarpgroups()});
}

/// The same place in the shared memory of block `rank` of the cluster.
Value CudaTileEmitter::mapToCluster(Value pointer, Value rank) {
  Type element = cast<cuda::PtrType>(pointer.getType()).getElement();
  return cuda::MapClusterOp::create(
      b, cuda::PtrType::get(b.getContext(), element, cuda::Space::Cluster),
      pointer, rank);
}

/// Waits until all threads of the cluster have arrived at its barrier, and
/// arrives again: for the others to know what this one did, unless relaxed.
void CudaTileEmitter::meetBlocks(bool relaxed) {
  if (clusterSize == 1)
    return;
  cuda::ClusterWaitOp::create(b);
  cuda::ClusterArriveOp::create(b, relaxed);
}

/// The sum of the parts that the lanes of a row have.
Value CudaTileEmitter::addLanes(Value part) {
  for (int64_t mask : getRowMasks(getMatrixFragment()))
    part = arith::AddFOp::create(
        b, part,
        cuda::ShuffleXorOp::create(b, part.getType(), part,
                                   b.getI64IntegerAttr(mask)));
  return part;
}

/// Calls `body` for each element that a lane has of a sum, or for each pair of
/// neighbours, with its place in the area.
void CudaTileEmitter::forSumElements(
    Value sum, const SumMemory &memory, Value columnWarp,
    function_ref<void(Value at, Value element)> body) {
  if (hasWarpgroups())
    return forWarpgroupElements(sum, memory, body);
  AccumulatorLayout layout = accumulatorLayout(sum.getType());
  int64_t pitch = memory.getPitch();
  const LanePosition &lane = lanePosition();
  Value held = values.at(sum);
  if (memory.columns == 1) {
    // The lanes of a group have parts of the same rows.
    for (int64_t l = 0; l * layout.columnWarps < layout.rowTiles; ++l) {
      Value part = addLanes(registerOf(sum, l));
      Value rowTile = add(columnWarp, number(l * layout.columnWarps));
      Value row = add(mul(rowTile, AccumulatorLayout::tileRows), lane.group);
      guarded(both(equal(lane.inGroup, number(0)),
                   less(rowTile, number(layout.rowTiles))),
              [&] { body(mul(row, pitch), part); });
    }
    return;
  }
  // Element i of accumulator (m, j), in column tile m and row tile j.
  Layout inTile = AccumulatorLayout::getLayout();
  Value corner =
      add(mul(columnWarp, layout.columnTiles * AccumulatorLayout::tileColumns),
          add(along(inTile, Axis::Column, Axis::Lane, lane.lane),
              along(inTile, Axis::Row, Axis::Lane, lane.lane, pitch)));
  for (int64_t m = 0; m < layout.columnTiles; ++m)
    for (int64_t j = 0; j < layout.rowTiles; ++j)
      for (uint64_t i = 0; i < 4; ++i) {
        int64_t row = inTile.at({{Axis::Register, i}}, Axis::Row);
        int64_t column = inTile.at({{Axis::Register, i}}, Axis::Column);
        body(add(corner,
                 number(m * AccumulatorLayout::tileColumns + column +
                        (j * AccumulatorLayout::tileRows + row) * pitch)),
             vector::ExtractOp::create(b, held, 4 * layout.number(m, j) + i));
      }
}

/// An element of a sum, or a vector: those of all areas, or of all blocks,
/// where it lies at the same place.
Value CudaTileEmitter::addParts(const SumMemory &memory, ArrayRef<Value> blocks,
                                Value at, Type type) {
  auto load = [&](Value block, int64_t area) -> Value {
    return cuda::LoadOp::create(
        b, type, block, add(at, number(area * memory.getAreaElements())),
        cuda::CacheHint::Default);
  };
  // As if each area had been added to what the later ones give.
  Value total = load(blocks.front(), memory.areas - 1);
  for (int64_t area = memory.areas - 2; area >= 0; --area)
    total = arith::AddFOp::create(b, load(blocks.front(), area), total);
  for (Value block : blocks.drop_front())
    total = arith::AddFOp::create(b, total, load(block, 0));
  return total;
}

/// A block's columns of a sum.
Value CudaTileEmitter::addBlocks(const SumMemory &memory, Value pointer,
                                 Value rank, RankedTensorType result) {
  SmallVector<Value> blocks;
  for (int64_t block = 0; block < clusterSize; ++block)
    blocks.push_back(clusterSize == 1 ? pointer
                                      : mapToCluster(pointer, number(block)));
  TileLayout layout = layoutOf(result);
  // Four at a time; a sum of a row is the same for all columns.
  bool isRowSum = memory.columns == 1;
  int64_t width =
      std::min<int64_t>(layout.consecutive, isRowSum ? layout.consecutive : 4);
  Type type = b.getF32Type();
  if (width > 1 && !isRowSum)
    type = VectorType::get(width, type);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < layout.registers(); i += width) {
    TilePosition position = positionOf(layout, i);
    Value at = mul(position.row, memory.getPitch());
    if (!isRowSum)
      at = add(add(at, position.column), mul(rank, layout.columns));
    Value sum = addParts(memory, blocks, at, type);
    for (int64_t e = 0; e < width; ++e)
      registers.push_back(isa<VectorType>(sum.getType())
                              ? Value(vector::ExtractOp::create(b, sum, e))
                              : sum);
  }
  return pack(result, registers);
}

/// Every warp leaves what it has of the sums; of a block that is alone all
/// threads wait for each other.
void CudaTileEmitter::storeSums(ShareOp op, ArrayRef<SumMemory> sums) {
  int64_t stepWarps =
      cast<StreamScheduleAttr>(kernel.getScheduleAttr()).getStepWarps();
  Value columnWarp, stepWarp;
  std::tie(columnWarp, stepWarp) = warpPlace();
  bool isOneEach = sums.front().areas == stepWarps;
  int64_t turns = isOneEach ? 1 : stepWarps;
  for (int64_t s = turns - 1; s >= 0; --s) {
    bool isFirst = s == turns - 1;
    guarded(isOneEach ? Value() : equal(stepWarp, number(s)), [&] {
      for (auto [sum, memory, pointer] :
           llvm::zip_equal(op.getInputs(), sums, sharedSums.at(op))) {
        Value area =
            isOneEach ? mul(stepWarp, memory.getAreaElements()) : number(0);
        // All are read before one is written, so that no read waits for
        // another; what is in a branch of its own stays there.
        bool isInBranch = memory.columns == 1 || hasWarpgroups();
        SmallVector<std::pair<Value, Value>> elements;
        forSumElements(sum, memory, columnWarp,
                       [&, pointer = pointer](Value at, Value element) {
                         at = add(at, area);
                         if (!isFirst)
                           element = arith::AddFOp::create(
                               b, element,
                               cuda::LoadOp::create(b, element.getType(),
                                                    pointer, at,
                                                    cuda::CacheHint::Default));
                         if (isInBranch)
                           cuda::StoreOp::create(b, element, pointer, at);
                         else
                           elements.push_back({at, element});
                       });
        for (auto [at, element] : elements)
          cuda::StoreOp::create(b, element, pointer, at);
      }
    });
    if (s > 0 || clusterSize == 1)
      emitBarrier();
  }
}

/// Every thread goes on with the sums that it has: those of all columns of its
/// rows are in the lanes of its group.
void CudaTileEmitter::keepSums(ShareOp op) {
  for (auto [sum, result] : llvm::zip_equal(op.getInputs(), op.getOutputs())) {
    auto type = cast<RankedTensorType>(result.getType());
    if (cast<RankedTensorType>(sum.getType()).getDimSize(1) != 1) {
      values[result] = pack(type, [&] {
        SmallVector<Value> registers;
        for (int64_t i = 0; i < layoutOf(type).registers(); ++i)
          registers.push_back(registerOf(sum, i));
        return registers;
      }());
      continue;
    }
    Value ofRows[] = {addLanes(registerOf(sum, 0)),
                      addLanes(registerOf(sum, 1))};
    Layout layout = warpgroupLayout(type).getLayout();
    SmallVector<Value> registers;
    for (int64_t i = 0; i < layoutOf(type).registers(); ++i)
      registers.push_back(
          ofRows[layout.at({{Axis::Register, static_cast<uint64_t>(i)}},
                           Axis::Row) /
                 coreMatrixSize]);
    values[result] = pack(type, registers);
  }
}

LogicalResult CudaTileEmitter::emitShare(ShareOp op) {
  if (!keptShape.empty()) {
    keepSums(op);
    return success();
  }
  // All warps that read the sums of the last round are through with them.
  if (clusterSize == 1)
    emitBarrier();
  else
    cuda::ClusterWaitOp::create(b);
  SmallVector<SumMemory> sums = getSums(op);
  storeSums(op, sums);
  Value rank = number(0);
  if (clusterSize > 1) {
    cuda::ClusterArriveOp::create(b);
    cuda::ClusterWaitOp::create(b);
    rank = cuda::ClusterRankOp::create(b, b.getI32Type());
  }
  for (auto [memory, pointer, result] :
       llvm::zip_equal(sums, sharedSums.at(op), op.getOutputs()))
    values[result] = addBlocks(memory, pointer, rank,
                               cast<RankedTensorType>(result.getType()));
  if (clusterSize > 1)
    cuda::ClusterArriveOp::create(b);
  return success();
}
