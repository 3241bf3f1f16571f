//===- BuildRowsKernel.cpp - Embedding, norms, residuals, routing ---------===//
//
// Item = row. Operations in order, each over the columns of the row in tiles;
// a value that another operation of the kernel reads is kept in scratch memory
// or read back from where it was written.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/KernelBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

namespace {

class RowsKernel {
public:
  explicit RowsKernel(KernelBuilder &k)
      : k(k), tileColumns(k.schedule.getColumns()) {}

  LogicalResult build() {
    for (Operation *op : k.getOps()) {
      if (isa<RmsNormOp, LayerNormOp>(op) &&
          cast<RankedTensorType>(op->getResult(0).getType()).getRank() != 2)
        return op->emitOpError("of rows must have a matrix, not ")
               << op->getResult(0).getType();
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(op)
              .Case([&](EmbedOp embed) { return buildEmbed(embed); })
              .Case([&](RmsNormOp norm) { return buildRmsNorm(norm); })
              .Case([&](LayerNormOp norm) { return buildLayerNorm(norm); })
              .Case([&](RopeTableOp table) { return buildRopeTable(table); })
              .Case([&](RouteOp route) { return buildRoute(route); })
              .Case([&](CombineOp combine) { return buildCombine(combine); })
              .Default(
                  [&](Operation *other) { return buildElementwise(other); });
      if (failed(result))
        return failure();
    }
    return success();
  }

private:
  static int64_t columnsOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape().back();
  }

