//===- LowerTileToCudaFragments.cpp - Products of a piece -----------------===//
//
// Tensor cores take the weight as left-hand operand (its fragments are one load
// of 16 bytes) and the rows of the input as columns: 16 columns of the tile by
// 8 of its rows are one accumulator. Warp w has the column tiles of column warp
// w % columnWarps and the part of each step of step warp w / columnWarps.
//
// What stands between the loads of a piece and its multiplications is computed
// fragment by fragment: of 8 rows and 32 values of k a lane has row lane / 4
// and values 8 * i + 2 * (lane % 4) + {0, 1} of k, i < 4. Elements of 16 bits
// are packed in pairs, as multiplications take them. Of a sum over k every lane
// adds up its own part; tile.share puts them together.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Values of k of one multiplication, and of a fragment of the input.
static constexpr int64_t mmaSteps = 16, fragmentSteps = 2 * mmaSteps;
/// Elements of a lane in a fragment of the input.
static constexpr int64_t fragmentElements = 8;
/// 16-bit elements of a 16x16 block of a weight.
static constexpr int64_t blockElements = 256;

AccumulatorLayout CudaTileEmitter::accumulatorLayout(Type tile) {
  auto type = cast<RankedTensorType>(tile);
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  return {type.getDimSize(1) / AccumulatorLayout::tileColumns /
              schedule.getColumnWarps(),
          type.getDimSize(0) / AccumulatorLayout::tileRows};
}

Value weft::tile::sliceVector(ImplicitLocOpBuilder &b, Value vector,
                              int64_t first, int64_t count) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(vector::ExtractOp::create(b, vector, first + i));
  auto type = VectorType::get(
      count, cast<VectorType>(vector.getType()).getElementType());
  return vector::FromElementsOp::create(b, type, elements);
}

/// Which fragment of the input is computed, and what is known of it.
struct CudaTileEmitter::InputFragment {
  Value k; ///< First value of k in the piece, i32.
  int64_t rowTile = 0;
  llvm::DenseMap<Value, Value> ofRows;    ///< Of tiles with rows.
  llvm::DenseMap<Value, Value> ofColumns; ///< Of tiles of one row.
};

//===----------------------------------------------------------------------===//
// Fragments of the input
//===----------------------------------------------------------------------===//

/// Eight rows of panels: lane l addresses row l % 8 of the (l / 8)-th 8 values
/// of k.
Value CudaTileEmitter::loadRowFragment(LoadOp load, PanelsAttr panels,
                                       const InputFragment &at) {
  auto type = cast<MemRefType>(load.getView().getType());
  const SlotPart &part = slotParts.at(load.getView());
  Value lane = lanePosition().lane;
  Value laneRow = mul(
      b.createOrFold<arith::RemUIOp>(lane, number(AccumulatorLayout::tileRows)),
      panels.getStride());
  Value laneStep = mul(
      b.createOrFold<arith::DivUIOp>(lane, number(AccumulatorLayout::tileRows)),
      fragmentElements);
  Value panel =
      b.createOrFold<arith::DivUIOp>(at.k, number(panels.getColumns()));
  Value inPanel =
      b.createOrFold<arith::RemUIOp>(at.k, number(panels.getColumns()));
  Value start =
      mul(part.slot, part.slotBytes * 8 / type.getElementTypeBitWidth());
  start = add(start, mul(panel, type.getDimSize(0) * panels.getStride()));
  start = add(start, add(inPanel, add(laneRow, laneStep)));
  start = add(start, number(at.rowTile * AccumulatorLayout::tileRows *
                            panels.getStride()));
  Value pointer = cuda::SharedMemoryOp::create(
      b, sharedPointer(type.getElementType()), part.offset);
  return cuda::LoadMatrixOp::create(b, VectorType::get(4, b.getI32Type()),
                                    pointer, start, UnitAttr());
}

