//===- DecomposeModelOps.cpp - Model ops to their definitions -------------===//

#include "dialects/Weft/WeftDialect.h"
#include "passes/Graph/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace weft::graph {
#define GEN_PASS_DEF_DECOMPOSEMODELOPS
#include "passes/Graph/Passes.h.inc"
} // namespace weft::graph

namespace {

struct DecomposeModelOps
    : weft::graph::impl::DecomposeModelOpsBase<DecomposeModelOps> {
  void runOnOperation() override {
    SmallVector<linalg::AggregatedOpInterface> worklist;
    getOperation()->walk([&](linalg::AggregatedOpInterface op) {
      if (isa<weft::WeftDialect>(op->getDialect()))
        worklist.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::AggregatedOpInterface op : worklist) {
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
      if (failed(values)) {
        op->emitOpError("has no decomposition");
        return signalPassFailure();
      }
      rewriter.replaceOp(op, *values);
    }
  }
};

} // namespace
