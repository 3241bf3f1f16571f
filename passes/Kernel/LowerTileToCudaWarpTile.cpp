//===- LowerTileToCudaWarpTile.cpp - Tiles that warps hold ----------------===//
//
// Of a tile with the encoding #tile.warp_tile a warp has 16 rows, which it
// holds as mma.sync gives them: getSumFragment(). Where the warp has 8 rows a
// multiplication gets zeros for the others. Elements of 16 bits are packed in
// pairs, which makes the tile the left-hand operand of the next multiplication.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Columns come in pairs of 8.
static constexpr int64_t mmaColumns = 16;

WarpTileAttr weft::tile::getWarpTile(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? dyn_cast_or_null<WarpTileAttr>(tile.getEncoding())
              : WarpTileAttr();
}

bool weft::tile::isOnWarpTiles(Operation *op) {
  return op->getNumResults() == 1 && getWarpTile(op->getResult(0).getType()) &&
         isa<IotaOp, BroadcastOp, ReduceOp, MmaOp, LoadHeadsOp, arith::TruncFOp,
             math::Exp2Op, math::FmaOp>(op);
}

/// Columns of a warp.
static int64_t getWarpColumns(Type type) {
  return cast<RankedTensorType>(type).getDimSize(1) /
         getWarpTile(type).getColumnWarps();
}

static int64_t getRows(Type type) {
  return cast<RankedTensorType>(type).getDimSize(0);
}

/// Rows of a warp.
static int64_t getWarpRows(Type type) {
  return getRows(type) / getWarpTile(type).getRowWarps();
}

/// What a warp has of a tile.
static Layout getLayout(Type type) {
  return getSumFragment(getWarpRows(type), getWarpColumns(type));
}

/// Rows of a tile that a thread has elements of.
static int64_t getHalves(Type type) { return getWarpRows(type) / 8; }

static int64_t getRegisters(Type type) {
  int64_t columns = getWarpColumns(type);
  return (columns == 1 ? 1 : columns / 8 * 2) * getHalves(type);
}

/// Which of a thread's rows a register is in.
static int64_t getHalf(Type type, uint64_t reg) {
  return getLayout(type).at({{Axis::Register, reg}}, Axis::Row) / 8;
}

Type CudaTileEmitter::convertWarpTile(RankedTensorType type) {
  int64_t registers = getRegisters(type);
  if (type.getElementTypeBitWidth() == 16)
    return VectorType::get(registers / 2, b.getI32Type());
  return VectorType::get(registers, type.getElementType());
}

/// Where the thread stands among the warps and lanes; the same in all of a
/// kernel.
const LanePosition &CudaTileEmitter::lanePosition() {
  if (lanes.lane)
    return lanes;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  lanes.lane = arith::AndIOp::create(b, thread, number(31));
  lanes.warp = arith::DivUIOp::create(b, thread, number(32));
  lanes.group = arith::DivUIOp::create(b, lanes.lane, number(4));
  lanes.inGroup = arith::AndIOp::create(b, lanes.lane, number(3));
  if (auto flashSchedule =
          dyn_cast_or_null<FlashScheduleAttr>(kernel.getScheduleAttr())) {
    int64_t keyWarps = flashSchedule.getKeyWarps();
    lanes.rowWarp =
        flashSchedule.getRowWarps() == 1
            ? number(0)
            : b.createOrFold<arith::DivUIOp>(lanes.warp, number(keyWarps));
    lanes.keyWarp = flashSchedule.getRowWarps() == 1
                        ? lanes.warp
                        : modulo(lanes.warp, keyWarps);
  }
  return lanes;
}

/// Start of a warp's part of `size` columns, or of values of k, that
/// `columnWarps` warps divide.
Value CudaTileEmitter::warpPart(int64_t columnWarps, int64_t size) {
  if (columnWarps == 1)
    return number(0);
  return mul(lanePosition().keyWarp, size / columnWarps);
}

/// Row and column of a register, i32.
std::pair<Value, Value> CudaTileEmitter::warpElement(RankedTensorType type,
                                                     int64_t reg) {
  const LanePosition &place = lanePosition();
  Layout layout = getLayout(type);
  auto inWarp = [&](Axis axis) {
    return add(along(layout, axis, Axis::Lane, place.lane),
               number(layout.at({{Axis::Register, static_cast<uint64_t>(reg)}},
                                axis)));
  };
  Value row = add(inWarp(Axis::Row), mul(place.rowWarp, getWarpRows(type)));
  if (getWarpColumns(type) == 1)
    return {row, number(0)};
  return {row,
          add(warpPart(getWarpTile(type).getColumnWarps(), type.getDimSize(1)),
              inWarp(Axis::Column))};
}