/// One row of 16-bit elements, the same for all rows of the fragment.
Value CudaTileEmitter::loadColumnFragment(LoadOp load,
                                          const InputFragment &at) {
  const SlotPart &part = slotParts.at(load.getView());
  Value pointer = cuda::SharedMemoryOp::create(b, sharedPointer(b.getI32Type()),
                                               part.offset);
  // Counted in pairs.
  Value start = add(mul(part.slot, part.slotBytes / 4),
                    b.createOrFold<arith::DivUIOp>(at.k, number(2)));
  start = add(start, lanePosition().inGroup);
  SmallVector<Value> pairs;
  for (int64_t i = 0; i < 4; ++i)
    pairs.push_back(cuda::LoadOp::create(b, b.getI32Type(), pointer,
                                         add(start, number(4 * i)),
                                         cuda::CacheHint::Default));
  return vector::FromElementsOp::create(b, VectorType::get(4, b.getI32Type()),
                                        pairs);
}

/// What a lane has of a tile of the piece: four pairs of 16-bit elements as
/// i32, or eight f32 numbers.
FailureOr<Value> CudaTileEmitter::getFragment(Value tile, InputFragment &at) {
  auto type = cast<RankedTensorType>(tile.getType());
  auto &known = type.getDimSize(0) == 1 ? at.ofColumns : at.ofRows;
  if (Value found = known.lookup(tile))
    return found;
  FailureOr<Value> result = computeFragment(tile, at);
  if (succeeded(result))
    known[tile] = *result;
  return result;
}

FailureOr<Value> CudaTileEmitter::computeFragment(Value tile,
                                                  InputFragment &at) {
  Operation *op = tile.getDefiningOp();
  auto numbers = VectorType::get(fragmentElements, b.getF32Type());
  if (auto load = dyn_cast_or_null<LoadOp>(op);
      load && slotParts.contains(load.getView())) {
    auto view = cast<MemRefType>(load.getView().getType());
    if (auto panels = dyn_cast<PanelsAttr>(view.getLayout()))
      return loadRowFragment(load, panels, at);
    if (view.getDimSize(0) == 1 && view.getElementTypeBitWidth() == 16)
      return loadColumnFragment(load, at);
    return op->emitError("needs the input of multiplications in panels, or one "
                         "row of 16-bit elements; found a view of type ")
           << view;
  }
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (elements && elements.isSplat() && elements.getElementType().isF32())
      return Value(arith::ConstantOp::create(
          b, DenseElementsAttr::get(numbers,
                                    elements.getSplatValue<Attribute>())));
  }
  bool isElementwise = op && op->getNumResults() == 1 &&
                       op->getNumRegions() == 0 &&
                       op->hasTrait<OpTrait::Elementwise>() &&
                       getElementTypeOrSelf(tile.getType()).isF32();
  if (!isa_and_nonnull<BroadcastOp, arith::TruncFOp>(op) && !isElementwise)
    return emitError(tile.getLoc(), "cannot be computed on fragments of a "
                                    "piece; expected loads of its parts, "
                                    "constants, tile.broadcast along rows and "
                                    "elementwise arithmetic in f32");
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> fragment = getFragment(operand, at);
    if (failed(fragment))
      return failure();
    operands.push_back(*fragment);
  }
  if (isa<BroadcastOp>(op))
    return operands[0];
  if (isa<arith::ExtFOp>(op)) {
    Type half = getElementTypeOrSelf(op->getOperand(0).getType());
    Value halves = vector::BitCastOp::create(
        b, VectorType::get(fragmentElements, half), operands[0]);
    return Value(arith::ExtFOp::create(b, numbers, halves));
  }
  if (isa<arith::TruncFOp>(op)) {
    SmallVector<Value> pairs;
    for (int64_t i = 0; i < fragmentElements; i += 2)
      pairs.push_back(cuda::PackOp::create(
          b, b.getI32Type(),
          TypeAttr::get(getElementTypeOrSelf(tile.getType())),
          vector::ExtractOp::create(b, operands[0], i),
          vector::ExtractOp::create(b, operands[0], i + 1)));
    return Value(vector::FromElementsOp::create(
        b, VectorType::get(4, b.getI32Type()), pairs));
  }
  OperationState state(b.getLoc(), op->getName(), operands, {numbers},
                       op->getAttrs());
  return b.create(state)->getResult(0);
}

