//===- LowerTileToVectorMemory.cpp - Loads, stores, scratch ---------------===//
//
// Strides are static, so an address is linear arithmetic on the indices: one
// getelementptr for the tile, constants for its rows and pieces.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToVector.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Bytes of an element, which is also what its accesses are aligned to.
static unsigned byteSize(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

static View makeView(MemRefType type, Value pointer) {
  View view;
  view.pointer = pointer;
  view.element = type.getElementType();
  int64_t offset;
  // Buffers and scratch have static strides: their verifiers say so.
  (void)type.getStridesAndOffset(view.strides, offset);
  return view;
}

void TileEmitter::emitArguments(ValueRange abiArguments) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  for (auto [position, buffer] : llvm::enumerate(kernel.getBuffers())) {
    Value slot = advance(abiArguments[0], i64, position);
    Value base = LLVM::LoadOp::create(b, pointer, slot);
    views[buffer] = makeView(cast<MemRefType>(buffer.getType()), base);
  }
  for (auto [position, symbol] : llvm::enumerate(kernel.getSymbolArguments())) {
    Value slot = advance(abiArguments[1], i64, position);
    Value value = LLVM::LoadOp::create(b, i64, slot);
    scalars[symbol] = arith::IndexCastOp::create(b, b.getIndexType(), value);
  }
  scratch = abiArguments[4];
}

void TileEmitter::emitScratch(ScratchOp op) {
  auto type = cast<MemRefType>(op.getType());
  Value pointer = advance(scratch, b.getI8Type(), scratchOffset);
  views[op.getResult()] = makeView(type, pointer);
  scratchOffset += llvm::alignTo(
      type.getNumElements() * byteSize(type.getElementType()), 64);
}

Value TileEmitter::advance(Value pointer, Type element, int64_t elements) {
  if (elements == 0)
    return pointer;
  // Constant indices of a getelementptr have 29 bits.
  if (!llvm::isInt<28>(elements))
    return advance(pointer, element, index(elements));
  return LLVM::GEPOp::create(b, pointer.getType(), getHeldType(element),
                             pointer, LLVM::GEPArg(int32_t(elements)),
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value TileEmitter::advance(Value pointer, Type element, Value elements) {
  Value offset = arith::IndexCastOp::create(b, b.getI64Type(), elements);
  return LLVM::GEPOp::create(b, pointer.getType(), getHeldType(element),
                             pointer, LLVM::GEPArg(offset),
                             LLVM::GEPNoWrapFlags::inbounds);
}

TileAccess TileEmitter::makeAccess(Value viewValue, ValueRange indices,
                                   ArrayRef<int64_t> dims, Value rows) {
  const View &view = views.at(viewValue);
  TileAccess access;
  access.element = view.element;
  Value offset = index(0);
  for (auto [position, stride] : llvm::zip_equal(indices, view.strides))
    offset = addIndex(offset, scaleIndex(scalars.at(position), stride));
  access.pointer = advance(view.pointer, view.element, offset);
  for (int64_t dim : dims)
    access.strides.push_back(view.strides[dim]);
  if (rows)
    access.rows = scalars.at(rows);
  return access;
}

Value TileEmitter::rowPointer(const TileAccess &access, Value row) {
  if (access.rows) {
    Value last = arith::SubIOp::create(b, access.rows, index(1));
    row = b.createOrFold<arith::MinSIOp>(row, last);
  }
  return advance(access.pointer, access.element,
                 scaleIndex(row, access.strides.front()));
}

Value TileEmitter::rowPointer(const TileAccess &access, int64_t row) {
  if (access.rows && row > 0)
    return rowPointer(access, index(row));
  return advance(access.pointer, access.element, row * access.strides.front());
}

Value TileEmitter::loadVector(Value pointer, Type type) {
  Type held = isa<VectorType>(type) ? type : getHeldType(type);
  return LLVM::LoadOp::create(b, held, pointer,
                              byteSize(getElementTypeOrSelf(type)));
}

/// Whether multiplications use a loaded tile, and whether anything else does.
static std::pair<bool, bool> findUses(LoadOp op) {
  bool multiplied = false, other = false;
  for (OpOperand &use : op->getUses()) {
    bool isMma = isa<MmaOp>(use.getOwner()) && use.getOperandNumber() < 2;
    (isMma ? multiplied : other) = true;
  }
  return {multiplied, other};
}

LogicalResult TileEmitter::emitLoad(LoadOp op) {
  if (op.getColumns())
    return op.emitError("cannot lower a load with 'columns' on a CPU");
  TileAccess access =
      makeAccess(op.getView(), op.getIndices(), op.getTileDims(), op.getRows());
  auto [multiplied, other] = findUses(op);
  if (multiplied)
    accesses[op.getResult()] = access;
  if (!other)
    return success();
  auto type = cast<RankedTensorType>(op.getType());
  if (type.getRank() == 3)
    return op.emitError("a tile of three dimensions can only be the right-hand "
                        "side of tile.mma");
  if (op.getRows() && type.getRank() == 1)
    return op.emitError("'rows' needs a tile of two dimensions, found ")
           << type;
  VectorTile tile = makeTile(type);
  int64_t stride = access.strides.back();
  for (int64_t r = 0; r < tile.rows; ++r) {
    Value row = tile.rows == 1 ? access.pointer : rowPointer(access, r);
    int64_t column = 0;
    for (int64_t width : tile.widths) {
      Type piece = vectorOf(access.element, width);
      if (stride == 1 || width == 1) {
        tile.pieces.push_back(
            loadVector(advance(row, access.element, column * stride), piece));
      } else {
        SmallVector<Value> elements;
        for (int64_t i = 0; i < width; ++i)
          elements.push_back(
              loadVector(advance(row, access.element, (column + i) * stride),
                         access.element));
        tile.pieces.push_back(
            vector::FromElementsOp::create(b, piece, elements));
      }
      column += width;
    }
  }
  tiles[op.getResult()] = std::move(tile);
  return success();
}

void TileEmitter::storeRow(Value pointer, const TileAccess &access,
                           const VectorTile &tile, int64_t row, Value columns) {
  Type element = access.element;
  int64_t stride = access.strides.back(), column = 0;
  for (auto [piece, width] : llvm::zip_equal(tile.row(row), tile.widths)) {
    Value target = advance(pointer, element, column * stride);
    if (stride != 1 && width != 1) {
      for (int64_t i = 0; i < width; ++i) {
        Value number = vector::ExtractOp::create(b, piece, i);
        Value slot = advance(target, element, i * stride);
        guarded(columns, column + i, [&] {
          LLVM::StoreOp::create(b, number, slot, byteSize(element));
        });
      }
    } else if (!columns) {
      LLVM::StoreOp::create(b, piece, target, byteSize(element));
    } else {
      // Lane i is inside if i < columns - column; the difference is made in
      // 64 bits and clamped, so that the lanes can be compared in 32.
      Type i32 = b.getI32Type();
      auto lanes = VectorType::get(width, i32);
      auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, width));
      Value left = arith::SubIOp::create(b, columns, index(column));
      left = arith::MaxSIOp::create(
          b, arith::MinSIOp::create(b, left, index(width)), index(0));
      Value bound = broadcast(arith::IndexCastOp::create(b, i32, left), lanes);
      Value lane = arith::ConstantOp::create(
          b, DenseElementsAttr::get(lanes, ArrayRef<int32_t>(numbers)));
      Value mask =
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, lane, bound);
      LLVM::MaskedStoreOp::create(b, piece, target, mask,
                                  b.getI32IntegerAttr(byteSize(element)));
    }
    column += width;
  }
}