LogicalResult CudaTileEmitter::emitOnWarpTiles(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t divisor = 16 * getWarpTile(type).getColumnWarps();
  int64_t rowWarps = getWarpTile(type).getRowWarps();
  auto schedule = dyn_cast_or_null<FlashScheduleAttr>(kernel.getScheduleAttr());
  if (!schedule || rowWarps != schedule.getRowWarps())
    return op->emitError("divides rows among ")
           << rowWarps << " warps, but the kernel has no #tile.flash_schedule "
           << "with so many row warps";
  bool hasRows = type.getDimSize(0) == 16 * rowWarps ||
                 (rowWarps == 1 && type.getDimSize(0) == 8);
  if (type.getRank() != 2 || !hasRows ||
      (type.getDimSize(1) != 1 && type.getDimSize(1) % divisor != 0))
    return op->emitError("expected ")
           << (rowWarps == 1 ? "8 or " : "") << 16 * rowWarps
           << " rows of one column or a multiple of " << divisor
           << ", found a tile of type " << type;
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](MmaOp mma) { return emitWarpMma(mma); })
      .Case([&](math::FmaOp sum) { return emitWarpFma(sum); })
      .Case([&](LoadHeadsOp load) { return emitLoadHeads(load); })
      .Case([&](IotaOp iota) {
        SmallVector<Value> registers;
        for (int64_t i = 0; i < getRegisters(type); ++i) {
          auto [row, column] = warpElement(type, i);
          registers.push_back(add(values.at(iota.getBase()),
                                  iota.getDim() == 0 ? row : column));
        }
        values[iota.getResult()] = pack(type, registers);
        return success();
      })
      .Case([&](BroadcastOp repeat) { return emitWarpBroadcast(repeat); })
      .Case([&](ReduceOp reduce) { return emitWarpReduce(reduce); })
      .Case([&](arith::TruncFOp round) -> LogicalResult {
        if (type.getElementTypeBitWidth() != 16 || type.getDimSize(1) == 1)
          return round.emitError("expected f16 or bf16 in several columns, "
                                 "found a tile of type ")
                 << type;
        SmallVector<Value> pairs;
        for (int64_t i = 0; i < getRegisters(type); i += 2)
          pairs.push_back(cuda::PackOp::create(
              b, b.getI32Type(), TypeAttr::get(type.getElementType()),
              registerOf(round.getIn(), i), registerOf(round.getIn(), i + 1)));
        values[round.getResult()] = pack(type, pairs);
        return success();
      })
      .Case([&](math::Exp2Op power) {
        Value operand = values.at(power.getOperand());
        values[power.getResult()] =
            cuda::Exp2Op::create(b, operand.getType(), operand);
        return success();
      });
}

LogicalResult CudaTileEmitter::emitWarpBroadcast(BroadcastOp op) {
  auto from = cast<RankedTensorType>(op.getInput().getType());
  if (!getWarpTile(from) ||
      from.getShape() != ArrayRef<int64_t>({getRows(op.getType()), 1}))
    return op.emitError("can only repeat one column that warps hold, found a "
                        "tile of type ")
           << from;
  SmallVector<Value> registers;
  for (int64_t i = 0; i < getRegisters(op.getType()); ++i)
    registers.push_back(registerOf(op.getInput(), getHalf(op.getType(), i)));
  values[op.getResult()] = pack(op.getType(), registers);
  return success();
}

/// Of a warp's columns: a thread's registers in order, then the threads that
/// share a row.
LogicalResult CudaTileEmitter::emitWarpReduce(ReduceOp op) {
  Type from = op.getInput().getType();
  if (!getWarpTile(from))
    return op.emitError("mixes a tile that warps hold with one of type ")
           << from;
  SmallVector<Value> rows(getHalves(from));
  for (int64_t i = 0; i < getRegisters(from); ++i) {
    Value &row = rows[getHalf(from, i)];
    Value element = registerOf(op.getInput(), i);
    row = row ? combine(op.getKind(), row, element) : element;
  }
  for (Value &row : rows)
    for (int64_t mask : getRowMasks(getLayout(from)))
      row = combine(op.getKind(), row,
                    cuda::ShuffleXorOp::create(b, row.getType(), row,
                                               b.getI64IntegerAttr(mask)));
  values[op.getResult()] = pack(op.getType(), rows);
  return success();
}

/// A product that only a sum of products adds is computed there.
static MmaOp getAddedProduct(math::FmaOp op) {
  auto mma = op.getC().getDefiningOp<MmaOp>();
  bool isApart = mma && mma->hasOneUse() && mma->getBlock() == op->getBlock();
  return isApart ? mma : MmaOp();
}

