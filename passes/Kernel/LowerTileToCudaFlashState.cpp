//===- LowerTileToCudaFlashState.cpp - Softmax states of warps ------------===//
//
// At the end of a split each warp has a state of it. A single block merges it
// into the warp's state of the splits before, in registers or, for wide heads,
// in the warp's part of shared memory; the blocks of a
// cluster keep the states apart, in shared memory. In the end every block
// merges, for its columns, the splits of each warp in ascending order, then the
// warps: the state of both is the largest maximum and the sum of what each has
// times a power of two to the difference. The same operations in the same order
// either way, and an empty state changes nothing, so all give the same bits.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/PackedLayout.h"
#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Maximum of a state without elements; finite, so that differences with it are
/// never NaN.
static constexpr float lowestScore = -3.0e38f;

Value CudaTileEmitter::constantF32(float value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}

/// Two to the difference of numbers or of vectors.
Value CudaTileEmitter::exp2Difference(Value a, Value c) {
  return cuda::Exp2Op::create(b, a.getType(),
                              arith::SubFOp::create(b, a, c).getResult());
}

/// A number, or several consecutive ones.
Value CudaTileEmitter::loadF32(Value pointer, Value at, int64_t count) {
  Type type = b.getF32Type();
  if (count > 1)
    type = VectorType::get(count, type);
  return cuda::LoadOp::create(b, type, pointer, at, cuda::CacheHint::Default);
}

/// Maximum and sum of the row of a state that begins at `at`.
SoftmaxRow CudaTileEmitter::loadRowState(Value pointer, Value at) {
  Value pair = loadF32(pointer, add(at, number(flash->columns)), 2);
  return {vector::ExtractOp::create(b, pair, 0),
          vector::ExtractOp::create(b, pair, 1)};
}

void CudaTileEmitter::storeRowState(const SoftmaxRow &row, Value pointer,
                                    Value at) {
  Value pair = vector::FromElementsOp::create(
      b, VectorType::get(2, b.getF32Type()), ValueRange{row.maximum, row.sum});
  cuda::StoreOp::create(b, pair, pointer, add(at, number(flash->columns)));
}

/// The state of both, and by what the values of each are multiplied for it; of
/// numbers or of vectors.
SoftmaxMerge CudaTileEmitter::mergeRows(const SoftmaxRow &a,
                                        const SoftmaxRow &c) {
  SoftmaxMerge merge;
  merge.row.maximum = arith::MaximumFOp::create(b, a.maximum, c.maximum);
  merge.left = exp2Difference(a.maximum, merge.row.maximum);
  merge.right = exp2Difference(c.maximum, merge.row.maximum);
  merge.row.sum = mergeValues(merge, a.sum, c.sum);
  return merge;
}

/// Written out as a multiplication and a fused one, so that it gives the same
/// bits wherever it stands.
Value CudaTileEmitter::mergeValues(const SoftmaxMerge &merge, Value a,
                                   Value c) {
  Value right = arith::MulFOp::create(b, c, merge.right);
  return math::FmaOp::create(b, a, merge.left, right);
}

/// How a warp holds the values of a state: rows of 8, and columns.
static Layout getStateLayout(ValueRange state) {
  auto countOf = [](Value value) {
    return cast<VectorType>(value.getType()).getNumElements();
  };
  int64_t halves = countOf(state[0]);
  int64_t pairs = countOf(state[2]) / (2 * halves);
  return getSumFragment(halves * coreMatrixSize, pairs * coreMatrixSize);
}

/// The state of both states that a warp has in registers.
SmallVector<Value> CudaTileEmitter::mergeStates(ValueRange a, ValueRange c) {
  SoftmaxMerge merge = mergeRows({a[0], a[1]}, {c[0], c[1]});
  auto type = cast<VectorType>(a[2].getType());
  Layout layout = getStateLayout(a);
  auto repeat = [&](Value factors) -> Value {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      elements.push_back(vector::ExtractOp::create(
          b, factors,
          layout.at({{Axis::Register, static_cast<uint64_t>(i)}}, Axis::Row) /
              coreMatrixSize));
    return vector::FromElementsOp::create(b, type, elements);
  };
  SoftmaxMerge ofValues = {{}, repeat(merge.left), repeat(merge.right)};
  return {merge.row.maximum, merge.row.sum, mergeValues(ofValues, a[2], c[2])};
}

/// Pointer to f32 at the first state of the block.
Value CudaTileEmitter::statePointer() {
  return cuda::SharedMemoryOp::create(
      b,
      cuda::PtrType::get(b.getContext(), b.getF32Type(), cuda::Space::Shared),
      flash->stateOffset);
}

