//===- BuildAttentionKernel.cpp - Flash attention as a fold ---------------===//
//
// Item = (block of rows, key head), heads fastest. A run is the part of the
// block that belongs to one sequence. The rows of a register tile are
//
//   * consecutive tokens of one query head, if the run has several tokens,
//   * the query heads that share the key head, if it has one (decoding).
//
// In decoding the cache comes from memory, where the heads of a block lie side
// by side. A run of one token therefore visits all key heads of the call for
// every block before it goes on to the next: one head at a time jumps over the
// others', and reads memory much slower (docs/performance.md).
//
// Either way the keys are read in blocks of the cache by a tile.fold with the
// softmax merge (m, l, o); the scores of a block live in registers and in a
// scratch tile, never in memory as a matrix (Dao et al., FlashAttention, 2022).
//
// Blocks are aligned to absolute key positions and a block that a row does not
// see leaves the row's state as it is, so a row's result does not depend on
// which rows share its tile.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/AttentionMask.h"
#include "passes/Kernel/KernelBuilder.h"

#include <array>

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

namespace {

/// Start value of the running maximum: finite, so that differences with it
/// are never NaN, and not above any score, which a mask may make as low.
constexpr double lowestScore = std::numeric_limits<float>::lowest();

/// Keys per block where the keys are not in a paged cache.
constexpr int64_t raggedBlock = 64;

/// Blocks of one key head before the next head's turn. More save loads and
/// stores of the state, but with 2 the kernel takes 1.4 times as long.
constexpr int64_t blocksPerTurn = 1;

class AttentionKernel {
public:
  AttentionKernel(KernelBuilder &k, AttentionOp op)
      : k(k), op(op), size(op.getHeadSize()),
        group(op.getQueryHeads() / op.getKeyHeads()),
        block(op.isPaged() ? op.getBlockSize() : raggedBlock),
        query(k.getView(op.getQuery())), output(k.getOutput(op.getResult())) {}

