//===- LowerTileToCudaAllGather.cpp - Scratch memory of all blocks --------===//
//
// A block reads what the others have written in their shared memory, between
// two barriers of the cluster: the first one after all have written, the second
// one before any of them writes again or ends.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LowerTileToCuda.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

static constexpr int64_t warpSize = 32;

LogicalResult CudaTileEmitter::emitAllGather(AllGatherOp op) {
  for (Value view : op.getViews()) {
    auto type = cast<MemRefType>(view.getType());
    if (type.getNumElements() % clusterSize != 0)
      return op.emitError("cannot deal out ")
             << type << " to the " << clusterSize
             << " blocks of a cluster; expected a multiple of as many elements";
  }
  if (clusterSize == 1)
    return success();
  auto waitForBlocks = [&] {
    cuda::ClusterArriveOp::create(b);
    cuda::ClusterWaitOp::create(b);
  };
  waitForBlocks();
  Value rank = cuda::ClusterRankOp::create(b, b.getI32Type());
  // Each view begins in warps of its own: a load of another block's memory
  // takes long, and a thread with several would wait for one after another.
  int64_t firstThread = 0;
  for (Value view : op.getViews()) {
    auto type = cast<MemRefType>(view.getType());
    int64_t count = type.getNumElements(), part = count / clusterSize;
    Value pointer = views.at(view).pointer;
    Value place = thread;
    if (firstThread != 0)
      place = b.createOrFold<arith::AndIOp>(
          add(thread, number(threads - firstThread)), number(threads - 1));
    for (int64_t begin = 0; begin < count; begin += threads) {
      Value element = add(place, number(begin));
      Value owner = b.createOrFold<arith::DivUIOp>(element, number(part));
      Value isOther =
          b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne, owner, rank);
      if (begin + threads > count)
        isOther = both(less(element, number(count)), isOther);
      guarded(isOther, [&] {
        Value value = cuda::LoadOp::create(b, type.getElementType(),
                                           mapToCluster(pointer, owner),
                                           element, cuda::CacheHint::Default);
        cuda::StoreOp::create(b, value, pointer, element);
      });
    }
    firstThread = (firstThread + llvm::alignTo(count, warpSize)) % threads;
  }
  waitForBlocks();
  pending.clear();
  return success();
}