LogicalResult CudaTileEmitter::emitWarpMma(MmaOp op) {
  if (op->hasOneUse())
    if (auto sum = dyn_cast<math::FmaOp>(*op->user_begin());
        sum && getAddedProduct(sum) == op)
      return success();
  SmallVector<Value> elements;
  LogicalResult result = emitWarpProduct(op, [&](int64_t, Value part) {
    int64_t count = cast<VectorType>(part.getType()).getNumElements();
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(vector::ExtractOp::create(b, part, i));
  });
  if (succeeded(result))
    values[op.getResult()] = pack(op.getType(), elements);
  return result;
}

/// Registers are added as they are computed, so that few of the product are
/// held: as vectors, which are statements of their own in the source.
LogicalResult CudaTileEmitter::emitWarpFma(math::FmaOp op) {
  MmaOp mma = getAddedProduct(op);
  if (!mma)
    return emitElementwise(op);
  SmallVector<Value> elements;
  LogicalResult result = emitWarpProduct(mma, [&](int64_t first, Value part) {
    int64_t count = cast<VectorType>(part.getType()).getNumElements();
    Value sum = math::FmaOp::create(
        b, sliceVector(b, values.at(op.getA()), first, count),
        sliceVector(b, values.at(op.getB()), first, count), part);
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(vector::ExtractOp::create(b, sum, i));
  });
  if (succeeded(result))
    values[op.getResult()] = pack(op.getType(), elements);
  return result;
}

