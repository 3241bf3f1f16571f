//===- SimplifyOnnx.cpp - Removes operators that change nothing -----------===//

#include "passes/Graph/OnnxPatterns.h"
#include "passes/Graph/Passes.h"

namespace weft::graph {
#define GEN_PASS_DEF_SIMPLIFYONNX
#include "passes/Graph/Passes.h.inc"
} // namespace weft::graph

using namespace mlir;
using namespace weft;
using namespace weft::graph;

namespace {

/// An operator whose result is its input.
struct RemoveOperator : RewritePattern {
  RemoveOperator(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!changesNothing(op))
      return failure();
    rewriter.replaceAllUsesWith(op->getResult(0), op->getOperand(0));
    rewriter.eraseOp(op);
    return success();
  }

  static bool changesNothing(Operation *op) {
    if (op->getNumResults() == 0 || op->getNumOperands() == 0 ||
        op->getOperand(0).getType() != op->getResult(0).getType())
      return false;
    if (isa<onnx::IdentityOp, onnx::CastOp, onnx::CastLikeOp, onnx::ExpandOp,
            onnx::ReshapeOp>(op))
      return true;
    if (auto transpose = dyn_cast<onnx::TransposeOp>(op)) {
      std::optional<ArrayRef<int64_t>> perm = transpose.getPerm();
      return perm && llvm::equal(*perm, llvm::seq<int64_t>(perm->size()));
    }
    auto dropout = dyn_cast<onnx::DropoutOp>(op);
    return dropout && !dropout.getTrainingMode() &&
           dropout.getMask().use_empty();
  }
};

/// A transpose of a transpose.
struct JoinTransposes : OpRewritePattern<onnx::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getData().getDefiningOp<onnx::TransposeOp>();
    if (!inner || !op.getPerm() || !inner.getPerm())
      return failure();
    ArrayRef<int64_t> outerPerm = *op.getPerm(), innerPerm = *inner.getPerm();
    SmallVector<int64_t> perm;
    for (int64_t dim : outerPerm)
      perm.push_back(innerPerm[dim]);
    rewriter.replaceOpWithNewOp<onnx::TransposeOp>(
        op, op.getType(), inner.getData(), rewriter.getDenseI64ArrayAttr(perm));
    return success();
  }
};

/// A reshape back to the shape that the input of another reshape has.
struct JoinReshapes : OpRewritePattern<onnx::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getData().getDefiningOp<onnx::ReshapeOp>();
    if (!inner || inner.getData().getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, inner.getData());
    return success();
  }
};

class SimplifyOnnx : public graph::impl::SimplifyOnnxBase<SimplifyOnnx> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    addSimplifyPatterns(patterns);
    if (failed(applyOnnxPatterns(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void graph::addSimplifyPatterns(RewritePatternSet &patterns) {
  patterns.add<RemoveOperator, JoinTransposes, JoinReshapes>(
      patterns.getContext());
}
