//===- InterleaveRope.cpp - Rotated pairs side by side --------------------===//

#include "dialects/Weft/WeftDialect.h"
#include "passes/Fuse/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

namespace weft::fuse {
#define GEN_PASS_DEF_INTERLEAVEROPE
#include "passes/Fuse/Passes.h.inc"
} // namespace weft::fuse

using namespace mlir;
using namespace weft;

namespace {

/// The rows of a weight of heads, pair by pair; null if they are cut otherwise.
ArrayAttr pairRows(WeightOp weight, int64_t heads, int64_t size,
                   int64_t pairs) {
  if (weight.getLayout() || weight.getSources().size() != 1)
    return {};
  auto source = cast<SourceAttr>(weight.getSources()[0]);
  bool isWhole = source.getCount() == 0 ||
                 (source.getCount() == 1 && source.getBlock() == heads * size);
  bool isByHead = source.getCount() == heads && source.getBlock() == size;
  if (source.getPairs() != 0 || (!isWhole && !isByHead))
    return {};
  MLIRContext *context = weight.getContext();
  return ArrayAttr::get(
      context,
      SourceAttr::get(context, source.getName(), source.getStart(), size,
                      isWhole ? size : source.getStride(), heads,
                      source.getTransposed(), pairs, source.getQuantization()));
}

/// Heads that a linear layer gives and that are rotated by their halves.
struct RotatedHeads {
  RopeOp rope;
  LinearOp linear;
  ArrayAttr weight, bias; ///< Sources with pairs of rows; null without a bias.
};

/// Whether one operation reads the elements; others may ask for the size.
bool hasOneReader(Value value) {
  return llvm::count_if(value.getUsers(), [](Operation *user) {
           return !isa<tensor::DimOp>(user);
         }) == 1;
}

/// What makes `heads`, if it can be made pair by pair.
std::optional<RotatedHeads> match(Value heads) {
  auto rope = heads.getDefiningOp<RopeOp>();
  if (!rope || rope.getInterleaved() || !hasOneReader(heads))
    return std::nullopt;
  auto expand = rope.getInput().getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand || !hasOneReader(expand))
    return std::nullopt;
  auto linear = expand.getSrc().getDefiningOp<LinearOp>();
  if (!linear || !hasOneReader(linear))
    return std::nullopt;
  auto type = cast<RankedTensorType>(rope.getType());
  int64_t pairs =
      cast<RankedTensorType>(rope.getCosine().getType()).getDimSize(1);
  RotatedHeads found{rope, linear, {}, {}};
  auto sourcesOf = [&](Value value) {
    auto weight = value.getDefiningOp<WeightOp>();
    return weight
               ? pairRows(weight, type.getDimSize(1), type.getDimSize(2), pairs)
               : ArrayAttr();
  };
  found.weight = sourcesOf(linear.getWeight());
  if (linear.getBias())
    found.bias = sourcesOf(linear.getBias());
  if (!found.weight || (linear.getBias() && !found.bias))
    return std::nullopt;
  return found;
}

/// The state that a cache is, or null.
StringAttr getState(Value cache) {
  auto argument = dyn_cast<BlockArgument>(cache);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  return function ? function.getArgAttrOfType<StringAttr>(
                        argument.getArgNumber(), "weft.state")
                  : StringAttr();
}

/// Attention over keys of a state, and how query and keys are made.
struct Scores {
  StringAttr state;
  std::optional<RotatedHeads> query, key;
};

Scores matchScores(AttentionOp attention) {
  Scores scores;
  auto append = attention.getKey().getDefiningOp<CacheAppendOp>();
  if (!append)
    return scores;
  scores.state = getState(append.getCache());
  scores.query = match(attention.getQuery());
  scores.key = match(append.getInput());
  bool agree = scores.query && scores.key &&
               scores.query->rope.getCosine().getType() ==
                   scores.key->rope.getCosine().getType();
  if (!agree)
    scores.query = scores.key = std::nullopt;
  return scores;
}

class InterleaveRope : public fuse::impl::InterleaveRopeBase<InterleaveRope> {
  void runOnOperation() override {
    SmallVector<Scores> candidates;
    // States whose keys something takes as they are.
    llvm::StringSet<> fixed;
    getOperation()->walk([&](AttentionOp attention) {
      Scores scores = matchScores(attention);
      if (scores.query && scores.state)
        return candidates.push_back(scores);
      if (scores.state)
        fixed.insert(scores.state);
      remark::missed(
          attention.getLoc(),
          remark::RemarkOpts::name("rope-not-interleaved").category("fuse"))
          << "query and keys are not those of linear layers, rotated by halves "
             "and written to a cache";
    });
    // A cache that is written or read otherwise has another order of elements.
    getOperation()->walk([&](CacheAppendOp append) {
      bool isCandidate = llvm::any_of(candidates, [&](const Scores &scores) {
        return scores.key->rope->getResult(0) == append.getInput();
      });
      StringAttr state = getState(append.getCache());
      if (append.getKind() == CacheKind::Key && !isCandidate && state)
        fixed.insert(state);
    });
    for (Scores &scores : candidates) {
      if (fixed.contains(scores.state))
        continue;
      interleave(*scores.query);
      interleave(*scores.key);
    }
  }

  void interleave(const RotatedHeads &heads) {
    LinearOp linear = heads.linear;
    OpBuilder builder(linear);
    auto replace = [&](OpOperand &use, ArrayAttr sources) {
      use.set(WeightOp::create(builder, use.get().getLoc(), use.get().getType(),
                               sources, PackedLayoutInterface(),
                               DenseI64ArrayAttr()));
    };
    replace(linear.getWeightMutable(), heads.weight);
    if (heads.bias)
      replace(*linear.getBiasMutable().begin(), heads.bias);
    RopeOp rope = heads.rope;
    rope.setInterleaved(true);
    remark::passed(
        rope.getLoc(),
        remark::RemarkOpts::name("rope-interleaved").category("fuse"))
        << "rotates pairs that lie side by side";
  }
};

} // namespace
