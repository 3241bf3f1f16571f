//===- LowerTileToVectorMma.cpp - Multiplication of tiles -----------------===//
//
// The accumulator is cut into register tiles, each with its own loop over k.
// One element of the result sees the same operations in the same order whatever
// the number of rows and columns around it: for k ascending, one fused (or, on
// levels without it, one rounded multiplication and one addition) step.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToVector.h"
#include "passes/Kernel/MmaOperand.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// One register tile of a multiplication.
struct TileEmitter::MmaOperands {
  MmaInstruction instruction;
  int64_t innerSize; ///< K.
  int64_t group;     ///< Values of k that lie side by side on the right.
  int64_t unroll;    ///< Values of k per iteration.
  Type leftElement;
  SmallVector<Value> leftRows; ///< Pointers to k = 0.
  int64_t leftStride;
  Type rightElement;
  const TileAccess *rightMemory = nullptr; ///< Null: rightTile.
  const VectorTile *rightTile = nullptr;
  int64_t firstPiece; ///< Of the right-hand rows.
  int64_t firstColumn;
  SmallVector<int64_t> widths; ///< Of this register tile's pieces.
};

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Value TileEmitter::multiplyAdd(Value a, Value x, Value c) {
  if (level.hasFma)
    return math::FmaOp::create(b, a, x, c);
  return arith::AddFOp::create(b, arith::MulFOp::create(b, a, x), c);
}

/// c[n] + pair[0] * x[n][0] + pair[1] * x[n][1], where `pair` is an i32 and x a
/// vector of i16 with two elements per lane of c.
Value TileEmitter::dotBf16(Value pair, Value x, Value c) {
  int64_t width = cast<VectorType>(c.getType()).getNumElements();
  int64_t lanes = std::max<int64_t>(width, 4); // The narrowest instruction.
  if (width < lanes) {
    auto widen = [&](Value value, int64_t from, int64_t to) {
      SmallVector<int64_t> mask;
      for (int64_t i = 0; i < to; ++i)
        mask.push_back(i < from ? i : from);
      Value zero = arith::ConstantOp::create(b, b.getZeroAttr(value.getType()));
      return shuffle(value, zero, mask);
    };
    x = widen(x, 2 * width, 2 * lanes);
    c = widen(c, width, lanes);
  }
  auto pairs = VectorType::get(2 * lanes, b.getBF16Type());
  Value left = LLVM::BitcastOp::create(
      b, pairs, broadcast(pair, VectorType::get(lanes, b.getI32Type())));
  Value right = LLVM::BitcastOp::create(b, pairs, x);
  std::string name =
      "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(lanes * 32);
  Value sum =
      LLVM::CallIntrinsicOp::create(b, c.getType(), b.getStringAttr(name),
                                    ValueRange{c, left, right})
          .getResult(0);
  if (width < lanes)
    sum = shuffle(sum, sum, llvm::to_vector(llvm::seq<int64_t>(0, width)));
  return sum;
}

//===----------------------------------------------------------------------===//
// The loop over k of one register tile
//===----------------------------------------------------------------------===//

/// The right-hand vectors of one piece: for each k of group
/// `group` (null: 0) + `offset` an f32 vector; with dot_bf16 one vector of
/// pairs.
SmallVector<Value> TileEmitter::loadMmaRight(const MmaOperands &operands,
                                             Value group, int64_t offset,
                                             int64_t piece) {
  Type element = operands.rightElement;
  int64_t width = operands.widths[piece];
  Type f32 = vectorOf(b.getF32Type(), width);
  if (operands.rightTile)
    return {extend(operands.rightTile->row(offset)[operands.firstPiece + piece],
                   element, f32)};
  int64_t column = operands.firstColumn;
  for (int64_t before : ArrayRef(operands.widths).take_front(piece))
    column += before;
  const TileAccess &access = *operands.rightMemory;
  Value pointer;
  if (access.rows) {
    Value row = index(offset);
    pointer = rowPointer(access, group ? addIndex(group, row) : row);
  } else {
    pointer = access.pointer;
    if (group)
      pointer =
          advance(pointer, element, scaleIndex(group, access.strides.front()));
    pointer = advance(pointer, element, offset * access.strides.front());
  }
  pointer = advance(pointer, element, column * operands.group);
  int64_t values = width * operands.group;
  if (operands.instruction == MmaInstruction::DotBf16)
    return {loadVector(pointer, vectorOf(element, values))};
  if (operands.group == 1)
    return {
        extend(loadVector(pointer, vectorOf(element, width)), element, f32)};
  if (element.isBF16() && operands.group == 2) {
    // The high half of an f32 is its bf16, so a pair needs no conversion.
    Type i32 = vectorOf(b.getI32Type(), width);
    Value pair = loadVector(pointer, i32);
    Value even = arith::ShLIOp::create(b, pair, splatInt(i32, 16));
    Value odd = arith::AndIOp::create(b, pair, splatInt(i32, int64_t(-65536)));
    return {arith::BitcastOp::create(b, f32, even),
            arith::BitcastOp::create(b, f32, odd)};
  }
  Value all = loadVector(pointer, vectorOf(element, values));
  SmallVector<Value> result;
  for (int64_t i = 0; i < operands.group; ++i) {
    SmallVector<int64_t> mask;
    for (int64_t n = 0; n < width; ++n)
      mask.push_back(n * operands.group + i);
    result.push_back(extend(shuffle(all, all, mask), element, f32));
  }
  return result;
}

