//===- BuildFlashKernel.cpp - Attention on tensor cores -------------------===//
//
// Item = (token, key head), heads fastest. The rows of the tile are the query
// heads that share the key head, of as many consecutive tokens of the sequence
// as the schedule has rows for: a token in decoding, several of a prompt. Tiles
// are counted from the first token of the sequence in this step; the item of a
// tile's first token computes it, the others have nothing to do. So the grid
// depends on the number of tokens only, whatever sequences they belong to.
//
// The blocks of the cache that the rows see are a tile.fold with the softmax
// merge, in base 2 (Dao et al., FlashAttention, 2022). A block that a row does
// not see leaves the row's state as it is, so a row's result does not depend on
// which rows share its tile.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/AttentionMask.h"
#include "passes/Kernel/KernelBuilder.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

namespace {

/// Start value of the running maximum: finite, so that differences with it
/// are never NaN.
constexpr double lowestScore = -3.0e38;

/// Columns of the largest head whose products with values of a step are
/// computed apart from the running sums.
constexpr int64_t mostPartColumns = 128;

class FlashKernel {
public:
  FlashKernel(KernelBuilder &k, AttentionOp op,
              tile::FlashScheduleAttr schedule)
      : k(k), op(op), schedule(schedule), rows(schedule.getRows()),
        tileRows(rows > 8 ? 16 * schedule.getRowWarps() : 8),
        size(op.getHeadSize()), keys(schedule.getKeys()),
        group(op.getQueryHeads() / op.getKeyHeads()), tokens(rows / group) {}

  LogicalResult build() {
    int64_t keyHeads = op.getKeyHeads();
    Value token = k.div(k.item(), keyHeads);
    keyHead = k.rem(k.item(), keyHeads);
    sequence = k.loadIndex(k.getArgument(op.getSequenceIds()), {token});
    Value starts = k.getArgument(op.getSequenceStarts());
    Value start = k.loadIndex(starts, {sequence});
    Value end = k.loadIndex(starts, {k.add(sequence, k.index(1))});
    length = k.loadIndex(k.getArgument(op.getContextLengths()), {sequence});
    Value position = k.loadIndex(k.getArgument(op.getPositions()), {token});
    Value isFirst =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                k.rem(k.sub(token, start), tokens), k.index(0));
    // Positions of the step's tokens of a sequence follow each other, so those
    // below the first token's are of earlier steps.
    settled = k.div(k.sub(position, k.sub(token, start)), keys);
    auto compute = [&] {
      buildTile(token, position, k.min(k.sub(end, token), k.index(tokens)));
    };
    // All blocks wait, so that this kernel ends behind those before it.
    if (mayBegin())
      k.ifThen(isFirst, compute, [&] { waitForOthers({}); });
    else
      k.ifThen(isFirst, compute);
    return success();
  }

private:
  /// Whether what says where keys and values lie may be read before earlier
  /// kernels are done, and is to be.
  bool mayBegin() {
    std::optional<ArrayRef<int64_t>> inputs = k.kernel.getStepInputs();
    auto isInput = [&](Value place) {
      auto argument = cast<BlockArgument>(k.getArgument(place));
      return llvm::is_contained(*inputs, argument.getArgNumber());
    };
    return schedule.getEarly() && inputs &&
           llvm::all_of(ValueRange{op.getPositions(), op.getSequenceIds(),
                                   op.getSequenceStarts(),
                                   op.getContextLengths(), op.getBlockTable()},
                        isInput);
  }

  void waitForOthers(Value settledSteps) {
    k.create<tile::WaitDependencyOp>(settledSteps);
  }

  /// A tile that `columnWarps` warps divide, or that each warp has.
  RankedTensorType warpTile(int64_t columns, Type element,
                            int64_t columnWarps = 1) {
    return RankedTensorType::get(
        {tileRows, columns}, element,
        tile::WarpTileAttr::get(element.getContext(), columnWarps,
                                schedule.getRowWarps()));
  }

  Type f32() { return k.builder.getF32Type(); }
  Type i32() { return k.builder.getI32Type(); }
  RankedTensorType scoreType(Type element) {
    return warpTile(keys, element, schedule.getKeyWarps());
  }

  void buildTile(Value token, Value position, Value count) {
    RowView query = k.getView(op.getQuery());
    Value output = k.getOutput(op.getResult());
    Type element =
        cast<RankedTensorType>(op.getQuery().getType()).getElementType();
    Value firstColumn = k.mul(keyHead, group * size);
    Value last = k.sub(k.add(position, count), k.index(1));
    auto [firstBlock, lastBlock] =
        getKeyBlocks(k, op, keys, length, position, last);
    Value width = k.kernel.getSymbolArguments()[1];
    tableStart = k.create<arith::MulIOp>(sequence, width);
    if (mayBegin())
      waitForOthers(settled);
    Value q = k.create<tile::LoadHeadsOp>(
        warpTile(size, element), query.matrix, token,
        k.add(firstColumn, k.index(query.offset)), count, group, size);
    Value positions = buildPositions(position);
    SmallVector<Value> state =
        k.fold(firstBlock, lastBlock, 1, tile::Merge::Softmax,
               {k.constantLike(warpTile(1, f32()), lowestScore),
                k.constantLike(warpTile(1, f32()), 0),
                k.constantLike(warpTile(size, f32()), 0)},
               [&](Value number, ValueRange s) {
                 return buildBlock(q, number, s[0], s[1], s[2], positions);
               });

    int64_t share = size / schedule.getCluster();
    Value o = k.create<tile::ShareSoftmaxOp>(k.tileType({rows, share}, f32()),
                                             state[0], state[1], state[2]);
    Value offset = k.mul(k.create<tile::ClusterRankOp>(), share);
    Type stored =
        cast<RankedTensorType>(op.getResult().getType()).getElementType();
    k.create<tile::StoreHeadsOp>(k.roundTo(o, stored), output, token,
                                 k.add(firstColumn, offset), count, group,
                                 size);
  }

