//===- OnnxReductionOps.td - Operators along axes ----------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_ONNX_REDUCTION_OPS_TD
#define WEFT_DIALECTS_ONNX_REDUCTION_OPS_TD

include "dialects/Onnx/OnnxBase.td"

foreach name = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum",
                "LogSumExp", "SumSquare"] in
  def Onnx_Reduce#name#Op : Onnx_Reduction<"Reduce"#name>;
foreach name = ["ArgMax", "ArgMin"] in
  def Onnx_#name#Op : Onnx_ArgReduction<name>;
foreach name = ["Softmax", "LogSoftmax", "Hardmax"] in
  def Onnx_#name#Op : Onnx_Unary<name, (ins Onnx_Int<"-1">:$axis)>;
foreach name = ["CumSum", "CumProd"] in
  def Onnx_#name#Op : Onnx_Op<name, "inferCumulative",
    (ins Onnx_T:$input, Onnx_T:$axis),
    (ins Onnx_Int<"0">:$exclusive, Onnx_Int<"0">:$reverse), (outs Onnx_T:$result),
    "(%x, %axis) : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>">;
def Onnx_TopKOp : Onnx_Op<"TopK", "inferTopK", (ins Onnx_T:$input, Onnx_T:$k),
  (ins Onnx_Int<"-1">:$axis, Onnx_Int<"1">:$largest, Onnx_Int<"1">:$sorted),
  (outs Onnx_T:$values, Onnx_T:$indices),
  "(%x, %k) : (tensor<2x8xf32>, tensor<1xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)">;

#endif // WEFT_DIALECTS_ONNX_REDUCTION_OPS_TD
