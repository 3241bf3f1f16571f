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

/// Keys of a block, and warps of a block of threads.
constexpr int64_t blockKeys = 64, warps = 4;
/// Rows that tensor cores compute at once, all or half of them.
constexpr int64_t mostTileRows = 16, fewTileRows = 8;
/// States that the keys of a row are dealt out to: the largest cluster that
/// every GPU with clusters runs.
constexpr int64_t splits = 8;
constexpr int64_t mostStages = 4;
constexpr int64_t mostHeadSize = 256;
/// Largest head of which 16 rows leave registers for any mask.
constexpr int64_t mostSafeHeadSize = 128;
/// Rows up to which a step is thought to be decoding: tiles have the query
/// heads of few tokens, which leaves registers and shared memory for more
/// blocks. Of a prompt, warps divide the rows of larger tiles, so that keys are
/// read less often; a decoding step would keep one warp busy then.
constexpr int64_t mostDecodingRows = 128, mostDecodingRowsBesidePrompts = 256;

/// What is chosen for all architectures of a dispatch.
struct Variant {
  int64_t mostRows, rows, splits, cluster, rowWarps = 1;

  int64_t getKeyWarps() const { return warps / rowWarps; }
};

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
      size > mostHeadSize || attention.getQueryHeads() / heads > mostTileRows)
    return {};
  return attention;
}

/// Bytes of shared memory with `stages` blocks of keys.
int64_t getSharedBytes(int64_t size, const Variant &variant, int64_t stages) {
  tile::FlashMemory memory;
  memory.rows = variant.rows;
  memory.columns = size;
  memory.addPart({}, size, blockKeys);
  memory.addPart({}, blockKeys, size);
  memory.place(variant.getKeyWarps(), stages, variant.splits, variant.cluster);
  return memory.bytes;
}

/// As many stages as leave room for the blocks that a multiprocessor should
/// have, or two that one block can have; 0 if it cannot.
int64_t getStages(int64_t size, const Variant &variant, const CudaArch &arch) {
  constexpr int64_t reserved = 1024; // Of each block, by the system.
  auto has = [&](int64_t blocks, int64_t stages) {
    int64_t bytes = getSharedBytes(size, variant, stages);
    return bytes <= static_cast<int64_t>(arch.sharedBytes) &&
           blocks * (bytes + reserved) <=
               static_cast<int64_t>(arch.sharedBytesPerMultiprocessor);
  };
  // Blocks of clusters are about as many as multiprocessors.
  int64_t blocks = variant.cluster == 1 ? 2 : 1;
  for (int64_t stages = mostStages; stages >= 2; --stages)
    if (has(blocks, stages))
      return stages;
  return has(1, 2) ? 2 : 0;
}

/// Splits of all schedules of an architecture, so that all give the same bits:
/// one where a block's memory has no place to merge several.
int64_t getSplits(int64_t size, const CudaArch &arch) {
  Variant any = {0, mostTileRows, splits, 1};
  return getStages(size, any, arch) != 0 ? splits : 1;
}

/// The largest clusters of which the blocks of as many rows as possible are at
/// most one for each multiprocessor, then one block for an item.
SmallVector<Variant> getVariants(AttentionOp attention,
                                 ArrayRef<const CudaArch *> archs,
                                 bool batchInvariant) {
  int64_t keyHeads = attention.getKeyHeads();
  int64_t group = attention.getQueryHeads() / keyHeads;
  SmallVector<Variant> variants;
  const auto *found = llvm::find_if(archs, [&](const CudaArch *arch) {
    return arch->maxCluster >= splits &&
           getSplits(attention.getHeadSize(), *arch) > 1;
  });
  if (found != archs.end()) {
    int64_t before = 0;
    for (int64_t cluster = splits; cluster > 1; cluster /= 2) {
      int64_t rows = (*found)->multiprocessors / (keyHeads * cluster);
      if (rows > before)
        variants.push_back({rows, group, splits, cluster});
      before = std::max(before, rows);
    }
  }
  // Rows of wide heads leave no registers for scores of all keys of a block.
  bool dividesRows =
      !batchInvariant && attention.getHeadSize() <= mostSafeHeadSize;
  int64_t decoding =
      dividesRows ? mostDecodingRowsBesidePrompts : mostDecodingRows;
  if (group <= fewTileRows)
    variants.push_back({decoding, fewTileRows, splits, 1});
  else if (dividesRows)
    variants.push_back({decoding, mostTileRows, splits, 1});
  if (dividesRows)
    variants.push_back({0, warps * mostTileRows, 1, 1, warps});
  else
    variants.push_back({0, mostTileRows, splits, 1});
  return variants;
}

