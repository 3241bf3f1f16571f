//===- BuildStreamKernel.cpp - Linear layers of few rows on a GPU ---------===//
//
// Item = (block of rows, range of columns), ranges fastest:
//
//   for column tiles of the range
//     sums = fold over k of mma(input[rows, k], weight[columns, k])
//     epilogue on this block's share of the sums, store
//
// A gated pair has two sums over one input, which share the columns of a tile.
// A range is made of whole groups of 16 columns, as the weight is.
//
// A root-mean-square normalisation of the input is part of the fold: the input
// is multiplied by the norm's weight, its squares are summed beside the
// products, and the epilogue divides by the root of their mean. A block that
// keeps its only row of the input normalises it before the first tile.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/InputNorm.h"
#include "passes/Kernel/MatrixEpilogue.h"

#include <optional>

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

namespace {

/// Columns that a fragment of the weight holds.
constexpr int64_t groupColumns = 16;

class StreamKernel {
public:
  StreamKernel(KernelBuilder &k, tile::StreamScheduleAttr schedule)
      : k(k), schedule(schedule) {}

  LogicalResult build() {
    for (Operation *op : k.getOps()) {
      if (auto linear = dyn_cast<LinearOp>(op))
        layers.push_back(linear);
      else if (auto inputNorm = dyn_cast<RmsNormOp>(op))
        norm.emplace(k, inputNorm);
      else
        epilogue.push_back(op);
    }
    input = getInputView(k, layers[0].getInput());
    width = schedule.getColumns() / static_cast<int64_t>(layers.size());
    Value range = k.rem(k.item(), schedule.getRanges());
    row = k.mul(k.div(k.item(), schedule.getRanges()), schedule.getRows());
    rows = k.min(k.sub(k.rows(), row), k.index(schedule.getRows()));
    if (schedule.getResidentRows() > 0)
      buildResidentRow();
    Value end = k.mul(rangeStart(k.add(range, k.index(1))), groupColumns);
    Value begin = k.mul(rangeStart(range), groupColumns);
    share = width / schedule.getCluster();
    offset = k.mul(k.create<tile::ClusterRankOp>(), share);
    k.forLoop(begin, end, width, [&](Value column) {
      Value round = k.div(k.sub(column, begin), width);
      buildTile(column, k.min(k.sub(end, column), k.index(width)), round);
    });
    return success();
  }

private:
  /// First group of columns of a range; ranges differ by one group at most.
  Value rangeStart(Value range) {
    int64_t groups = layers[0].getOutputSize() / groupColumns;
    return k.div(k.mul(range, groups), schedule.getRanges());
  }

  void buildResidentRow() {
    auto type = cast<RankedTensorType>(layers[0].getInput().getType());
    int64_t size = layers[0].getInputSize();
    Value x = k.load(input.matrix, {row, k.index(input.offset)}, {1, size});
    if (norm)
      x = norm->normalize(x);
    resident = k.create<tile::ScratchOp>(
        MemRefType::get({1, size}, type.getElementType()));
    k.store(x, resident, {k.index(0), k.index(0)});
  }

  /// Columns [kk, kk + step) of the tile's rows.
  Value loadInput(Value kk) {
    SmallVector<int64_t> shape = {schedule.getRows(), schedule.getStep()};
    if (resident)
      return k.load(resident, {k.index(0), kk}, shape, k.index(1));
    return k.load(input.matrix, {row, k.add(kk, k.index(input.offset))}, shape,
                  rows);
  }

  void buildTile(Value column, Value columns, Value round) {
    SmallVector<int64_t> shape = {schedule.getRows(), width};
    SmallVector<Value> zeros(layers.size(), k.constant(shape, 0));
    bool isNormFolded = norm && !resident;
    if (isNormFolded)
      zeros.push_back(k.constant({shape[0], 1}, 0));
    int64_t step = schedule.getStep();
    SmallVector<Value> sums = k.fold(
        k.index(0), k.index(layers[0].getInputSize()), step, tile::Merge::Add,
        zeros, [&](Value kk, ValueRange state) {
          Value lhs = loadInput(kk);
          Value squares;
          if (isNormFolded)
            std::tie(lhs, squares) = norm->apply(lhs, kk);
          SmallVector<Value> next;
          for (auto [layer, sum] : llvm::zip(layers, state)) {
            Value rhs = k.load(k.getArgument(layer.getWeight()), {column, kk},
                               {step, width}, Value(), {1, 0}, columns);
            next.push_back(k.create<tile::MmaOp>(tile::MmaInstruction::Tensor,
                                                 lhs, rhs, sum));
          }
          if (isNormFolded)
            next.push_back(k.create<arith::AddFOp>(state.back(), squares));
          return next;
        });
    SmallVector<Type> types(
        sums.size(), k.tileType({shape[0], share}, k.builder.getF32Type()));
    auto shared = k.create<tile::ShareOp>(types, sums, round);
    SmallVector<MatrixSum> parts;
    for (auto [layer, part] : llvm::zip(layers, shared.getOutputs())) {
      Value sum = part;
      if (isNormFolded)
        sum = norm->divide(sum, shared.getOutputs().back());
      parts.push_back({layer, layer.getBias(), sum});
    }
    Value left = k.sub(columns, offset);
    Value isInside =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, left, k.index(0));
    Value first = k.add(column, offset);
    k.ifThen(isInside, [&] {
      buildMatrixEpilogue(k, parts, epilogue,
                          {row,
                           first,
                           first,
                           {shape[0], share},
                           rows,
                           k.min(left, k.index(share))});
    });
  }

  KernelBuilder &k;
  tile::StreamScheduleAttr schedule;
  std::optional<InputNorm> norm;
  SmallVector<LinearOp> layers;
  SmallVector<Operation *> epilogue;
  RowView input;
  Value resident;    ///< [1, K] in shared memory, or null.
  int64_t width = 0; ///< Columns of a tile, of each layer.
  int64_t share = 0; ///< Of those, what this block stores, from `offset` on.
  Value offset;
  Value row, rows;
};

} // namespace

LogicalResult kernel::buildStreamKernel(KernelBuilder &k) {
  return StreamKernel(k, cast<tile::StreamScheduleAttr>(k.schedule)).build();
}
