//===- LowerTileToCudaFragments.cpp - Products of a piece -----------------===//
//
// Tensor cores take the weight as left-hand operand and the rows of the input
// as columns: 16 columns of the tile by 8 of its rows are one accumulator.
// Fragments of either are 8x8 matrices that one instruction loads. Warp w has
// the column tiles of column warp w % columnWarps and the part of each step of
// step warp w / columnWarps.
//
// What stands between the loads of a piece and its multiplications is computed
// fragment by fragment: of 8 rows and 32 values of k a lane has row lane / 4
// and values 8 * i + 2 * (lane % 4) + {0, 1} of k, i < 4. Elements of 16 bits
// are packed in pairs, as multiplications take them. Of a sum over k every lane
// adds up its own part; the column warps, which have the same rows, take turns
// at row tiles. tile.share puts the parts together.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/PackedLayout.h"
#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Elements of a lane in a fragment of the input.
static constexpr int64_t fragmentElements = 8;
/// The column warp and the step warp that a warp is.
std::pair<Value, Value> CudaTileEmitter::warpPlace() {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  Value warp = lanePosition().warp, count = number(schedule.getColumnWarps());
  return {b.createOrFold<arith::RemUIOp>(warp, count),
          b.createOrFold<arith::DivUIOp>(warp, count)};
}

