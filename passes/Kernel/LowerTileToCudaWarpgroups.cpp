//===- LowerTileToCudaWarpgroups.cpp - Products of a piece by wgmma -------===//
//
// Four warps, the column warps 4n .. 4n + 3, multiply 64 columns of a matrix by
// all rows of the piece at once. A warp has the fragments of the weight and the
// accumulators that it would have for mma.sync; the rows are read where they
// lie in the slot, as 8x8 matrices of #tile.panels.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// The part of a slot that a right-hand side of warpgroups is, and what is
/// multiplied into it: null, or a tile of one row.
FailureOr<std::pair<LoadOp, Value>>
CudaTileEmitter::matchWarpgroupInput(MmaOp mma) {
  Value input = mma.getLhs(), factor;
  if (auto product = input.getDefiningOp<arith::MulFOp>())
    if (auto broadcast = product.getRhs().getDefiningOp<BroadcastOp>()) {
      input = product.getLhs();
      factor = broadcast.getInput();
    }
  auto load = input.getDefiningOp<LoadOp>();
  if (!load || !slotParts.contains(load.getView()) ||
      !isa<PanelsAttr>(cast<MemRefType>(load.getView().getType()).getLayout()))
    return mma.emitError("cannot be computed by warpgroups; expected rows in "
                         "panels of a slot, as they are or multiplied by a "
                         "tile of one row in 16 bits");
  return std::make_pair(load, factor);
}

/// All multiplications of a piece by warpgroups: what the rows are multiplied
/// by goes to the weight, which is in registers.
LogicalResult
CudaTileEmitter::emitWarpgroupProducts(MutableArrayRef<MmaOp> products) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  if (!arch.hasWgmma)
    return kernel.emitError("'")
           << arch.name << "' has no multiplications of warpgroups";
  int64_t warpStep = schedule.getStep() / schedule.getStepWarps();
  auto [columnWarp, stepWarp] = warpPlace();
  FailureOr<std::pair<LoadOp, Value>> matched =
      matchWarpgroupInput(products.front());
  if (failed(matched))
    return failure();
  auto [load, factor] = *matched;
  SmallVector<Value> held;
  for (MmaOp mma : products) {
    if (mma.getLhs() != products.front().getLhs() ||
        accumulatorLayout(mma.getType()).columnTiles != 1)
      return mma.emitError("cannot be computed by warpgroups; expected one "
                           "input and 16 columns for each column warp");
    held.push_back(values.at(mma.getAccumulator()));
  }
  auto element = TypeAttr::get(getElementTypeOrSelf(load.getType()));
  // Left-hand fragments by k, then by product.
  Value start = mul(stepWarp, warpStep);
  for (int64_t k = 0; k < warpStep; k += fragmentSteps) {
    Value factors;
    if (factor) {
      InputFragment at;
      at.k = add(start, number(k));
      FailureOr<Value> fragment = getFragment(factor, at);
      if (failed(fragment))
        return failure();
      factors = *fragment;
    }
    SmallVector<SmallVector<Value>> left;
    for (MmaOp mma : products)
      left.push_back(loadWeightFragments(mma, stepWarp, columnWarp, k));
    for (int64_t half = 0; half < 2; ++half)
      for (SmallVector<Value> &fragments : left)
        held.push_back(
            factor ? multiplyFragment(element, fragments[half], factors, half)
                   : fragments[half]);
  }
  auto arrive = cuda::WarpgroupArriveOp::create(b, held);
  SmallVector<Value> sums(arrive.getResults().take_front(products.size()));
  ValueRange fragments = arrive.getResults().drop_front(products.size());
  auto view = cast<MemRefType>(load.getView().getType());
  const SlotPart &part = slotParts.at(load.getView());
  Value pointer = cuda::SharedMemoryOp::create(
      b, sharedPointer(view.getElementType()), part.offset);
  Value slotStart =
      mul(part.slot, part.slotBytes * 8 / view.getElementTypeBitWidth());
  int64_t columns = cast<PanelsAttr>(view.getLayout()).getColumns();
  for (int64_t step = 0; step * mmaSteps < warpStep; ++step) {
    Value k = add(start, number(step * mmaSteps));
    Value at = add(slotStart, placeInPanels(view, number(0), k));
    for (auto [n, sum] : llvm::enumerate(sums))
      sum = cuda::WarpgroupMmaOp::create(
          b, sum.getType(), element, fragments[step * products.size() + n],
          pointer, at, b.getI64IntegerAttr(panelMatrix),
          b.getI64IntegerAttr(PanelsAttr::groupRows * columns), sum);
  }
  auto wait = cuda::WarpgroupWaitOp::create(b, sums);
  for (auto [mma, sum] : llvm::zip_equal(products, wait.getResults()))
    values[mma.getResult()] = sum;
  return success();
}

/// Multiplies a left-hand fragment by four pairs of factors along 32 values of
/// k, of which half 0 or 1 are the fragment's.
Value CudaTileEmitter::multiplyFragment(TypeAttr element, Value fragment,
                                        Value factors, int64_t half) {
  SmallVector<Value> pairs;
  for (int64_t i = 0; i < 4; ++i)
    pairs.push_back(cuda::MultiplyPairsOp::create(
        b, b.getI32Type(), element, vector::ExtractOp::create(b, fragment, i),
        vector::ExtractOp::create(b, factors, 2 * half + i / 2)));
  return vector::FromElementsOp::create(b, fragment.getType(), pairs);
}
