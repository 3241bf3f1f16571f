//===- OnnxElementwiseOps.td - Operators on single elements -*- tablegen -*-===//

#ifndef WEFT_DIALECTS_ONNX_ELEMENTWISE_OPS_TD
#define WEFT_DIALECTS_ONNX_ELEMENTWISE_OPS_TD

include "dialects/Onnx/OnnxBase.td"

foreach name = ["Abs", "Neg", "Sqrt", "Reciprocal", "Exp", "Log", "Erf", "Tanh",
                "Sigmoid", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh",
                "Cosh", "Asinh", "Acosh", "Atanh", "Floor", "Ceil", "Round",
                "Sign", "Relu", "Softplus", "Softsign", "HardSwish", "Mish",
                "Identity"] in
  def Onnx_#name#Op : Onnx_Unary<name>;

def Onnx_LeakyReluOp : Onnx_Unary<"LeakyRelu", (ins Onnx_Float<"0.01f">:$alpha)>;
def Onnx_EluOp : Onnx_Unary<"Elu", (ins Onnx_Float<"1.0f">:$alpha)>;
def Onnx_CeluOp : Onnx_Unary<"Celu", (ins Onnx_Float<"1.0f">:$alpha)>;
def Onnx_SeluOp : Onnx_Unary<"Selu", (ins
  Onnx_Float<"1.67326319217681884765625f">:$alpha,
  Onnx_Float<"1.05070102214813232421875f">:$gamma)>;
def Onnx_ThresholdedReluOp : Onnx_Unary<"ThresholdedRelu", (ins Onnx_Float<"1.0f">:$alpha)>;
def Onnx_HardSigmoidOp : Onnx_Unary<"HardSigmoid", (ins
  Onnx_Float<"0.2f">:$alpha, Onnx_Float<"0.5f">:$beta)>;
def Onnx_ShrinkOp : Onnx_Unary<"Shrink", (ins
  Onnx_Float<"0.0f">:$bias, Onnx_Float<"0.5f">:$lambd)>;
def Onnx_GeluOp : Onnx_Unary<"Gelu", (ins Onnx_String<"none">:$approximate)>;
def Onnx_SwishOp : Onnx_Unary<"Swish", (ins Onnx_Float<"1.0f">:$alpha)>;

foreach name = ["Not", "BitwiseNot"] in
  def Onnx_#name#Op : Onnx_Op<name, "inferSame", (ins Onnx_T:$input), (ins),
    (outs Onnx_T:$result), "(%x) : (tensor<3xi1>) -> tensor<3xi1>">;

foreach name = ["Add", "Sub", "Mul", "Div", "Pow", "PRelu"] in
  def Onnx_#name#Op : Onnx_Binary<name>;
def Onnx_SwiGLUOp : Onnx_Binary<"SwiGLU", (ins Onnx_Float<"1.0f">:$alpha)>;
def Onnx_ModOp : Onnx_Binary<"Mod", (ins Onnx_Int<"0">:$fmod)>;
foreach name = ["And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor"] in
  def Onnx_#name#Op : Onnx_BinaryOfInts<name>;
def Onnx_BitShiftOp : Onnx_Op<"BitShift", "inferBroadcast",
  (ins Onnx_T:$lhs, Onnx_T:$rhs), (ins StrAttr:$direction), (outs Onnx_T:$result),
  "(%x, %b) {direction = \"LEFT\"} : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>">;
foreach name = ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"] in
  def Onnx_#name#Op : Onnx_Comparison<name>;
foreach name = ["Min", "Max", "Sum", "Mean"] in
  def Onnx_#name#Op : Onnx_Nary<name>;

def Onnx_IsNaNOp : Onnx_Op<"IsNaN", "inferPredicate", (ins Onnx_T:$input), (ins),
  (outs Onnx_T:$result), "(%x) : (tensor<3xf32>) -> tensor<3xi1>">;
def Onnx_IsInfOp : Onnx_Op<"IsInf", "inferPredicate", (ins Onnx_T:$input),
  (ins Onnx_Int<"1">:$detect_negative, Onnx_Int<"1">:$detect_positive),
  (outs Onnx_T:$result), "(%x) : (tensor<3xf32>) -> tensor<3xi1>">;

def Onnx_WhereOp : Onnx_Op<"Where", "inferWhere",
  (ins Onnx_T:$condition, Onnx_T:$lhs, Onnx_T:$rhs), (ins), (outs Onnx_T:$result),
  "(%c, %x, %b) : (tensor<2x3xi1>, tensor<3xf32>, tensor<f32>) -> tensor<2x3xf32>">;
def Onnx_ClipOp : Onnx_Op<"Clip", "inferSame",
  (ins Onnx_T:$input, Onnx_Maybe:$min, Onnx_Maybe:$max), (ins), (outs Onnx_T:$result),
  "(%x, none, %max) : (tensor<3xf32>, none, tensor<f32>) -> tensor<3xf32>",
  [AttrSizedOperandSegments]>;

def Onnx_CastOp : Onnx_Op<"Cast", "inferCast", (ins Onnx_T:$input),
  (ins TypeAttr:$to, Onnx_Int<"1">:$saturate, Onnx_String<"up">:$round_mode),
  (outs Onnx_T:$result),
  "(%x) {to = f16} : (tensor<3xf32>) -> tensor<3xf16>">;
def Onnx_BitCastOp : Onnx_Op<"BitCast", "inferCast", (ins Onnx_T:$input),
  (ins TypeAttr:$to), (outs Onnx_T:$result),
  "(%x) {to = i32} : (tensor<3xf32>) -> tensor<3xi32>">;
def Onnx_CastLikeOp : Onnx_Op<"CastLike", "inferCastLike",
  (ins Onnx_T:$input, Onnx_T:$target), (ins Onnx_Int<"1">:$saturate,
   Onnx_String<"up">:$round_mode), (outs Onnx_T:$result),
  "(%x, %t) : (tensor<3xf32>, tensor<1xf16>) -> tensor<3xf16>">;

#endif // WEFT_DIALECTS_ONNX_ELEMENTWISE_OPS_TD
