//===- PackWeights.cpp - Storage layout of weight matrices ----------------===//

#include "dialects/Weft/WeftDialect.h"
#include "passes/Fuse/Passes.h"

#include "mlir/IR/Builders.h"

namespace weft::fuse {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "passes/Fuse/Passes.h.inc"
} // namespace weft::fuse

using namespace mlir;
using namespace weft;

namespace {

/// Whether operand `use` can read a packed matrix.
bool readsPacked(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto linear = dyn_cast<LinearOp>(op))
    return linear.getWeight() == use.get() && !linear.getLayout();
  if (auto linear = dyn_cast<GroupedLinearOp>(op))
    return linear.getWeight() == use.get() && !linear.getLayout();
  if (auto embed = dyn_cast<EmbedOp>(op))
    return embed.getTable() == use.get() && !embed.getLayout();
  return false;
}

/// Pairs for bf16, so that one instruction multiplies two inner elements;
/// only when the inner size is even, since a pair of the left-hand side must
/// not read past its row.
int64_t chooseGroup(WeightOp weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  return type.getElementType().isBF16() && type.getShape().back() % 2 == 0 ? 2
                                                                           : 1;
}

/// Whether tensor cores can multiply by the weight: all that reads it does so
/// with an input of the weight's 16-bit type, or picks rows. K is a multiple of
/// the columns that an input is copied in, see `#tile.panels`.
bool fitsCoreMatrices(WeightOp weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  if (type.getElementTypeBitWidth() != 16 || type.getRank() != 2 ||
      type.getDimSize(0) % fragmentSize ||
      type.getDimSize(1) % coreMatrixInputs)
    return false;
  return llvm::all_of(weight->getUsers(), [&](Operation *user) {
    auto linear = dyn_cast<LinearOp>(user);
    return linear ? getElementTypeOrSelf(linear.getInput().getType()) ==
                        type.getElementType()
                  : isa<EmbedOp>(user);
  });
}

class PackWeights : public fuse::impl::PackWeightsBase<PackWeights> {
public:
  using PackWeightsBase::PackWeightsBase;

private:
  void runOnOperation() override {
    getOperation()->walk([&](WeightOp weight) { pack(weight); });
  }

  void pack(WeightOp weight) {
    if (weight.getLayout() || weight->use_empty())
      return;
    bool multiplied = llvm::any_of(weight->getUsers(), [](Operation *user) {
      return isa<LinearOp, GroupedLinearOp>(user);
    });
    if (!multiplied || !llvm::all_of(weight->getUses(), readsPacked))
      return;
    PackedLayoutInterface layout;
    if (coreMatrices && fitsCoreMatrices(weight))
      layout = CoreMatrixLayoutAttr::get(&getContext());
    else
      layout =
          PanelLayoutAttr::get(&getContext(), columns, chooseGroup(weight));
    SmallVector<int64_t> shape(weight.getShapeBeforePacking());
    auto type = cast<RankedTensorType>(weight.getType());
    OpBuilder builder(weight);
    Value packed = WeightOp::create(
        builder, weight.getLoc(), type.clone(layout.getPackedShape(shape)),
        weight.getSources(), layout, builder.getDenseI64ArrayAttr(shape));
    for (Operation *user : weight->getUsers()) {
      if (auto linear = dyn_cast<LinearOp>(user))
        linear.setLayoutAttr(layout);
      else if (auto linear = dyn_cast<GroupedLinearOp>(user))
        linear.setLayoutAttr(layout);
      else
        cast<EmbedOp>(user).setLayoutAttr(layout);
    }
    weight.getResult().replaceAllUsesWith(packed);
    weight.erase();
  }
};

} // namespace