/// Where a state of a warp begins, f32 elements behind the first state.
Value CudaTileEmitter::stateStart(Value state, Value warp) {
  auto schedule = cast<FlashScheduleAttr>(kernel.getScheduleAttr());
  return mul(add(mul(state, schedule.getKeyWarps()), warp),
             flash->getStateSize());
}

/// Makes all states of the block empty.
void CudaTileEmitter::emitEmptyStates() {
  auto schedule = cast<FlashScheduleAttr>(kernel.getScheduleAttr());
  Value pointer = statePointer();
  int64_t rows = schedule.getKeyWarps() * flash->states * flash->rows;
  auto forAll = [&](int64_t count, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, thread, number(count), number(threads));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  };
  auto zeros = VectorType::get(4, b.getF32Type());
  Value none = arith::ConstantOp::create(
      b, DenseElementsAttr::get(zeros, b.getF32FloatAttr(0)));
  int64_t pieces = flash->columns / 4;
  forAll(rows * pieces, [&](Value piece) {
    Value row = b.createOrFold<arith::DivUIOp>(piece, number(pieces));
    Value column = b.createOrFold<arith::RemUIOp>(piece, number(pieces));
    cuda::StoreOp::create(b, none, pointer,
                          add(mul(row, flash->statePitch), mul(column, 4)));
  });
  forAll(rows, [&](Value row) {
    storeRowState({constantF32(lowestScore), constantF32(0)}, pointer,
                  mul(row, flash->statePitch));
  });
}

/// Calls `body` for each of a thread's rows of the warp's state of that number,
/// with where the thread's part begins.
void CudaTileEmitter::forStateRows(
    ValueRange state, Value number_,
    function_ref<void(int64_t half, Value start)> body) {
  const LanePosition &place = lanePosition();
  int64_t halves = cast<VectorType>(state[0].getType()).getNumElements();
  Layout layout = getStateLayout(state);
  Value first = add(along(layout, Axis::Row, Axis::Lane, place.lane),
                    mul(place.rowWarp, 8 * halves));
  Value mine = add(stateStart(number_, place.keyWarp),
                   add(mul(first, flash->statePitch),
                       along(layout, Axis::Column, Axis::Lane, place.lane)));
  for (int64_t half = 0; half < halves; ++half) {
    Value row = add(first, number(8 * half));
    auto schedule = cast<FlashScheduleAttr>(kernel.getScheduleAttr());
    int64_t before = 8 * halves * (schedule.getRowWarps() - 1);
    bool isPartial = before + 8 * (half + 1) > flash->rows;
    guarded(isPartial ? less(row, number(flash->rows)) : Value(), [&] {
      body(half, add(mine, number(8 * half * flash->statePitch)));
    });
  }
}

/// Calls `body` for each pair of a thread's values in a row of a state, which
/// are consecutive columns: the first one's register and where it lies.
void CudaTileEmitter::forStatePairs(
    ValueRange state, int64_t half, Value start,
    function_ref<void(int64_t first, Value at)> body) {
  Layout layout = getStateLayout(state);
  uint64_t registers = cast<VectorType>(state[2].getType()).getNumElements();
  for (uint64_t i = 0; i < registers; i += 2)
    if (layout.at({{Axis::Register, i}}, Axis::Row) ==
        static_cast<uint64_t>(half) * coreMatrixSize)
      body(i,
           add(start, number(layout.at({{Axis::Register, i}}, Axis::Column))));
}

/// A thread's row of a state in registers without its values.
SoftmaxRow CudaTileEmitter::getRow(ValueRange state, int64_t half) {
  return {vector::ExtractOp::create(b, state[0], half),
          vector::ExtractOp::create(b, state[1], half)};
}

/// Writes the state that a warp has in registers to its place of that number.
/// Each of the four threads that have a row writes its maximum and sum to a
/// place of its own.
void CudaTileEmitter::storeState(ValueRange state, Value number_) {
  Value pointer = statePointer();
  forStateRows(state, number_, [&](int64_t half, Value start) {
    forStatePairs(state, half, start, [&](int64_t first, Value at) {
      cuda::StoreOp::create(b, sliceVector(b, state[2], first, 2), pointer, at);
    });
    storeRowState(getRow(state, half), pointer, start);
  });
}

