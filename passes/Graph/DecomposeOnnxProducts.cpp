//===- DecomposeOnnxProducts.cpp - Products of quantized factors ----------===//

#include "passes/Graph/DecomposeOnnx.h"

using namespace mlir;
using namespace weft;
using namespace weft::graph;

/// An integer product times the scales of its factors, plus a bias.
static OnnxResults multiply(OnnxEmitter &e, ArrayRef<Value> factors,
                            Value lhsScale, Value rhsScale, Value bias,
                            Type element) {
  Value product = e.cast(e.make("MatMulInteger", factors), element);
  Value scale = e.make("Mul", {lhsScale, rhsScale});
  Value result = e.make("Mul", {product, scale});
  return {bias ? e.make("Add", {result, bias}) : result};
}

OnnxResults graph::decomposeQuantizedProduct(OnnxEmitter &e, Operation *op) {
  if (auto product = dyn_cast<onnx::MicrosoftDynamicQuantizeMatMulOp>(op)) {
    SmallVector<Value> lhs =
        e.makeAll("DynamicQuantizeLinear", product.getLhs(), {}, 3);
    return multiply(
        e, {lhs[0], product.getRhs(), lhs[2], product.getRhsZeroPoint()},
        lhs[1], product.getRhsScale(), product.getBias(),
        getElementTypeOrSelf(product.getRhsScale().getType()));
  }
  if (auto product = dyn_cast<onnx::MicrosoftMatMulIntegerToFloatOp>(op))
    return multiply(e,
                    {product.getLhs(), product.getRhs(),
                     product.getLhsZeroPoint(), product.getRhsZeroPoint()},
                    product.getLhsScale(), product.getRhsScale(),
                    product.getBias(),
                    getElementTypeOrSelf(product.getLhsScale().getType()));
  return {};
}
