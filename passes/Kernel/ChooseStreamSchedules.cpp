//===- ChooseStreamSchedules.cpp - Few rows by streamed weights -----------===//

#include "passes/Kernel/CudaArch.h"
#include "passes/Kernel/KernelBuilder.h"
#include "passes/Kernel/Passes.h"
#include "passes/Kernel/StreamMemory.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <optional>

namespace weft::kernel {
#define GEN_PASS_DEF_CHOOSESTREAMSCHEDULES
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;

namespace {

/// Bytes of a row of the input in a piece, for 128 values of k; see
/// #tile.panels.
constexpr int64_t panelColumns = 128, rowBytes = 256;
/// Bytes of pieces that are under way in a block: what the memory delivers to a
/// multiprocessor in the 5 us that a kernel may wait for the one before it.
constexpr int64_t ringBytes = 192 * 1024;
/// The same of a block that keeps its row: with more, the loads of the row wait
/// longer behind those of the weights than the memory would idle.
constexpr int64_t residentRingBytes = 128 * 1024;
/// Shared memory for barriers and for what an epilogue exchanges.
constexpr int64_t reservedBytes = 4096;
/// The most bytes of a row of the input that a block keeps.
constexpr int64_t mostRowBytes = 32 * 1024;
constexpr int64_t warps = 8;

/// The layers of a dispatch.
struct Layers {
  int64_t count;  ///< 1, or 2 that share the columns of a tile.
  int64_t inputs; ///< Values of k.
  int64_t groups; ///< Of fragmentSize outputs of one layer.
  bool hasNorm;
};

/// How a kernel's work is cut.
struct Cut {
  int64_t columns, step, ranges, cluster, columnWarps;
  bool isResident = false, hasWarpgroups = false;
};

/// Rows that a schedule is for, at most (0: any number), and those of its
/// tiles.
struct RowClass {
  int64_t most, tile;
};

/// Weights of a piece. 32 KiB keep the cost of a piece's barriers small, where
/// several fit into shared memory with the input.
int64_t getPieceElements(const CudaArch &arch) {
  return arch.sharedBytes >= 128 * 1024 ? 16 * 1024 : 8 * 1024;
}

/// Blocks of a cluster, as few as leave each nearly half a tile of columns: all
/// multiprocessors read pieces that are not too small, and few blocks add up.
int64_t getIdealCluster(const Layers &layers, int64_t columns,
                        const CudaArch &arch) {
  int64_t tileGroups = columns / fragmentSize / layers.count;
  int64_t cluster = 1;
  while (cluster < 4 &&
         20 * layers.groups * cluster < 9 * tileGroups * arch.multiprocessors)
    cluster *= 2;
  return cluster;
}

/// Many rows: the more columns a tile has, the less often the input is read.
Cut cutForManyRows(const Layers &layers, const CudaArch &arch) {
  constexpr int64_t step = 128;
  int64_t columns = getPieceElements(arch) / step;
  int64_t cluster = std::min<int64_t>(getIdealCluster(layers, columns, arch),
                                      arch.hasBulkCopy ? arch.maxCluster : 1);
  return {columns, step,
          std::min<int64_t>(arch.multiprocessors / cluster, layers.groups),
          cluster, std::min<int64_t>(4, columns / layers.count / fragmentSize)};
}

/// Shared memory of a block but for the ring.
int64_t getFixedBytes(const Layers &layers, const Cut &cut, int64_t rows) {
  int64_t width = cut.columns / layers.count;
  SmallVector<std::array<int64_t, 2>> sums(layers.count, {rows, width});
  if (layers.hasNorm && !cut.isResident)
    sums.push_back({rows, 1});
  int64_t bytes = reservedBytes + (cut.isResident ? 2 * layers.inputs : 0);
  tile::SumParts parts = {warps / cut.columnWarps, cut.cluster,
                          cut.hasWarpgroups};
  for (const tile::SumMemory &sum : tile::getSumMemory(sums, parts))
    bytes += sum.getBytes();
  return bytes;
}

/// Bytes of a piece.
int64_t getPieceBytes(const Layers &layers, const Cut &cut, int64_t rows) {
  int64_t bytes = 2 * cut.columns * cut.step;
  if (!cut.isResident) {
    bytes += cut.step / panelColumns * rows * rowBytes;
    if (layers.hasNorm)
      bytes += 2 * cut.step;
  }
  return bytes;
}

/// Many rows by warpgroups. What limits them is what comes from the L2 cache:
/// the weights and, for each tile of columns, all rows. So a tile has all
/// columns of its range if three pieces of it fit, and few columns are made
/// more by a cluster of two, whose blocks divide the rows' values. Clusters of
/// four were slower.
Cut cutForWarpgroups(const Layers &layers, const CudaArch &arch) {
  constexpr int64_t fewColumns = 80, pieces = 3, rows = 64;
  Cut cut = {};
  cut.step = panelColumns;
  cut.columnWarps = warps;
  cut.hasWarpgroups = true;
  int64_t rangeGroups = 0;
  for (cut.cluster = 1;; cut.cluster *= 2) {
    cut.ranges =
        std::min<int64_t>(arch.multiprocessors / cut.cluster, layers.groups);
    rangeGroups = llvm::divideCeil(layers.groups, cut.ranges);
    if (cut.cluster == std::min<int64_t>(2, arch.maxCluster) ||
        rangeGroups * fragmentSize * layers.count >= fewColumns)
      break;
  }
  for (int64_t tiles = 1;; ++tiles) {
    int64_t groups = llvm::divideCeil(rangeGroups, tiles);
    cut.columns = groups * fragmentSize * layers.count;
    if (groups == 1 || getFixedBytes(layers, cut, rows) +
                               pieces * getPieceBytes(layers, cut, rows) <=
                           arch.sharedBytes)
      return cut;
  }
}

/// The longest step, at most `most`, that divides the inner dimension and gives
/// every step warp a fragment; else 0.
int64_t getStep(const Layers &layers, int64_t most, int64_t stepWarps) {
  int64_t step = most;
  while (layers.inputs % step != 0)
    step /= 2;
  return step % panelColumns == 0 && step % (32 * stepWarps) == 0 ? step : 0;
}

/// Few rows: narrow tiles and long steps instead of a cluster, whose blocks
/// would wait for each other.
Cut cutForFewRows(const Layers &layers, const CudaArch &arch) {
  Cut cut = cutForManyRows(layers, arch);
  if (getIdealCluster(layers, cut.columns, arch) == 1)
    return cut;
  int64_t ranges = std::min<int64_t>(arch.multiprocessors, layers.groups);
  int64_t groups = llvm::divideCeil(layers.groups, ranges);
  int64_t columns = groups * layers.count > 2 ? 64 : 32;
  int64_t columnWarps = columns / layers.count / fragmentSize;
  int64_t step =
      getStep(layers, getPieceElements(arch) / columns, warps / columnWarps);
  return step ? Cut{columns, step, ranges, 1, columnWarps} : cut;
}

/// One row: a block keeps it, so that tiles may be as narrow as a fragment and
/// all multiprocessors have the same work.
std::optional<Cut> cutForOneRow(const Layers &layers, const CudaArch &arch) {
  int64_t step = getStep(layers, 512 / layers.count, warps);
  if (2 * layers.inputs > mostRowBytes || step == 0)
    return std::nullopt;
  return Cut{fragmentSize * layers.count,
             step,
             std::min<int64_t>(arch.multiprocessors, layers.groups),
             1,
             1,
             /*isResident=*/true};
}

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
    if (!isa_and_nonnull<CoreMatrixLayoutAttr>(linear.getLayoutAttr()) ||
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

/// As many slots as are of use, or as there is memory for.
int64_t getSlots(const Layers &layers, const Cut &cut, int64_t rows,
                 const CudaArch &arch) {
  int64_t piece = getPieceBytes(layers, cut, rows);
  int64_t ring = cut.isResident ? residentRingBytes : ringBytes;
  return std::min<int64_t>(arch.sharedBytes - getFixedBytes(layers, cut, rows),
                           ring + piece - 1) /
         piece;
}

/// Schedules of the layers for one architecture, for few rows first.
SmallVector<Attribute> choose(MLIRContext *context, const Layers &layers,
                              const CudaArch &arch, bool batchInvariant) {
  SmallVector<Attribute> schedules;
  auto add = [&](RowClass rows, const Cut &cut) {
    schedules.push_back(tile::StreamScheduleAttr::get(
        context, arch.name, rows.most, rows.tile, cut.columns, cut.step,
        getSlots(layers, cut, rows.tile, arch), cut.ranges, cut.cluster,
        cut.columnWarps, warps / cut.columnWarps, cut.isResident,
        /*load_warps=*/arch.hasBulkCopy ? 1 : 0, cut.hasWarpgroups));
  };
  // Twice the column warps have half the sums each, for epilogues with many
  // registers; every number of rows has to add up alike if one does.
  Cut many = arch.hasWgmma ? cutForWarpgroups(layers, arch)
                           : cutForManyRows(layers, arch);
  Cut lean = many;
  if (!arch.hasWgmma &&
      2 * many.columnWarps * fragmentSize * layers.count <= many.columns)
    lean.columnWarps *= 2;
  if (batchInvariant)
    many = lean;
  Cut few = batchInvariant ? many : cutForFewRows(layers, arch);
  if (std::optional<Cut> one = cutForOneRow(layers, arch);
      one && !batchInvariant)
    add({1, 8}, *one);
  add({8, 8}, few);
  add({16, 16}, few);
  add({32, 32}, many);
  add({0, 64}, many);
  if (lean.columnWarps != many.columnWarps)
    add({0, 64}, lean);
  return schedules;
}

class ChooseStreamSchedules
    : public kernel::impl::ChooseStreamSchedulesBase<ChooseStreamSchedules> {
public:
  using ChooseStreamSchedulesBase::ChooseStreamSchedulesBase;

private:
  void runOnOperation() override {
    getOperation()->walk([&](DispatchOp dispatch) {
      auto schedules = dispatch->getAttrOfType<ArrayAttr>("schedules");
      SmallVector<LinearOp> linears = getLayers(dispatch);
      if (!schedules || linears.empty() || !hasPanels(dispatch, linears[0]))
        return;
      Layers layers = {static_cast<int64_t>(linears.size()),
                       linears[0].getInputSize(),
                       linears[0].getOutputSize() / fragmentSize,
                       /*hasNorm=*/false};
      layers.hasNorm = !dispatch.getBlock().getOps<RmsNormOp>().empty();
      SmallVector<Attribute> chosen;
      bool isStreamed = false;
      for (auto schedule : schedules.getAsRange<tile::ScheduleInterface>()) {
        const CudaArch *arch = findCudaArch(schedule.getLevel());
        if (!arch || !(arch->hasBulkCopy || arch->hasCpAsync)) {
          chosen.push_back(schedule);
          continue;
        }
        llvm::append_range(
            chosen, choose(&getContext(), layers, *arch, batchInvariant));
        isStreamed = true;
      }
      if (!isStreamed)
        return;
      dispatch->setAttr("schedules", ArrayAttr::get(&getContext(), chosen));
    });
  }
};

} // namespace
