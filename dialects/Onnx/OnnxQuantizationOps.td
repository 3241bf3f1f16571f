//===- OnnxQuantizationOps.td - Numbers of few bits --------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_ONNX_QUANTIZATION_OPS_TD
#define WEFT_DIALECTS_ONNX_QUANTIZATION_OPS_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_QuantizeLinearOp : Onnx_Op<"QuantizeLinear", "inferQuantizeLinear",
  (ins Onnx_T:$input, Onnx_T:$scale, Onnx_Maybe:$zero_point),
  (ins Onnx_Int<"1">:$axis, Onnx_Int<"0">:$block_size, OptionalAttr<TypeAttr>:$output_dtype,
       OptionalAttr<TypeAttr>:$precision, Onnx_Int<"1">:$saturate),
  (outs Onnx_T:$result),
  "(%x, %s, %z) : (tensor<2x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x4xui8>">;
def Onnx_DequantizeLinearOp : Onnx_Op<"DequantizeLinear", "inferDequantizeLinear",
  (ins Onnx_T:$input, Onnx_T:$scale, Onnx_Maybe:$zero_point),
  (ins Onnx_Int<"1">:$axis, Onnx_Int<"0">:$block_size, OptionalAttr<TypeAttr>:$output_dtype),
  (outs Onnx_T:$result),
  "(%q, %s, none) {axis = 0 : i64} : (tensor<4x2xi4>, tensor<4xf16>, none) -> tensor<4x2xf16>">;
def Onnx_DynamicQuantizeLinearOp : Onnx_Op<"DynamicQuantizeLinear", "inferDynamicQuantizeLinear",
  (ins Onnx_T:$input), (ins), (outs Onnx_T:$result, Onnx_T:$scale, Onnx_T:$zero_point),
  "(%x) : (tensor<4xf32>) -> (tensor<4xui8>, tensor<f32>, tensor<ui8>)">;
def Onnx_MatMulIntegerOp : Onnx_Op<"MatMulInteger", "inferMatMulInteger",
  (ins Onnx_T:$lhs, Onnx_T:$rhs, Onnx_Maybe:$lhs_zero_point, Onnx_Maybe:$rhs_zero_point),
  (ins), (outs Onnx_T:$result),
  "(%x, %w, none, none) : (tensor<3x4xui8>, tensor<4x2xi8>, none, none) -> tensor<3x2xi32>",
  [AttrSizedOperandSegments]>;
def Onnx_QLinearMatMulOp : Onnx_Op<"QLinearMatMul", "inferQLinearMatMul",
  (ins Onnx_T:$lhs, Onnx_T:$lhs_scale, Onnx_T:$lhs_zero_point, Onnx_T:$rhs,
       Onnx_T:$rhs_scale, Onnx_T:$rhs_zero_point, Onnx_T:$result_scale,
       Onnx_T:$result_zero_point), (ins), (outs Onnx_T:$result),
  "(%x, %a, %b, %w, %c, %d, %e, %f) : (tensor<3x4xui8>, tensor<f32>, tensor<ui8>, tensor<4x2xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<3x2xui8>">;
def Onnx_ConvIntegerOp : Onnx_Op<"ConvInteger", "inferConv",
  (ins Onnx_T:$input, Onnx_T:$weight, Onnx_Maybe:$input_zero_point,
       Onnx_Maybe:$weight_zero_point),
  (ins Onnx_String<"NOTSET">:$auto_pad, OptionalAttr<Onnx_Ints>:$dilations,
       OptionalAttr<Onnx_Ints>:$pads, OptionalAttr<Onnx_Ints>:$strides,
       Onnx_Int<"1">:$group, OptionalAttr<Onnx_Ints>:$kernel_shape),
  (outs Onnx_T:$result),
  "(%x, %w, none, none) : (tensor<1x4x8xui8>, tensor<6x4x3xi8>, none, none) -> tensor<1x6x6xi32>",
  [AttrSizedOperandSegments]>;

#endif // WEFT_DIALECTS_ONNX_QUANTIZATION_OPS_TD
