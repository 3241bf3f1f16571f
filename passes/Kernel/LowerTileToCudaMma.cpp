//===- LowerTileToCudaMma.cpp - Multiplication of tiles -------------------===//
//
// Every thread computes its elements of the accumulator, both operands read
// from memory: for k ascending, one fused step. So an element has the same
// result as on a CPU with fused multiply-add, whatever the shape of the tile.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"
#include "passes/Kernel/MmaOperand.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Both operands as a thread reads them.
struct CudaTileEmitter::MmaOperands {
  CudaAccess left, right;
  int64_t innerSize; ///< K.
  int64_t group;     ///< Values of k that lie side by side on the right.
  bool isMatrix;     ///< The right-hand side is [K, N], not [K/g, N, g].
  bool loadsGroups;  ///< A group is one aligned load.
  /// Of each accumulator: pointers to k = 0 of its row and its column. Equal
  /// ones are one value.
  SmallVector<Value> rows, columns;
};

/// Where an operand lies; what is not in memory is staged.
CudaAccess CudaTileEmitter::getMmaOperand(MmaOp op, unsigned operandNumber,
                                          int64_t &stagedBytes) {
  Value operand = op->getOperand(operandNumber);
  auto type = cast<RankedTensorType>(operand.getType());
  auto load = operand.getDefiningOp<LoadOp>();
  if (load && !findOverwrite(load, op))
    return accesses.at(operand);
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  CudaAccess staging =
      stagingAt(type.getElementType(), rows, columns, stagedBytes);
  stagedBytes +=
      llvm::alignTo(rows * columns * type.getElementTypeBitWidth() / 8, 16);
  // Both operands are staged before one is read.
  if (!pending.writes.contains(Value()) || pending.reads.contains(Value()))
    beforeWrite(Value(), nullptr);
  stage(operand, layoutOf(type), staging, [](Value column) { return column; });
  return staging;
}

/// Adds the products of groups first + offset .. first + offset + count - 1.
void CudaTileEmitter::emitMmaGroups(const MmaOperands &operands,
                                    Value firstGroup, int64_t offset,
                                    int64_t count,
                                    MutableArrayRef<Value> accumulators) {
  const CudaAccess &left = operands.left, &right = operands.right;
  Type leftElement = cast<cuda::PtrType>(left.pointer.getType()).getElement();
  Type rightElement = cast<cuda::PtrType>(right.pointer.getType()).getElement();
  int64_t group = operands.group;
  for (int64_t g = offset; g < offset + count; ++g) {
    Value number =
        firstGroup ? add(firstGroup, this->number(g)) : this->number(g);
    Value rightRow = offsetAlong(
        right, 0,
        clampRow(right, operands.isMatrix ? mul(number, group) : number));
    DenseMap<Value, Value> groups;
    int64_t steps = std::min(group, operands.innerSize - g * group);
    if (firstGroup)
      steps = group;
    for (int64_t j = 0; j < steps; ++j) {
      Value leftColumn =
          offsetAlong(left, 1, add(mul(number, group), this->number(j)));
      DenseMap<Value, Value> ofRow, ofColumn;
      for (auto [i, sum] : llvm::enumerate(accumulators)) {
        Value &a = ofRow[operands.rows[i]];
        if (!a)
          a = toF32(cuda::LoadOp::create(b, leftElement, operands.rows[i],
                                         leftColumn, left.hint));
        Value &x = ofColumn[operands.columns[i]];
        if (!x && operands.loadsGroups) {
          Value &all = groups[operands.columns[i]];
          if (!all)
            all =
                cuda::LoadOp::create(b, VectorType::get(group, rightElement),
                                     operands.columns[i], rightRow, right.hint);
          x = toF32(vector::ExtractOp::create(b, all, j));
        } else if (!x) {
          Value at = rightRow;
          if (group > 1)
            at = add(at, offsetAlong(right, 2, this->number(j)));
          x = toF32(cuda::LoadOp::create(b, rightElement, operands.columns[i],
                                         at, right.hint));
        }
        sum = math::FmaOp::create(b, a, x, sum);
      }
    }
  }
}

