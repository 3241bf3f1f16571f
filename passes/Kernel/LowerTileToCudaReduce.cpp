//===- LowerTileToCudaReduce.cpp - Rows to numbers ------------------------===//
//
// The order of a row's elements depends on its length and the number of threads
// only, not on the number of rows or which row it is, so that a row has the
// same result whatever rows share its tile.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

static constexpr int64_t warpSize = 32;

Value CudaTileEmitter::combine(Reduction kind, Value a, Value c) {
  bool isFloat = isa<FloatType>(a.getType());
  if (kind == Reduction::Add)
    return isFloat ? arith::AddFOp::create(b, a, c).getResult()
                   : arith::AddIOp::create(b, a, c).getResult();
  return isFloat ? arith::MaximumFOp::create(b, a, c).getResult()
                 : arith::MaxSIOp::create(b, a, c).getResult();
}

/// What leaves every other number as it is; of sums -0, since 0 + -0 is 0.
Value CudaTileEmitter::identityOf(Reduction kind, Type element) {
  bool isAdd = kind == Reduction::Add;
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    APFloat value = isAdd ? APFloat::getZero(semantics, /*Negative=*/true)
                          : APFloat::getInf(semantics, /*Negative=*/true);
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  return number(isAdd ? 0 : std::numeric_limits<int32_t>::min());
}

/// Over the lanes of a warp, as a tree; every lane has the result.
Value CudaTileEmitter::reduceWarp(Reduction kind, Value value) {
  for (int64_t mask = warpSize / 2; mask > 0; mask /= 2)
    value = combine(kind, value,
                    cuda::ShuffleXorOp::create(b, value.getType(), value,
                                               b.getI64IntegerAttr(mask)));
  return value;
}

/// Rows that are in the same threads or end with one: a thread's registers of
/// the row, the lanes of each warp, the warps.
SmallVector<Value> CudaTileEmitter::reduceAligned(ReduceOp op,
                                                  const TileLayout &layout) {
  Type element = getElementTypeOrSelf(op.getType());
  int64_t warps = threads / warpSize;
  SmallVector<Value> sums;
  for (int64_t r = 0; r < layout.rows; ++r) {
    Value sum;
    for (int64_t i = r * layout.columns / threads;
         i * threads < (r + 1) * layout.columns; ++i) {
      Value value = registerOf(op.getInput(), i);
      TilePosition position = positionOf(layout, i);
      Value isInRow = position.inside;
      if (layout.rows > 1 && layout.columns < threads)
        isInRow = both(isInRow, equal(position.row, number(r)));
      if (isInRow)
        value = arith::SelectOp::create(b, isInRow, value,
                                        identityOf(op.getKind(), element));
      sum = sum ? combine(op.getKind(), sum, value) : value;
    }
    sums.push_back(reduceWarp(op.getKind(), sum));
  }
  if (warps == 1)
    return sums;
  CudaAccess staging = stagingAt(element, layout.rows, warps);
  Value lane = b.createOrFold<arith::RemUIOp>(thread, number(warpSize));
  Value warp = b.createOrFold<arith::DivUIOp>(thread, number(warpSize));
  beforeWrite(Value(), nullptr);
  guarded(equal(lane, number(0)), [&] {
    for (auto [r, sum] : llvm::enumerate(sums))
      cuda::StoreOp::create(b, sum, staging.pointer,
                            offsetOf(staging, {number(r), warp}));
  });
  beforeRead(Value());
  for (auto [r, sum] : llvm::enumerate(sums)) {
    sum = readStaged(staging, element, number(r), number(0));
    for (int64_t w = 1; w < warps; ++w)
      sum = combine(op.getKind(), sum,
                    readStaged(staging, element, number(r), number(w)));
  }
  return sums;
}

