//===- ChooseSchedules.cpp - How each dispatch becomes a kernel -----------===//

#include "dialects/Tile/TileDialect.h"
#include "dialects/Weft/WeftDialect.h"
#include "passes/Kernel/ChooseCudaSchedule.h"
#include "passes/Kernel/CpuLevel.h"
#include "passes/Kernel/Passes.h"

namespace weft::kernel {
#define GEN_PASS_DEF_CHOOSESCHEDULES
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;

namespace {

/// Elements of one accumulator tile, and of one of a single row.
struct RegisterTile {
  int64_t rows, columns, rowColumns;
};

/// As many accumulators as leave registers for one row of the right-hand side
/// and a broadcast; a pair of matrices has two sets.
RegisterTile getRegisterTile(const CpuLevel &level, bool pair) {
  if (level.registers >= 32) // 32 registers of 16 elements.
    return {6, pair ? 32 : 64, 64};
  if (level.lanes() >= 8) // 16 registers of 8.
    return {pair ? 3 : 6, 16, pair ? 32 : 64};
  return {4, pair ? 4 : 8, pair ? 16 : 32}; // 16 registers of 4.
}

Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

/// Panels of a fold over the only row, of all matrices together. Converted
/// weights take registers that accumulators then lack. Measured with
/// bench/matmul (docs/performance.md).
int64_t getRowPanels(const CpuLevel &level, Type weight,
                     tile::MmaInstruction mma) {
  if (weight.isF32() || mma == tile::MmaInstruction::DotBf16)
    return 8;
  return level.registers >= 32 ? 4 : 2;
}

class ChooseSchedules
    : public weft::kernel::impl::ChooseSchedulesBase<ChooseSchedules> {
public:
  using ChooseSchedulesBase::ChooseSchedulesBase;

private:
  void runOnOperation() override {
    SmallVector<const CpuLevel *> cpuLevels;
    SmallVector<const CudaArch *> archs;
    for (const std::string &name : levels) {
      if (const CpuLevel *level = findCpuLevel(name))
        cpuLevels.push_back(level);
      else if (const CudaArch *arch = findCudaArch(name))
        archs.push_back(arch);
      else
        return fail("unknown level '" + name + "'; expected one of " +
                    listCpuLevels() + ", " + listCudaArchs());
    }
    if (!cpuLevels.empty() && !archs.empty())
      return fail("a program is for CPU levels or for GPU architectures, found "
                  "both: '" +
                  Twine(cpuLevels.front()->name) + "' and '" +
                  archs.front()->name + "'");
    getOperation()->walk([&](DispatchOp dispatch) {
      SmallVector<Attribute> schedules;
      for (const CpuLevel *level : cpuLevels)
        schedules.push_back(choose(dispatch, *level));
      for (const CudaArch *arch : archs)
        schedules.push_back(kernel::chooseCudaSchedule(dispatch, *arch));
      dispatch->setAttr("schedules", ArrayAttr::get(&getContext(), schedules));
    });
  }

  void fail(const Twine &message) {
    getOperation()->emitError() << message;
    signalPassFailure();
  }

  tile::CpuScheduleAttr choose(DispatchOp dispatch, const CpuLevel &level) {
    int64_t matrices = 0, inputs = 0;
    Type weight;
    bool pairs = false, attention = false, sample = false;
    for (Operation &op : dispatch.getBlock()) {
      attention |= isa<AttentionOp>(op);
      sample |= isa<SampleOp>(op);
      if (!isa<LinearOp, GroupedLinearOp>(op))
        continue;
      ++matrices;
      inputs =
          cast<RankedTensorType>(op.getOperand(0).getType()).getShape().back();
      weight = getElement(op.getOperand(1));
      pairs = getElement(op.getOperand(0)).isBF16() && weight.isBF16() &&
              inputs % 2 == 0;
    }
    RegisterTile tile = getRegisterTile(level, matrices > 1);
    // Pieces of a row: a few registers of every level, more would only lengthen
    // the code.
    if (matrices == 0 && !attention)
      tile = {1, 64, 64};
    // Its sums of tiles are many.
    if (sample)
      tile = {1, 2 * level.lanes(), 2 * level.lanes()};
    auto mma = pairs && level.hasDotBf16 ? tile::MmaInstruction::DotBf16
                                         : tile::MmaInstruction::Fma;
    // A pair of matrices shares the broadcasts of a step, which then live in
    // registers until the second one has used them: one step at a time.
    int64_t rowUnroll = 8;
    int64_t unroll = matrices < 2 ? rowUnroll : pairs ? 2 : 1;
    // A multiple of every level's tile height; its input rows stay in the L2
    // cache while a panel is multiplied.
    int64_t rowBlock = attention ? 24 : 48;
    // About 64 KiB of weight per item keeps the cost of an item small against
    // its work without starving threads.
    int64_t columnBlock = matrices && inputs < 512 ? 128 : 64;
    int64_t rowPanels =
        matrices ? getRowPanels(level, weight, mma) / matrices : 1;
    return tile::CpuScheduleAttr::get(
        &getContext(), level.name, tile.rows, tile.columns, unroll,
        tile.rowColumns, rowPanels, rowUnroll, rowBlock, columnBlock, mma);
  }
};

} // namespace
