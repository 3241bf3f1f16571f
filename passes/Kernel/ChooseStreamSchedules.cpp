//===- ChooseStreamSchedules.cpp - Few rows by streamed weights -----------===//

#include "passes/Kernel/CudaArch.h"
#include "passes/Kernel/KernelBuilder.h"
#include "passes/Kernel/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace weft::kernel {
#define GEN_PASS_DEF_CHOOSESTREAMSCHEDULES
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;

namespace {

/// Outputs of all layers of a tile, and how many warps divide them and a step.
constexpr int64_t tileColumns = 128, columnWarps = 4, stepWarps = 2;
/// Values of k of a piece: whole panels of the input. A piece of 32 KiB keeps
/// the cost of its barriers small; several are under way.
constexpr int64_t step = 128;
/// Bytes of a row of the input in a piece, see #tile.panels.
constexpr int64_t rowBytes = 272;
/// Bytes of a norm's weight in a piece.
constexpr int64_t normBytes = 2 * step;
constexpr int64_t mostSlots = 6;
/// Shared memory for barriers and for what an epilogue exchanges.
constexpr int64_t reservedBytes = 4096;
/// Rows of the tiles that there are schedules for; the last is for any number.
constexpr int64_t tileRows[] = {8, 16, 32, 64};

/// Linear layers of one input that tensor cores can compute; else nothing.
SmallVector<LinearOp> getLayers(DispatchOp dispatch) {
  SmallVector<LinearOp> layers;
  for (Operation &op : dispatch.getBlock().without_terminator()) {
    auto linear = dyn_cast<LinearOp>(op);
    if (!linear) {
      // Everything else is a norm of the input, or on the outputs, element by
      // element.
      if (isa<GroupedLinearOp>(op))
        return {};
      continue;
    }
    if (!isa_and_nonnull<FragmentLayoutAttr>(linear.getLayoutAttr()) ||
        (!layers.empty() &&
         (linear.getInput() != layers[0].getInput() ||
          linear.getOutputSize() != layers[0].getOutputSize())))
      return {};
    layers.push_back(linear);
  }
  return layers.size() > 2 ? SmallVector<LinearOp>() : layers;
}

/// Whether the layers' input lies in panels, from which a piece is copied.
bool hasPanels(DispatchOp dispatch, LinearOp layer) {
  auto layouts = dispatch->getAttrOfType<ArrayAttr>(kernel::inputLayoutsName);
  Value value = layer.getInput();
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, RmsNormOp>(op))
      return false;
    value = op->getOperand(0);
  }
  auto input = dyn_cast<BlockArgument>(value);
  return layouts && input &&
         isa<tile::PanelsAttr>(layouts[input.getArgNumber()]);
}

/// Schedules of the layers for one architecture, for few rows first.
SmallVector<Attribute> choose(DispatchOp dispatch, ArrayRef<LinearOp> layers,
                              const CudaArch &arch) {
  bool hasNorm = !dispatch.getBlock().getOps<RmsNormOp>().empty();
  // Clusters as small as leave a range nearly half a tile of columns: all
  // multiprocessors read pieces that are not too small, and few blocks add up.
  int64_t count = layers.size();
  int64_t groups = LinearOp(layers[0]).getOutputSize() / fragmentSize;
  int64_t tileGroups = tileColumns / fragmentSize / count;
  int64_t cluster = 1;
  while (cluster < 4 &&
         20 * groups * cluster < 9 * tileGroups * arch.multiprocessors)
    cluster *= 2;
  int64_t ranges = std::min<int64_t>(arch.multiprocessors / cluster, groups);
  SmallVector<Attribute> schedules;
  for (int64_t rows : tileRows) {
    int64_t piece =
        tileColumns * step * 2 + rows * rowBytes + (hasNorm ? normBytes : 0);
    int64_t sums = 4 * rows * (tileColumns + 4 * count + (hasNorm ? 5 : 0));
    int64_t slots =
        std::min(mostSlots, (static_cast<int64_t>(arch.sharedBytes) - sums -
                             reservedBytes) /
                                piece);
    bool isLast = rows == *std::prev(std::end(tileRows));
    schedules.push_back(tile::StreamScheduleAttr::get(
        dispatch.getContext(), arch.name, isLast ? 0 : rows, rows, tileColumns,
        step, slots, ranges, cluster, columnWarps, stepWarps));
  }
  return schedules;
}

class ChooseStreamSchedules
    : public kernel::impl::ChooseStreamSchedulesBase<ChooseStreamSchedules> {
  void runOnOperation() override {
    getOperation()->walk([&](DispatchOp dispatch) {
      auto schedules = dispatch->getAttrOfType<ArrayAttr>("schedules");
      SmallVector<LinearOp> layers = getLayers(dispatch);
      if (!schedules || layers.empty() || !hasPanels(dispatch, layers[0]))
        return;
      // All architectures of a program share its grid.
      SmallVector<Attribute> chosen;
      for (auto schedule : schedules.getAsRange<tile::ScheduleInterface>()) {
        const CudaArch *arch = findCudaArch(schedule.getLevel());
        if (!arch || !arch->hasBulkCopy)
          return;
        llvm::append_range(chosen, choose(dispatch, layers, *arch));
      }
      dispatch->setAttr("schedules", ArrayAttr::get(&getContext(), chosen));
      ++numStreamed;
    });
  }
};

} // namespace
