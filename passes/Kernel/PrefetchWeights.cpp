//===- PrefetchWeights.cpp - A kernel's last act for the next one ---------===//

#include "passes/Kernel/KernelBuilder.h"
#include "passes/Kernel/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace weft::kernel {
#define GEN_PASS_DEF_PREFETCHWEIGHTS
#include "passes/Kernel/Passes.h.inc"
} // namespace weft::kernel

using namespace mlir;
using namespace weft;

namespace {

/// What the memory delivers while one kernel ends and the next one starts, some
/// 3 us.
constexpr int64_t gapBytes = 12 * 1024 * 1024;
/// As much as stays in the L2 cache beside what the kernels between read.
constexpr int64_t pauseBytes = 32 * 1024 * 1024;
/// More rows read more keys and values than stay in the cache with it.
constexpr int64_t mostPauseRows = 8;

/// Linear layers with streamed weights, or null.
DispatchOp getStreamed(Operation &op) {
  auto dispatch = dyn_cast<DispatchOp>(op);
  auto schedules =
      dispatch ? dispatch->getAttrOfType<ArrayAttr>("schedules") : ArrayAttr();
  bool isStreamed =
      schedules &&
      llvm::all_of(schedules, llvm::IsaPred<tile::StreamScheduleAttr>);
  return isStreamed ? dispatch : DispatchOp();
}

class PrefetchWeights
    : public weft::kernel::impl::PrefetchWeightsBase<PrefetchWeights> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      DispatchOp last;
      bool isNext = true;
      for (Operation &op : function.getOps()) {
        DispatchOp streamed = getStreamed(op);
        if (streamed && last)
          link(last, streamed, isNext);
        if (streamed)
          last = streamed;
        if (isa<DispatchOp>(op))
          isNext = bool(streamed);
      }
    });
  }

  /// Lets `first` bring weights of `second` into the cache. `isNext`: no other
  /// kernel is between them.
  void link(DispatchOp first, DispatchOp second, bool isNext) {
    SmallVector<WeightOp> weights;
    for (auto linear : second.getBlock().getOps<LinearOp>()) {
      auto argument = cast<BlockArgument>(linear.getWeight());
      weights.push_back(second.getInputs()[argument.getArgNumber()]
                            .getDefiningOp<WeightOp>());
    }
    if (!llvm::all_of(weights, [](WeightOp weight) { return bool(weight); })) {
      remark::missed(
          second.getLoc(),
          remark::RemarkOpts::name("weight-not-prefetched").category("kernel"))
          << "its weight is computed";
      return;
    }
    auto schedules = [](DispatchOp dispatch) {
      return llvm::to_vector(dispatch->getAttrOfType<ArrayAttr>("schedules")
                                 .getAsRange<tile::StreamScheduleAttr>());
    };
    SmallVector<Attribute> changed;
    for (tile::StreamScheduleAttr own : schedules(first)) {
      // What a launch of as many rows takes.
      int64_t ranges = 0;
      for (tile::StreamScheduleAttr next : schedules(second))
        if (next.getLevel() == own.getLevel() &&
            (next.getMostRows() == 0 ||
             (own.getMostRows() != 0 &&
              next.getMostRows() >= own.getMostRows()))) {
          ranges = next.getRanges();
          break;
        }
      bool isFew = own.getMostRows() != 0 && own.getMostRows() <= mostPauseRows;
      int64_t bytes = isNext ? gapBytes : isFew ? pauseBytes : 0;
      changed.push_back(
          ranges && bytes && own.getLoadWarps() != 0
              ? own.withPrefetch(ranges, llvm::alignDown(bytes / ranges, 1024))
              : own);
    }
    if (llvm::equal(changed, schedules(first)))
      return;
    first->setAttr("schedules", ArrayAttr::get(&getContext(), changed));
    addInputs(first, weights);
  }

  void addInputs(DispatchOp dispatch, ArrayRef<WeightOp> weights) {
    SmallVector<int64_t> numbers;
    SmallVector<Attribute> layouts;
    for (WeightOp weight : weights) {
      if (dispatch->isBeforeInBlock(weight))
        weight->moveBefore(dispatch);
      numbers.push_back(dispatch.getInputs().size());
      dispatch.getInputsMutable().append(weight.getResult());
      dispatch.getBlock().addArgument(weight.getType(), weight.getLoc());
    }
    dispatch->setAttr(kernel::prefetchedName,
                      DenseI64ArrayAttr::get(&getContext(), numbers));
    auto inputs = dispatch->getAttrOfType<ArrayAttr>(kernel::inputLayoutsName);
    if (!inputs)
      return;
    llvm::append_range(layouts, inputs);
    layouts.resize(dispatch.getInputs().size(), UnitAttr::get(&getContext()));
    dispatch->setAttr(kernel::inputLayoutsName,
                      ArrayAttr::get(&getContext(), layouts));
  }
};

} // namespace