/// Calls `use` with the registers of the product, those of 8 columns at a time,
/// and the number of the first one. The right-hand side lies in the slot of the
/// fold's ring, rows are values of k. Where warps divide the left-hand side's
/// columns each has a part of the sum; where they divide the result's, its
/// columns.
LogicalResult CudaTileEmitter::emitWarpProduct(
    MmaOp op, function_ref<void(int64_t first, Value part)> use) {
  const RingPart *part = nullptr;
  if (auto load = op.getRhs().getDefiningOp<LoadOp>(); flash && load)
    part = flash->find(load);
  auto left = cast<RankedTensorType>(op.getLhs().getType());
  if (!part || !getWarpTile(left) || left.getElementTypeBitWidth() != 16 ||
      getRows(left) != getRows(op.getType()))
    return op.emitError("expected a left-hand side that warps hold in f16 or "
                        "bf16 and a right-hand side that the fold around it "
                        "loads from a buffer");
  int64_t leftWarps = getWarpTile(left).getColumnWarps();
  int64_t columnWarps = getWarpTile(op.getType()).getColumnWarps();
  int64_t steps = getWarpColumns(left);
  int64_t columns = getWarpColumns(op.getType());
  Type element = left.getElementType();
  Value pointer = cuda::SharedMemoryOp::create(
      b, cuda::PtrType::get(b.getContext(), element, cuda::Space::Shared),
      part->offset);
  MatrixAccess access = getRightAccess();
  Value lane = lanePosition().lane;
  Value row = along(access.rows, Axis::Row, Axis::Lane, lane);
  Value column = along(access.rows, Axis::Column, Axis::Lane, lane);
  row = add(row, warpPart(leftWarps, left.getDimSize(1)));
  column =
      add(column, warpPart(columnWarps,
                           cast<RankedTensorType>(op.getType()).getDimSize(1)));
  Value start = add(mul(flashSlot, flash->slotBytes / 2),
                    add(mul(row, part->pitch), column));
  // Registers of 16 values of k, `perRegister` elements each, or of 8 columns
  // of a sum, with zeros for rows that the tile has not.
  int64_t halves = getHalves(op.getType());
  auto withAllRows = [&](Value held, int64_t first, Value none,
                         const Layout &operand, uint64_t perRegister) -> Value {
    if (halves == 2)
      return sliceVector(b, held, first, 4);
    SmallVector<Value> elements(4, none);
    for (uint64_t place = 0; place < 4; ++place)
      if (operand.at({{Axis::Register, place * perRegister}}, Axis::Row) == 0)
        elements[place] = vector::ExtractOp::create(b, held, first++);
    return vector::FromElementsOp::create(b, VectorType::get(4, none.getType()),
                                          elements);
  };
  Value lhs = values.at(op.getLhs()), held = values.at(op.getAccumulator());
  Type fragment = VectorType::get(4, b.getI32Type());
  UnitAttr transposed = access.isTransposed ? b.getUnitAttr() : UnitAttr();
  for (int64_t n = 0; n < columns; n += mmaColumns) {
    int64_t first = n / 8 * 2 * halves;
    SmallVector<Value, 2> sums;
    for (int64_t half = 0; half < 2; ++half)
      sums.push_back(withAllRows(held, first + half * 2 * halves,
                                 constantF32(0), getMmaAccumulator(),
                                 /*perRegister=*/1));
    for (int64_t k = 0; k < steps; k += mmaSteps) {
      Value a = withAllRows(lhs, k / mmaSteps * 2 * halves, number(0),
                            getMmaLhs(), /*perRegister=*/2);
      Value at = add(start, number(k * part->pitch + n));
      Value matrices =
          cuda::LoadMatrixOp::create(b, fragment, pointer, at, transposed);
      for (auto [half, sum] : llvm::enumerate(sums))
        sum = cuda::MmaOp::create(b, sum.getType(), TypeAttr::get(element), a,
                                  sliceVector(b, matrices, 2 * half, 2), sum);
    }
    for (auto [half, sum] : llvm::enumerate(sums))
      use(first + half * 2 * halves,
          halves == 2 ? sum : sliceVector(b, sum, 0, 2));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Heads as rows
//===----------------------------------------------------------------------===//

/// Distance of an element from the start of a view of two dimensions, both
/// coordinates and the result of type index.
Value CudaTileEmitter::elementOffset(const CudaView &view, Value row,
                                     Value column) {
  Type type = b.getIndexType();
  return add(addressOf(view.dims[0], row, view.rowCount, type),
             addressOf(view.dims[1], column, view.rowCount, type));
}

/// Row of the view and column of its head, of type index, for a tile's row.
std::pair<Value, Value> CudaTileEmitter::headPlace(Value tileRow, Value row,
                                                   Value column, int64_t heads,
                                                   int64_t headSize) {
  auto widen = [&](Value value) {
    return b.createOrFold<arith::IndexCastOp>(b.getIndexType(), value);
  };
  Value token = b.createOrFold<arith::DivUIOp>(tileRow, number(heads));
  Value head = b.createOrFold<arith::RemUIOp>(tileRow, number(heads));
  return {add(values.at(row), widen(token)),
          add(values.at(column), widen(mul(head, headSize)))};
}

LogicalResult CudaTileEmitter::emitLoadHeads(LoadHeadsOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  if (type.getElementTypeBitWidth() != 16 || type.getDimSize(1) == 1 ||
      op.getHeadSize() % 2 != 0)
    return op.emitError("expected heads of an even number of f16 or bf16 "
                        "columns, found a tile of type ")
           << type;
  const CudaView &view = views.at(op.getView());
  beforeRead(op.getView());
  Value count = mul(clampCount(op.getRows(), getRows(type)), op.getHeads());
  Type pair = VectorType::get(2, type.getElementType());
  std::array<std::pair<Value, Value>, 2> places;
  for (int64_t half = 0; half < getHalves(type); ++half) {
    Value row = min(warpElement(type, 2 * half).first, add(count, number(-1)));
    places[half] = headPlace(row, op.getRow(), op.getColumn(), op.getHeads(),
                             op.getHeadSize());
  }
  SmallVector<Value> pairs;
  for (int64_t i = 0; i < getRegisters(type); i += 2) {
    auto [row, column] = places[getHalf(type, i)];
    Value inHead = b.createOrFold<arith::IndexCastOp>(
        b.getIndexType(), warpElement(type, i).second);
    Value loaded = cuda::LoadOp::create(
        b, pair, view.pointer, elementOffset(view, row, add(column, inHead)),
        view.hint);
    Value bits = vector::BitCastOp::create(
        b, VectorType::get(1, b.getI32Type()), loaded);
    pairs.push_back(vector::ExtractOp::create(b, bits, 0));
  }
  values[op.getResult()] = pack(type, pairs);
  return success();
}

LogicalResult CudaTileEmitter::emitStoreHeads(StoreHeadsOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  if (getWarpTile(type) || layoutOf(type).isReplicated())
    return op.emitError("expected a tile that all threads share, found one of "
                        "type ")
           << type;
  TileLayout layout = layoutOf(type);
  const CudaView &view = views.at(op.getView());
  Value count = mul(clampCount(op.getRows(), layout.rows), op.getHeads());
  beforeWrite(op.getView(), op);
  for (int64_t i = 0; i < layout.registers(); ++i) {
    TilePosition position = positionOf(layout, i);
    guarded(both(position.inside, less(position.row, count)), [&] {
      auto [row, column] = headPlace(position.row, op.getRow(), op.getColumn(),
                                     op.getHeads(), op.getHeadSize());
      Value inHead =
          b.createOrFold<arith::IndexCastOp>(b.getIndexType(), position.column);
      cuda::StoreOp::create(b, registerOf(op.getTile(), i), view.pointer,
                            elementOffset(view, row, add(column, inHead)));
    });
  }
  return success();
}
