//===- BuildAttentionKernel.cpp - Flash attention as a fold ---------------===//
//
// Item = (key head, block of rows). A run is the part of the block that
// belongs to one sequence. The rows of a register tile are
//
//   * consecutive tokens of one query head, if the run has several tokens,
//   * the query heads that share the key head, if it has one (decoding).
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

#include "passes/Kernel/KernelBuilder.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

namespace {

/// Start value of the running maximum: finite, so that differences with it
/// are never NaN.
constexpr double lowestScore = -3.0e38;

/// Keys per block where the keys are not in a paged cache.
constexpr int64_t raggedBlock = 64;

class AttentionKernel {
public:
  AttentionKernel(KernelBuilder &k, AttentionOp op)
      : k(k), op(op), size(op.getHeadSize()),
        group(op.getQueryHeads() / op.getKeyHeads()),
        block(op.isPaged() ? op.getBlockSize() : raggedBlock),
        query(k.getView(op.getQuery())), output(k.getOutput(op.getResult())) {}

  LogicalResult build() {
    int64_t height = std::max(k.schedule.getRows(), int64_t(1));
    allocateScratch(std::max(height, std::min(group, height)));
    int64_t rowBlock = k.schedule.getRowBlock();
    Value rowBlocks = k.create<arith::CeilDivUIOp>(k.rows(), k.index(rowBlock));
    keyHead = k.create<arith::DivUIOp>(k.item(), rowBlocks);
    Value begin =
        k.mul(k.create<arith::RemUIOp>(k.item(), rowBlocks), rowBlock);
    Value end = k.min(k.add(begin, k.index(rowBlock)), k.rows());
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
    return success();
  }

private:
  void allocateScratch(int64_t height) {
    auto scratch = [&](ArrayRef<int64_t> shape, Type element) -> Value {
      return k.create<tile::ScratchOp>(MemRefType::get(shape, element));
    };
    Type f32 = k.builder.getF32Type();
    queries = scratch({height, size}, f32);
    scores = scratch({height, block}, f32);
    results = scratch({height, size}, f32);
    if (!op.isPaged())
      keys = scratch(
          {1, size, block},
          cast<RankedTensorType>(op.getKey().getType()).getElementType());
  }

