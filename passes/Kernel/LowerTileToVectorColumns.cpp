//===- LowerTileToVectorColumns.cpp - Moving and reducing columns ---------===//

#include "passes/Kernel/LowerTileToVector.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

static int64_t widthOf(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

Value TileEmitter::shuffle(Value a, Value c, ArrayRef<int64_t> mask) {
  bool same = static_cast<int64_t>(mask.size()) == widthOf(a) &&
              llvm::equal(mask, llvm::seq<int64_t>(0, widthOf(a)));
  return same ? a : vector::ShuffleOp::create(b, a, c, mask).getResult();
}

Value TileEmitter::gather(ArrayRef<std::pair<Value, int64_t>> elements) {
  int64_t width = elements.size();
  SmallVector<Value> sources;
  for (auto [source, position] : elements)
    if (!llvm::is_contained(sources, source))
      sources.push_back(source);
  bool oneWidth = llvm::all_equal(llvm::map_range(sources, widthOf));
  if (sources.size() <= 2 && oneWidth) {
    SmallVector<int64_t> mask;
    for (auto [source, position] : elements)
      mask.push_back(position + (source == sources[0] ? 0 : widthOf(source)));
    return shuffle(sources.front(), sources.back(), mask);
  }
  SmallVector<Value> values;
  for (auto [source, position] : elements)
    values.push_back(vector::ExtractOp::create(b, source, position));
  Type element = getElementTypeOrSelf(sources.front().getType());
  return vector::FromElementsOp::create(b, VectorType::get(width, element),
                                        values);
}

void TileEmitter::emitSplat(SplatOp op) {
  VectorTile tile = makeTile(op.getType());
  Value value = scalars.at(op.getInput());
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t width : tile.widths)
      tile.pieces.push_back(
          broadcast(value, vectorOf(op.getInput().getType(), width)));
  tiles[op.getResult()] = std::move(tile);
}

void TileEmitter::emitBroadcast(BroadcastOp op) {
  const VectorTile input = tiles.at(op.getInput());
  VectorTile tile = makeTile(op.getType());
  Type element = getElementTypeOrSelf(op.getType());
  for (int64_t r = 0; r < tile.rows; ++r)
    for (auto [p, width] : llvm::enumerate(tile.widths)) {
      ArrayRef<Value> row = input.row(input.rows == 1 ? 0 : r);
      bool single = input.columns == 1;
      tile.pieces.push_back(single ? broadcast(row[0], vectorOf(element, width))
                                   : row[p]);
    }
  tiles[op.getResult()] = std::move(tile);
}

void TileEmitter::emitIota(IotaOp op) {
  VectorTile tile = makeTile(op.getType());
  Value base = scalars.at(op.getBase());
  bool alongRows =
      op.getDim() == 0 && cast<RankedTensorType>(op.getType()).getRank() > 1;
  for (int64_t r = 0; r < tile.rows; ++r) {
    int64_t column = 0;
    for (int64_t width : tile.widths) {
      auto type = VectorType::get(width, b.getI32Type());
      SmallVector<int32_t> coordinates;
      for (int64_t i = 0; i < width; ++i)
        coordinates.push_back(alongRows ? r : column + i);
      Value offsets = arith::ConstantOp::create(
          b, DenseElementsAttr::get(type, ArrayRef<int32_t>(coordinates)));
      tile.pieces.push_back(
          arith::AddIOp::create(b, broadcast(base, type), offsets));
      column += width;
    }
  }
  tiles[op.getResult()] = std::move(tile);
}

/// Where each column of a row is: a piece and a position in it.
static SmallVector<std::pair<Value, int64_t>> locate(const VectorTile &tile,
                                                     int64_t row) {
  SmallVector<std::pair<Value, int64_t>> columns;
  for (Value piece : tile.row(row))
    for (int64_t i = 0, e = widthOf(piece); i < e; ++i)
      columns.push_back({piece, i});
  return columns;
}

void TileEmitter::emitSlice(SliceOp op) {
  const VectorTile input = tiles.at(op.getInput());
  VectorTile tile = makeTile(op.getType());
  for (int64_t r = 0; r < tile.rows; ++r) {
    auto columns = locate(input, r);
    int64_t column = op.getOffset();
    for (int64_t width : tile.widths) {
      SmallVector<std::pair<Value, int64_t>> elements;
      for (int64_t i = 0; i < width; ++i, column += op.getStride())
        elements.push_back(columns[column]);
      tile.pieces.push_back(gather(elements));
    }
  }
  tiles[op.getResult()] = std::move(tile);
}

void TileEmitter::emitJoin(JoinOp op) {
  const VectorTile lhs = tiles.at(op.getLhs()), rhs = tiles.at(op.getRhs());
  VectorTile tile = makeTile(op.getType());
  for (int64_t r = 0; r < tile.rows; ++r) {
    auto left = locate(lhs, r), right = locate(rhs, r);
    SmallVector<std::pair<Value, int64_t>> columns;
    if (op.getInterleaved()) {
      for (auto [a, c] : llvm::zip_equal(left, right)) {
        columns.push_back(a);
        columns.push_back(c);
      }
    } else {
      columns = left;
      llvm::append_range(columns, right);
    }
    ArrayRef<std::pair<Value, int64_t>> rest = columns;
    for (int64_t width : tile.widths) {
      tile.pieces.push_back(gather(rest.take_front(width)));
      rest = rest.drop_front(width);
    }
  }
  tiles[op.getResult()] = std::move(tile);
}

/// The tree: pieces of full width pairwise, then halves of the vector; a
/// narrower piece joins when the vector has become as narrow.
LogicalResult TileEmitter::emitReduce(ReduceOp op) {
  const VectorTile input = tiles.at(op.getInput());
  VectorTile tile = makeTile(op.getType());
  Type element = getElementTypeOrSelf(op.getType());
  bool isFloat = isa<FloatType>(element);
  if (!element.isF32() && !element.isF64() && !element.isInteger(32))
    return op.emitError("cannot reduce elements of type ")
           << element << "; expected f32, f64 or i32";
  bool isAdd = op.getKind() == Reduction::Add;
  auto combine = [&](Value a, Value c) -> Value {
    if (isFloat)
      return isAdd ? arith::AddFOp::create(b, a, c).getResult()
                   : arith::MaximumFOp::create(b, a, c).getResult();
    return isAdd ? arith::AddIOp::create(b, a, c).getResult()
                 : arith::MaxSIOp::create(b, a, c).getResult();
  };
  for (int64_t r = 0; r < tile.rows; ++r) {
    SmallVector<Value> rest(llvm::reverse(input.row(r)));
    SmallVector<Value> level;
    int64_t width = widthOf(rest.back());
    while (true) {
      while (!rest.empty() && widthOf(rest.back()) == width)
        level.push_back(rest.pop_back_val());
      while (level.size() > 1) {
        SmallVector<Value> next;
        for (size_t i = 0; i + 1 < level.size(); i += 2)
          next.push_back(combine(level[i], level[i + 1]));
        if (level.size() % 2)
          next.push_back(level.back());
        level = std::move(next);
      }
      if (width == 1)
        break;
      width /= 2;
      auto low = llvm::to_vector(llvm::seq<int64_t>(0, width));
      auto high = llvm::to_vector(llvm::seq<int64_t>(width, 2 * width));
      Value whole = level.front();
      level = {
          combine(shuffle(whole, whole, low), shuffle(whole, whole, high))};
    }
    tile.pieces.push_back(level.front());
  }
  tiles[op.getResult()] = std::move(tile);
  return success();
}
