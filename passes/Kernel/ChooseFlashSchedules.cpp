//===- ChooseFlashSchedules.cpp - Attention on tensor cores ---------------===//

#include "passes/Kernel/CudaArch.h"
#include "passes/Kernel/FlashMemory.h"
#include "passes/Kernel/KernelBuilder.h"
#include "passes/Kernel/Passes.h"

namespace weft::kernel {
#define GEN_PASS_DEF_CHOOSEFLASHSCHEDULES
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;

namespace {

/// Rows of a tile, keys of a block and the warps that divide them.
constexpr int64_t tileRows = 16, blockKeys = 64, keyWarps = 4;
/// States that the keys of a row are dealt out to: the largest cluster that
/// every GPU with clusters runs.
constexpr int64_t splits = 8;
constexpr int64_t mostStages = 4;
constexpr int64_t mostHeadSize = 256;
/// Work items up to which a cluster computes each. Measured on an H200
/// (docs/decisions/0011): with 128 a block each is faster at every context.
constexpr int64_t fewItems = 64;

/// The attention of the dispatch if tensor cores can compute it, else null.
AttentionOp getAttention(DispatchOp dispatch) {
  AttentionOp attention;
  for (Operation &op : dispatch.getBlock().without_terminator())
    if (auto found = dyn_cast<AttentionOp>(op)) {
      if (attention)
        return {};
      attention = found;
    }
  if (!attention || !attention.isPaged())
    return {};
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  Type element = elementOf(attention.getQuery());
  int64_t heads = attention.getKeyHeads(), size = attention.getHeadSize();
  if (element.getIntOrFloatBitWidth() != 16 ||
      elementOf(attention.getKey()) != element ||
      elementOf(attention.getValue()) != element ||
      attention.getBlockSize() != blockKeys || size % 16 != 0 ||
      size > mostHeadSize || attention.getQueryHeads() / heads > tileRows)
    return {};
  return attention;
}

/// Bytes of shared memory with `stages` blocks of keys.
int64_t getSharedBytes(int64_t size, int64_t stages) {
  tile::FlashMemory memory;
  memory.rows = tileRows;
  memory.columns = size;
  memory.addPart({}, size, blockKeys);
  memory.addPart({}, blockKeys, size);
  memory.place(keyWarps, stages);
  return memory.bytes;
}

/// As many stages as leave room for two blocks on a multiprocessor, or two that
/// one block can have; 0 if it cannot.
int64_t getStages(int64_t size, const CudaArch &arch) {
  constexpr int64_t reserved = 1024; // Of each block, by the system.
  for (int64_t stages = mostStages; stages >= 2; --stages)
    if (2 * (getSharedBytes(size, stages) + reserved) <=
        static_cast<int64_t>(arch.sharedBytesPerMultiprocessor))
      return stages;
  return getSharedBytes(size, 2) <= static_cast<int64_t>(arch.sharedBytes) ? 2
                                                                           : 0;
}

class ChooseFlashSchedules
    : public kernel::impl::ChooseFlashSchedulesBase<ChooseFlashSchedules> {
  void runOnOperation() override {
    getOperation()->walk([&](DispatchOp dispatch) { choose(dispatch); });
  }

  void choose(DispatchOp dispatch) {
    auto schedules = dispatch->getAttrOfType<ArrayAttr>("schedules");
    AttentionOp attention = getAttention(dispatch);
    if (!schedules || !attention)
      return;
    SmallVector<const CudaArch *> archs;
    SmallVector<Attribute> chosen;
    for (auto schedule : schedules.getAsRange<tile::ScheduleInterface>()) {
      const CudaArch *arch = findCudaArch(schedule.getLevel());
      if (arch && arch->hasCpAsync &&
          getStages(attention.getHeadSize(), *arch) != 0)
        archs.push_back(arch);
      else
        chosen.push_back(schedule);
    }
    if (archs.empty())
      return;
    auto hasCluster = [](const CudaArch *arch) {
      return arch->maxCluster >= splits;
    };
    SmallVector<int64_t> mostRows = {0};
    if (llvm::any_of(archs, hasCluster))
      mostRows.insert(mostRows.begin(),
                      std::max(fewItems / attention.getKeyHeads(), int64_t(1)));
    for (int64_t rows : mostRows)
      for (const CudaArch *arch : archs)
        chosen.push_back(tile::FlashScheduleAttr::get(
            &getContext(), arch->name, rows, tileRows, blockKeys, keyWarps,
            getStages(attention.getHeadSize(), *arch), splits,
            rows != 0 && hasCluster(arch) ? splits : 1));
    dispatch->setAttr("schedules", ArrayAttr::get(&getContext(), chosen));
  }
};

} // namespace