AccumulatorLayout CudaTileEmitter::accumulatorLayout(Type tile) {
  auto type = cast<RankedTensorType>(tile);
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  return {type.getDimSize(1) / AccumulatorLayout::tileColumns /
              schedule.getColumnWarps(),
          type.getDimSize(0) / AccumulatorLayout::tileRows,
          schedule.getColumnWarps()};
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

//===----------------------------------------------------------------------===//
// Fragments of the input
//===----------------------------------------------------------------------===//

/// Where in a part in panels the matrix lies that begins at a row and a value
/// of k.
Value CudaTileEmitter::placeInPanels(MemRefType type, Value row, Value k) {
  int64_t columns = cast<PanelsAttr>(type.getLayout()).getColumns();
  Value panel = b.createOrFold<arith::DivUIOp>(k, number(columns));
  Value inPanel = b.createOrFold<arith::RemUIOp>(k, number(columns));
  return add(mul(panel, type.getDimSize(0) * columns),
             add(mul(row, columns),
                 mul(inPanel, coreMatrix / PanelsAttr::groupColumns)));
}

/// A fragment of the input that begins `within` elements behind `start` and
/// whose elements lie there as `memory` says, (row, column) -> offset.
Value CudaTileEmitter::loadRowFragment(Value pointer, Value start, Value within,
                                       const Layout &memory) {
  Layout places = getInputAccess().rows.then(memory);
  Value ofLane = along(places, Axis::Offset, Axis::Lane, lanePosition().lane);
  return cuda::LoadMatrixOp::create(b, VectorType::get(4, b.getI32Type()),
                                    pointer, add(start, add(within, ofLane)),
                                    UnitAttr());
}

/// One row of 16-bit elements, the same for all rows of the fragment.
Value CudaTileEmitter::loadColumnFragment(LoadOp load,
                                          const InputFragment &at) {
  const SlotPart &part = slotParts.at(load.getView());
  Value pointer = cuda::SharedMemoryOp::create(b, sharedPointer(b.getI32Type()),
                                               part.offset);
  // Counted in pairs.
  Layout layout = getInputFragment()
                      .divide(Layout::identity(Axis::Register, Axis::Column, 1))
                      .value();
  Value start = add(mul(part.slot, part.slotBytes / 4),
                    b.createOrFold<arith::DivUIOp>(at.k, number(2)));
  start =
      add(start, along(layout, Axis::Column, Axis::Lane, lanePosition().lane));
  SmallVector<Value> pairs;
  for (uint64_t i = 0; i < 4; ++i)
    pairs.push_back(cuda::LoadOp::create(
        b, b.getI32Type(), pointer,
        add(start, number(layout.at({{Axis::Register, i}}, Axis::Column))),
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

FailureOr<Value> CudaTileEmitter::loadFragment(LoadOp load,
                                               const InputFragment &at) {
  auto view = cast<MemRefType>(load.getView().getType());
  auto tile = cast<RankedTensorType>(load.getType());
  bool isOneRow = view.getDimSize(0) == 1 && view.getLayout().isIdentity() &&
                  view.getElementTypeBitWidth() == 16;
  bool isPart = slotParts.contains(load.getView());
  if (isPart && isOneRow && tile.getDimSize(0) == 1)
    return loadColumnFragment(load, at);
  Layout fragment = getInputFragment();
  unsigned rowBits = fragment.outputBits(Axis::Row),
           columnBits = fragment.outputBits(Axis::Column);
  if (auto panels = dyn_cast<PanelsAttr>(view.getLayout()); isPart && panels) {
    const SlotPart &part = slotParts.at(load.getView());
    if (std::optional<Layout> memory = getTileLayout(
            panels.getAddress(view.getShape()), rowBits, columnBits))
      return loadRowFragment(
          cuda::SharedMemoryOp::create(b, sharedPointer(view.getElementType()),
                                       part.offset),
          mul(part.slot, part.slotBytes * 8 / view.getElementTypeBitWidth()),
          placeInPanels(view, at.row, at.k), *memory);
  }
  if (load.getView().getDefiningOp<ScratchOp>() && isOneRow)
    return loadRowFragment(
        views.at(load.getView()).pointer,
        b.createOrFold<arith::IndexCastOp>(b.getI32Type(),
                                           values.at(load.getIndices()[1])),
        at.k,
        // One row that stands for all.
        Layout::copies(Axis::Row, Axis::Offset, rowBits) *
            Layout::identity(Axis::Column, Axis::Offset, columnBits));
  return load.emitError("needs the input of multiplications in panels of a "
                        "slot, or one row of 16-bit elements; found a view of "
                        "type ")
         << view;
}

FailureOr<Value> CudaTileEmitter::computeFragment(Value tile,
                                                  InputFragment &at) {
  Operation *op = tile.getDefiningOp();
  auto numbers = VectorType::get(fragmentElements, b.getF32Type());
  if (auto load = dyn_cast_or_null<LoadOp>(op))
    return loadFragment(load, at);
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (elements && elements.isSplat() && elements.getElementType().isF32())
      return Value(arith::ConstantOp::create(
          b, DenseElementsAttr::get(numbers,
                                    elements.getSplatValue<Attribute>())));
  }
  bool isElementwise = op && op->getNumResults() == 1 &&
                       op->getNumRegions() == 0 &&
                       op->hasTrait<OpTrait::Elementwise>();
  Type element = getElementTypeOrSelf(tile.getType());
  bool isHalf = element.isBF16() || element.isF16();
  if (!isa_and_nonnull<BroadcastOp>(op) &&
      !(isElementwise && (element.isF32() ||
                          (isHalf && isa<arith::TruncFOp, arith::MulFOp>(op)))))
    return emitError(tile.getLoc(), "cannot be computed on fragments of a "
                                    "piece; expected loads of its parts, "
                                    "constants, tile.broadcast along rows, "
                                    "arithmetic in f32 and products of 16-bit "
                                    "numbers");
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
          b, b.getI32Type(), TypeAttr::get(element),
          vector::ExtractOp::create(b, operands[0], i),
          vector::ExtractOp::create(b, operands[0], i + 1)));
    return Value(vector::FromElementsOp::create(
        b, VectorType::get(4, b.getI32Type()), pairs));
  }
  if (isHalf) {
    SmallVector<Value> pairs;
    for (int64_t i = 0; i < fragmentElements / 2; ++i)
      pairs.push_back(cuda::MultiplyPairsOp::create(
          b, b.getI32Type(), TypeAttr::get(element),
          vector::ExtractOp::create(b, operands[0], i),
          vector::ExtractOp::create(b, operands[1], i)));
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
    else if (inner.getNumResults() != 0 &&
             isa<RankedTensorType>(inner.getResultTypes().front()))
      behind.push_back(&inner);
    else if (failed(emitOp(&inner)))
      return failure();
  }
  for (MmaOp mma : products) {
    auto weight = mma.getRhs().getDefiningOp<LoadOp>();
    if (!weight || !slotParts.contains(weight.getView()) ||
        !getWeightLayout(cast<MemRefType>(weight.getView().getType())))
      return mma.emitError(
          "needs its right-hand side in core matrices of a slot");
  }
  if (hasWarpgroups()) {
    if (failed(emitWarpgroupPiece(products, sums)))
      return failure();
  } else {
    if (failed(emitTensorProducts(products)))
      return failure();
    for (ReduceOp sum : sums) {
      b.setLoc(sum.getLoc());
      if (failed(emitRowSum(sum)))
        return failure();
    }
  }
  for (Operation *inner : behind) {
    b.setLoc(inner->getLoc());
    if (failed(emitOp(inner)))
      return failure();
  }
  return success();
}