/// Merges a state that a warp has in registers into its first one in memory. A
/// thread reads nothing but what it wrote itself, so none waits for another.
void CudaTileEmitter::mergeIntoMemory(ValueRange state) {
  Value pointer = statePointer();
  forStateRows(state, number(0), [&](int64_t half, Value start) {
    SoftmaxMerge merge =
        mergeRows(loadRowState(pointer, start), getRow(state, half));
    storeRowState(merge.row, pointer, start);
    auto twice = [&](Value factor) -> Value {
      return vector::FromElementsOp::create(
          b, VectorType::get(2, b.getF32Type()), ValueRange{factor, factor});
    };
    SoftmaxMerge ofPairs = {{}, twice(merge.left), twice(merge.right)};
    forStatePairs(state, half, start, [&](int64_t first, Value at) {
      Value merged = mergeValues(ofPairs, loadF32(pointer, at, 2),
                                 sliceVector(b, state[2], first, 2));
      cuda::StoreOp::create(b, merged, pointer, at);
    });
  });
}

/// One element of a warp's state of all splits: its row and value.
std::pair<SoftmaxRow, Value>
CudaTileEmitter::mergeSplits(ArrayRef<Value> blocks, int64_t warp,
                             Value rowStart, Value column) {
  auto load = [&](Value pointer, int64_t state) {
    Value at = add(stateStart(number(state), number(warp)), rowStart);
    return std::pair(loadRowState(pointer, at),
                     loadF32(pointer, add(at, column)));
  };
  if (blocks.size() == 1)
    return load(blocks.front(), 0);
  SmallVector<std::pair<SoftmaxRow, Value>> splits;
  for (int64_t state = 0; state < flash->states; ++state)
    for (Value pointer : blocks)
      splits.push_back(load(pointer, state));
  SoftmaxRow row = {constantF32(lowestScore), constantF32(0)};
  Value value = constantF32(0);
  for (auto [nextRow, nextValue] : splits) {
    SoftmaxMerge merge = mergeRows(row, nextRow);
    value = mergeValues(merge, value, nextValue);
    row = merge.row;
  }
  return {row, value};
}

/// The mean of an element of all warps' states.
Value CudaTileEmitter::mergeWarps(
    ArrayRef<std::pair<SoftmaxRow, Value>> warps) {
  Value maximum = warps.front().first.maximum;
  for (const auto &[row, value] : llvm::drop_begin(warps))
    maximum = arith::MaximumFOp::create(b, maximum, row.maximum);
  auto addUp = [&](Value total, Value part, Value factor) -> Value {
    if (!total)
      return arith::MulFOp::create(b, part, factor);
    return math::FmaOp::create(b, part, factor, total);
  };
  Value sum, mean;
  for (const auto &[row, value] : warps) {
    Value factor = exp2Difference(row.maximum, maximum);
    sum = addUp(sum, row.sum, factor);
    mean = addUp(mean, value, factor);
  }
  // A row that saw no key gives 0.
  Value isEmpty =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, constantF32(0));
  return arith::DivFOp::create(
      b, mean, arith::SelectOp::create(b, isEmpty, constantF32(1), sum));
}

/// A block's columns of the states of all blocks of the cluster.
LogicalResult CudaTileEmitter::emitShareSoftmax(ShareSoftmaxOp op) {
  if (!flash)
    return op.emitError("needs a fold that is cut over warps");
  TileLayout layout = layoutOf(op.getType());
  if (layout.isReplicated() || layout.columns * clusterSize != flash->columns ||
      layout.rows != flash->rows)
    return op.emitError("expected ")
           << flash->rows << " rows of " << flash->columns
           << " columns, of which each block of a cluster of " << clusterSize
           << " has its part, found a tile of type " << op.getType();
  SmallVector<Value> blocks = {statePointer()};
  Value firstColumn = number(0);
  if (clusterSize > 1) {
    meetBlocks();
    cuda::ClusterWaitOp::create(b);
    firstColumn =
        mul(cuda::ClusterRankOp::create(b, b.getI32Type()), layout.columns);
    Value own = blocks.front();
    blocks.clear();
    for (int64_t rank = 0; rank < clusterSize; ++rank)
      blocks.push_back(mapToCluster(own, number(rank)));
  } else {
    emitBarrier();
  }
  auto schedule = cast<FlashScheduleAttr>(kernel.getScheduleAttr());
  SmallVector<Value> registers;
  for (int64_t i = 0; i < layout.registers(); ++i) {
    TilePosition position = positionOf(layout, i);
    Value rowStart = mul(position.row, flash->statePitch);
    Value column = add(firstColumn, position.column);
    SmallVector<std::pair<SoftmaxRow, Value>> warps;
    for (int64_t warp = 0; warp < schedule.getKeyWarps(); ++warp)
      warps.push_back(mergeSplits(blocks, warp, rowStart, column));
    registers.push_back(mergeWarps(warps));
  }
  if (clusterSize > 1)
    cuda::ClusterArriveOp::create(b);
  values[op.getResult()] = pack(op.getType(), registers);
  return success();
}
