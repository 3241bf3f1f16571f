//===- WeftFolders.cpp - Canonical forms of model operations --------------===//
//
// Only rewrites that are right for every target and every later pass: nothing
// here undoes what a phase decides (merged projections stay merged).
//
//===----------------------------------------------------------------------===//

#include "dialects/Weft/WeftDialect.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace weft;

/// A table without pairs rotates nothing.
OpFoldResult RopeOp::fold(FoldAdaptor) {
  if (cast<RankedTensorType>(getCosine().getType()).getShape()[1] == 0)
    return getInput();
  return {};
}

/// relu(relu(x)) is relu(x).
OpFoldResult ActivationOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<ActivationOp>();
  if (getFunction() == Activation::Relu && inner &&
      inner.getFunction() == Activation::Relu)
    return getInput();
  return {};
}

/// Positions are i32, so a window that large hides nothing.
LogicalResult AttentionOp::canonicalize(AttentionOp op,
                                        PatternRewriter &rewriter) {
  if (!op.getWindow() || *op.getWindow() <= std::numeric_limits<int32_t>::max())
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.removeWindowAttr(); });
  return success();
}

namespace {

/// Removes inputs that the body does not use, and inputs that repeat one.
struct DropDispatchInputs : OpRewritePattern<DispatchOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DispatchOp op,
                                PatternRewriter &rewriter) const override {
    Block &block = op.getBlock();
    llvm::BitVector dropped(op.getInputs().size());
    llvm::SmallDenseMap<Value, unsigned> first;
    for (auto [index, input] : llvm::enumerate(op.getInputs())) {
      auto [entry, isNew] = first.try_emplace(input, index);
      if (!isNew)
        rewriter.replaceAllUsesWith(block.getArgument(index),
                                    block.getArgument(entry->second));
    }
    for (BlockArgument argument : block.getArguments())
      dropped[argument.getArgNumber()] = argument.use_empty();
    if (dropped.none())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      block.eraseArguments(dropped);
      op->eraseOperands(dropped);
    });
    return success();
  }
};

/// Removes results that nobody uses, and results that are an input.
struct DropDispatchResults : OpRewritePattern<DispatchOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DispatchOp op,
                                PatternRewriter &rewriter) const override {
    auto yield = cast<YieldOp>(op.getBlock().getTerminator());
    llvm::BitVector dropped(op->getNumResults());
    bool isChanged = false;
    for (auto [result, value] :
         llvm::zip_equal(op.getResults(), yield.getValues())) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && !result.use_empty()) {
        rewriter.replaceAllUsesWith(result,
                                    op.getInputs()[argument.getArgNumber()]);
        isChanged = true;
      }
      dropped[result.getResultNumber()] = result.use_empty();
    }
    // A dispatch without any used result is dead as a whole.
    if (dropped.none() || dropped.all())
      return success(isChanged);

    SmallVector<Type> types;
    for (Value result : op.getResults())
      if (!dropped[cast<OpResult>(result).getResultNumber()])
        types.push_back(result.getType());
    rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperands(dropped); });
    auto narrow = DispatchOp::create(rewriter, op.getLoc(), types,
                                     op->getOperands(), op->getAttrs());
    rewriter.inlineRegionBefore(op.getBody(), narrow.getBody(),
                                narrow.getBody().end());
    SmallVector<Value> replacements(op->getNumResults());
    unsigned next = 0;
    for (unsigned i = 0; i < replacements.size(); ++i)
      if (!dropped[i])
        replacements[i] = narrow.getResult(next++);
    rewriter.replaceOp(op, replacements);
    return success();
  }
};

} // namespace

void DispatchOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<DropDispatchInputs, DropDispatchResults>(context);
}