/// Adds a lane's elements of a fragment to its part of a sum. A product is
/// added without rounding it first.
FailureOr<Value> CudaTileEmitter::addFragment(ReduceOp op, Value sum,
                                              InputFragment &at) {
  Value input = op.getInput();
  SmallVector<Value> factors = {input};
  if (auto product = input.getDefiningOp<arith::MulFOp>())
    factors = llvm::to_vector<2>(product.getOperands());
  SmallVector<Value> fragments;
  for (Value factor : factors) {
    FailureOr<Value> fragment = getFragment(factor, at);
    if (failed(fragment))
      return failure();
    fragments.push_back(*fragment);
  }
  for (int64_t i = 0; i < fragmentElements; ++i) {
    Value element = vector::ExtractOp::create(b, fragments[0], i);
    sum = factors.size() == 1
              ? Value(arith::AddFOp::create(b, sum, element))
              : Value(math::FmaOp::create(
                    b, element, vector::ExtractOp::create(b, fragments[1], i),
                    sum));
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// A piece
//===----------------------------------------------------------------------===//

/// Whether the operation's result is computed where a fragment of it is needed.
static bool isOnFragments(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && !type.getEncoding();
}

/// Everything between the arrival of a piece and the release of its slot.
LogicalResult CudaTileEmitter::emitFragments(ConsumeOp op) {
  SmallVector<MmaOp> products;
  SmallVector<ReduceOp> sums;
  SmallVector<Operation *> behind;
  for (Operation &inner : op.getBlock().without_terminator()) {
    b.setLoc(inner.getLoc());
    if (auto mma = dyn_cast<MmaOp>(inner))
      products.push_back(mma);
    else if (auto reduce = dyn_cast<ReduceOp>(inner))
      sums.push_back(reduce);
    else if (isOnFragments(&inner))
      continue;
    else if (isa<RankedTensorType>(inner.getResultTypes().front()))
      behind.push_back(&inner);
    else if (failed(emitOp(&inner)))
      return failure();
  }
  if (failed(emitTensorProducts(products, sums)))
    return failure();
  for (Operation *inner : behind) {
    b.setLoc(inner->getLoc());
    if (failed(emitOp(inner)))
      return failure();
  }
  return success();
}

/// Left-hand fragments of two steps of k16 from `k` on, of all column tiles of
/// the warp.
SmallVector<Value> CudaTileEmitter::loadWeightFragments(MmaOp mma,
                                                        Value stepWarp,
                                                        Value columnWarp,
                                                        int64_t k) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  int64_t step = schedule.getStep();
  int64_t warpStep = step / schedule.getStepWarps();
  const SlotPart &part =
      slotParts.at(mma.getRhs().getDefiningOp<LoadOp>().getView());
  AccumulatorLayout layout = accumulatorLayout(mma.getType());
  Value pointer = cuda::SharedMemoryOp::create(b, sharedPointer(b.getI32Type()),
                                               part.offset);
  SmallVector<Value> fragments;
  for (int64_t m = 0; m < layout.columnTiles; ++m)
    for (int64_t half = 0; half < 2; ++half) {
      // Counted in 4 bytes: two elements.
      Value at = mul(part.slot, part.slotBytes / 4);
      Value tile = add(mul(columnWarp, layout.columnTiles), number(m));
      at = add(at, mul(tile, AccumulatorLayout::tileColumns * step / 2));
      at = add(at, mul(stepWarp, warpStep / mmaSteps * blockElements / 2));
      at = add(at, number((k / mmaSteps + half) * blockElements / 2));
      at = add(at, mul(lanePosition().lane, 4));
      fragments.push_back(
          cuda::LoadOp::create(b, VectorType::get(4, b.getI32Type()), pointer,
                               at, cuda::CacheHint::Default));
    }
  return fragments;
}

/// All multiplications and sums of a piece: they share the fragments of the
/// input.
LogicalResult
CudaTileEmitter::emitTensorProducts(MutableArrayRef<MmaOp> products,
                                    MutableArrayRef<ReduceOp> sums) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  int64_t warpStep = schedule.getStep() / schedule.getStepWarps();
  Value warp = lanePosition().warp;
  Value columnWarp =
      b.createOrFold<arith::RemUIOp>(warp, number(schedule.getColumnWarps()));
  Value stepWarp =
      b.createOrFold<arith::DivUIOp>(warp, number(schedule.getColumnWarps()));

  SmallVector<SmallVector<Value>> held; // vector<4xf32> each.
  for (MmaOp mma : products) {
    AccumulatorLayout layout = accumulatorLayout(mma.getType());
    SmallVector<Value> &own = held.emplace_back();
    Value accumulator = values.at(mma.getAccumulator());
    for (int64_t i = 0; i < layout.count(); ++i)
      own.push_back(sliceVector(b, accumulator, 4 * i, 4));
  }
  int64_t rowTiles = accumulatorLayout(products.front().getType()).rowTiles;
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  SmallVector<SmallVector<Value>> rowSums(sums.size(),
                                          SmallVector<Value>(rowTiles, zero));
  for (int64_t k = 0; k < warpStep; k += fragmentSteps) {
    SmallVector<SmallVector<Value>> left;
    for (MmaOp mma : products)
      left.push_back(loadWeightFragments(mma, stepWarp, columnWarp, k));
    InputFragment at;
    at.k = add(mul(stepWarp, warpStep), number(k));
    for (at.rowTile = 0; at.rowTile < rowTiles; ++at.rowTile) {
      at.ofRows.clear();
      for (auto [number, product] : llvm::enumerate(products)) {
        MmaOp mma = product;
        b.setLoc(mma.getLoc());
        FailureOr<Value> right = getFragment(mma.getLhs(), at);
        if (failed(right))
          return failure();
        Value halves[] = {sliceVector(b, *right, 0, 2),
                          sliceVector(b, *right, 2, 2)};
        AccumulatorLayout layout = accumulatorLayout(mma.getType());
        auto element = TypeAttr::get(getElementTypeOrSelf(mma.getLhs()));
        for (int64_t m = 0; m < layout.columnTiles; ++m)
          for (int64_t half = 0; half < 2; ++half) {
            Value &sum = held[number][layout.number(m, at.rowTile)];
            sum = cuda::MmaOp::create(b, sum.getType(), element,
                                      left[number][2 * m + half], halves[half],
                                      sum);
          }
      }
      for (auto [number, reduce] : llvm::enumerate(sums)) {
        Value &sum = rowSums[number][at.rowTile];
        FailureOr<Value> next = addFragment(reduce, sum, at);
        if (failed(next))
          return failure();
        sum = *next;
      }
    }
  }
  for (auto [mma, own] : llvm::zip_equal(products, held)) {
    SmallVector<Value> elements;
    for (Value sum : own)
      for (int64_t i = 0; i < 4; ++i)
        elements.push_back(vector::ExtractOp::create(b, sum, i));
    values[MmaOp(mma).getResult()] = pack(MmaOp(mma).getType(), elements);
  }
  for (auto [reduce, own] : llvm::zip_equal(sums, rowSums))
    values[ReduceOp(reduce).getResult()] =
        pack(ReduceOp(reduce).getType(), own);
  return success();
}
