//===- OnnxNeuralOps.td - Products, norms, windows ---------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_ONNX_NEURAL_OPS_TD
#define WEFT_DIALECTS_ONNX_NEURAL_OPS_TD

include "dialects/Onnx/OnnxBase.td"

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Onnx_MatMulOp : Onnx_Op<"MatMul", "inferMatMul", (ins Onnx_T:$lhs, Onnx_T:$rhs), (ins),
  (outs Onnx_T:$result),
  "(%x, %w) : (tensor<?x4xf32, #onnx.dims<\"n\">>, tensor<4x2xf32>) -> tensor<?x2xf32, #onnx.dims<\"n\">>">;
def Onnx_GemmOp : Onnx_Op<"Gemm", "inferGemm",
  (ins Onnx_T:$lhs, Onnx_T:$rhs, Onnx_Maybe:$bias),
  (ins Onnx_Float<"1.0f">:$alpha, Onnx_Float<"1.0f">:$beta, Onnx_Int<"0">:$transA,
       Onnx_Int<"0">:$transB), (outs Onnx_T:$result),
  "(%x, %w, %b) : (tensor<3x4xf32>, tensor<4x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>">;
def Onnx_EinsumOp : Onnx_Op<"Einsum", "inferEinsum", (ins Onnx_Many:$inputs),
  (ins StrAttr:$equation), (outs Onnx_T:$result),
  "(%x, %w) {equation = \"ij,jk->ik\"} : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>">;

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

def Onnx_LayerNormalizationOp : Onnx_Op<"LayerNormalization", "inferLayerNormalization",
  (ins Onnx_T:$input, Onnx_T:$scale, Onnx_Maybe:$bias),
  (ins Onnx_Int<"-1">:$axis, Onnx_Float<"1e-5f">:$epsilon, Onnx_Int<"1">:$stash_type),
  (outs Onnx_T:$result, Onnx_T:$mean, Onnx_T:$inv_std_dev),
  "(%x, %w, none) : (tensor<2x4xf32>, tensor<4xf32>, none) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)">;
def Onnx_RMSNormalizationOp : Onnx_Op<"RMSNormalization", "inferRmsNormalization",
  (ins Onnx_T:$input, Onnx_T:$scale),
  (ins Onnx_Int<"-1">:$axis, Onnx_Float<"1e-5f">:$epsilon, Onnx_Int<"1">:$stash_type),
  (outs Onnx_T:$result),
  "(%x, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>">;
def Onnx_GroupNormalizationOp : Onnx_Op<"GroupNormalization", "inferSame",
  (ins Onnx_T:$input, Onnx_T:$scale, Onnx_T:$bias),
  (ins Onnx_Float<"1e-5f">:$epsilon, Onnx_I64:$num_groups, Onnx_Int<"1">:$stash_type),
  (outs Onnx_T:$result),
  "(%x, %w, %b) {num_groups = 2 : i64} : (tensor<1x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x3xf32>">;
def Onnx_InstanceNormalizationOp : Onnx_Op<"InstanceNormalization", "inferSame",
  (ins Onnx_T:$input, Onnx_T:$scale, Onnx_T:$bias), (ins Onnx_Float<"1e-5f">:$epsilon),
  (outs Onnx_T:$result),
  "(%x, %w, %b) : (tensor<1x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x3xf32>">;
def Onnx_BatchNormalizationOp : Onnx_Op<"BatchNormalization", "inferBatchNormalization",
  (ins Onnx_T:$input, Onnx_T:$scale, Onnx_T:$bias, Onnx_T:$mean, Onnx_T:$variance),
  (ins Onnx_Float<"1e-5f">:$epsilon, Onnx_Float<"0.9f">:$momentum,
       Onnx_Int<"0">:$training_mode),
  (outs Onnx_T:$result, Onnx_T:$running_mean, Onnx_T:$running_variance),
  "(%x, %w, %b, %m, %v) : (tensor<1x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x3xf32>, tensor<4xf32>, tensor<4xf32>)">;