  static Type elementOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  }

  RowView viewOf(Value value) {
    auto it = placed.find(value);
    return it != placed.end() ? it->second : k.getView(value);
  }

  Value rowOf(const RowView &view) {
    return view.matrix.getDefiningOp<tile::ScratchOp>() ? k.index(0) : k.item();
  }

  /// Columns [column, column + width) of the row, in the value's type.
  Value loadPiece(Value value, Value column, int64_t width) {
    RowView view = viewOf(value);
    return k.load(view.matrix,
                  {rowOf(view), k.add(column, k.index(view.offset))},
                  {1, width});
  }

  /// Rounds an f32 tile to the value's type and writes it to its place.
  void storePiece(Value tile, Value value, Value column) {
    RowView view = place(value);
    k.store(k.roundTo(tile, elementOf(value)), view.matrix,
            {rowOf(view), k.add(column, k.index(view.offset))});
  }

  RowView place(Value value) {
    auto it = placed.find(value);
    if (it != placed.end())
      return it->second;
    RowView view = k.getView(value);
    if (!view.matrix) {
      OpBuilder::InsertionGuard guard(k.builder);
      k.builder.setInsertionPointToStart(&k.kernel.getBlock());
      view.matrix = k.create<tile::ScratchOp>(
          MemRefType::get({1, columnsOf(value)}, elementOf(value)));
    }
    return placed[value] = view;
  }

  /// Sum over the row of an f32 tile that `piece` makes, as a [1, 1] tile. The
  /// sum runs over whole tiles first, elementwise, then inside the tile.
  Value sumOver(int64_t columns,
                function_ref<Value(Value column, int64_t width)> piece) {
    int64_t full = columns / tileColumns * tileColumns;
    Value sum = k.constant({1, 1}, 0);
    if (full > 0) {
      Value tile = k.fold(k.index(0), k.index(full), tileColumns,
                          tile::Merge::Add, k.constant({1, tileColumns}, 0),
                          [&](Value column, ValueRange state) {
                            return SmallVector<Value>{k.create<arith::AddFOp>(
                                state[0], piece(column, tileColumns))};
                          })[0];
      sum = k.reduce(tile::Reduction::Add, tile);
    }
    if (full < columns) {
      Value rest =
          k.reduce(tile::Reduction::Add, piece(k.index(full), columns - full));
      sum = full > 0 ? Value(k.create<arith::AddFOp>(sum, rest)) : rest;
    }
    return sum;
  }

  Value vectorPiece(Value vector, Value column, int64_t width) {
    return k.toF32(
        k.load(k.getArgument(vector), {k.index(0), column}, {1, width}));
  }

  LogicalResult buildEmbed(EmbedOp op) {
    Value id = k.loadIndex(k.getArgument(op.getIds()), {k.item()});
    Value table = k.getArgument(op.getTable());
    double scale = op.getScale().convertToDouble();
    auto layout = dyn_cast_or_null<PanelLayoutAttr>(op.getLayoutAttr());
    int64_t group = layout ? layout.getGroup() : 1;
    int64_t columns = columnsOf(op.getResult());
    // A packed row is strided; its pieces must not split a group.
    k.forColumns(columns, tileColumns, [&](Value column, int64_t width) {
      if (!layout) {
        Value tile = k.load(table, {id, column}, {1, width});
        return storePiece(k.scale(k.toF32(tile), scale), op.getResult(),
                          column);
      }
      Value panel = k.div(id, layout.getColumns());
      Value inPanel = k.rem(id, layout.getColumns());
      Value tile =
          loadPacked(table, panel, k.div(column, group), inPanel, width, group);
      storePiece(k.scale(k.toF32(tile), scale), op.getResult(), column);
    });
    return success();
  }

  /// `width` consecutive elements of a packed row as a [1, width] tile.
  Value loadPacked(Value table, Value panel, Value step, Value inPanel,
                   int64_t width, int64_t group) {
    SmallVector<Value> parts;
    int64_t steps = llvm::divideCeil(width, group);
    for (int64_t g = 0; g < group; ++g)
      parts.push_back(k.load(table, {panel, step, inPanel, k.index(g)},
                             {1, steps}, Value(), {0, 1}));
    Value tile = parts[0];
    for (int64_t g = 1; g < group; ++g) {
      auto type = cast<RankedTensorType>(tile.getType());
      tile = k.create<tile::JoinOp>(type.clone({1, 2 * steps}), tile, parts[g],
                                    /*interleaved=*/true);
    }
    return tile;
  }

  LogicalResult buildRmsNorm(RmsNormOp op) {
    int64_t columns = columnsOf(op.getInput());
    Value sum = sumOver(columns, [&](Value column, int64_t width) -> Value {
      Value x = k.toF32(loadPiece(op.getInput(), column, width));
      return k.create<arith::MulFOp>(x, x);
    });
    Value root = rootOf(sum, columns, op.getEpsilon().convertToDouble());
    double offset = op.getWeightOffset().convertToDouble();
    k.forColumns(columns, tileColumns, [&](Value column, int64_t width) {
      Value x = k.toF32(loadPiece(op.getInput(), column, width));
      Value weight = vectorPiece(op.getWeight(), column, width);
      if (offset != 0)
        weight =
            k.create<arith::AddFOp>(weight, k.constant({1, width}, offset));
      Value normal = k.create<arith::DivFOp>(x, k.broadcast(root, {1, width}));
      storePiece(k.create<arith::MulFOp>(normal, weight), op.getResult(),
                 column);
    });
    return success();
  }

  /// sqrt(sum / columns + epsilon).
  Value rootOf(Value sum, int64_t columns, double epsilon) {
    Value mean =
        k.create<arith::DivFOp>(sum, k.constant({1, 1}, double(columns)));
    return k.create<math::SqrtOp>(
        k.create<arith::AddFOp>(mean, k.constant({1, 1}, epsilon)));
  }

  LogicalResult buildLayerNorm(LayerNormOp op) {
    int64_t columns = columnsOf(op.getInput());
    Value sum = sumOver(columns, [&](Value column, int64_t width) {
      return k.toF32(loadPiece(op.getInput(), column, width));
    });
    Value mean =
        k.create<arith::DivFOp>(sum, k.constant({1, 1}, double(columns)));
    auto centred = [&](Value column, int64_t width) -> Value {
      Value x = k.toF32(loadPiece(op.getInput(), column, width));
      return k.create<arith::SubFOp>(x, k.broadcast(mean, {1, width}));
    };
    Value squares = sumOver(columns, [&](Value column, int64_t width) -> Value {
      Value x = centred(column, width);
      return k.create<arith::MulFOp>(x, x);
    });
    Value root = rootOf(squares, columns, op.getEpsilon().convertToDouble());
    k.forColumns(columns, tileColumns, [&](Value column, int64_t width) {
      Value normal = k.create<arith::DivFOp>(centred(column, width),
                                             k.broadcast(root, {1, width}));
      Value result = k.create<arith::MulFOp>(
          normal, vectorPiece(op.getWeight(), column, width));
      if (op.getBias())
        result = k.create<arith::AddFOp>(
            result, vectorPiece(op.getBias(), column, width));
      storePiece(result, op.getResult(), column);
    });
    return success();
  }

  /// The product is rounded to f32; the angle is reduced in f64 to one turn,
  /// where the f32 functions are accurate.
  LogicalResult buildRopeTable(RopeTableOp op) {
    Value position = k.create<memref::LoadOp>(k.getArgument(op.getPositions()),
                                              ValueRange{k.item()});
    Value number = k.create<arith::SIToFPOp>(k.builder.getF32Type(), position);
    Value choice = k.index(0);
    Value scale = k.create<arith::ConstantOp>(
        k.builder.getF32FloatAttr(op.getScale()[0]));
    if (op.getChoice()) {
      choice = k.loadIndex(k.getArgument(op.getChoice()), {k.item()});
      for (auto [index, value] : llvm::enumerate(op.getScale().drop_front())) {
        Value chosen = k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, choice,
                                               k.index(index + 1));
        scale = k.create<arith::SelectOp>(
            chosen,
            k.create<arith::ConstantOp>(k.builder.getF32FloatAttr(value)),
            scale);
      }
    }
    k.forColumns(
        columnsOf(op.getCosine()), tileColumns,
        [&](Value column, int64_t width) {
          SmallVector<int64_t> shape = {1, width};
          auto f32 = k.tileType(shape, k.builder.getF32Type());
          auto f64 = k.tileType(shape, k.builder.getF64Type());
          Value frequency = k.load(k.getArgument(op.getFrequencies()),
                                   {choice, column}, shape);
          Value angle = k.create<arith::MulFOp>(
              k.create<tile::SplatOp>(f32, number), frequency);
          Value wide = k.create<arith::ExtFOp>(f64, angle);
          constexpr double turn = 6.283185307179586476925;
          auto wideConstant = [&](double value) -> Value {
            return k.create<arith::ConstantOp>(
                f64, DenseElementsAttr::get(f64, value));
          };
          Value turns = k.create<math::RoundEvenOp>(
              k.create<arith::MulFOp>(wide, wideConstant(1.0 / turn)));
          Value reduced = k.create<arith::TruncFOp>(
              f32,
              k.create<arith::SubFOp>(
                  wide, k.create<arith::MulFOp>(turns, wideConstant(turn))));
          Value scaleTile = k.create<tile::SplatOp>(f32, scale);
          storePiece(k.create<arith::MulFOp>(k.create<math::CosOp>(reduced),
                                             scaleTile),
                     op.getCosine(), column);
          storePiece(k.create<arith::MulFOp>(k.create<math::SinOp>(reduced),
                                             scaleTile),
                     op.getSine(), column);
        });
    return success();
  }

  LogicalResult buildRoute(RouteOp op) {
    int64_t experts = columnsOf(op.getLogits());
    SmallVector<int64_t> shape = {1, experts};
    Value logits = k.toF32(loadPiece(op.getLogits(), k.index(0), experts));
    Value largest = k.reduce(tile::Reduction::Max, logits);
    Value weights = k.create<math::ExpOp>(
        k.create<arith::SubFOp>(logits, k.broadcast(largest, shape)));
    Value sum = k.reduce(tile::Reduction::Add, weights);
    weights = k.create<arith::DivFOp>(weights, k.broadcast(sum, shape));

    // Largest remaining weight; among equal ones the lowest expert, found as
    // the largest negated number.
    Value zero = k.create<arith::ConstantOp>(k.builder.getI32IntegerAttr(0));
    auto i32 = k.tileType(shape, k.builder.getI32Type());
    Value numbers = k.create<arith::SubIOp>(
        k.constantI32(shape, 0), k.create<tile::IotaOp>(i32, zero, 1));
    Value lowest = k.constantI32(shape, std::numeric_limits<int32_t>::min());
    Value taken = k.constant(shape, -1);
    SmallVector<Value> chosen, values;
    for (int64_t i = 0; i < static_cast<int64_t>(op.getTopK()); ++i) {
      Value best = k.reduce(tile::Reduction::Max, weights);
      Value isBest = k.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, weights,
                                             k.broadcast(best, shape));
      Value number =
          k.reduce(tile::Reduction::Max,
                   k.create<arith::SelectOp>(isBest, numbers, lowest));
      Value isChosen = k.create<arith::CmpIOp>(
          arith::CmpIPredicate::eq, numbers, k.broadcast(number, shape));
      weights = k.create<arith::SelectOp>(isChosen, taken, weights);
      chosen.push_back(
          k.create<arith::SubIOp>(k.constantI32({1, 1}, 0), number));
      values.push_back(best);
    }
    Value total;
    if (op.getRenormalize()) {
      total = values[0];
      for (Value value : ArrayRef(values).drop_front())
        total = k.create<arith::AddFOp>(total, value);
    }
    for (auto [i, expert, value] : llvm::enumerate(chosen, values)) {
      if (total)
        value = k.create<arith::DivFOp>(value, total);
      k.store(expert, k.getOutput(op.getExperts()), {k.item(), k.index(i)});
      k.store(value, k.getOutput(op.getWeights()), {k.item(), k.index(i)});
    }
    return success();
  }

  LogicalResult buildCombine(CombineOp op) {
    int64_t columns = columnsOf(op.getInput());
    int64_t topK =
        cast<RankedTensorType>(op.getInput().getType()).getDimSize(1);
    RowView weights = viewOf(op.getWeights()), input = viewOf(op.getInput());
    k.forColumns(columns, tileColumns, [&](Value column, int64_t width) {
      SmallVector<int64_t> shape = {1, width};
      Value sum;
      for (int64_t i = 0; i < topK; ++i) {
        Value weight = k.load(weights.matrix, {k.item(), k.index(i)}, {1, 1});
        Value x = k.toF32(k.load(
            input.matrix,
            {k.item(), k.add(column, k.index(input.offset + i * columns))},
            shape));
        Value term = k.create<arith::MulFOp>(x, k.broadcast(weight, shape));
        sum = sum ? Value(k.create<arith::AddFOp>(sum, term)) : term;
      }
      storePiece(sum, op.getResult(), column);
    });
    return success();
  }

  LogicalResult buildElementwise(Operation *op) {
    if (op->getNumResults() != 1)
      return op->emitOpError("has no kernel");
    // All trailing dimensions of a row are adjacent.
    int64_t columns = 1;
    for (int64_t size : cast<RankedTensorType>(op->getResult(0).getType())
                            .getShape()
                            .drop_front())
      columns *= size;
    k.forColumns(columns, tileColumns, [&](Value column, int64_t width) {
      SmallVector<Value> tiles;
      for (Value operand : op->getOperands())
        tiles.push_back(loadPiece(operand, column, width));
      storePiece(k.applyElementwise(op, tiles), op->getResult(0), column);
    });
    return success();
  }

  KernelBuilder &k;
  const int64_t tileColumns;
  llvm::DenseMap<Value, RowView> placed;
};

} // namespace

LogicalResult kernel::buildRowsKernel(KernelBuilder &k) {
  return RowsKernel(k).build();
}
