//===- LowerTileToCudaFlashState.cpp - Softmax states in shared memory ----===//
//
// At the end of a split the states that the warps have are merged into one: the
// largest maximum, the sum of what each has times a power of two to the
// difference. That is merged into the block's state, which holds the splits
// before. The blocks of a cluster have a split each; each then merges all of
// them, for its columns. The same operations in the same order either way, and
// an empty state changes nothing, so both give the same bits.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Rows whose values are merged at a time.
static constexpr int64_t rowsAtATime = 4;
/// Maximum of a state without elements; finite, so that differences with it are
/// never NaN.
static constexpr float lowestScore = -3.0e38f;

Value CudaTileEmitter::constantF32(float value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}

Value CudaTileEmitter::exp2Difference(Value a, Value c) {
  return cuda::Exp2Op::create(b, b.getF32Type(),
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

/// The state of both, and by what the values of each are multiplied for it.
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

/// Pointer to f32 at a byte offset.
Value CudaTileEmitter::statePointer(int64_t offset) {
  return cuda::SharedMemoryOp::create(
      b,
      cuda::PtrType::get(b.getContext(), b.getF32Type(), cuda::Space::Shared),
      offset);
}

/// Calls `body` for the columns of a row that the thread has.
void CudaTileEmitter::forStateColumns(function_ref<void(Value column)> body) {
  for (int64_t i = 0; i < flash->columns; i += threads) {
    Value column = add(thread, number(i));
    guarded(i + threads > flash->columns ? less(column, number(flash->columns))
                                         : Value(),
            [&] { body(column); });
  }
}

/// A loop over the first `count` rows in steps.
void CudaTileEmitter::forStateRows(Value count, int64_t step,
                                   function_ref<void(Value row)> body) {
  auto loop = scf::ForOp::create(b, number(0), count, number(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void CudaTileEmitter::emitEmptyState() {
  Value state = statePointer(flash->stateOffset);
  forStateRows(flashRows, 1, [&](Value row) {
    Value at = mul(row, flash->statePitch);
    forStateColumns([&](Value column) {
      cuda::StoreOp::create(b, constantF32(0), state, add(at, column));
    });
  });
  guarded(less(thread, number(flash->rows)), [&] {
    storeRowState({constantF32(lowestScore), constantF32(0)}, state,
                  mul(thread, flash->statePitch));
  });
}

/// Merges the warps' states of a split into the block's.
void CudaTileEmitter::emitSplitEnd(ValueRange state, Value slot) {
  Value slotStart = mul(slot, flash->slotBytes / 4);
  // The warps have read the slot.
  emitBarrier();
  storeWarpStates(state, slotStart);
  emitBarrier();
  guarded(less(thread, number(flash->rows)),
          [&] { mergeRowStates(thread, slotStart); });
  emitBarrier();
  forStateRows(flashRows, rowsAtATime, [&](Value first) {
    for (int64_t i = 0; i < rowsAtATime; ++i)
      mergeRowValues(add(first, number(i)), slotStart);
  });
}

/// f32 elements between the states of two warps in a slot.
static int64_t getWarpPitch(const FlashMemory &memory) {
  return memory.rows * memory.statePitch;
}

void CudaTileEmitter::storeWarpStates(ValueRange state, Value slotStart) {
  const LanePosition &place = lanePosition();
  Value slots = statePointer(0);
  Value mine = add(slotStart, mul(place.warp, getWarpPitch(*flash)));
  auto extract = [&](Value vector, int64_t i) -> Value {
    return vector::ExtractOp::create(b, vector, i);
  };
  std::array<Value, 2> rows;
  for (int64_t half = 0; half < 2; ++half)
    rows[half] =
        add(mine, mul(add(place.group, number(8 * half)), flash->statePitch));
  // Registers 2n and 2n + 1 are consecutive columns of a row.
  for (int64_t i = 0; i < flash->columns / 2; i += 2) {
    Value pair = sliceVector(b, state[2], i, 2);
    Value column = add(mul(place.inGroup, 2), number(i / 4 * 8));
    cuda::StoreOp::create(b, pair, slots, add(rows[i % 4 / 2], column));
  }
  guarded(equal(place.inGroup, number(0)), [&] {
    for (int64_t half = 0; half < 2; ++half)
      storeRowState({extract(state[0], half), extract(state[1], half)}, slots,
                    rows[half]);
  });
}

/// New maximum and sum of a row of the block's state, and by what the values of
/// each warp, their sum, and those of the block are multiplied for it.
void CudaTileEmitter::mergeRowStates(Value row, Value slotStart) {
  auto schedule = cast<FlashScheduleAttr>(kernel.getScheduleAttr());
  Value slots = statePointer(0), total = statePointer(flash->stateOffset);
  Value rowStart = mul(row, flash->statePitch);
  SmallVector<SoftmaxRow> warps;
  for (int64_t warp = 0; warp < schedule.getKeyWarps(); ++warp)
    warps.push_back(loadRowState(
        slots,
        add(add(slotStart, number(warp * getWarpPitch(*flash))), rowStart)));
  SoftmaxRow before = loadRowState(total, rowStart);
  SoftmaxRow split = {warps[0].maximum, Value()};
  for (const SoftmaxRow &warp : llvm::drop_begin(warps))
    split.maximum = arith::MaximumFOp::create(b, split.maximum, warp.maximum);
  SmallVector<Value> factors;
  for (const SoftmaxRow &warp : warps) {
    Value factor =
        factors.emplace_back(exp2Difference(warp.maximum, split.maximum));
    split.sum =
        split.sum
            ? math::FmaOp::create(b, warp.sum, factor, split.sum).getResult()
            : arith::MulFOp::create(b, warp.sum, factor).getResult();
  }
  SoftmaxMerge merge = mergeRows(before, split);
  storeRowState(merge.row, total, rowStart);
  factors.append({merge.left, merge.right});
  Value pointer = statePointer(flash->factorOffset);
  for (auto [i, factor] : llvm::enumerate(factors))
    cuda::StoreOp::create(b, factor, pointer,
                          add(mul(row, flash->factorPitch), number(i)));
}

void CudaTileEmitter::mergeRowValues(Value row, Value slotStart) {
  auto schedule = cast<FlashScheduleAttr>(kernel.getScheduleAttr());
  int64_t warps = schedule.getKeyWarps();
  Value slots = statePointer(0), total = statePointer(flash->stateOffset);
  Value pointer = statePointer(flash->factorOffset);
  SmallVector<Value> factors;
  for (int64_t i = 0; i < flash->factorPitch; i += 4) {
    Value four =
        loadF32(pointer, add(mul(row, flash->factorPitch), number(i)), 4);
    for (int64_t j = 0; j < 4; ++j)
      factors.push_back(vector::ExtractOp::create(b, four, j));
  }
  SoftmaxMerge merge = {{}, factors[warps], factors[warps + 1]};
  Value rowStart = mul(row, flash->statePitch);
  forStateColumns([&](Value column) {
    Value at = add(rowStart, column);
    SmallVector<Value> parts;
    for (int64_t warp = 0; warp < warps; ++warp)
      parts.push_back(loadF32(
          slots, add(add(slotStart, number(warp * getWarpPitch(*flash))), at)));
    Value before = loadF32(total, at);
    Value value = arith::MulFOp::create(b, parts[0], factors[0]);
    for (int64_t warp = 1; warp < warps; ++warp)
      value = math::FmaOp::create(b, parts[warp], factors[warp], value);
    cuda::StoreOp::create(b, mergeValues(merge, before, value), total, at);
  });
}

/// A block's columns of the states of all blocks of the cluster, merged in the
/// order of their ranks, which is that of the splits.
LogicalResult CudaTileEmitter::emitShareSoftmax(ShareSoftmaxOp op) {
  if (!flash)
    return op.emitError("needs a fold that is cut over warps");
  if (clusterSize > 1)
    cuda::ClusterBarrierOp::create(b);
  else
    emitBarrier();
  TileLayout layout = layoutOf(op.getType());
  if (layout.isReplicated() || layout.columns * clusterSize != flash->columns)
    return op.emitError("expected ")
           << flash->columns << " columns, of which each block of a cluster of "
           << clusterSize << " has its part, found a tile of type "
           << op.getType();
  Value state = statePointer(flash->stateOffset);
  Value firstColumn = number(0);
  SmallVector<Value> states = {state};
  if (clusterSize > 1) {
    firstColumn =
        mul(cuda::ClusterRankOp::create(b, b.getI32Type()), layout.columns);
    states.clear();
    for (int64_t rank = 0; rank < clusterSize; ++rank)
      states.push_back(mapToCluster(state, number(rank)));
  }
  SmallVector<Value> registers;
  for (int64_t i = 0; i < layout.registers(); ++i) {
    TilePosition position = positionOf(layout, i);
    Value rowStart = mul(position.row, flash->statePitch);
    Value at = add(rowStart, add(firstColumn, position.column));
    SmallVector<std::pair<SoftmaxRow, Value>> loaded;
    for (Value part : states)
      loaded.push_back({loadRowState(part, rowStart), loadF32(part, at)});
    auto [row, value] = loaded.front();
    for (auto [nextRow, nextValue] : llvm::drop_begin(loaded)) {
      SoftmaxMerge merge = mergeRows(row, nextRow);
      value = mergeValues(merge, value, nextValue);
      row = merge.row;
    }
    // A row that saw no key gives 0.
    Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, row.sum,
                                          constantF32(0));
    Value divisor =
        arith::SelectOp::create(b, isEmpty, constantF32(1), row.sum);
    registers.push_back(arith::DivFOp::create(b, value, divisor));
  }
  values[op.getResult()] = pack(op.getType(), registers);
  return success();
}