def Onnx_LpNormalizationOp : Onnx_Unary<"LpNormalization",
  (ins Onnx_Int<"-1">:$axis, Onnx_Int<"2">:$p)>;
def Onnx_DropoutOp : Onnx_Op<"Dropout", "inferDropout",
  (ins Onnx_T:$data, Onnx_Maybe:$ratio, Onnx_Maybe:$training_mode),
  (ins OptionalAttr<Onnx_I64>:$seed), (outs Onnx_T:$result, Onnx_T:$mask),
  "(%x, none, none) : (tensor<3xf32>, none, none) -> (tensor<3xf32>, tensor<3xi1>)",
  [AttrSizedOperandSegments]>;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

defvar Onnx_Window = (ins Onnx_String<"NOTSET">:$auto_pad,
  OptionalAttr<Onnx_Ints>:$dilations, OptionalAttr<Onnx_Ints>:$pads,
  OptionalAttr<Onnx_Ints>:$strides);

def Onnx_ConvOp : Onnx_Op<"Conv", "inferConv",
  (ins Onnx_T:$input, Onnx_T:$weight, Onnx_Maybe:$bias),
  !con(Onnx_Window, (ins Onnx_Int<"1">:$group, OptionalAttr<Onnx_Ints>:$kernel_shape)),
  (outs Onnx_T:$result),
  "(%x, %w, none) {pads = array<i64: 1, 1>} : (tensor<1x4x8xf32>, tensor<6x4x3xf32>, none) -> tensor<1x6x8xf32>">;
def Onnx_ConvTransposeOp : Onnx_Op<"ConvTranspose", "inferConvTranspose",
  (ins Onnx_T:$input, Onnx_T:$weight, Onnx_Maybe:$bias),
  !con(Onnx_Window, (ins Onnx_Int<"1">:$group, OptionalAttr<Onnx_Ints>:$kernel_shape,
    OptionalAttr<Onnx_Ints>:$output_padding, OptionalAttr<Onnx_Ints>:$output_shape)),
  (outs Onnx_T:$result),
  "(%x, %w, none) : (tensor<1x4x8xf32>, tensor<4x6x3xf32>, none) -> tensor<1x6x10xf32>">;
def Onnx_AveragePoolOp : Onnx_Op<"AveragePool", "inferPool", (ins Onnx_T:$input),
  !con(Onnx_Window, (ins Onnx_Ints:$kernel_shape, Onnx_Int<"0">:$ceil_mode,
                         Onnx_Int<"0">:$count_include_pad)), (outs Onnx_T:$result),
  "(%x) {kernel_shape = array<i64: 2>} : (tensor<1x4x8xf32>) -> tensor<1x4x7xf32>">;
def Onnx_LpPoolOp : Onnx_Op<"LpPool", "inferPool", (ins Onnx_T:$input),
  !con(Onnx_Window, (ins Onnx_Ints:$kernel_shape, Onnx_Int<"0">:$ceil_mode,
                         Onnx_Int<"2">:$p)), (outs Onnx_T:$result),
  "(%x) {kernel_shape = array<i64: 2>} : (tensor<1x4x8xf32>) -> tensor<1x4x7xf32>">;
def Onnx_MaxPoolOp : Onnx_Op<"MaxPool", "inferMaxPool", (ins Onnx_T:$input),
  !con(Onnx_Window, (ins Onnx_Ints:$kernel_shape, Onnx_Int<"0">:$ceil_mode,
                         Onnx_Int<"0">:$storage_order)),
  (outs Onnx_T:$result, Onnx_T:$indices),
  "(%x) {kernel_shape = array<i64: 2>} : (tensor<1x4x8xf32>) -> (tensor<1x4x7xf32>, tensor<1x4x7xi64>)">;
foreach name = ["GlobalAveragePool", "GlobalMaxPool"] in
  def Onnx_#name#Op : Onnx_Op<name, "inferGlobalPool", (ins Onnx_T:$input), (ins),
    (outs Onnx_T:$result), "(%x) : (tensor<1x4x8xf32>) -> tensor<1x4x1xf32>">;

#endif // WEFT_DIALECTS_ONNX_NEURAL_OPS_TD