  /// The positions of the rows as a tile of scores.
  Value buildPositions(Value position) {
    RankedTensorType column = warpTile(1, i32());
    Value row = k.create<tile::IotaOp>(
        column, k.create<arith::ConstantOp>(k.builder.getI32IntegerAttr(0)), 0);
    Value heads = k.create<arith::ConstantOp>(
        column, DenseElementsAttr::get(column, static_cast<int32_t>(group)));
    Value token = k.create<arith::DivUIOp>(row, heads);
    Value first = k.create<tile::SplatOp>(column, k.toI32(position));
    return k.create<tile::BroadcastOp>(scoreType(i32()),
                                       k.create<arith::AddIOp>(first, token));
  }

  /// One block of keys: new (m, l, o).
  SmallVector<Value> buildBlock(Value q, Value number, Value m, Value l,
                                Value o, Value positions) {
    auto [key, value] = loadBlock(number);
    RankedTensorType scores = scoreType(f32());
    Value score = k.create<tile::MmaOp>(tile::MmaInstruction::Tensor, q, key,
                                        k.constantLike(scores, 0));
    double scale = op.getScale().convertToDouble();
    if (op.getSoftcap()) {
      score =
          k.softcap(k.scale(score, scale), op.getSoftcap()->convertToDouble());
      scale = 1;
    }
    // exp(x) = exp2(x * log2(e))
    score = k.scale(score, scale * llvm::numbers::log2e);
    Value visible = buildKeyMask(k, op, keys, length, number, positions);
    score = k.create<arith::SelectOp>(
        visible, score,
        k.constantLike(scores, -std::numeric_limits<double>::infinity()));

    Value newM = k.create<arith::MaximumFOp>(
        m, k.create<tile::ReduceOp>(m.getType(), tile::Reduction::Max, score));
    Value p = k.create<math::Exp2Op>(k.create<arith::SubFOp>(
        score, k.create<tile::BroadcastOp>(scores, newM)));
    Value alpha = k.create<math::Exp2Op>(k.create<arith::SubFOp>(m, newM));
    Value newL = k.create<arith::AddFOp>(
        k.create<arith::MulFOp>(l, alpha),
        k.create<tile::ReduceOp>(l.getType(), tile::Reduction::Add, p));
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    auto values = cast<RankedTensorType>(o.getType());
    Value factors = k.create<tile::BroadcastOp>(values, alpha);
    auto multiply = [&](Value sum) -> Value {
      return k.create<tile::MmaOp>(tile::MmaInstruction::Tensor,
                                   k.roundTo(p, element), value, sum);
    };
    // The step's part apart, so that tensor cores need no registers for rows
    // that the tile has not. Of wide heads the parts would need too many. The
    // head alone says which: one order of sums for all schedules.
    Value newO = size > mostPartColumns
                     ? multiply(k.create<arith::MulFOp>(o, factors))
                     : Value(k.create<math::FmaOp>(
                           o, factors, multiply(k.constantLike(values, 0))));
    return {newM, newL, newO};
  }

  /// Key tile [size, keys] and value tile [keys, size] of a block. Values
  /// behind the sequence's end repeat its last one: what lies there need not be
  /// a number, and even times 0 it would count.
  std::pair<Value, Value> loadBlock(Value number) {
    Value entry = k.add(tableStart, number);
    Value physical = k.loadIndex(k.getArgument(op.getBlockTable()), {entry});
    Value zero = k.index(0);
    SmallVector<Value> corner = {physical, keyHead, zero, zero};
    Value inside = k.sub(length, k.mul(number, keys));
    return {k.load(k.getArgument(op.getKey()), corner, {size, keys}),
            k.load(k.getArgument(op.getValue()), corner, {keys, size}, inside)};
  }

  KernelBuilder &k;
  AttentionOp op;
  tile::FlashScheduleAttr schedule;
  int64_t rows;     ///< Of an item.
  int64_t tileRows; ///< That tensor cores compute.
  int64_t size, keys, group;
  int64_t tokens; ///< Of a tile.
  Value keyHead, sequence, length;
  Value settled;    ///< Blocks whose keys earlier steps have written.
  Value tableStart; ///< Of the sequence's entries in the block table.
};

} // namespace

LogicalResult kernel::buildFlashKernel(KernelBuilder &k) {
  return FlashKernel(k, cast<AttentionOp>(k.getOps().front()),
                     cast<tile::FlashScheduleAttr>(k.schedule))
      .build();
}
