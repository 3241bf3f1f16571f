//===- LowerTileToCudaExchange.cpp - Elements that change threads ---------===//
//
// Through the staging area: every thread writes what it has, a barrier, and
// every thread reads what it needs.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

//===----------------------------------------------------------------------===//
// The staging area
//===----------------------------------------------------------------------===//

/// Type of an element in memory.
static Type getStoredType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 32);
  if (element.isIndex())
    return IntegerType::get(element.getContext(), 64);
  return element;
}

CudaAccess CudaTileEmitter::stagingAt(Type element, int64_t rows,
                                      int64_t columns, int64_t byteOffset) {
  Type stored = getStoredType(element);
  int64_t bytes = rows * columns * stored.getIntOrFloatBitWidth() / 8;
  stagingBytes =
      std::max<int64_t>(stagingBytes, llvm::alignTo(byteOffset + bytes, 16));
  CudaAccess access;
  access.pointer = cuda::SharedMemoryOp::create(
      b, cuda::PtrType::get(b.getContext(), stored, cuda::Space::Shared),
      b.getI64IntegerAttr(stagingOffset + byteOffset));
  access.dims = {{{{1, 0, columns}}, Value()}, {{{1, 0, 1}}, Value()}};
  access.offsetType = b.getI32Type();
  return access;
}

void CudaTileEmitter::stage(Value tile, const TileLayout &layout,
                            const CudaAccess &staging,
                            function_ref<Value(Value)> column) {
  Type stored = cast<cuda::PtrType>(staging.pointer.getType()).getElement();
  guarded(layout.isReplicated() ? equal(thread, number(0)) : Value(), [&] {
    for (int64_t i = 0; i < layout.registers(); ++i) {
      TilePosition position = positionOf(layout, i);
      Value value = registerOf(tile, i);
      if (value.getType().isIndex())
        value = arith::IndexCastOp::create(b, stored, value);
      else if (value.getType() != stored)
        value = arith::ExtUIOp::create(b, stored, value);
      guarded(position.inside, [&] {
        cuda::StoreOp::create(
            b, value, staging.pointer,
            offsetOf(staging, {position.row, column(position.column)}));
      });
    }
  });
}

Value CudaTileEmitter::readStaged(const CudaAccess &staging, Type element,
                                  Value row, Value column) {
  Type stored = cast<cuda::PtrType>(staging.pointer.getType()).getElement();
  Value value = cuda::LoadOp::create(b, stored, staging.pointer,
                                     offsetOf(staging, {row, column}),
                                     cuda::CacheHint::Default);
  if (element.isIndex())
    return arith::IndexCastOp::create(b, element, value);
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, number(0));
  return value;
}

//===----------------------------------------------------------------------===//
// Broadcast, slice, join
//===----------------------------------------------------------------------===//

void CudaTileEmitter::emitBroadcast(BroadcastOp op) {
  TileLayout from = layoutOf(op.getInput().getType());
  TileLayout to = layoutOf(op.getType());
  Type element = getElementTypeOrSelf(op.getType());
  SmallVector<Value> registers;
  CudaAccess staging;
  bool isLocal = from.isReplicated() || from.rows == to.rows ||
                 (to.columns % threads == 0 && !to.groups);
  if (!isLocal) {
    // The input is one row, of which a thread needs other columns than it has.
    staging = stagingAt(element, from.rows, from.columns);
    beforeWrite(Value(), nullptr);
    stage(op.getInput(), from, staging, [](Value column) { return column; });
    beforeRead(Value());
  }
  for (int64_t i = 0; i < to.registers(); ++i) {
    if (from.elements() == 1) {
      registers.push_back(registerOf(op.getInput(), 0));
    } else if (from.rows == to.rows && from.columns == to.columns) {
      registers.push_back(registerOf(op.getInput(), i));
    } else if (from.isReplicated()) {
      // Every thread has all rows; the register's row is one of a few.
      int64_t step = to.groups ? to.elements() : to.consecutive * threads;
      int64_t begin = i / to.consecutive * step;
      int64_t first = begin / to.columns;
      int64_t last = std::min((begin + step - 1) / to.columns, to.rows - 1);
      Value value = registerOf(op.getInput(), first);
      for (int64_t r = first + 1; r <= last; ++r) {
        Value isBefore = less(positionOf(to, i).row, number(r));
        value = arith::SelectOp::create(b, isBefore, value,
                                        registerOf(op.getInput(), r));
      }
      registers.push_back(value);
    } else if (isLocal) {
      registers.push_back(
          registerOf(op.getInput(), i % (to.columns / threads)));
    } else {
      registers.push_back(
          readStaged(staging, element, number(0), positionOf(to, i).column));
    }
  }
  values[op.getResult()] = pack(op.getType(), registers);
}

void CudaTileEmitter::emitSlice(SliceOp op) {
  TileLayout from = layoutOf(op.getInput().getType());
  TileLayout to = layoutOf(op.getType());
  if (from.columns == to.columns) {
    values[op.getResult()] = values.at(op.getInput());
    return;
  }
  Type element = getElementTypeOrSelf(op.getType());
  CudaAccess staging = stagingAt(element, from.rows, from.columns);
  // Several slices of a tile may follow each other.
  if (staged != op.getInput()) {
    beforeWrite(Value(), nullptr);
    stage(op.getInput(), from, staging, [](Value column) { return column; });
  }
  beforeRead(Value());
  staged = op.getInput();
  SmallVector<Value> registers;
  for (int64_t i = 0; i < to.registers(); ++i) {
    TilePosition position = positionOf(to, i);
    Value column =
        add(mul(position.column, op.getStride()), number(op.getOffset()));
    registers.push_back(readStaged(staging, element, position.row, column));
  }
  values[op.getResult()] = pack(op.getType(), registers);
}

void CudaTileEmitter::emitJoin(JoinOp op) {
  TileLayout to = layoutOf(op.getType());
  Type element = getElementTypeOrSelf(op.getType());
  TileLayout left = layoutOf(op.getLhs().getType());
  TileLayout right = layoutOf(op.getRhs().getType());
  CudaAccess staging = stagingAt(element, to.rows, to.columns);
  int64_t stride = op.getInterleaved() ? 2 : 1;
  int64_t offset = op.getInterleaved() ? 1 : left.columns;
  beforeWrite(Value(), nullptr);
  stage(op.getLhs(), left, staging,
        [&](Value column) { return mul(column, stride); });
  stage(op.getRhs(), right, staging,
        [&](Value column) { return add(mul(column, stride), number(offset)); });
  beforeRead(Value());
  SmallVector<Value> registers;
  for (int64_t i = 0; i < to.registers(); ++i) {
    TilePosition position = positionOf(to, i);
    registers.push_back(
        readStaged(staging, element, position.row, position.column));
  }
  values[op.getResult()] = pack(op.getType(), registers);
}