  LogicalResult build() {
    int64_t height = std::max(k.schedule.getRows(), int64_t(1));
    allocateScratch(height);
    int64_t keyHeads = op.getKeyHeads();
    Value blockEnd =
        k.create<arith::CeilDivUIOp>(k.itemEnd(), k.index(keyHeads));
    k.forLoop(k.div(k.item(), keyHeads), blockEnd, 1, [&](Value rowBlock) {
      Value firstItem = k.mul(rowBlock, keyHeads);
      headBegin = k.max(k.sub(k.item(), firstItem), k.index(0));
      headEnd = k.min(k.sub(k.itemEnd(), firstItem), k.index(keyHeads));
      buildRowBlock(rowBlock);
    });
    return success();
  }

private:
  void buildRowBlock(Value rowBlock) {
    int64_t rows = k.schedule.getRowBlock();
    Value begin = k.mul(rowBlock, rows);
    Value end = k.min(k.add(begin, k.index(rows)), k.rows());
    k.forLoop(begin, end, 1, [&](Value row) {
      sequence = k.loadIndex(k.getArgument(op.getSequenceIds()), {row});
      Value starts = k.getArgument(op.getSequenceStarts());
      sequenceStart = k.loadIndex(starts, {sequence});
      Value sequenceEnd = k.loadIndex(starts, {k.add(sequence, k.index(1))});
      // A run starts where the block or the sequence does.
      Value startsRun = k.create<arith::OrIOp>(
          k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, row, begin),
          k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, row,
                                  sequenceStart));
      k.ifThen(startsRun, [&] { buildRun(row, k.min(end, sequenceEnd)); });
    });
  }

  void allocateScratch(int64_t height) {
    auto scratch = [&](ArrayRef<int64_t> shape, Type element) -> Value {
      return k.create<tile::ScratchOp>(MemRefType::get(shape, element));
    };
    Type f32 = k.builder.getF32Type();
    int64_t heads = k.schedule.hasSeveralItems() ? op.getQueryHeads() : group;
    queries = scratch({std::max(height, heads), size}, f32);
    scores = scratch({height, block}, f32);
    maxima = scratch({heads, 1}, f32);
    sums = scratch({heads, 1}, f32);
    results = scratch({heads, size}, f32);
    if (op.getBias())
      biases = scratch({height, block}, f32);
    if (!op.isPaged())
      keys = scratch(
          {1, size, block},
          cast<RankedTensorType>(op.getKey().getType()).getElementType());
  }

  /// The number of keys of the sequence, and where they start.
  Value getRaggedLength() {
    Value starts = k.getArgument(op.getKeyStarts() ? op.getKeyStarts()
                                                   : op.getSequenceStarts());
    keyStart = k.loadIndex(starts, {sequence});
    return k.sub(k.loadIndex(starts, {k.add(sequence, k.index(1))}), keyStart);
  }

  /// Tokens [row, end) of one sequence.
  void buildRun(Value row, Value end) {
    sequenceLength =
        op.isPaged()
            ? k.loadIndex(k.getArgument(op.getContextLengths()), {sequence})
            : getRaggedLength();
    Value count = k.sub(end, row);
    Value isSingle =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, count, k.index(1));
    Value isSeveral =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::ne, count, k.index(1));
    k.ifThen(isSingle, [&] { buildToken(row); });
    k.ifThen(isSeveral, [&] {
      k.forLoop(k.mul(headBegin, group), k.mul(headEnd, group), 1,
                [&](Value head) {
                  keyHead = k.div(head, group);
                  k.forLoop(row, end, k.schedule.getRows(), [&](Value token) {
                    Value valid =
                        k.min(k.sub(end, token), k.index(k.schedule.getRows()));
                    buildTokensTile(token, head, valid);
                  });
                });
    });
  }

  /// One token, all query heads of the call. The state of a head lies in
  /// scratch memory while the others have their turn.
  void buildToken(Value row) {
    Value firstHead = k.mul(headBegin, group);
    Value heads = k.mul(k.sub(headEnd, headBegin), group);
    Value zero = k.index(0);
    k.forLoop(zero, heads, 1, [&](Value head) {
      Value q = k.load(query.matrix, {row, headColumn(k.add(firstHead, head))},
                       {1, size});
      k.store(k.toF32(q), queries, {head, zero});
      storeState(getInitialState(1), head);
    });
    Value position = k.loadIndex(k.getArgument(op.getPositions()), {row});
    auto [first, last] = getBlocks(position, position);
    auto buildTurn = [&](Value turn, Value turnEnd) {
      k.forLoop(headBegin, headEnd, 1, [&](Value head) {
        keyHead = head;
        Value firstRow = k.mul(k.sub(head, headBegin), group);
        int64_t height = std::min(k.schedule.getRows(), group);
        k.forColumns(group, height, [&](Value inGroup, int64_t heads) {
          Value stateRow = k.add(firstRow, inGroup);
          Value positions = k.create<tile::SplatOp>(
              k.tileType({heads, block}, k.builder.getI32Type()),
              k.toI32(position));
          // Rows of the tile are heads of one token.
          setBias(row, k.add(firstHead, stateRow), /*step=*/getBiasHeads() > 1);
          storeState(buildFold(stateRow, heads, turn, turnEnd,
                               loadState(stateRow, heads), positions),
                     stateRow);
        });
      });
    };
    if (k.schedule.hasSeveralItems())
      k.forLoop(first, last, blocksPerTurn, [&](Value turn) {
        buildTurn(turn, k.min(k.add(turn, k.index(blocksPerTurn)), last));
      });
    else
      buildTurn(first, last);
    k.forLoop(zero, heads, 1, [&](Value head) {
      Value o = finish(loadState(head, 1), 1);
      k.store(k.roundTo(o, outputElement()), output,
              {row, k.mul(k.add(firstHead, head), size)});
    });
  }

  SmallVector<Value> loadState(Value row, int64_t heads) {
    Value zero = k.index(0);
    return {k.load(maxima, {row, zero}, {heads, 1}),
            k.load(sums, {row, zero}, {heads, 1}),
            k.load(results, {row, zero}, {heads, size})};
  }

  void storeState(ArrayRef<Value> state, Value row) {
    std::array<Value, 3> views = {maxima, sums, results};
    for (auto [tile, view] : llvm::zip_equal(state, views))
      k.store(tile, view, {row, k.index(0)});
  }

  /// `valid` consecutive tokens of one query head, at most the tile's rows.
  void buildTokensTile(Value row, Value head, Value valid) {
    int64_t height = k.schedule.getRows();
    Value q =
        k.load(query.matrix, {row, headColumn(head)}, {height, size}, valid);
    k.store(k.toF32(q), queries, {k.index(0), k.index(0)});
    Value first = k.loadIndex(k.getArgument(op.getPositions()), {row});
    Value last = k.sub(k.add(first, valid), k.index(1));
    Value positionTile = k.create<tile::IotaOp>(
        k.tileType({height, block}, k.builder.getI32Type()), k.toI32(first), 0);
    auto [firstBlock, lastBlock] = getBlocks(first, last);
    setBias(row, head, /*step=*/getBiasHeads());
    lastBiasRow = k.sub(valid, k.index(1));
    SmallVector<Value> state =
        buildFold(k.index(0), height, firstBlock, lastBlock,
                  getInitialState(height), positionTile);
    Value result = finish(state, height);
    k.store(k.roundTo(result, outputElement()), output,
            {row, k.mul(head, size)}, valid);
  }

  Type outputElement() {
    return cast<RankedTensorType>(op.getResult().getType()).getElementType();
  }

  Value headColumn(Value head) {
    return k.add(k.mul(head, size), k.index(query.offset));
  }

  /// The range of key blocks that positions `first` to `last` see.
  std::pair<Value, Value> getBlocks(Value first, Value last) {
    return getKeyBlocks(k, op, block, sequenceLength, first, last);
  }

  /// (m, l, o) before the first key.
  SmallVector<Value> getInitialState(int64_t height) {
    return {k.constant({height, 1}, lowestScore), k.constant({height, 1}, 0),
            k.constant({height, size}, 0)};
  }

  /// Folds the key blocks [begin, end) into the state of the staged queries
  /// from row `queryRow` on.
  SmallVector<Value> buildFold(Value queryRow, int64_t height, Value begin,
                               Value end, ArrayRef<Value> state,
                               Value positions) {
    return k.fold(begin, end, 1, tile::Merge::Softmax, state,
                  [&](Value number, ValueRange s) {
                    return buildBlock(queryRow, height, number, s[0], s[1],
                                      s[2], positions);
                  });
  }

  /// The f32 tile [height, size] that the state gives. A row that saw no key
  /// has l = 0 and gives 0.
  Value finish(ArrayRef<Value> state, int64_t height) {
    Value sum = state[1];
    Value none = k.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, sum,
                                         k.constant({height, 1}, 0));
    Value divisor =
        k.create<arith::SelectOp>(none, k.constant({height, 1}, 1), sum);
    return k.create<arith::DivFOp>(state[2],
                                   k.broadcast(divisor, {height, size}));
  }

  /// Heads that the bias tells apart; 0: there is none.
  int64_t getBiasHeads() {
    return op.getBias()
               ? cast<RankedTensorType>(op.getBias().getType()).getDimSize(1)
               : 0;
  }

  /// Says that row i of the tile reads row `first` + i * `step` of the bias as
  /// [tokens * heads, width], where `first` is that of a token and head.
  void setBias(Value token, Value head, int64_t step) {
    if (!op.getBias())
      return;
    int64_t heads = getBiasHeads();
    firstBiasRow = k.mul(token, heads);
    if (heads > 1)
      firstBiasRow = k.add(firstBiasRow, head);
    biasStep = step;
    lastBiasRow = {};
  }

  /// The bias of the tile's rows for a block of keys.
  Value loadBias(int64_t height, Value number) {
    Value view = k.getArgument(op.getBias()), zero = k.index(0);
    Value width = k.kernel.getSymbolArguments().back();
    for (int64_t row = 0; row < height; ++row) {
      // Rows behind the last token repeat it; they are not stored.
      Value inTile = k.index(row);
      if (lastBiasRow && row > 0)
        inTile = k.min(inTile, lastBiasRow);
      Value biasRow = k.add(firstBiasRow, k.mul(inTile, biasStep));
      Value place =
          k.add(k.create<arith::MulIOp>(biasRow, width), k.mul(number, block));
      k.store(k.load(view, {place, zero}, {block}, Value(), {0}), biases,
              {k.index(row), zero}, Value(), {1});
    }
    return k.load(biases, {zero, zero}, {height, block});
  }

  /// One block of keys: new (m, l, o).
  SmallVector<Value> buildBlock(Value queryRow, int64_t height, Value number,
                                Value m, Value l, Value o, Value positions) {
    SmallVector<int64_t> shape = {height, block};
    auto [key, value] = loadBlock(number);
    Value q = k.load(queries, {queryRow, k.index(0)}, {height, size});
    Value score = k.create<tile::MmaOp>(tile::MmaInstruction::Fma, q, key,
                                        k.constant(shape, 0));
    score = k.scale(score, op.getScale().convertToDouble());
    if (op.getSoftcap())
      score = k.softcap(score, op.getSoftcap()->convertToDouble());
    if (op.getBias())
      score = k.create<arith::AddFOp>(score, loadBias(height, number));
    Value visible =
        buildKeyMask(k, op, block, sequenceLength, number, positions);
    score = k.create<arith::SelectOp>(
        visible, score,
        k.constant(shape, -std::numeric_limits<double>::infinity()));

    Value newM =
        k.create<arith::MaximumFOp>(m, k.reduce(tile::Reduction::Max, score));
    Value p = k.create<math::ExpOp>(
        k.create<arith::SubFOp>(score, k.broadcast(newM, shape)));
    p = k.create<arith::SelectOp>(visible, p, k.constant(shape, 0));
    Value alpha = k.create<math::ExpOp>(k.create<arith::SubFOp>(m, newM));
    Value newL = k.create<arith::AddFOp>(k.create<arith::MulFOp>(l, alpha),
                                         k.reduce(tile::Reduction::Add, p));
    k.store(p, scores, {k.index(0), k.index(0)});
    Value scaled =
        k.create<arith::MulFOp>(o, k.broadcast(alpha, {height, size}));
    Value staged = k.load(scores, {k.index(0), k.index(0)}, shape);
    Value newO =
        k.create<tile::MmaOp>(tile::MmaInstruction::Fma, staged, value, scaled);
    return {newM, newL, newO};
  }

  /// Key tile [size, block] and value tile [block, size] of a block.
  std::pair<Value, Value> loadBlock(Value number) {
    Value key = k.getArgument(op.getKey()),
          value = k.getArgument(op.getValue());
    Value zero = k.index(0);
    if (op.isPaged()) {
      Value width = k.kernel.getSymbolArguments()[1];
      Value entry = k.add(k.create<arith::MulIOp>(sequence, width), number);
      Value physical = k.loadIndex(k.getArgument(op.getBlockTable()), {entry});
      return {k.load(key, {physical, keyHead, zero, zero}, {size, block}),
              k.load(value, {physical, keyHead, zero, zero}, {block, size})};
    }
    // Rows behind the sequence's end repeat its last one; they are masked.
    RowView keyView = k.getView(op.getKey()),
            valueView = k.getView(op.getValue());
    Value first = k.mul(number, block);
    Value valid = k.min(k.sub(sequenceLength, first), k.index(block));
    Value row = k.add(keyStart, first);
    auto column = [&](const RowView &view) {
      return k.add(k.mul(keyHead, size), k.index(view.offset));
    };
    Value lastRow = k.sub(valid, k.index(1));
    k.forLoop(zero, k.index(block), 1, [&](Value j) {
      Value source = k.add(row, k.min(j, lastRow));
      Value tile = k.load(keyView.matrix, {source, column(keyView)}, {1, size});
      k.store(tile, keys, {zero, zero, j}, Value(), {0, 1});
    });
    return {k.load(keys, {zero, zero, zero}, {size, block}),
            k.load(valueView.matrix, {row, column(valueView)}, {block, size},
                   valid)};
  }

  KernelBuilder &k;
  AttentionOp op;
  int64_t size, group, block;
  RowView query;
  Value output;
  Value queries, scores, maxima, sums, results, keys, biases; // Scratch.
  Value headBegin, headEnd; ///< Key heads of the call in this row block.
  Value keyHead, sequence, sequenceStart, sequenceLength;
  Value keyStart; ///< Row of the sequence's first key; ragged form.
  Value firstBiasRow, lastBiasRow;
  int64_t biasStep = 0;
};

} // namespace

LogicalResult kernel::buildAttentionKernel(KernelBuilder &k) {
  return AttentionKernel(k, cast<AttentionOp>(k.getOps().front())).build();
}
