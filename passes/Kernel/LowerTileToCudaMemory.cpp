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
  TileLayout layout = {shape.size() > 1 ? shape[0] : 1, shape.back(), threads};
  // What a block of a streaming kernel computes before and after its pieces,
  // the row that it keeps and the sums: as few instructions as there can be,
  // since all of the memory's time until they end is lost.
  if (!isStreamed)
    return layout;
  if (shape == ArrayRef<int64_t>(keptShape)) {
    layout.groups = warpgroupLayout(tile).groups;
    layout.consecutive = 2;
    return layout;
  }
  for (int64_t count : {8, 4, 2})
    if (layout.elements() % (count * threads) == 0 &&
        layout.columns % count == 0) {
      layout.consecutive = count;
      break;
    }
  return layout;
}

Type CudaTileEmitter::convert(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return type;
  if (getWarpTile(type))
    return convertWarpTile(tile);
  int64_t registers = layoutOf(type).registers();
  if (isa_and_nonnull<AccumulatorAttr>(tile.getEncoding())) {
    bool isRowSum = tile.getDimSize(1) == 1;
    if (hasWarpgroups()) {
      registers = isRowSum ? 2 : warpgroupLayout(type).registers();
    } else {
      AccumulatorLayout layout = accumulatorLayout(type);
      registers = isRowSum
                      ? llvm::divideCeil(layout.rowTiles, layout.columnWarps)
                      : 4 * layout.count();
    }
  }
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
  if (layout.groups)
    return makeWarpgroupPosition(layout, reg);
  auto [rows, columns, threads, consecutive, groups] = layout;
  bool isPartial = (reg + 1) * threads > layout.elements();
  TilePosition position;
  // `value`, which is inside below `size`; then at most size - 1.
  auto clamp = [&](Value value, int64_t size) -> Value {
    if (!isPartial)
      return value;
    position.inside = less(value, number(size));
    return min(value, number(size - 1));
  };
  if (consecutive > 1) {
    int64_t all = consecutive * threads;
    int64_t begin = reg / consecutive * all;
    Value first = mul(thread, consecutive);
    if (all % columns != 0 && columns % all != 0) {
      first = add(first, number(begin));
      begin = 0;
    }
    position.row = number(begin / columns);
    if (all > columns)
      position.row = add(divide(first, columns), position.row);
    position.column = add(all > columns ? remainder(first, columns) : first,
                          number(begin % columns + reg % consecutive));
  } else if (rows == 1) {
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

CudaView CudaTileEmitter::makeView(MemRefType type, Value pointer) {
  CudaView view;
  view.pointer = pointer;
  if (auto layout = dyn_cast<MemoryLayoutInterface>(type.getLayout())) {
    view.dims = layout.getAddress(type.getShape());
    view.rowCount =
        type.isDynamicDim(0)
            ? values.at(kernel.getSymbolArguments().front())
            : index(llvm::alignTo(type.getDimSize(0), PanelsAttr::groupRows));
    if (type.isDynamicDim(0) && isa<PanelsAttr>(type.getLayout()))
      view.rowCount = add(view.rowCount, index(PanelsAttr::spareRows));
    return view;
  }
  SmallVector<int64_t> strides;
  int64_t offset;
  // Buffers and scratch have static strides: their verifiers say so.
  (void)type.getStridesAndOffset(strides, offset);
  for (int64_t stride : strides)
    view.dims.push_back({{1, 0, stride}});
  return view;
}

void CudaTileEmitter::emitScratch(ScratchOp op) {
  auto type = cast<MemRefType>(op.getType());
  views[op.getResult()] = makeView(
      type, cuda::SharedMemoryOp::create(
                b,
                cuda::PtrType::get(b.getContext(), type.getElementType(),
                                   cuda::Space::Shared),
                b.getI64IntegerAttr(scratchOffset)));
  scratchOffset += llvm::alignTo(
      type.getNumElements() * type.getElementTypeBitWidth() / 8, 64);
}

static bool isShared(Value pointer) {
  return cast<cuda::PtrType>(pointer.getType()).getSpace() ==
         cuda::Space::Shared;
}

Value CudaTileEmitter::addressOf(const DimAddress &dim, Value index,
                                 Value rowCount, Type type) {
  Value sum;
  for (const AddressDigit &digit : dim) {
    auto constant = [&](int64_t value) {
      return index.getType().isIndex() ? this->index(value) : number(value);
    };
    Value value = index;
    if (digit.divisor != 1)
      value = b.createOrFold<arith::ShRUIOp>(
          value, constant(llvm::Log2_64(digit.divisor)));
    if (digit.count)
      value = b.createOrFold<arith::AndIOp>(value, constant(digit.count - 1));
    if (value.getType() != type)
      value = b.createOrFold<arith::IndexCastOp>(type, value);
    value = mul(value, digit.stride);
    if (digit.isPerRow)
      value = b.createOrFold<arith::MulIOp>(value, rowCount);
    sum = sum ? add(sum, value) : value;
  }
  return sum;
}

Value CudaTileEmitter::linearize(const CudaView &view, ValueRange indices) {
  Value offset = index(0);
  for (auto [position, dim] : llvm::zip_equal(indices, view.dims))
    if (position)
      offset = add(offset, addressOf(dim, values.at(position), view.rowCount,
                                     b.getIndexType()));
  if (isShared(view.pointer))
    offset = b.createOrFold<arith::IndexCastOp>(b.getI32Type(), offset);
  return offset;
}

/// Whether an index is known to be a multiple of a power of two.
bool weft::tile::isMultipleOf(Value index, int64_t factor) {
  APInt constant;
  if (factor == 1)
    return true;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return constant.getSExtValue() % factor == 0;
  auto isMultiple = [&](Value value) { return isMultipleOf(value, factor); };
  if (Operation *op = index.getDefiningOp();
      isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MinSIOp>(op))
    return llvm::all_of(op->getOperands(), isMultiple);
  if (auto product = index.getDefiningOp<arith::MulIOp>())
    return llvm::any_of(product.getOperands(), isMultiple);
  auto argument = dyn_cast<BlockArgument>(index);
  if (!argument || argument.getArgNumber() != 0)
    return false;
  Operation *loop = argument.getOwner()->getParentOp();
  if (auto forLoop = dyn_cast<scf::ForOp>(loop))
    return isMultiple(forLoop.getLowerBound()) && isMultiple(forLoop.getStep());
  if (auto fold = dyn_cast<FoldOp>(loop))
    return isMultiple(fold.getLower()) && isMultiple(fold.getStep());
  return false;
}

/// Whether coordinates count alike wherever the tile starts.
static bool isStrided(const DimAddress &dim) {
  return dim.size() == 1 && dim[0].divisor == 1 && !dim[0].count;
}

/// The digits of numbers below a power of two `bound`.
static DimAddress getLowDigits(const DimAddress &dim, int64_t bound) {
  DimAddress low;
  for (AddressDigit digit : dim) {
    if (digit.divisor >= bound && digit.divisor > 1)
      continue;
    if (digit.count >= llvm::divideCeilSigned(bound, digit.divisor))
      digit.count = 0;
    low.push_back(digit);
  }
  return low;
}

CudaAccess CudaTileEmitter::makeAccess(Value viewValue, ValueRange indices,
                                       ArrayRef<int64_t> dims,
                                       RankedTensorType tile) {
  const CudaView &view = views.at(viewValue);
  CudaAccess access;
  access.view = viewValue;
  access.pointer = view.pointer;
  access.hint = view.hint;
  access.rowCount = view.rowCount;
  auto viewType = cast<MemRefType>(viewValue.getType());
  // Dimensions whose first index does not go into the pointer.
  SmallVector<Value> counted(indices);
  bool isWide = false;
  int64_t span = 0;
  for (auto [dim, size] : llvm::zip_equal(dims, tile.getShape())) {
    CudaTileDim tileDim{view.dims[dim], Value()};
    int64_t bound = llvm::PowerOf2Ceil(size);
    int64_t extent = size;
    if (!isStrided(tileDim.address)) {
      if (isMultipleOf(indices[dim], bound)) {
        tileDim.address = getLowDigits(tileDim.address, bound);
      } else {
        tileDim.origin = b.createOrFold<arith::IndexCastOp>(
            b.getI32Type(), values.at(indices[dim]));
        counted[dim] = Value();
        extent = viewType.getDimSize(dim);
      }
    }
    for (const AddressDigit &digit : tileDim.address) {
      isWide |= digit.isPerRow;
      span += digit.getSize(extent) * digit.stride;
    }
    access.dims.push_back(tileDim);
  }
  access.offsetType = isWide || !llvm::isInt<32>(span) ? Type(b.getIndexType())
                                                       : Type(b.getI32Type());
  access.pointer = advance(access, linearize(view, counted));
  return access;
}

Value CudaTileEmitter::advance(const CudaAccess &access, Value offset) {
  if (matchPattern(offset, m_Zero()))
    return access.pointer;
  return cuda::OffsetOp::create(b, access.pointer, offset);
}

Value CudaTileEmitter::offsetAlong(const CudaAccess &access, unsigned dim,
                                   Value coordinate) {
  const auto &[address, origin] = access.dims[dim];
  if (origin)
    coordinate = add(origin, coordinate);
  return addressOf(address, coordinate, access.rowCount, access.offsetType);
}

Value CudaTileEmitter::offsetOf(const CudaAccess &access,
                                ValueRange coordinates) {
  Value offset;
  for (auto [dim, coordinate] : llvm::enumerate(coordinates)) {
    Value term = offsetAlong(access, dim, coordinate);
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

int64_t CudaTileEmitter::vectorWidth(const CudaAccess &access, Value column,
                                     const TileLayout &layout, Type element) {
  const CudaTileDim &dim = access.dims.back();
  const AddressDigit &digit = dim.address.front();
  int64_t width = std::min<int64_t>(layout.consecutive,
                                    128 / element.getIntOrFloatBitWidth());
  bool isConsecutive =
      digit.divisor == 1 && digit.stride == 1 && digit.count % width == 0;
  return isConsecutive && isMultipleOf(column, width) ? width : 1;
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
  Value lastColumn;
  if (op.getColumns())
    lastColumn =
        add(clampCount(op.getColumns(), type.getShape().back()), number(-1));
  accesses[op.getResult()] = access;
  if (llvm::all_of(op->getUses(),
                   [&](OpOperand &use) { return isReadLate(op, use); }))
    return success();
  if (type.getRank() == 3)
    return op.emitError("a tile of three dimensions can only be the right-hand "
                        "side of tile.mma, and may not be overwritten before");
  beforeRead(op.getView());
  TileLayout layout = layoutOf(type);
  int64_t width = vectorWidth(access, op.getIndices()[op.getTileDims().back()],
                              layout, type.getElementType());
  // The last that a whole vector begins with.
  if (lastColumn && isMultipleOf(op.getColumns(), width))
    lastColumn = add(lastColumn, number(1 - width));
  else if (lastColumn)
    width = 1;
  SmallVector<Value> registers;
  for (int64_t i = 0; i < layout.registers(); i += width) {
    TilePosition position = positionOf(layout, i);
    Value column = position.column;
    if (lastColumn)
      column = min(column, lastColumn);
    SmallVector<Value> coordinates = {column};
    if (type.getRank() == 2)
      coordinates.insert(coordinates.begin(), clampRow(access, position.row));
    Type loaded = type.getElementType();
    if (width > 1)
      loaded = VectorType::get(width, loaded);
    Value value = cuda::LoadOp::create(
        b, loaded, access.pointer, offsetOf(access, coordinates), access.hint);
    for (int64_t e = 0; e < width; ++e)
      registers.push_back(
          width == 1 ? value : Value(vector::ExtractOp::create(b, value, e)));
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
  int64_t width = vectorWidth(access, op.getIndices()[op.getTileDims().back()],
                              layout, type.getElementType());
  if (columns && !isMultipleOf(op.getColumns(), width))
    width = 1;
  beforeWrite(op.getView(), op);
  // What all threads hold, one of them writes.
  guarded(layout.isReplicated() ? equal(thread, number(0)) : Value(), [&] {
    for (int64_t i = 0; i < layout.registers(); i += width) {
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
        Value value = registerOf(op.getTile(), i);
        if (width > 1)
          value = sliceVector(b, values.at(op.getTile()), i, width);
        cuda::StoreOp::create(b, value, access.pointer,
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