/// The left-hand values k = first, first + 1, ... of every row as f32 in memory
/// of the stack, where they can be read and broadcast one by one. Extending
/// them one by one instead would take longer than the multiplications.
SmallVector<Value> TileEmitter::stageLeft(ArrayRef<Value> rows, Type element,
                                          int64_t first, int64_t count) {
  Type f32 = b.getF32Type();
  Value memory;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    Value size = arith::ConstantOp::create(
        b, b.getI64IntegerAttr(count * static_cast<int64_t>(rows.size())));
    memory = LLVM::AllocaOp::create(
        b, LLVM::LLVMPointerType::get(b.getContext()), f32, size,
        /*alignment=*/64);
  }
  SmallVector<Value> staged;
  for (auto [r, row] : llvm::enumerate(rows)) {
    Value target = advance(memory, f32, static_cast<int64_t>(r) * count);
    staged.push_back(target);
    int64_t k = 0;
    for (int64_t width : splitColumns(count, level.lanes())) {
      Value values = loadVector(advance(row, element, first + k),
                                vectorOf(element, width));
      LLVM::StoreOp::create(b, extend(values, element, vectorOf(f32, width)),
                            advance(target, f32, k), /*alignment=*/4);
      k += width;
    }
  }
  return staged;
}

/// Adds the products of groups first + offset .. first + offset + count - 1.
void TileEmitter::emitMmaGroups(const MmaOperands &operands, Value firstGroup,
                                int64_t offset, int64_t count,
                                MutableArrayRef<Value> accumulators) {
  int64_t pieces = operands.widths.size(), group = operands.group;
  bool dot = operands.instruction == MmaInstruction::DotBf16;
  SmallVector<Value> rows = operands.leftRows;
  if (firstGroup)
    for (Value &row : rows)
      row = advance(row, operands.leftElement,
                    scaleIndex(firstGroup, group * operands.leftStride));
  Type leftElement = operands.leftElement;
  int64_t firstK = 0; // What the row pointers point to.
  if (isHalf(leftElement) && !dot && count > 0 && rows.size() > 1 &&
      operands.leftStride == 1) {
    firstK = offset * group;
    int64_t last = std::min((offset + count) * group, operands.innerSize);
    rows = stageLeft(rows, leftElement, firstK, last - firstK);
    leftElement = b.getF32Type();
  }
  for (int64_t g = offset; g < offset + count; ++g) {
    SmallVector<SmallVector<Value>> right;
    for (int64_t p = 0; p < pieces; ++p)
      right.push_back(loadMmaRight(operands, firstGroup, g, p));
    int64_t steps = dot ? 1 : std::min(group, operands.innerSize - g * group);
    for (int64_t i = 0; i < steps; ++i)
      for (auto [r, row] : llvm::enumerate(rows)) {
        Value pointer = advance(row, leftElement,
                                (g * group + i - firstK) * operands.leftStride);
        if (dot) {
          Value pair = loadVector(pointer, b.getI32Type());
          for (int64_t p = 0; p < pieces; ++p) {
            Value &sum = accumulators[r * pieces + p];
            sum = dotBf16(pair, right[p][0], sum);
          }
          continue;
        }
        Value left = extend(loadVector(pointer, leftElement), leftElement,
                            b.getF32Type());
        Value wide;
        for (int64_t p = 0; p < pieces; ++p) {
          Value &sum = accumulators[r * pieces + p];
          if (!wide || wide.getType() != sum.getType())
            wide = broadcast(left, sum.getType());
          sum = multiplyAdd(wide, right[p][i], sum);
        }
      }
  }
}

void TileEmitter::emitMmaChunk(const MmaOperands &operands,
                               MutableArrayRef<Value> accumulators) {
  int64_t groups = llvm::divideCeil(operands.innerSize, operands.group);
  int64_t whole = operands.innerSize / operands.group;
  int64_t step = std::max<int64_t>(1, operands.unroll / operands.group);
  int64_t looped =
      operands.rightTile || whole < 2 * step ? 0 : whole / step * step;
  if (looped > 0) {
    auto loop = scf::ForOp::create(b, index(0), index(looped), index(step),
                                   accumulators);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> sums(loop.getRegionIterArgs());
    emitMmaGroups(operands, loop.getInductionVar(), 0, step, sums);
    scf::YieldOp::create(b, sums);
    llvm::copy(loop.getResults(), accumulators.begin());
  }
  emitMmaGroups(operands, nullptr, looped, groups - looped, accumulators);
}

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

