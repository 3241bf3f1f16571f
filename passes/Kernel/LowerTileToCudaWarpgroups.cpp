//===- LowerTileToCudaWarpgroups.cpp - Products of a piece by wgmma -------===//
//
// Four warps multiply the rows of the tile, up to 64, by their columns of the
// weight, whose 8x8 matrices are read where they lie in the slot. The rows are
// the left-hand side: a warp loads its 16, computes what stands between them
// and the multiplications in registers, and adds up sums over k beside it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/PackedLayout.h"
#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Warps of a warpgroup.
static constexpr int64_t groupWarps =
    WarpgroupLayout::rows / WarpgroupLayout::warpRows;

bool CudaTileEmitter::hasWarpgroups() {
  auto schedule =
      dyn_cast_or_null<StreamScheduleAttr>(kernel.getScheduleAttr());
  return schedule && schedule.getWarpgroups();
}

WarpgroupLayout CudaTileEmitter::warpgroupLayout(Type tile) {
  auto type = cast<RankedTensorType>(tile);
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  int64_t groups = schedule.getColumnWarps() / groupWarps;
  return {type.getDimSize(0), type.getDimSize(1) / groups, groups};
}

/// The warp's place in its group, and the group's among the columns.
std::pair<Value, Value> CudaTileEmitter::warpgroupPlace() {
  Value columnWarp = warpPlace().first, count = number(groupWarps);
  return {b.createOrFold<arith::RemUIOp>(columnWarp, count),
          b.createOrFold<arith::DivUIOp>(columnWarp, count)};
}

/// First of the warp's lower or upper 8 rows. Where the tile has fewer, the
/// last ones, whose products are not stored.
Value CudaTileEmitter::warpgroupRow(const WarpgroupLayout &layout,
                                    int64_t half) {
  Value row = add(mul(warpgroupPlace().first, WarpgroupLayout::warpRows),
                  number(half * coreMatrixSize));
  if (layout.tileRows == WarpgroupLayout::rows)
    return row;
  return min(row, number(layout.tileRows - coreMatrixSize));
}

/// All multiplications of a piece and the sums of its rows.
LogicalResult CudaTileEmitter::emitWarpgroupPiece(ArrayRef<MmaOp> products,
                                                  ArrayRef<ReduceOp> sums) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  if (!arch.hasWgmma)
    return kernel.emitError("'")
           << arch.name << "' has no multiplications of warpgroups";
  MmaOp front = products.front();
  for (MmaOp mma : products)
    if (mma.getLhs() != front.getLhs())
      return mma.emitError("cannot be computed by warpgroups together with "
                           "multiplications of another input");
  WarpgroupLayout layout = warpgroupLayout(front.getType());
  int64_t warpStep = schedule.getStep() / schedule.getStepWarps();
  Value start = mul(warpPlace().second, warpStep);
  Value group = warpgroupPlace().second;
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  SmallVector<std::array<Value, 2>> added(sums.size(), {zero, zero});
  // Pairs of the input's fragments become those of left-hand operands.
  Layout operand = getMmaLhs(), registers = getInputFragment().pseudoInverse();
  SmallVector<Value> left;
  for (int64_t k = 0; k < warpStep; k += fragmentSteps) {
    InputFragment at;
    at.k = add(start, number(k));
    SmallVector<Value, 2> halves;
    for (int64_t half = 0; half < 2; ++half) {
      at.row = warpgroupRow(layout, half);
      at.ofRows.clear();
      FailureOr<Value> fragment = getFragment(front.getLhs(), at);
      if (failed(fragment))
        return failure();
      halves.push_back(*fragment);
      for (auto [sum, parts] : llvm::zip_equal(sums, added)) {
        FailureOr<Value> next = addFragment(sum, parts[half], at);
        if (failed(next))
          return failure();
        parts[half] = *next;
      }
    }
    for (int64_t inFragment = 0; inFragment < fragmentSteps;
         inFragment += mmaSteps) {
      SmallVector<Value> elements;
      for (uint64_t pair = 0; pair < 4; ++pair) {
        uint64_t row = operand.at({{Axis::Register, 2 * pair}}, Axis::Row);
        uint64_t column =
            operand.at({{Axis::Register, 2 * pair}}, Axis::Column) + inFragment;
        elements.push_back(vector::ExtractOp::create(
            b, halves[row / coreMatrixSize],
            registers.at({{Axis::Column, column}}, Axis::Register) / 2));
      }
      left.push_back(vector::FromElementsOp::create(
          b, VectorType::get(4, b.getI32Type()), elements));
    }
  }
  // The other groups have the same rows.
  for (auto [sum, parts] : llvm::zip_equal(sums, added)) {
    if (layout.groups > 1 && keptShape.empty())
      for (Value &part : parts)
        part = arith::SelectOp::create(b, equal(group, number(0)), part, zero);
    values[ReduceOp(sum).getResult()] =
        pack(ReduceOp(sum).getType(), {parts[0], parts[1]});
  }
  for (auto [mma, product] :
       llvm::zip_equal(products, emitWarpgroupProducts(products, left)))
    values[MmaOp(mma).getResult()] = product;
  return success();
}

