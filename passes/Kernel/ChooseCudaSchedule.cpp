//===- ChooseCudaSchedule.cpp - How a dispatch becomes a GPU kernel -------===//

#include "passes/Kernel/ChooseCudaSchedule.h"

using namespace mlir;
using namespace weft;

tile::CudaScheduleAttr kernel::chooseCudaSchedule(DispatchOp dispatch,
                                                  const CudaArch &arch) {
  bool matrix = false, attention = false;
  SampleOp sample;
  for (Operation &op : dispatch.getBlock()) {
    if (auto found = dyn_cast<SampleOp>(op))
      sample = found;
    attention |= isa<AttentionOp>(op);
    matrix |= isa<LinearOp, GroupedLinearOp>(op);
  }
  MLIRContext *context = dispatch.getContext();
  // A panel of the weight is 64 columns, one for each thread, so that a thread
  // reads each weight once for all rows of its tile.
  if (matrix)
    return tile::CudaScheduleAttr::get(
        context, arch.name, /*threads=*/64, /*rows=*/8, /*columns=*/64,
        /*unroll=*/8, /*rowColumns=*/64, /*rowUnroll=*/8, /*rowBlock=*/16,
        /*columnBlock=*/64, /*cluster=*/1);
  // A tile of scores is as many rows by a block of 64 keys; a work item has no
  // more rows than a tile, since few rows are all the work there is in
  // decoding.
  if (attention)
    return tile::CudaScheduleAttr::get(
        context, arch.name, /*threads=*/128, /*rows=*/8, /*columns=*/64,
        /*unroll=*/8, /*rowColumns=*/64, /*rowUnroll=*/8, /*rowBlock=*/8,
        /*columnBlock=*/64, /*cluster=*/1);
  // A row is read several times: many loads under way. Each of the threads
  // holds few numbers of a tile, because there are many sums of tiles. As many
  // blocks divide the row as have the tiles of one step to read.
  if (sample) {
    int64_t ids =
        cast<RankedTensorType>(sample.getLogits().getType()).getDimSize(1);
    constexpr int64_t unroll = 4;
    int64_t threads = ids < 8192 ? 128 : 512, columns = 4 * threads;
    int64_t steps = llvm::divideCeil(ids, unroll * columns);
    int64_t cluster =
        llvm::bit_floor(uint64_t(std::min<int64_t>(steps, arch.maxCluster)));
    return tile::CudaScheduleAttr::get(
        context, arch.name, threads, /*rows=*/1, columns, unroll,
        /*rowColumns=*/columns, /*rowUnroll=*/unroll, /*rowBlock=*/1,
        /*columnBlock=*/columns, cluster);
  }
  // Pieces of a row: several loads under way in every thread.
  return tile::CudaScheduleAttr::get(
      context, arch.name, /*threads=*/128, /*rows=*/1, /*columns=*/1024,
      /*unroll=*/8, /*rowColumns=*/1024, /*rowUnroll=*/8, /*rowBlock=*/1,
      /*columnBlock=*/1024, /*cluster=*/1);
}
