//===- OnnxMicrosoftOps.td - Operators of com.microsoft ----*- tablegen -*-===//

#ifndef WEFT_DIALECTS_ONNX_MICROSOFT_OPS_TD
#define WEFT_DIALECTS_ONNX_MICROSOFT_OPS_TD

include "dialects/Onnx/OnnxBase.td"

class Onnx_MicrosoftOp<string operator, string rule, dag inputs, dag attributes,
                       dag outputs, string example, list<Trait> traits = []>
    : Onnx_Op<"microsoft." # operator, rule, inputs, attributes, outputs, example,
              traits>;

def Onnx_MicrosoftGeluOp : Onnx_MicrosoftOp<"Gelu", "inferSame", (ins Onnx_T:$input), (ins),
  (outs Onnx_T:$result), Onnx_OneTensor>;
def Onnx_MicrosoftQuickGeluOp : Onnx_MicrosoftOp<"QuickGelu", "inferSame", (ins Onnx_T:$input),
  (ins Onnx_Float<"1.702f">:$alpha), (outs Onnx_T:$result), Onnx_OneTensor>;
def Onnx_MicrosoftFastGeluOp : Onnx_MicrosoftOp<"FastGelu", "inferSame",
  (ins Onnx_T:$input, Onnx_Maybe:$bias), (ins), (outs Onnx_T:$result),
  "(%x, none) : (tensor<2x4xf32>, none) -> tensor<2x4xf32>">;
def Onnx_MicrosoftBiasGeluOp : Onnx_MicrosoftOp<"BiasGelu", "inferSame",
  (ins Onnx_T:$input, Onnx_T:$bias), (ins), (outs Onnx_T:$result),
  "(%x, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>">;
def Onnx_MicrosoftFusedMatMulOp : Onnx_MicrosoftOp<"FusedMatMul", "inferFusedMatMul",
  (ins Onnx_T:$lhs, Onnx_T:$rhs),
  (ins Onnx_Float<"1.0f">:$alpha, Onnx_Int<"0">:$transA, Onnx_Int<"0">:$transB,
       Onnx_Int<"0">:$transBatchA, Onnx_Int<"0">:$transBatchB), (outs Onnx_T:$result),
  "(%x, %w) {transB = 1 : i64} : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>">;
def Onnx_MicrosoftSimplifiedLayerNormalizationOp : Onnx_MicrosoftOp<
  "SimplifiedLayerNormalization", "inferSimplifiedNormalization",
  (ins Onnx_T:$input, Onnx_T:$scale),
  (ins Onnx_Int<"-1">:$axis, Onnx_Float<"1e-5f">:$epsilon, Onnx_Int<"1">:$stash_type),
  (outs Onnx_T:$result, Onnx_T:$inv_std_dev),
  "(%x, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)">;
def Onnx_MicrosoftSkipSimplifiedLayerNormalizationOp : Onnx_MicrosoftOp<
  "SkipSimplifiedLayerNormalization", "inferSkipNormalization",
  (ins Onnx_T:$input, Onnx_T:$skip, Onnx_T:$gamma, Onnx_Maybe:$bias),
  (ins Onnx_Float<"1e-5f">:$epsilon),
  (outs Onnx_T:$result, Onnx_T:$mean, Onnx_T:$inv_std_dev, Onnx_T:$sum),
  "(%x, %r, %w, none) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, none) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x4xf32>)">;
def Onnx_MicrosoftSkipLayerNormalizationOp : Onnx_MicrosoftOp<
  "SkipLayerNormalization", "inferSkipNormalization",
  (ins Onnx_T:$input, Onnx_T:$skip, Onnx_T:$gamma, Onnx_Maybe:$beta, Onnx_Maybe:$bias),
  (ins Onnx_Float<"1e-5f">:$epsilon),
  (outs Onnx_T:$result, Onnx_T:$mean, Onnx_T:$inv_std_dev, Onnx_T:$sum),
  "(%x, %r, %w, %b, none) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, none) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x4xf32>)",
  [AttrSizedOperandSegments]>;
def Onnx_MicrosoftRotaryEmbeddingOp : Onnx_MicrosoftOp<"RotaryEmbedding", "inferSame",
  (ins Onnx_T:$input, Onnx_T:$position_ids, Onnx_T:$cosine, Onnx_T:$sine),
  (ins Onnx_Int<"0">:$interleaved, Onnx_Int<"0">:$is_packed_batching, Onnx_Int<"0">:$num_heads,
       Onnx_Int<"0">:$rotary_embedding_dim, Onnx_Float<"1.0f">:$scale), (outs Onnx_T:$result),
  "(%x, %p, %c, %s) : (tensor<1x4x2x8xf32>, tensor<1x2xi64>, tensor<50x4xf32>, tensor<50x4xf32>) -> tensor<1x4x2x8xf32>">;

#endif // WEFT_DIALECTS_ONNX_MICROSOFT_OPS_TD
