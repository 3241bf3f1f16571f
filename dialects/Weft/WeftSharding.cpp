//===- WeftSharding.cpp - How model operations are sharded ----------------===//
//
// Each operation says which loops it has and which of them index the leading
// dimensions of its operands and results. A dimension behind the last indexed
// one is never split. What a split loop means for a device that holds one part:
//
// * parallel: it computes its part of the result;
// * sum: it computes a part of a sum, which an all-reduce completes. A bias is
//   added after that. Rows of a table, or experts, that a device does not hold
//   contribute zero;
// * generic: it computes a part that only the operation itself can merge (the
//   keys of an attention, the tokens of an append).
//
// Panels of a packed weight stand for the outputs and inputs they hold.
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/WeftDialect.h"

using namespace mlir;
using namespace weft;

namespace {

enum class Loop { Parallel, Sum, Generic };

/// Loops, and for every operand and result the loops of its leading dimensions.
struct Rule {
  SmallVector<Loop> loops;
  SmallVector<SmallVector<int64_t>> tensors;

  SmallVector<utils::IteratorType> getIterators() const {
    return llvm::map_to_vector(loops, [](Loop loop) {
      return loop == Loop::Parallel ? utils::IteratorType::parallel
                                    : utils::IteratorType::reduction;
    });
  }

  SmallVector<shard::ReductionKind> getReductionKinds() const {
    SmallVector<shard::ReductionKind> kinds;
    for (Loop loop : loops)
      if (loop != Loop::Parallel)
        kinds.push_back(loop == Loop::Sum ? shard::ReductionKind::Sum
                                          : shard::ReductionKind::Generic);
    return kinds;
  }

  SmallVector<AffineMap> getMaps(MLIRContext *context) const {
    SmallVector<AffineMap> maps;
    for (ArrayRef<int64_t> dims : tensors) {
      SmallVector<AffineExpr> exprs;
      for (int64_t dim : dims)
        exprs.push_back(getAffineDimExpr(dim, context));
      maps.push_back(AffineMap::get(loops.size(), 0, exprs, context));
    }
    return maps;
  }
};

} // namespace

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

/// Loops begin, ..., end - 1.
static SmallVector<int64_t> range(int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(end));
}

/// All operands and results have the same shape, computed element by element.
static Rule getPointwiseRule(Operation *op) {
  int64_t rank = rankOf(op->getResult(0));
  return {SmallVector<Loop>(rank, Loop::Parallel),
          SmallVector<SmallVector<int64_t>>(
              op->getNumOperands() + op->getNumResults(), range(rank))};
}

/// Rows are independent; a row is never split, nor are its parameters.
static Rule getNormRule(Operation *op) {
  int64_t leading = rankOf(op->getResult(0)) - 1;
  Rule rule{SmallVector<Loop>(leading, Loop::Parallel), {range(leading)}};
  rule.tensors.resize(op->getNumOperands());
  rule.tensors.push_back(range(leading));
  return rule;
}

static Rule getRule(RmsNormOp op) { return getNormRule(op); }
static Rule getRule(LayerNormOp op) { return getNormRule(op); }
static Rule getRule(ActivationOp op) { return getPointwiseRule(op); }
static Rule getRule(GatedActivationOp op) { return getPointwiseRule(op); }
static Rule getRule(SoftcapOp op) { return getPointwiseRule(op); }

/// Loops: row, column, row of the table.
static Rule getRule(EmbedOp) {
  return {{Loop::Parallel, Loop::Parallel, Loop::Sum}, {{0}, {2, 1}, {0, 1}}};
}

/// Loops: the leading dimensions, the output n, the input k.
static Rule getRule(LinearOp op) {
  int64_t n = rankOf(op.getInput()) - 1, k = n + 1;
  SmallVector<int64_t> input = range(n), result = range(n + 1);
  input.push_back(k);
  Rule rule{SmallVector<Loop>(n + 1, Loop::Parallel), {input, {n, k}}};
  rule.loops.push_back(Loop::Sum);
  if (op.getBias())
    rule.tensors.push_back({n});
  rule.tensors.push_back(result);
  return rule;
}