/// Emits `body` where `position` is below `count`; everywhere without a count.
void TileEmitter::guarded(Value count, int64_t position,
                          function_ref<void()> body) {
  if (!count)
    return body();
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, count,
                                       index(position));
  auto branch = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

LogicalResult TileEmitter::emitStore(StoreOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  TileAccess access = makeAccess(op.getView(), op.getIndices(),
                                 op.getTileDims(), /*rows=*/nullptr);
  const VectorTile tile = tiles.at(op.getTile());
  if (op.getRows() && type.getRank() == 1)
    return op.emitError("'rows' needs a tile of two dimensions, found ")
           << type;
  Value rows = op.getRows() ? scalars.at(op.getRows()) : Value();
  Value columns = op.getColumns() ? scalars.at(op.getColumns()) : Value();
  Value full;
  if (columns)
    full = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, columns,
                                 index(tile.columns));
  for (int64_t r = 0; r < tile.rows; ++r)
    guarded(rows, r, [&] {
      Value pointer = tile.rows == 1 ? access.pointer : rowPointer(access, r);
      if (!columns)
        return storeRow(pointer, access, tile, r, nullptr);
      // Masked stores are slow on some processors; most tiles are full.
      auto branch = scf::IfOp::create(b, full, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      storeRow(pointer, access, tile, r, nullptr);
      b.setInsertionPointToStart(branch.elseBlock());
      storeRow(pointer, access, tile, r, columns);
    });
  return success();
}

void TileEmitter::emitElementStore(memref::StoreOp op) {
  TileAccess access = makeAccess(op.getMemRef(), op.getIndices(), {}, nullptr);
  LLVM::StoreOp::create(b, scalars.at(op.getValueToStore()), access.pointer,
                        byteSize(access.element));
}

void TileEmitter::emitElementLoad(memref::LoadOp op) {
  TileAccess access = makeAccess(op.getMemRef(), op.getIndices(), {}, nullptr);
  scalars[op.getResult()] = loadVector(access.pointer, access.element);
}