/// Multiplies left-hand fragments, by k, by the group's columns of the weights
/// and adds the products to the accumulators.
SmallVector<Value>
CudaTileEmitter::emitWarpgroupProducts(ArrayRef<MmaOp> products,
                                       ArrayRef<Value> left) {
  auto schedule = cast<StreamScheduleAttr>(kernel.getScheduleAttr());
  int64_t step = schedule.getStep();
  Value group = warpgroupPlace().second, stepWarp = warpPlace().second;
  WarpgroupLayout layout = warpgroupLayout(MmaOp(products.front()).getType());
  int64_t parts =
      llvm::divideCeil(layout.columns, WarpgroupLayout::mostColumns);
  while (layout.columns % (parts * coreMatrixSize) != 0)
    ++parts;
  int64_t width = layout.columns / parts;
  // Sums of all products by part, then the fragments.
  SmallVector<Value> held;
  for (MmaOp mma : products)
    for (int64_t part = 0; part < parts; ++part)
      held.push_back(sliceVector(b, values.at(MmaOp(mma).getAccumulator()),
                                 part * width / 2, width / 2));
  llvm::append_range(held, left);
  auto arrive = cuda::WarpgroupArriveOp::create(b, held);
  SmallVector<Value> sums(
      arrive.getResults().take_front(products.size() * parts));
  ValueRange fragments = arrive.getResults().drop_front(sums.size());
  auto nextMatrix = [&](const Layout &memory, Axis axis) {
    return b.getI64IntegerAttr(
        memory.at({{axis, coreMatrixSize}}, Axis::Offset));
  };
  for (auto [k, fragment] : llvm::enumerate(fragments))
    for (auto [n, product] : llvm::enumerate(products)) {
      MmaOp mma = product;
      Type type = getElementTypeOrSelf(mma.getRhs().getType());
      const SlotPart &slot =
          slotParts.at(mma.getRhs().getDefiningOp<LoadOp>().getView());
      Layout memory =
          getWeightLayout(
              cast<MemRefType>(
                  mma.getRhs().getDefiningOp<LoadOp>().getView().getType()))
              .value();
      Value pointer =
          cuda::SharedMemoryOp::create(b, sharedPointer(type), slot.offset);
      Value at = add(mul(slot.slot, slot.slotBytes / 2),
                     add(mul(group, layout.columns * step),
                         mul(stepWarp, static_cast<int64_t>(left.size()) *
                                           mmaSteps * coreMatrixSize)));
      for (int64_t part = 0; part < parts; ++part) {
        Value &sum = sums[n * parts + part];
        int64_t offset = part * width * step +
                         static_cast<int64_t>(k) * mmaSteps * coreMatrixSize;
        sum = cuda::WarpgroupMmaOp::create(
            b, sum.getType(), TypeAttr::get(type), fragment, pointer,
            add(at, number(offset)), nextMatrix(memory, Axis::Column),
            nextMatrix(memory, Axis::Row), sum);
      }
    }
  auto wait = cuda::WarpgroupWaitOp::create(b, sums);
  SmallVector<Value> results;
  for (auto [n, product] : llvm::enumerate(products)) {
    SmallVector<Value> elements;
    for (Value sum : wait.getResults().slice(n * parts, parts))
      for (int64_t i = 0; i < width / 2; ++i)
        elements.push_back(vector::ExtractOp::create(b, sum, i));
    results.push_back(pack(MmaOp(product).getType(), elements));
  }
  return results;
}