/// Loop: token.
static Rule getRule(RopeTableOp op) {
  Rule rule{{Loop::Parallel}, {{0}, {}}};
  if (op.getChoice())
    rule.tensors.push_back({0});
  rule.tensors.append(2, {0});
  return rule;
}

/// Loops: token, head.
static Rule getRule(RopeOp) {
  return {{Loop::Parallel, Loop::Parallel}, {{0, 1}, {0}, {0}, {0, 1}}};
}

/// Loops: cache block, head, token.
static Rule getRule(CacheAppendOp) {
  return {{Loop::Parallel, Loop::Parallel, Loop::Generic},
          {{0, 1}, {2, 1}, {2}, {0, 1}}};
}

/// Loops: token, head, block (or row) of keys. Equal parts of the query heads
/// and of the key heads belong together, because consecutive query heads share
/// a key head.
static Rule getRule(AttentionOp op) {
  Rule rule{{Loop::Parallel, Loop::Parallel, Loop::Generic},
            {{0, 1}, {2, 1}, {2, 1}, {0}, {0}, {}}};
  if (op.getContextLengths())
    rule.tensors.push_back({});
  if (op.getBlockTable())
    rule.tensors.push_back({});
  if (op.getKeyStarts())
    rule.tensors.push_back({});
  if (op.getBias())
    rule.tensors.push_back(
        cast<RankedTensorType>(op.getBias().getType()).getDimSize(1) == 1
            ? SmallVector<int64_t>{0}
            : SmallVector<int64_t>{0, 1});
  rule.tensors.push_back({0, 1});
  return rule;
}

/// Loop: token.
static Rule getRule(RouteOp) { return {{Loop::Parallel}, {{0}, {0}, {0}}}; }

/// Loops: token, choice, output, input, expert.
static Rule getRule(GroupedLinearOp op) {
  SmallVector<int64_t> input = {0, 3};
  if (rankOf(op.getInput()) == 3)
    input = {0, 1, 3};
  return {
      {Loop::Parallel, Loop::Parallel, Loop::Parallel, Loop::Sum, Loop::Sum},
      {input, {4, 2, 3}, {0, 1}, {0, 1, 2}}};
}

/// Loops: token, element, choice.
static Rule getRule(CombineOp) {
  return {{Loop::Parallel, Loop::Parallel, Loop::Sum},
          {{0, 2, 1}, {0, 2}, {0, 1}}};
}

/// Nothing is split: an entry may be about any row.
static Rule getRule(AdjustLogitsOp) { return {{}, {{}, {}, {}, {}}}; }

/// Loop: row.
static Rule getRule(SampleOp) {
  return {{Loop::Parallel}, {{0}, {0}, {0}, {0}}};
}

/// The interface's methods, which all read the operation's rule.
#define WEFT_SHARDING(OP)                                                      \
  SmallVector<utils::IteratorType> OP::getLoopIteratorTypes() {                \
    return getRule(*this).getIterators();                                      \
  }                                                                            \
  SmallVector<shard::ReductionKind> OP::getReductionLoopIteratorKinds() {      \
    return getRule(*this).getReductionKinds();                                 \
  }                                                                            \
  SmallVector<AffineMap> OP::getIndexingMaps() {                               \
    return getRule(*this).getMaps(getContext());                               \
  }

WEFT_SHARDING(EmbedOp)
WEFT_SHARDING(RmsNormOp)
WEFT_SHARDING(LayerNormOp)
WEFT_SHARDING(LinearOp)
WEFT_SHARDING(RopeTableOp)
WEFT_SHARDING(RopeOp)
WEFT_SHARDING(CacheAppendOp)
WEFT_SHARDING(AttentionOp)
WEFT_SHARDING(ActivationOp)
WEFT_SHARDING(GatedActivationOp)
WEFT_SHARDING(SoftcapOp)
WEFT_SHARDING(RouteOp)
WEFT_SHARDING(GroupedLinearOp)
WEFT_SHARDING(CombineOp)
WEFT_SHARDING(AdjustLogitsOp)
WEFT_SHARDING(SampleOp)

#undef WEFT_SHARDING