std::optional<Layout> weft::tile::getWeightLayout(MemRefType view) {
  auto layout = dyn_cast<CoreMatricesAttr>(view.getLayout());
  if (!layout)
    return std::nullopt;
  Layout operand = getMmaLhs();
  return getTileLayout(layout.getAddress(view.getShape()),
                       operand.outputBits(Axis::Row),
                       operand.outputBits(Axis::Column));
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
  Type element = getElementTypeOrSelf(mma.getRhs().getType());
  Value pointer =
      cuda::SharedMemoryOp::create(b, sharedPointer(element), part.offset);
  auto view = cast<MemRefType>(
      mma.getRhs().getDefiningOp<LoadOp>().getView().getType());
  Layout memory = getWeightLayout(view).value();
  Value inFragment = along(getLeftAccess().rows.then(memory), Axis::Offset,
                           Axis::Lane, lanePosition().lane);
  Value start = add(mul(part.slot, part.slotBytes / 2), inFragment);
  // The value of k, in the step and in its block of 128.
  Value first = add(mul(stepWarp, warpStep), number(k));
  auto placeOf = [&](Value inStep) {
    Value block =
        b.createOrFold<arith::DivUIOp>(inStep, number(coreMatrixInputs));
    Value inBlock =
        b.createOrFold<arith::RemUIOp>(inStep, number(coreMatrixInputs));
    return add(mul(block, AccumulatorLayout::tileColumns * coreMatrixInputs),
               mul(inBlock, coreMatrixSize));
  };
  SmallVector<Value> fragments;
  for (int64_t m = 0; m < layout.columnTiles; ++m)
    for (int64_t half = 0; half < 2; ++half) {
      Value tile = add(mul(columnWarp, layout.columnTiles), number(m));
      Value at = add(start, mul(tile, AccumulatorLayout::tileColumns * step));
      at = add(at, placeOf(add(first, number(half * mmaSteps))));
      fragments.push_back(cuda::LoadMatrixOp::create(
          b, VectorType::get(4, b.getI32Type()), pointer, at, UnitAttr()));
    }
  return fragments;
}

/// All multiplications of a piece: they share the fragments of the input.
LogicalResult
CudaTileEmitter::emitTensorProducts(MutableArrayRef<MmaOp> products) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  int64_t warpStep = schedule.getStep() / schedule.getStepWarps();
  auto [columnWarp, stepWarp] = warpPlace();

  SmallVector<SmallVector<Value>> held; // vector<4xf32> each.
  for (MmaOp mma : products) {
    AccumulatorLayout layout = accumulatorLayout(mma.getType());
    SmallVector<Value> &own = held.emplace_back();
    Value accumulator = values.at(mma.getAccumulator());
    for (int64_t i = 0; i < layout.count(); ++i)
      own.push_back(sliceVector(b, accumulator, 4 * i, 4));
  }
  int64_t rowTiles = accumulatorLayout(products.front().getType()).rowTiles;
  for (int64_t k = 0; k < warpStep; k += fragmentSteps) {
    SmallVector<SmallVector<Value>> left;
    for (MmaOp mma : products)
      left.push_back(loadWeightFragments(mma, stepWarp, columnWarp, k));
    InputFragment at;
    at.k = add(mul(stepWarp, warpStep), number(k));
    for (int64_t j = 0; j < rowTiles; ++j) {
      at.row = number(j * AccumulatorLayout::tileRows);
      at.ofRows.clear();
      for (auto [n, product] : llvm::enumerate(products)) {
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
            Value &sum = held[n][layout.number(m, j)];
            sum = cuda::MmaOp::create(b, sum.getType(), element,
                                      left[n][2 * m + half], halves[half], sum);
          }
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
  return success();
}

/// Sums of a piece over k: a column warp adds up every columnWarps-th row tile.
LogicalResult CudaTileEmitter::emitRowSum(ReduceOp op) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  int64_t columnWarps = schedule.getColumnWarps();
  int64_t warpStep = schedule.getStep() / schedule.getStepWarps();
  auto [columnWarp, stepWarp] = warpPlace();
  int64_t rowTiles = cast<RankedTensorType>(op.getType()).getDimSize(0) /
                     AccumulatorLayout::tileRows;
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  SmallVector<Value> own;
  for (int64_t first = 0; first < rowTiles; first += columnWarps) {
    Value rowTile = add(columnWarp, number(first));
    OpBuilder::InsertionGuard guard(b);
    scf::IfOp branch;
    if (first + columnWarps > rowTiles) {
      branch =
          scf::IfOp::create(b, b.getF32Type(), less(rowTile, number(rowTiles)),
                            /*withElseRegion=*/true);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, zero);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value sum = zero;
    for (int64_t k = 0; k < warpStep; k += fragmentSteps) {
      InputFragment at;
      at.k = add(mul(stepWarp, warpStep), number(k));
      at.row = mul(rowTile, AccumulatorLayout::tileRows);
      FailureOr<Value> next = addFragment(op, sum, at);
      if (failed(next))
        return failure();
      sum = *next;
    }
    if (branch) {
      scf::YieldOp::create(b, sum);
      sum = branch.getResult(0);
    }
    own.push_back(sum);
  }
  values[op.getResult()] = pack(op.getType(), own);
  return success();
}
