//===- AssignLayouts.cpp - Where dispatches put their results -------------===//

#include "passes/Kernel/CudaArch.h"
#include "passes/Kernel/KernelBuilder.h"
#include "passes/Kernel/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace weft::kernel {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;
using namespace weft::kernel;

namespace {

/// Columns of a panel: what a stage of a matrix kernel copies of each row.
constexpr int64_t panelColumns = 128;

bool isOnGpu(DispatchOp dispatch) {
  auto schedules = dispatch->getAttrOfType<ArrayAttr>("schedules");
  return schedules && !schedules.empty() &&
         findCudaArch(cast<tile::ScheduleInterface>(schedules[0]).getLevel()) !=
             nullptr;
}

/// Whether a linear layer multiplies all columns of the value, or of what it is
/// reshaped to or normalised to, by a weight in core matrices.
bool isMultiplied(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto norm = dyn_cast<RmsNormOp>(user);
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user) ||
        (norm && norm.getInput() == value))
      return isMultiplied(user->getResult(0));
    auto linear = dyn_cast<LinearOp>(user);
    return linear && linear.getInput() == value &&
           isa_and_nonnull<CoreMatrixLayoutAttr>(linear.getLayoutAttr());
  });
}

/// The argument of the dispatch that reads the value; null: something else.
BlockArgument getReader(OpOperand &use) {
  auto dispatch = dyn_cast<DispatchOp>(use.getOwner());
  if (!dispatch)
    return {};
  return dispatch.getBlock().getArgument(use.getOperandNumber());
}

/// Whether the rows of the dispatch's program are those of the value.
bool hasRowsOf(DispatchOp dispatch, Value value) {
  Value rows = getRowsTensor(dispatch);
  Polynomial size = getDimSize(value, 0);
  return rows && size != Polynomial::symbol("?") && getDimSize(rows, 0) == size;
}

/// Why a result cannot be stored in panels; empty if it can.
StringRef whyNot(OpResult result) {
  auto dispatch = cast<DispatchOp>(result.getOwner());
  auto type = cast<RankedTensorType>(result.getType());
  if (!type.getElementType().isF16() && !type.getElementType().isBF16())
    return "its elements are not 16-bit floats";
  if (dispatch.getTiedInput(result.getResultNumber()))
    return "it is an update of an input";
  if (!hasRowsOf(dispatch, result))
    return "its rows are not those of its kernel";
  for (OpOperand &use : result.getUses()) {
    if (!getReader(use))
      return "the entry point returns it";
    if (!hasRowsOf(cast<DispatchOp>(use.getOwner()), result))
      return "a kernel of other rows reads it";
  }
  return "";
}

class AssignLayouts
    : public weft::kernel::impl::AssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    inputs.clear();
    results.clear();
    getOperation()->walk([&](DispatchOp dispatch) {
      if (isOnGpu(dispatch))
        for (OpResult result : dispatch->getResults())
          assign(result);
    });
    Builder builder(&getContext());
    for (auto &[dispatch, layouts] : inputs)
      dispatch->setAttr(inputLayoutsName, builder.getArrayAttr(layouts));
    for (auto &[dispatch, layouts] : results)
      dispatch->setAttr(resultLayoutsName, builder.getArrayAttr(layouts));
  }

  void assign(OpResult result) {
    bool isWanted = llvm::any_of(result.getUses(), [](OpOperand &use) {
      BlockArgument argument = getReader(use);
      return argument && isMultiplied(argument);
    });
    if (!isWanted)
      return;
    Location loc = result.getLoc();
    if (StringRef reason = whyNot(result); !reason.empty()) {
      remark::missed(
          loc, remark::RemarkOpts::name("no-panels").category("assign-layouts"))
          << remark::reason("{0}", reason);
      return;
    }
    auto panels = tile::PanelsAttr::get(&getContext(), panelColumns);
    set(results, result.getOwner(), result.getOwner()->getNumResults(),
        result.getResultNumber(), panels);
    for (OpOperand &use : result.getUses())
      set(inputs, use.getOwner(), use.getOwner()->getNumOperands(),
          use.getOperandNumber(), panels);
  }

  using Layouts = llvm::MapVector<Operation *, SmallVector<Attribute>>;

  void set(Layouts &layouts, Operation *dispatch, unsigned count,
           unsigned number, Attribute layout) {
    SmallVector<Attribute> &list = layouts[dispatch];
    list.resize(count, UnitAttr::get(&getContext()));
    list[number] = layout;
  }

  Layouts inputs, results;
};

} // namespace