/// Rows of any length: through shared memory to a warp for each.
SmallVector<Value> CudaTileEmitter::reduceByWarps(ReduceOp op,
                                                  const TileLayout &layout) {
  Type element = getElementTypeOrSelf(op.getType());
  int64_t rows = layout.rows, columns = layout.columns;
  int64_t warps = threads / warpSize;
  CudaAccess staging = stagingAt(element, rows, columns);
  CudaAccess results = stagingAt(
      element, 1, rows, rows * columns * (element.getIntOrFloatBitWidth() / 8));
  beforeWrite(Value(), nullptr);
  stage(op.getInput(), layout, staging, [](Value column) { return column; });
  beforeRead(Value());
  Value lane = b.createOrFold<arith::RemUIOp>(thread, number(warpSize));
  Value warp = b.createOrFold<arith::DivUIOp>(thread, number(warpSize));
  // The results are written while other warps still read their rows; they lie
  // behind the rows.
  for (int64_t first = 0; first < rows; first += warps) {
    Value row = add(warp, number(first));
    Value isRow = first + warps > rows ? less(row, number(rows)) : Value();
    Value readRow = isRow ? min(row, number(rows - 1)) : row;
    Value sum;
    for (int64_t c = 0; c < columns; c += warpSize) {
      Value column = add(lane, number(c));
      Value value;
      if (c + warpSize <= columns) {
        value = readStaged(staging, element, readRow, column);
      } else {
        value = readStaged(staging, element, readRow,
                           min(column, number(columns - 1)));
        value = arith::SelectOp::create(b, less(column, number(columns)), value,
                                        identityOf(op.getKind(), element));
      }
      sum = sum ? combine(op.getKind(), sum, value) : value;
    }
    sum = reduceWarp(op.getKind(), sum);
    guarded(both(equal(lane, number(0)), isRow), [&] {
      cuda::StoreOp::create(b, sum, results.pointer,
                            offsetOf(results, {number(0), row}));
    });
  }
  pending.writes[Value()].insert(nullptr);
  beforeRead(Value());
  SmallVector<Value> sums;
  for (int64_t r = 0; r < rows; ++r)
    sums.push_back(readStaged(results, element, number(0), number(r)));
  return sums;
}

/// Types that warps do not exchange: every thread reads all elements in order.
SmallVector<Value> CudaTileEmitter::reduceSerially(ReduceOp op,
                                                   const TileLayout &layout) {
  Type element = getElementTypeOrSelf(op.getType());
  CudaAccess staging = stagingAt(element, layout.rows, layout.columns);
  beforeWrite(Value(), nullptr);
  stage(op.getInput(), layout, staging, [](Value column) { return column; });
  beforeRead(Value());
  SmallVector<Value> sums;
  for (int64_t r = 0; r < layout.rows; ++r)
    sums.push_back(readStaged(staging, element, number(r), number(0)));
  auto loop =
      scf::ForOp::create(b, number(1), number(layout.columns), number(1), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next;
  for (int64_t r = 0; r < layout.rows; ++r)
    next.push_back(combine(
        op.getKind(), loop.getRegionIterArgs()[r],
        readStaged(staging, element, number(r), loop.getInductionVar())));
  scf::YieldOp::create(b, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

LogicalResult CudaTileEmitter::emitReduce(ReduceOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  if (!element.isF32() && !element.isF64() && !element.isInteger(32))
    return op.emitError("cannot reduce elements of type ")
           << element << "; expected f32, f64 or i32";
  TileLayout layout = layoutOf(op.getInput().getType());
  if (layout.columns == 1) {
    values[op.getResult()] = values.at(op.getInput());
    return success();
  }
  SmallVector<Value> sums =
      element.isF64() ? reduceSerially(op, layout)
      : layout.hasAlignedRows() && (layout.rows == 1 || layout.consecutive == 1)
          ? reduceAligned(op, layout)
          : reduceByWarps(op, layout);
  values[op.getResult()] = pack(op.getType(), sums);
  return success();
}
