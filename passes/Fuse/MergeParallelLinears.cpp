//===- MergeParallelLinears.cpp - One multiplication for several weights --===//

#include "dialects/Weft/WeftDialect.h"
#include "passes/Fuse/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace weft::fuse {
#define GEN_PASS_DEF_MERGEPARALLELLINEARS
#include "passes/Fuse/Passes.h.inc"
} // namespace weft::fuse

using namespace mlir;
using namespace weft;

namespace {

/// A linear layer that may be merged: a plain weight, not half of a gate.
bool isMergeable(LinearOp linear) {
  auto plainWeight = [](Value value) {
    auto weight = value.getDefiningOp<WeightOp>();
    return weight && !weight.getLayout();
  };
  if (!plainWeight(linear.getWeight()) ||
      (linear.getBias() && !plainWeight(linear.getBias())))
    return false;
  return llvm::none_of(linear->getUsers(), llvm::IsaPred<GatedActivationOp>);
}

/// Rows of all weights, in order.
Value mergeWeights(OpBuilder &builder, Location loc, ArrayRef<Value> weights,
                   int64_t rows) {
  SmallVector<Attribute> sources;
  for (Value weight : weights)
    llvm::append_range(sources, weight.getDefiningOp<WeightOp>().getSources());
  auto first = cast<RankedTensorType>(weights.front().getType());
  SmallVector<int64_t> shape(first.getShape());
  shape[0] = rows;
  return WeightOp::create(builder, loc, first.clone(shape),
                          builder.getArrayAttr(sources),
                          PackedLayoutInterface(), DenseI64ArrayAttr());
}

class MergeParallelLinears
    : public fuse::impl::MergeParallelLinearsBase<MergeParallelLinears> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      llvm::MapVector<Value, SmallVector<LinearOp>> byInput;
      function.walk([&](LinearOp linear) {
        if (isMergeable(linear))
          byInput[linear.getInput()].push_back(linear);
      });
      for (auto &[input, linears] : byInput)
        mergeEqualKinds(linears);
    });
  }

  /// Merges the layers that agree with the first in bias and types.
  void mergeEqualKinds(ArrayRef<LinearOp> linears) {
    LinearOp first = linears.front();
    SmallVector<LinearOp> equal;
    for (LinearOp linear : linears) {
      bool agrees = bool(linear.getBias()) == bool(first.getBias()) &&
                    getElementTypeOrSelf(linear.getWeight()) ==
                        getElementTypeOrSelf(first.getWeight()) &&
                    getElementTypeOrSelf(linear.getResult()) ==
                        getElementTypeOrSelf(first.getResult()) &&
                    linear->getBlock() == first->getBlock();
      if (agrees)
        equal.push_back(linear);
      else
        remark::missed(
            linear.getLoc(),
            remark::RemarkOpts::name("merge-parallel-linears").category("fuse"))
            << "reads the input of another linear layer but differs in bias "
               "or element type";
    }
    if (equal.size() > 1)
      merge(equal);
  }

  void merge(ArrayRef<LinearOp> linears) {
    LinearOp first = linears.front();
    OpBuilder builder(first);
    SmallVector<Location> locations;
    SmallVector<Value> weights, biases;
    int64_t outputs = 0;
    for (LinearOp linear : linears) {
      locations.push_back(linear.getLoc());
      weights.push_back(linear.getWeight());
      if (linear.getBias())
        biases.push_back(linear.getBias());
      outputs += linear.getOutputSize();
    }
    Location loc = builder.getFusedLoc(locations);
    Value weight = mergeWeights(builder, loc, weights, outputs);
    Value bias =
        biases.empty() ? Value() : mergeWeights(builder, loc, biases, outputs);
    auto type = cast<RankedTensorType>(first.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = outputs;
    Value merged =
        LinearOp::create(builder, loc, type.clone(shape), first.getInput(),
                         weight, bias, PackedLayoutInterface());
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(builder, loc, merged);
    SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
    int64_t offset = 0;
    for (LinearOp linear : linears) {
      offsets.back() = builder.getIndexAttr(offset);
      sizes.back() = builder.getIndexAttr(linear.getOutputSize());
      Value slice = tensor::ExtractSliceOp::create(
          builder, linear.getLoc(), cast<RankedTensorType>(linear.getType()),
          merged, offsets, sizes, strides);
      offset += linear.getOutputSize();
      linear.getResult().replaceAllUsesWith(slice);
    }
    for (LinearOp linear : linears)
      linear.erase();
    remark::passed(
        loc,
        remark::RemarkOpts::name("merge-parallel-linears").category("fuse"))
        << remark::add("merged {0} linear layers of one input", linears.size());
  }
};

} // namespace
