//===- LowerTileToCudaMemory.cpp - Registers of a thread, loads, stores ---===//

#include "passes/Kernel/LowerTileToCuda.h"
#include "passes/Kernel/MmaOperand.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Equal numbers are one value, so that what is computed from them can be
/// recognised as equal.
Value CudaTileEmitter::number(int64_t value) {
  Value &constant = numbers[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(thread.getDefiningOp());
    constant = arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }
  return constant;
}

Value CudaTileEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value CudaTileEmitter::add(Value a, Value c) {
  return b.createOrFold<arith::AddIOp>(a, c);
}

Value CudaTileEmitter::mul(Value a, int64_t factor) {
  if (factor == 1)
    return a;
  return b.createOrFold<arith::MulIOp>(
      a, a.getType().isIndex() ? index(factor) : number(factor));
}

Value CudaTileEmitter::min(Value a, Value c) {
  return b.createOrFold<arith::MinSIOp>(a, c);
}

Value CudaTileEmitter::less(Value a, Value c) {
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, c);
}

Value CudaTileEmitter::equal(Value a, Value c) {
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, c);
}

Value CudaTileEmitter::both(Value a, Value c) {
  if (!a || !c)
    return a ? a : c;
  return b.createOrFold<arith::AndIOp>(a, c);
}

void CudaTileEmitter::guarded(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Tiles in registers
//===----------------------------------------------------------------------===//

TileLayout CudaTileEmitter::layoutOf(Type tile) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tile).getShape();
  return {shape.size() > 1 ? shape[0] : 1, shape.back(), threads};
}

Type CudaTileEmitter::convert(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return type;
  int64_t registers = layoutOf(type).registers();
  if (registers == 1)
    return tile.getElementType();
  return VectorType::get(registers, tile.getElementType());
}

SmallVector<Type> CudaTileEmitter::convert(TypeRange types) {
  return llvm::map_to_vector(types, [&](Type type) { return convert(type); });
}

SmallVector<Value> CudaTileEmitter::lookup(ValueRange from) {
  return llvm::map_to_vector(from,
                             [&](Value value) { return values.at(value); });
}

void CudaTileEmitter::bind(ValueRange from, ValueRange to) {
  for (auto [value, held] : llvm::zip_equal(from, to))
    values[value] = held;
}

Value CudaTileEmitter::registerOf(Value tile, int64_t reg) {
  Value held = values.at(tile);
  if (!isa<VectorType>(held.getType()))
    return held;
  return b.createOrFold<vector::ExtractOp>(held, reg);
}

Value CudaTileEmitter::pack(Type tile, ArrayRef<Value> registers) {
  auto type = dyn_cast<VectorType>(convert(tile));
  if (!type)
    return registers.front();
  return vector::FromElementsOp::create(b, type, registers);
}

/// Positions are the same everywhere in a kernel and are computed once, at its
/// start.
TilePosition CudaTileEmitter::positionOf(const TileLayout &layout,
                                         int64_t reg) {
  if (layout.isReplicated())
    return {number(reg), number(0), nullptr};
  auto [found, isNew] =
      positions.try_emplace({layout.rows, layout.columns, reg});
  if (isNew) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prologueEnd);
    found->second = makePosition(layout, reg);
  }
  return found->second;
}