TilePosition CudaTileEmitter::makeWarpgroupPosition(const TileLayout &layout,
                                                    int64_t reg) {
  Value lane = lanePosition().lane;
  auto [rowWarp, group] = warpgroupPlace();
  int64_t columns = layout.columns / layout.groups;
  Layout inGroup =
      WarpgroupLayout{layout.rows, columns, layout.groups}.getLayout();
  auto ofRegister = [&](Axis axis) {
    return number(
        inGroup.at({{Axis::Register, static_cast<uint64_t>(reg)}}, axis));
  };
  TilePosition position;
  position.row = add(add(along(inGroup, Axis::Row, Axis::Warp, rowWarp),
                         along(inGroup, Axis::Row, Axis::Lane, lane)),
                     ofRegister(Axis::Row));
  if (layout.rows < WarpgroupLayout::rows) {
    position.inside = less(position.row, number(layout.rows));
    position.row = min(position.row, number(layout.rows - 1));
  }
  position.column = add(mul(group, columns),
                        add(along(inGroup, Axis::Column, Axis::Lane, lane),
                            ofRegister(Axis::Column)));
  return position;
}

/// Calls `body` for pairs of neighbours of a sum that a lane has, with the
/// place of the first in the area, or for its sums of rows. Warps without rows
/// of the tile have none.
void CudaTileEmitter::forWarpgroupElements(
    Value sum, const SumMemory &memory,
    function_ref<void(Value at, Value element)> body) {
  WarpgroupLayout layout = warpgroupLayout(sum.getType());
  const LanePosition &lane = lanePosition();
  auto [rowWarp, group] = warpgroupPlace();
  int64_t pitch = memory.getPitch();
  Layout inGroup = layout.getLayout(), held = inGroup.pseudoInverse();
  Value firstRow = along(inGroup, Axis::Row, Axis::Warp, rowWarp);
  Value corner = mul(
      add(firstRow, along(inGroup, Axis::Row, Axis::Lane, lane.lane)), pitch);
  bool isRowSum = memory.columns == 1;
  SmallVector<Value> rowSums;
  if (isRowSum) {
    for (int64_t half = 0; half < 2; ++half)
      rowSums.push_back(addLanes(registerOf(sum, half)));
  } else {
    corner =
        add(corner, add(mul(group, layout.columns),
                        along(inGroup, Axis::Column, Axis::Lane, lane.lane)));
  }
  Value isInside;
  if (layout.tileRows < WarpgroupLayout::rows)
    isInside = less(firstRow, number(layout.tileRows));
  if (isRowSum)
    isInside = both(isInside, both(equal(lane.inGroup, number(0)),
                                   equal(group, number(0))));
  int64_t halves = layout.tileRows > coreMatrixSize ? 2 : 1;
  guarded(isInside, [&] {
    for (int64_t half = 0; half < halves; ++half) {
      Value at = add(corner, number(half * coreMatrixSize * pitch));
      if (isRowSum) {
        body(at, rowSums[half]);
        continue;
      }
      uint64_t row = half * coreMatrixSize;
      for (uint64_t column = 0; column < static_cast<uint64_t>(layout.columns);
           column += coreMatrixSize)
        body(add(at, number(column)),
             sliceVector(b, values.at(sum),
                         held.at({{Axis::Row, row}, {Axis::Column, column}},
                                 Axis::Register),
                         2));
    }
  });
}
