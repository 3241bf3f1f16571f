//===- BuildMatrixKernel.cpp - Linear layers with their epilogue ----------===//
//
// One program for linear layers, gated pairs of them and expert-wise ones:
//
//   for column tiles of the item's column block
//     for row tiles of the item's row block
//       accumulators = fold over k of mma(input[rows, k], weight[panel, k])
//       epilogue on the accumulators, store
//
// and the same with single rows for the rows that do not fill a tile. If there
// is one row in all (decoding), the column tiles of all items of the call are
// one loop whose tiles are several panels wide, each panel with an accumulator
// of its own in one fold: every weight is read once, and a core reads memory
// faster from several places at a time than from one.
//
// A gated pair has two accumulators over one input. An expert-wise layer has
// one row (token, choice) per item, whose expert selects the matrix.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/InputNorm.h"
#include "passes/Kernel/MatrixEpilogue.h"

#include <numeric>
#include <optional>

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

namespace {

/// A linear or grouped linear layer, seen alike.
struct Matrix {
  Operation *op;
  Value input, weight, bias, experts;
  PackedLayoutInterface layout;
  int64_t inputs, outputs;

  static Matrix get(Operation *op) {
    auto size = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getShape().back();
    };
    if (auto linear = dyn_cast<LinearOp>(op))
      return {op,
              linear.getInput(),
              linear.getWeight(),
              linear.getBias(),
              Value(),
              linear.getLayoutAttr(),
              size(linear.getInput()),
              size(linear.getResult())};
    auto grouped = cast<GroupedLinearOp>(op);
    return {op,
            grouped.getInput(),
            grouped.getWeight(),
            Value(),
            grouped.getExperts(),
            grouped.getLayoutAttr(),
            size(grouped.getInput()),
            size(grouped.getResult())};
  }

  /// Null: the weight is stored in core matrices.
  PanelLayoutAttr getPanels() const {
    return dyn_cast<PanelLayoutAttr>(layout);
  }

  /// Elements of k that lie side by side.
  int64_t getGroup() const {
    return getPanels() ? getPanels().getGroup() : matrixGroup;
  }

private:
  static constexpr int64_t matrixGroup = 2;
};

class MatrixKernel {
public:
  explicit MatrixKernel(KernelBuilder &k) : k(k) {}

  LogicalResult build() {
    for (Operation *op : k.getOps()) {
      if (isa<LinearOp, GroupedLinearOp>(op))
        matrices.push_back(Matrix::get(op));
      else if (auto inputNorm = dyn_cast<RmsNormOp>(op))
        norm.emplace(k, inputNorm);
      else
        epilogue.push_back(op);
    }
    for (Matrix &matrix : matrices) {
      if (!matrix.layout)
        return k.dispatch.emitOpError(
            "has a weight that is not packed; run weft-pack-weights first");
      if (!matrix.getPanels() && matrix.experts)
        return k.dispatch.emitOpError("multiplies by weights of experts in ")
               << matrix.layout << "; expected panels";
      if (matrix.getPanels())
        panels = matrix.getPanels();
      group = std::lcm(group, matrix.getGroup());
    }
    input = getInputView(k, matrices[0].input);
    if (matrices[0].experts)
      buildExpertItem();
    else
      buildBlockItems();
    return success();
  }

private:
  int64_t outputs() { return matrices[0].outputs; }
  /// Columns that a tile cannot exceed; a tile of a weight in core matrices has
  /// as many as the schedule says.
  int64_t panelColumns() {
    return panels ? panels.getColumns() : k.schedule.getRowColumns();
  }