TilePosition CudaTileEmitter::makePosition(const TileLayout &layout,
                                           int64_t reg) {
  auto divide = [&](Value value, int64_t by) -> Value {
    return b.createOrFold<arith::DivUIOp>(value, number(by));
  };
  auto remainder = [&](Value value, int64_t by) -> Value {
    return b.createOrFold<arith::RemUIOp>(value, number(by));
  };
  auto [rows, columns, threads] = layout;
  bool isPartial = (reg + 1) * threads > layout.elements();
  TilePosition position;
  // `value`, which is inside below `size`; then at most size - 1.
  auto clamp = [&](Value value, int64_t size) -> Value {
    if (!isPartial)
      return value;
    position.inside = less(value, number(size));
    return min(value, number(size - 1));
  };
  if (rows == 1) {
    position.row = number(0);
    position.column = clamp(add(thread, number(reg * threads)), columns);
  } else if (columns % threads == 0) {
    int64_t perRow = columns / threads;
    position.row = number(reg / perRow);
    position.column = add(thread, number(reg % perRow * threads));
  } else if (threads % columns == 0) {
    Value row = add(divide(thread, columns), number(reg * (threads / columns)));
    position.row = clamp(row, rows);
    position.column = remainder(thread, columns);
  } else {
    Value element =
        clamp(add(thread, number(reg * threads)), layout.elements());
    position.row = divide(element, columns);
    position.column = remainder(element, columns);
  }
  return position;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

void CudaTileEmitter::emitScratch(ScratchOp op) {
  auto type = cast<MemRefType>(op.getType());
  CudaView view;
  view.pointer = cuda::SharedMemoryOp::create(
      b,
      cuda::PtrType::get(b.getContext(), type.getElementType(),
                         cuda::Space::Shared),
      b.getI64IntegerAttr(scratchOffset));
  int64_t offset;
  (void)type.getStridesAndOffset(view.strides, offset);
  views[op.getResult()] = view;
  scratchOffset += llvm::alignTo(
      type.getNumElements() * type.getElementTypeBitWidth() / 8, 64);
}

static bool isShared(Value pointer) {
  return cast<cuda::PtrType>(pointer.getType()).getSpace() ==
         cuda::Space::Shared;
}

Value CudaTileEmitter::linearize(const CudaView &view, ValueRange indices) {
  Value offset = index(0);
  for (auto [position, stride] : llvm::zip_equal(indices, view.strides))
    offset = add(offset, mul(values.at(position), stride));
  if (isShared(view.pointer))
    offset = b.createOrFold<arith::IndexCastOp>(b.getI32Type(), offset);
  return offset;
}

CudaAccess CudaTileEmitter::makeAccess(Value viewValue, ValueRange indices,
                                       ArrayRef<int64_t> dims,
                                       RankedTensorType tile) {
  const CudaView &view = views.at(viewValue);
  CudaAccess access;
  access.view = viewValue;
  access.pointer = view.pointer;
  access.hint = view.hint;
  int64_t span = 0;
  for (auto [dim, size] : llvm::zip_equal(dims, tile.getShape())) {
    access.strides.push_back(view.strides[dim]);
    span += size * view.strides[dim];
  }
  access.offsetType =
      llvm::isInt<32>(span) ? Type(b.getI32Type()) : Type(b.getIndexType());
  access.pointer = advance(access, linearize(view, indices));
  return access;
}

Value CudaTileEmitter::advance(const CudaAccess &access, Value offset) {
  if (matchPattern(offset, m_Zero()))
    return access.pointer;
  return cuda::OffsetOp::create(b, access.pointer, offset);
}

Value CudaTileEmitter::scaleOffset(const CudaAccess &access, Value coordinate,
                                   int64_t stride) {
  if (coordinate.getType() != access.offsetType)
    coordinate =
        b.createOrFold<arith::IndexCastOp>(access.offsetType, coordinate);
  return mul(coordinate, stride);
}

Value CudaTileEmitter::offsetOf(const CudaAccess &access,
                                ValueRange coordinates) {
  Value offset;
  for (auto [coordinate, stride] :
       llvm::zip_equal(coordinates, access.strides)) {
    Value term = scaleOffset(access, coordinate, stride);
    offset = offset ? add(offset, term) : term;
  }
  return offset;
}

Value CudaTileEmitter::clampCount(Value count, int64_t size) {
  Value clamped = min(values.at(count), index(size));
  return b.createOrFold<arith::IndexCastOp>(b.getI32Type(), clamped);
}

Value CudaTileEmitter::clampRow(const CudaAccess &access, Value row) {
  if (!access.rows)
    return row;
  return min(row, add(access.rows, number(-1)));
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// Whether a multiplication reads this operand where it lies.
static bool isReadLate(LoadOp load, OpOperand &use) {
  auto mma = dyn_cast<MmaOp>(use.getOwner());
  return mma && use.getOperandNumber() < 2 && !findOverwrite(load, mma);
}

LogicalResult CudaTileEmitter::emitLoad(LoadOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  if (op.getRows() && type.getRank() == 1)
    return op.emitError("'rows' needs a tile of two dimensions, found ")
           << type;
  CudaAccess access =
      makeAccess(op.getView(), op.getIndices(), op.getTileDims(), type);
  if (op.getRows())
    access.rows = clampCount(op.getRows(), type.getDimSize(0));
  accesses[op.getResult()] = access;
  if (llvm::all_of(op->getUses(),
                   [&](OpOperand &use) { return isReadLate(op, use); }))
    return success();
  if (type.getRank() == 3)
    return op.emitError("a tile of three dimensions can only be the right-hand "
                        "side of tile.mma, and may not be overwritten before");
  beforeRead(op.getView());
  TileLayout layout = layoutOf(type);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < layout.registers(); ++i) {
    TilePosition position = positionOf(layout, i);
    SmallVector<Value> coordinates = {position.column};
    if (type.getRank() == 2)
      coordinates.insert(coordinates.begin(), clampRow(access, position.row));
    registers.push_back(
        cuda::LoadOp::create(b, type.getElementType(), access.pointer,
                             offsetOf(access, coordinates), access.hint));
  }
  values[op.getResult()] = pack(type, registers);
  return success();
}

LogicalResult CudaTileEmitter::emitStore(StoreOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  if (op.getRows() && type.getRank() == 1)
    return op.emitError("'rows' needs a tile of two dimensions, found ")
           << type;
  CudaAccess access =
      makeAccess(op.getView(), op.getIndices(), op.getTileDims(), type);
  TileLayout layout = layoutOf(type);
  Value rows, columns;
  if (op.getRows())
    rows = clampCount(op.getRows(), layout.rows);
  if (op.getColumns())
    columns = clampCount(op.getColumns(), layout.columns);
  beforeWrite(op.getView(), op);
  // What all threads hold, one of them writes.
  guarded(layout.isReplicated() ? equal(thread, number(0)) : Value(), [&] {
    for (int64_t i = 0; i < layout.registers(); ++i) {
      TilePosition position = positionOf(layout, i);
      Value inside = position.inside;
      if (rows)
        inside = both(inside, less(position.row, rows));
      if (columns)
        inside = both(inside, less(position.column, columns));
      guarded(inside, [&] {
        SmallVector<Value> coordinates = {position.column};
        if (type.getRank() == 2)
          coordinates.insert(coordinates.begin(), position.row);
        cuda::StoreOp::create(b, registerOf(op.getTile(), i), access.pointer,
                              offsetOf(access, coordinates));
      });
    }
  });
  return success();
}

void CudaTileEmitter::emitElementLoad(memref::LoadOp op) {
  const CudaView &view = views.at(op.getMemRef());
  beforeRead(op.getMemRef());
  values[op.getResult()] =
      cuda::LoadOp::create(b, op.getType(), view.pointer,
                           linearize(view, op.getIndices()), view.hint);
}