/// A multiplication reads memory later than the load that it takes its operand
/// from; diagnoses a store to the same view in between.
LogicalResult TileEmitter::checkUnchanged(LoadOp load, MmaOp op) {
  StoreOp store = findOverwrite(load, op);
  if (!store)
    return success();
  InFlightDiagnostic diagnostic =
      op.emitError("an operand's memory is overwritten between its load and "
                   "the multiplication");
  diagnostic.attachNote(load.getLoc()) << "loaded here";
  diagnostic.attachNote(store.getLoc()) << "overwritten here";
  return diagnostic;
}

/// Rows and pieces of a register tile, when no schedule says it: as much as
/// fits into the registers beside one right-hand row and a broadcast element.
static std::pair<int64_t, int64_t> chooseRegisterTile(const CpuLevel &level,
                                                      int64_t rows) {
  rows = std::min<int64_t>(rows, 6);
  int64_t spare = level.hasFma ? 2 : 3;
  int64_t pieces = (level.registers - spare) / (rows + 1);
  return {rows, std::clamp<int64_t>(pieces, 1, 8)};
}

LogicalResult TileEmitter::emitMma(MmaOp op) {
  auto leftType = cast<RankedTensorType>(op.getLhs().getType());
  auto rightType = cast<RankedTensorType>(op.getRhs().getType());
  auto leftLoad = op.getLhs().getDefiningOp<LoadOp>();
  if (!leftLoad)
    return op.emitError("the left-hand side must be read by a tile.load");
  if (failed(checkUnchanged(leftLoad, op)))
    return failure();
  if (op.getInstruction() == MmaInstruction::DotBf16 && !level.hasDotBf16)
    return op.emitError("level '")
           << level.name << "' has no instruction for dot_bf16";

  MmaOperands operands;
  operands.instruction = op.getInstruction();
  operands.innerSize = leftType.getDimSize(1);
  operands.group = rightType.getRank() == 3 ? rightType.getDimSize(2) : 1;
  const TileAccess left = accesses.at(op.getLhs());
  operands.leftElement = left.element;
  operands.leftStride = left.strides[1];
  if (op.getInstruction() == MmaInstruction::DotBf16 &&
      operands.leftStride != 1)
    return op.emitError("dot_bf16 needs a left-hand side with consecutive "
                        "columns, found stride ")
           << operands.leftStride;

  operands.rightElement = rightType.getElementType();
  TileAccess rightMemory;
  VectorTile rightTile;
  if (auto rightLoad = op.getRhs().getDefiningOp<LoadOp>()) {
    if (failed(checkUnchanged(rightLoad, op)))
      return failure();
    rightMemory = accesses.at(op.getRhs());
    ArrayRef<int64_t> strides = rightMemory.strides;
    if (strides[1] != operands.group || (operands.group > 1 && strides[2] != 1))
      return op.emitError("the right-hand side needs consecutive columns");
    operands.rightMemory = &rightMemory;
  } else if (operands.group == 1 && rightType.getRank() == 2) {
    rightTile = tiles.at(op.getRhs());
    operands.rightTile = &rightTile;
  } else {
    return op.emitError("a right-hand side of three dimensions must be read by "
                        "a tile.load");
  }

  VectorTile result = tiles.at(op.getAccumulator());
  auto [tileRows, tilePieces] = chooseRegisterTile(level, result.rows);
  operands.unroll = 4;
  if (ScheduleInterface schedule = kernel.getScheduleAttr()) {
    bool single = result.rows == 1;
    int64_t columns = single ? schedule.getRowColumns() : schedule.getColumns();
    int64_t unroll = single ? schedule.getRowUnroll() : schedule.getUnroll();
    tileRows = std::max<int64_t>(1, schedule.getRows());
    tilePieces = std::max<int64_t>(1, columns / level.lanes());
    operands.unroll = std::max<int64_t>(1, unroll);
  }
  for (int64_t p = 0; p < result.count(); p += tilePieces) {
    int64_t count = std::min(tilePieces, result.count() - p);
    operands.firstPiece = p;
    operands.firstColumn = 0;
    for (int64_t width : ArrayRef(result.widths).take_front(p))
      operands.firstColumn += width;
    operands.widths.assign(result.widths.begin() + p,
                           result.widths.begin() + p + count);
    for (int64_t r = 0; r < result.rows; r += tileRows) {
      int64_t rows = std::min(tileRows, result.rows - r);
      operands.leftRows.clear();
      SmallVector<Value> sums;
      for (int64_t i = r; i < r + rows; ++i) {
        operands.leftRows.push_back(rowPointer(left, i));
        llvm::append_range(sums, result.row(i).slice(p, count));
      }
      emitMmaChunk(operands, sums);
      for (int64_t i = 0; i < rows; ++i)
        llvm::copy(ArrayRef(sums).slice(i * count, count),
                   result.pieces.begin() + (r + i) * result.count() + p);
    }
  }
  tiles[op.getResult()] = std::move(result);
  return success();
}