  void buildBlockItems() {
    Value isSingle =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, k.rows(), k.index(1));
    k.ifThen(
        isSingle, [&] { buildSingleRow(); },
        [&] {
          k.forLoop(k.item(), k.itemEnd(), 1,
                    [&](Value item) { buildBlockItem(item); });
        });
  }

  /// All items of the call are column blocks of the only row.
  void buildSingleRow() {
    int64_t columnBlock = k.schedule.getColumnBlock();
    Value begin = k.mul(k.item(), columnBlock);
    Value end = k.min(k.mul(k.itemEnd(), columnBlock), k.index(outputs()));
    // Wide tiles first; the last one, of what is left of a panel, is static.
    for (int64_t panels = k.schedule.getRowPanels(); panels > 0; panels /= 2) {
      int64_t width = panels * panelColumns();
      if (width > outputs())
        continue;
      Value tiles = k.div(k.sub(end, begin), width);
      Value tiled = k.add(begin, k.mul(tiles, width));
      k.forLoop(begin, tiled, width, [&](Value column) {
        buildTile(k.index(0), 1, column, width, {}, {});
      });
      begin = tiled;
    }
    if (int64_t rest = outputs() % panelColumns()) {
      Value isLeft =
          k.create<arith::CmpIOp>(arith::CmpIPredicate::slt, begin, end);
      k.ifThen(isLeft, [&] { buildTile(k.index(0), 1, begin, rest, {}, {}); });
    }
  }

  /// Item = (column block, row block), row blocks fastest, so that successive
  /// items read the same panels.
  void buildBlockItem(Value item) {
    int64_t rowBlock = k.schedule.getRowBlock();
    Value rowBlocks = k.create<arith::CeilDivUIOp>(k.rows(), k.index(rowBlock));
    Value columnBlock = k.create<arith::DivUIOp>(item, rowBlocks);
    Value row = k.mul(k.create<arith::RemUIOp>(item, rowBlocks), rowBlock);
    Value rowEnd = k.min(k.add(row, k.index(rowBlock)), k.rows());
    int64_t height = k.schedule.getRows();
    Value tiles = k.div(k.sub(rowEnd, row), height);
    Value tiled = k.add(row, k.mul(tiles, height));
    forItemColumns(columnBlock, k.schedule.getColumns(),
                   [&](Value column, int64_t width) {
                     k.forLoop(row, tiled, height, [&](Value tileRow) {
                       buildTile(tileRow, height, column, width, {}, {});
                     });
                   });
    forItemColumns(columnBlock, k.schedule.getRowColumns(),
                   [&](Value column, int64_t width) {
                     k.forLoop(tiled, rowEnd, 1, [&](Value tileRow) {
                       buildTile(tileRow, 1, column, width, {}, {});
                     });
                   });
  }

  /// Item = (row = token x choice, column block).
  void buildExpertItem() {
    int64_t columnBlocks =
        llvm::divideCeil(outputs(), k.schedule.getColumnBlock());
    Value row = k.div(k.item(), columnBlocks);
    int64_t topK =
        cast<RankedTensorType>(matrices[0].experts.getType()).getDimSize(1);
    Value token = k.div(row, topK), choice = k.rem(row, topK);
    Value expert =
        k.loadIndex(k.getArgument(matrices[0].experts), {token, choice});
    forItemColumns(k.rem(k.item(), columnBlocks), k.schedule.getRowColumns(),
                   [&](Value column, int64_t width) {
                     buildTile(token, 1, column, width, expert, choice);
                   });
  }

  /// Columns of a block in tiles of `width`. The last block may be
  /// narrower, and its last tile narrower still; both are static cases.
  void forItemColumns(Value block, int64_t width,
                      function_ref<void(Value, int64_t)> body) {
    int64_t size = outputs(), columnBlock = k.schedule.getColumnBlock();
    int64_t full = size / width * width;
    Value begin = k.mul(block, columnBlock);
    Value end = k.min(k.add(begin, k.index(columnBlock)), k.index(full));
    if (full > 0)
      k.forLoop(begin, end, width, [&](Value column) { body(column, width); });
    if (full == size)
      return;
    // The remainder belongs to the last block.
    int64_t lastBlock = (size - 1) / columnBlock;
    Value isLast = k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, block,
                                           k.index(lastBlock));
    k.ifThen(isLast, [&] { body(k.index(full), size - full); });
  }

  /// Outputs [row, row + height) x [column, column + width), which are part of
  /// one panel or whole panels.
  void buildTile(Value row, int64_t height, Value column, int64_t width,
                 Value expert, Value choice) {
    int64_t panelWidth = panels ? std::min(width, panelColumns()) : width;
    int64_t panelCount = width / panelWidth;
    SmallVector<int64_t> shape = {height, panelWidth};
    SmallVector<Value> accumulators(panelCount * matrices.size(),
                                    k.constant(shape, 0));
    if (norm)
      accumulators.push_back(k.constant({height, 1}, 0));
    int64_t size = matrices[0].inputs;
    // The last, shorter step of the fold is one of its own.
    int64_t unroll =
        height == 1 ? k.schedule.getRowUnroll() : k.schedule.getUnroll();
    // A step must not split a group of the packed weight.
    int64_t step = std::min<int64_t>(llvm::alignTo(unroll, group), size);
    int64_t full = size / step * step;
    accumulators = foldOver(0, full, step, accumulators, row, column, shape,
                            expert, choice);
    if (full < size)
      accumulators = foldOver(full, size, size - full, accumulators, row,
                              column, shape, expert, choice);
    if (norm) {
      Value squares = accumulators.pop_back_val();
      for (Value &sum : accumulators)
        sum = norm->divide(sum, squares);
    }
    for (int64_t p = 0; p < panelCount; ++p)
      finishTile(
          ArrayRef(accumulators).slice(p * matrices.size(), matrices.size()),
          row, k.add(column, k.index(p * panelWidth)), shape, expert, choice);
  }

  /// Bias and epilogue on the accumulators of one panel, then the stores.
  void finishTile(ArrayRef<Value> accumulators, Value row, Value column,
                  ArrayRef<int64_t> shape, Value expert, Value choice) {
    SmallVector<MatrixSum> sums;
    for (auto [matrix, sum] : llvm::zip_equal(matrices, accumulators))
      sums.push_back({matrix.op, matrix.bias, sum});
    Value memoryColumn =
        expert ? k.add(k.mul(choice, outputs()), column) : column;
    buildMatrixEpilogue(
        k, sums, epilogue,
        {row, column, memoryColumn, {shape[0], shape[1]}, {}, {}});
  }

  /// Accumulates k in [begin, end) in steps that divide the range: panel by
  /// panel, and for each the matrices.
  SmallVector<Value> foldOver(int64_t begin, int64_t end, int64_t step,
                              ValueRange init, Value row, Value column,
                              ArrayRef<int64_t> shape, Value expert,
                              Value choice) {
    if (begin == end)
      return SmallVector<Value>(init);
    Value panel, inPanel;
    if (panels) {
      panel = k.div(column, panelColumns());
      inPanel = k.rem(column, panelColumns());
    }
    return k.fold(
        k.index(begin), k.index(end), step, tile::Merge::Add, init,
        [&](Value kk, ValueRange state) {
          Value inColumn = k.add(kk, k.index(input.offset));
          if (choice && input.shape.size() == 2)
            inColumn = k.add(inColumn, k.mul(choice, matrices[0].inputs));
          Value lhs = k.load(input.matrix, {row, inColumn}, {shape[0], step});
          Value squares;
          if (norm)
            std::tie(lhs, squares) = norm->apply(lhs, kk);
          SmallVector<Value> next;
          for (auto [number, accumulator] :
               llvm::enumerate(norm ? state.drop_back() : state)) {
            const Matrix &matrix = matrices[number % matrices.size()];
            int64_t panelNumber = number / matrices.size();
            Value rhs =
                matrix.getPanels()
                    ? loadPanel(matrix, k.add(panel, k.index(panelNumber)),
                                inPanel, kk, {step, shape[1]}, expert)
                    : k.load(
                          k.getArgument(matrix.weight),
                          {k.add(column, k.index(panelNumber * shape[1])), kk},
                          {step, shape[1]}, Value(), {1, 0});
            next.push_back(k.create<tile::MmaOp>(instruction(matrix, step), lhs,
                                                 rhs, accumulator));
          }
          if (norm)
            next.push_back(k.create<arith::AddFOp>(state.back(), squares));
          return next;
        });
  }

  /// Steps from kk on of columns of a panel, `shape` = [steps, columns], as
  /// [steps / group, columns, group].
  Value loadPanel(const Matrix &matrix, Value panel, Value inPanel, Value kk,
                  ArrayRef<int64_t> shape, Value expert) {
    int64_t group = matrix.getGroup();
    SmallVector<Value> indices = {panel, k.div(kk, group), inPanel, k.index(0)};
    if (expert)
      indices.insert(indices.begin(), expert);
    return k.load(k.getArgument(matrix.weight), indices,
                  {static_cast<int64_t>(llvm::divideCeil(shape[0], group)),
                   shape[1], group});
  }

  /// Dot products of pairs where the schedule wants them and the operands are
  /// what the instruction takes.
  tile::MmaInstruction instruction(const Matrix &matrix, int64_t step) {
    auto isBf16 = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getElementType().isBF16();
    };
    bool legal = isBf16(matrix.input) && isBf16(matrix.weight) &&
                 matrix.getPanels() && matrix.getGroup() == 2 && step % 2 == 0;
    return legal ? k.schedule.getMma() : tile::MmaInstruction::Fma;
  }

  KernelBuilder &k;
  std::optional<InputNorm> norm; ///< In front of the only input.
  SmallVector<Matrix> matrices;
  SmallVector<Operation *> epilogue;
  PanelLayoutAttr panels; ///< Of a weight that is stored in panels.
  int64_t group = 1;      ///< A step of a fold is a multiple of it.
  RowView input;
};

} // namespace

LogicalResult kernel::buildMatrixKernel(KernelBuilder &k) {
  return MatrixKernel(k).build();
}
