//===- FuseRope.cpp - Rotation and cache into the layer before them -------===//

#include "dialects/Weft/WeftDialect.h"
#include "passes/Fuse/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

namespace weft::fuse {
#define GEN_PASS_DEF_FUSEROPE
#include "passes/Fuse/Passes.h.inc"
} // namespace weft::fuse

using namespace mlir;
using namespace weft;

namespace {

/// Columns of the layer's output that a value of heads is, seen through
/// reshapes and slices; a negative size: it is something else.
struct Columns {
  int64_t first = 0, size = -1;
};

Columns getColumns(Value value, Value output) {
  auto type = cast<RankedTensorType>(value.getType());
  if (value == output)
    return {0, type.getShape().back()};
  if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
    return getColumns(expand.getSrc(), output);
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || type.getRank() != 2 || slice.getSource() != output)
    return {};
  return {slice.getStaticOffset(1), slice.getStaticSize(1)};
}

/// Why the rotations and appends of `heads` cannot be the end of the kernel
/// that computes `input`, an argument of its body; empty if they can.
StringRef whyNot(DispatchOp heads, BlockArgument input) {
  RopeOp first;
  int64_t rotated = 0, appended = 0;
  for (Operation &op : heads.getBlock().without_terminator()) {
    if (auto rope = dyn_cast<RopeOp>(op)) {
      if (!rope.getInterleaved())
        return "it rotates halves of heads, which are not in one tile";
      Columns columns = getColumns(rope.getInput(), input);
      if (columns.first != rotated || columns.size < 0)
        return "the heads that it rotates are not the first ones in order";
      rotated += columns.size;
      first = first ? first : rope;
      bool isAlike = rope.getCosine() == first.getCosine() &&
                     rope.getSine() == first.getSine() &&
                     cast<RankedTensorType>(rope.getType()).getDimSize(2) ==
                         cast<RankedTensorType>(first.getType()).getDimSize(2);
      if (!isAlike)
        return "its heads are rotated by different angles";
      continue;
    }
    if (auto append = dyn_cast<CacheAppendOp>(op)) {
      auto rope = append.getInput().getDefiningOp<RopeOp>();
      if (!rope && getColumns(append.getInput(), input).size < 0)
        return "what it appends is not computed by the layer";
      ++appended;
      continue;
    }
    if (!isa<tensor::DimOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp>(
            op) &&
        !op.hasTrait<OpTrait::ConstantLike>())
      return "it computes more than a rotation";
  }
  if (!first || appended == 0)
    return "it does not rotate heads and append them";
  for (Value value : heads.getBlock().getTerminator()->getOperands()) {
    if (value.getDefiningOp<CacheAppendOp>())
      continue;
    auto rope = value.getDefiningOp<RopeOp>();
    if (!rope || getColumns(rope.getInput(), input).first != 0)
      return "it returns other heads than the first ones";
  }
  return "";
}

/// A kernel of one linear layer, maybe behind a norm, with a weight in
/// core matrices.
bool isPlainLayer(DispatchOp dispatch) {
  int64_t layers = 0;
  for (Operation &op : dispatch.getBlock().without_terminator()) {
    if (auto linear = dyn_cast<LinearOp>(op))
      layers += isa_and_nonnull<CoreMatrixLayoutAttr>(linear.getLayoutAttr());
    else if (!isa<RmsNormOp>(op))
      return false;
  }
  return layers == 1 && dispatch.getNumResults() == 1 &&
         dispatch.getBlock()
             .getTerminator()
             ->getOperand(0)
             .getDefiningOp<LinearOp>();
}

class FuseRope : public fuse::impl::FuseRopeBase<FuseRope> {
  void runOnOperation() override {
    SmallVector<DispatchOp> layers;
    getOperation()->walk([&](DispatchOp dispatch) {
      if (isPlainLayer(dispatch) && dispatch->hasOneUse())
        layers.push_back(dispatch);
    });
    for (DispatchOp layer : layers) {
      OpOperand &use = *layer->use_begin();
      auto heads = dyn_cast<DispatchOp>(use.getOwner());
      if (!heads || heads.getBlock().getOps<RopeOp>().empty())
        continue;
      BlockArgument input =
          heads.getBlock().getArgument(use.getOperandNumber());
      if (StringRef reason = whyNot(heads, input); !reason.empty()) {
        remark::missed(
            heads.getLoc(),
            remark::RemarkOpts::name("rope-not-fused").category("fuse"))
            << remark::reason("{0}", reason);
        continue;
      }
      remark::passed(heads.getLoc(),
                     remark::RemarkOpts::name("rope-fused").category("fuse"))
          << "is computed by the linear layer before it";
      merge(layer, heads, use.getOperandNumber());
    }
  }

  /// One dispatch with both bodies, in the place of the second one.
  void merge(DispatchOp layer, DispatchOp heads, unsigned number) {
    SmallVector<Value> inputs(layer.getInputs());
    for (auto [index, input] : llvm::enumerate(heads.getInputs()))
      if (index != number)
        inputs.push_back(input);
    OpBuilder builder(heads);
    auto merged = DispatchOp::create(
        builder, builder.getFusedLoc({layer.getLoc(), heads.getLoc()}),
        heads.getResultTypes(), layer.getLabelAttr(), inputs);
    Block *block = builder.createBlock(&merged.getBody());
    for (Value input : inputs)
      block->addArgument(input.getType(), input.getLoc());
    IRMapping mapping;
    unsigned next = 0;
    for (BlockArgument argument : layer.getBlock().getArguments())
      mapping.map(argument, block->getArgument(next++));
    for (BlockArgument argument : heads.getBlock().getArguments())
      if (argument.getArgNumber() != number)
        mapping.map(argument, block->getArgument(next++));
    for (Operation &op : layer.getBlock().without_terminator())
      builder.clone(op, mapping);
    mapping.map(
        heads.getBlock().getArgument(number),
        mapping.lookup(layer.getBlock().getTerminator()->getOperand(0)));
    for (Operation &op : heads.getBlock())
      builder.clone(op, mapping);
    heads.replaceAllUsesWith(merged.getResults());
    heads.erase();
    layer.erase();
  }
};

} // namespace