/// Whether every group of a packed operand starts at a multiple of its size.
static bool hasAlignedGroups(Value operand, int64_t group) {
  auto load = operand.getDefiningOp<LoadOp>();
  if (!load || group == 1)
    return false;
  auto type = cast<MemRefType>(load.getView().getType());
  int64_t bits = group * type.getElementTypeBitWidth();
  SmallVector<int64_t> strides;
  int64_t offset;
  if ((bits != 32 && bits != 64 && bits != 128) ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1 || load.getTileDims().back() != type.getRank() - 1)
    return false;
  return matchPattern(load.getIndices().back(), m_Zero()) &&
         llvm::all_of(ArrayRef(strides).drop_back(),
                      [&](int64_t stride) { return stride % group == 0; });
}

/// Whether rows 2i and 2i + 1 of an operand of a packed view lie side by side.
static bool hasAlignedPairs(Value operand, const CudaAccess &access) {
  auto load = operand.getDefiningOp<LoadOp>();
  if (!load || !access.view || access.rows || access.dims[0].origin)
    return false;
  auto view = cast<MemRefType>(load.getView().getType());
  const AddressDigit &lowest = access.dims[0].address.front();
  return isa<MemoryLayoutInterface>(view.getLayout()) &&
         view.getElementTypeBitWidth() == 16 && lowest.divisor == 1 &&
         lowest.stride == 1 &&
         cast<RankedTensorType>(operand.getType()).getDimSize(0) % 2 == 0;
}

LogicalResult CudaTileEmitter::emitMma(MmaOp op) {
  if (op.getInstruction() != MmaInstruction::Fma)
    return op.emitError("'") << arch.name << "' has no instruction for "
                             << stringifyMmaInstruction(op.getInstruction());
  auto leftType = cast<RankedTensorType>(op.getLhs().getType());
  auto rightType = cast<RankedTensorType>(op.getRhs().getType());
  MmaOperands operands;
  operands.innerSize = leftType.getDimSize(1);
  operands.group = rightType.getRank() == 3 ? rightType.getDimSize(2) : 1;
  int64_t stagedBytes = 0;
  CudaAccess left = getMmaOperand(op, 0, stagedBytes);
  CudaAccess right = getMmaOperand(op, 1, stagedBytes);
  beforeRead(left.view);
  beforeRead(right.view);
  operands.left = left;
  operands.right = right;
  operands.isMatrix = rightType.getRank() == 2;
  operands.loadsGroups = hasAlignedGroups(op.getRhs(), operands.group);
  if (operands.isMatrix && hasAlignedPairs(op.getRhs(), right)) {
    operands.group = 2;
    operands.loadsGroups = true;
  }

  TileLayout layout = layoutOf(op.getType());
  SmallVector<Value> sums;
  DenseMap<Value, Value> rows, columns;
  for (int64_t i = 0; i < layout.registers(); ++i) {
    TilePosition position = positionOf(layout, i);
    sums.push_back(registerOf(op.getAccumulator(), i));
    Value &row = rows[position.row];
    if (!row)
      row = advance(left, offsetAlong(left, 0, clampRow(left, position.row)));
    Value &column = columns[position.column];
    if (!column)
      column = advance(right, offsetAlong(right, 1, position.column));
    operands.rows.push_back(row);
    operands.columns.push_back(column);
  }

  int64_t unroll = 8;
  if (ScheduleInterface schedule = kernel.getScheduleAttr())
    unroll = layout.rows == 1 ? schedule.getRowUnroll() : schedule.getUnroll();
  int64_t groups = llvm::divideCeil(operands.innerSize, operands.group);
  int64_t whole = operands.innerSize / operands.group;
  int64_t step = std::max<int64_t>(1, unroll / operands.group);
  int64_t looped = whole < 2 * step ? 0 : whole / step * step;
  if (looped > 0) {
    auto loop =
        scf::ForOp::create(b, number(0), number(looped), number(step), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next(loop.getRegionIterArgs());
    emitMmaGroups(operands, loop.getInductionVar(), 0, step, next);
    scf::YieldOp::create(b, next);
    llvm::copy(loop.getResults(), sums.begin());
  }
  emitMmaGroups(operands, nullptr, looped, groups - looped, sums);
  values[op.getResult()] = pack(op.getType(), sums);
  return success();
}