  /// Tokens [row, end) of one sequence.
  void buildRun(Value row, Value end) {
    sequenceLength =
        op.isPaged()
            ? k.loadIndex(k.getArgument(op.getContextLengths()), {sequence})
            : k.sub(k.loadIndex(k.getArgument(op.getSequenceStarts()),
                                {k.add(sequence, k.index(1))}),
                    sequenceStart);
    Value count = k.sub(end, row);
    Value isSingle =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, count, k.index(1));
    Value isSeveral =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::ne, count, k.index(1));
    Value firstHead = k.mul(keyHead, group);
    k.ifThen(isSingle, [&] {
      int64_t height = std::min(k.schedule.getRows(), group);
      k.forColumns(group, height, [&](Value head, int64_t heads) {
        buildHeadsTile(row, k.add(firstHead, head), heads);
      });
    });
    k.ifThen(isSeveral, [&] {
      k.forLoop(k.index(0), k.index(group), 1, [&](Value head) {
        k.forLoop(row, end, k.schedule.getRows(), [&](Value token) {
          Value valid = k.min(k.sub(end, token), k.index(k.schedule.getRows()));
          buildTokensTile(token, k.add(firstHead, head), valid);
        });
      });
    });
  }

  /// One token, `heads` query heads.
  void buildHeadsTile(Value row, Value head, int64_t heads) {
    k.forLoop(k.index(0), k.index(heads), 1, [&](Value i) {
      Value q =
          k.load(query.matrix, {row, headColumn(k.add(head, i))}, {1, size});
      k.store(k.toF32(q), queries, {i, k.index(0)});
    });
    Value position = k.loadIndex(k.getArgument(op.getPositions()), {row});
    Value positionTile = k.create<tile::SplatOp>(
        k.tileType({heads, block}, k.builder.getI32Type()), k.toI32(position));
    Value result = buildFold(heads, position, position, positionTile);
    k.store(result, results, {k.index(0), k.index(0)});
    k.forLoop(k.index(0), k.index(heads), 1, [&](Value i) {
      Value o = k.load(results, {i, k.index(0)}, {1, size});
      k.store(k.roundTo(o, outputElement()), output,
              {row, k.mul(k.add(head, i), size)});
    });
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
    Value result = buildFold(height, first, last, positionTile);
    k.store(k.roundTo(result, outputElement()), output,
            {row, k.mul(head, size)}, valid);
  }

  Type outputElement() {
    return cast<RankedTensorType>(op.getResult().getType()).getElementType();
  }

  Value headColumn(Value head) {
    return k.add(k.mul(head, size), k.index(query.offset));
  }

  /// Attention of the staged queries, whose positions run from `first` to
  /// `last`; returns the f32 tile [height, size].
  Value buildFold(int64_t height, Value first, Value last, Value positions) {
    Value upper = sequenceLength;
    if (op.getCausal())
      upper = k.min(upper, k.add(last, k.index(1)));
    Value lowerBlock = k.index(0);
    if (op.getWindow()) {
      Value lower = k.max(
          k.sub(first, k.index(static_cast<int64_t>(*op.getWindow()) - 1)),
          k.index(0));
      lowerBlock = k.div(lower, block);
    }
    Value upperBlock = k.create<arith::CeilDivUIOp>(upper, k.index(block));
    SmallVector<Value> state =
        k.fold(lowerBlock, upperBlock, 1, tile::Merge::Softmax,
               {k.constant({height, 1}, lowestScore),
                k.constant({height, 1}, 0), k.constant({height, size}, 0)},
               [&](Value number, ValueRange s) {
                 return buildBlock(height, number, s[0], s[1], s[2], positions);
               });
    // A row that saw no key has l = 0 and gives 0.
    Value sum = state[1];
    Value none = k.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, sum,
                                         k.constant({height, 1}, 0));
    Value divisor =
        k.create<arith::SelectOp>(none, k.constant({height, 1}, 1), sum);
    return k.create<arith::DivFOp>(state[2],
                                   k.broadcast(divisor, {height, size}));
  }

  /// One block of keys: new (m, l, o).
  SmallVector<Value> buildBlock(int64_t height, Value number, Value m, Value l,
                                Value o, Value positions) {
    SmallVector<int64_t> shape = {height, block};
    auto [key, value] = loadBlock(number);
    Value q = k.load(queries, {k.index(0), k.index(0)}, {height, size});
    Value score = k.create<tile::MmaOp>(tile::MmaInstruction::Fma, q, key,
                                        k.constant(shape, 0));
    score = k.scale(score, op.getScale().convertToDouble());
    if (op.getSoftcap())
      score = k.softcap(score, op.getSoftcap()->convertToDouble());
    Value visible = buildMask(shape, number, positions);
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
    Value row = k.add(sequenceStart, first);
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

  Value buildMask(ArrayRef<int64_t> shape, Value number, Value positions) {
    auto i32 = k.tileType(shape, k.builder.getI32Type());
    Value keyPositions =
        k.create<tile::IotaOp>(i32, k.toI32(k.mul(number, block)), 1);
    Value length = k.create<tile::SplatOp>(i32, k.toI32(sequenceLength));
    Value visible = k.create<arith::CmpIOp>(arith::CmpIPredicate::slt,
                                            keyPositions, length);
    auto also = [&](Value condition) {
      visible = k.create<arith::AndIOp>(visible, condition);
    };
    if (op.getCausal())
      also(k.create<arith::CmpIOp>(arith::CmpIPredicate::sle, keyPositions,
                                   positions));
    if (op.getWindow()) {
      Value distance = k.create<arith::SubIOp>(positions, keyPositions);
      also(k.create<arith::CmpIOp>(
          arith::CmpIPredicate::slt, distance,
          k.constantI32(shape, static_cast<int32_t>(*op.getWindow()))));
    }
    return visible;
  }

  KernelBuilder &k;
  AttentionOp op;
  int64_t size, group, block;
  RowView query;
  Value output;
  Value queries, scores, results, keys; // Scratch.
  Value keyHead, sequence, sequenceStart, sequenceLength;
};

} // namespace

LogicalResult kernel::buildAttentionKernel(KernelBuilder &k) {
  return AttentionKernel(k, cast<AttentionOp>(k.getOps().front())).build();
}
