//===- FuseNorms.cpp - Norms into the linear layers behind them -----------===//

#include "dialects/Weft/WeftDialect.h"
#include "passes/Fuse/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

namespace weft::fuse {
#define GEN_PASS_DEF_FUSENORMS
#include "passes/Fuse/Passes.h.inc"
} // namespace weft::fuse

using namespace mlir;
using namespace weft;

namespace {

/// Why a kernel cannot normalise the value that operand `use` brings; empty if
/// it can.
StringRef whyNot(OpOperand &use) {
  auto dispatch = dyn_cast<DispatchOp>(use.getOwner());
  if (!dispatch)
    return "the entry point returns its result";
  BlockArgument argument =
      dispatch.getBlock().getArgument(use.getOperandNumber());
  for (OpOperand &inner : argument.getUses()) {
    auto linear = dyn_cast<LinearOp>(inner.getOwner());
    if (!linear || linear.getInput() != argument)
      return "its result is not only multiplied";
    if (!isa_and_nonnull<CoreMatrixLayoutAttr>(linear.getLayoutAttr()))
      return "its result is multiplied by a weight that tensor cores do not "
             "read";
  }
  return "";
}

/// What a value of a dispatch's body is outside; null: nothing.
Value getOutside(DispatchOp dispatch, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return dispatch.getInputs()[argument.getArgNumber()];
  auto yield = cast<YieldOp>(dispatch.getBlock().getTerminator());
  for (auto [yielded, output] :
       llvm::zip_equal(yield.getValues(), dispatch.getOutputs()))
    if (yielded == value)
      return output;
  return {};
}

class FuseNorms : public fuse::impl::FuseNormsBase<FuseNorms> {
  void runOnOperation() override {
    SmallVector<RmsNormOp> norms;
    getOperation()->walk([&](RmsNormOp norm) {
      if (norm.getType().getRank() == 2 && isa<DispatchOp>(norm->getParentOp()))
        norms.push_back(norm);
    });
    for (RmsNormOp norm : norms)
      fuse(norm);
  }

  void fuse(RmsNormOp norm) {
    auto dispatch = cast<DispatchOp>(norm->getParentOp());
    Value result = getOutside(dispatch, norm.getResult());
    // A norm whose result stays inside has been fused already.
    if (!result || result.use_empty())
      return;
    auto missed = [&](StringRef reason) {
      remark::missed(
          norm.getLoc(),
          remark::RemarkOpts::name("norm-not-fused").category("fuse"))
          << remark::reason("{0}", reason);
    };
    if (!norm.getType().getElementType().isBF16())
      return missed("its products with the weight might overflow before they "
                    "are normalised; only bf16 has the range");
    if (!norm->hasOneUse())
      return missed("another operation of its kernel reads its result");
    Value input = getOutside(dispatch, norm.getInput());
    Value weight = getOutside(dispatch, norm.getWeight());
    if (!input || !weight)
      return missed("its input does not leave its kernel");
    for (OpOperand &use : result.getUses())
      if (StringRef reason = whyNot(use); !reason.empty())
        return missed(reason);
    for (OpOperand &use : llvm::make_early_inc_range(result.getUses()))
      moveInto(norm, use, input, weight);
    remark::passed(norm.getLoc(),
                   remark::RemarkOpts::name("norm-fused").category("fuse"))
        << "is computed by the linear layers that read it";
  }

  /// Normalises in the body of the dispatch what it read normalised.
  void moveInto(RmsNormOp norm, OpOperand &use, Value input, Value weight) {
    auto dispatch = cast<DispatchOp>(use.getOwner());
    Block &block = dispatch.getBlock();
    BlockArgument argument = block.getArgument(use.getOperandNumber());
    use.set(input);
    dispatch.getInputsMutable().append(weight);
    BlockArgument inner =
        block.addArgument(weight.getType(), norm.getWeight().getLoc());
    OpBuilder builder = OpBuilder::atBlockBegin(&block);
    IRMapping mapping;
    mapping.map(norm.getInput(), argument);
    mapping.map(norm.getWeight(), inner);
    Value normal = builder.clone(*norm, mapping)->getResult(0);
    argument.replaceAllUsesExcept(normal, normal.getDefiningOp());
  }
};

} // namespace