/// What an architecture can have of a variant.
Variant fit(Variant variant, int64_t size, const CudaArch &arch) {
  if (variant.rowWarps > 1)
    return variant;
  variant.splits = getSplits(size, arch);
  if (variant.splits == 1 || arch.maxCluster < splits)
    variant.cluster = 1;
  if (getStages(size, variant, arch) != 0)
    return variant;
  // The states of several splits are too many; those of one block fit.
  variant.cluster = 1;
  variant.rows = variant.rows > fewTileRows ? mostTileRows : fewTileRows;
  return variant;
}

/// Whether two variants are the same but for the number of rows in all.
bool isAlike(const Variant &a, const Variant &b) {
  return a.rows == b.rows && a.splits == b.splits && a.cluster == b.cluster &&
         a.rowWarps == b.rowWarps;
}

class ChooseFlashSchedules
    : public kernel::impl::ChooseFlashSchedulesBase<ChooseFlashSchedules> {
public:
  using ChooseFlashSchedulesBase::ChooseFlashSchedulesBase;

private:
  void runOnOperation() override {
    getOperation()->walk([&](DispatchOp dispatch) { choose(dispatch); });
  }

  void choose(DispatchOp dispatch) {
    auto schedules = dispatch->getAttrOfType<ArrayAttr>("schedules");
    AttentionOp attention = getAttention(dispatch);
    if (!schedules || !attention)
      return;
    int64_t size = attention.getHeadSize();
    SmallVector<const CudaArch *> archs;
    SmallVector<Attribute> chosen;
    for (auto schedule : schedules.getAsRange<tile::ScheduleInterface>()) {
      const CudaArch *arch = findCudaArch(schedule.getLevel());
      if (arch && arch->hasCpAsync &&
          getStages(size, {0, mostTileRows, 1, 1}, *arch) != 0)
        archs.push_back(arch);
      else
        chosen.push_back(schedule);
    }
    if (archs.empty())
      return;
    SmallVector<Variant> variants =
        getVariants(attention, archs, batchInvariant);
    SmallVector<SmallVector<Variant>> choices;
    for (const Variant &variant : llvm::reverse(variants)) {
      auto fitted = llvm::map_to_vector(archs, [&](const CudaArch *arch) {
        return fit(variant, size, *arch);
      });
      // Computed like more rows: no choice of its own.
      if (choices.empty() || !llvm::equal(fitted, choices.back(), isAlike))
        choices.push_back(std::move(fitted));
    }
    auto add = [&](const Variant &variant, const CudaArch &arch) {
      chosen.push_back(tile::FlashScheduleAttr::get(
          &getContext(), arch.name, variant.mostRows, variant.rows, blockKeys,
          variant.getKeyWarps(), getStages(size, variant, arch), variant.splits,
          variant.cluster, variant.rowWarps, early && arch.hasDependentLaunch));
    };
    for (ArrayRef<Variant> fitted : llvm::reverse(choices))
      for (auto [variant, arch] : llvm::zip_equal(fitted, archs))
        add(variant, *arch);
    // The largest tiles leave few registers for what a mask or a cap needs.
    bool isDivided = choices.front().front().rowWarps > 1;
    bool isFew =
        attention.getQueryHeads() / attention.getKeyHeads() <= fewTileRows;
    if (isDivided || (size > mostSafeHeadSize && isFew))
      for (const CudaArch *arch : archs)
        add(fit({0, isDivided ? mostTileRows : fewTileRows, splits, 1}, size,
                *arch),
            *arch);
    dispatch->setAttr("schedules", ArrayAttr::get(&getContext(), chosen));
  }
};

} // namespace
