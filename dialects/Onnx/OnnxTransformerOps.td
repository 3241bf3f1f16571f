//===- OnnxTransformerOps.td - Attention and what belongs to it -*- tablegen -*-//

#ifndef WEFT_DIALECTS_ONNX_TRANSFORMER_OPS_TD
#define WEFT_DIALECTS_ONNX_TRANSFORMER_OPS_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_AttentionOp : Onnx_Op<"Attention", "inferAttention",
  (ins Onnx_T:$query, Onnx_T:$key, Onnx_T:$value, Onnx_Maybe:$mask,
       Onnx_Maybe:$past_key, Onnx_Maybe:$past_value, Onnx_Maybe:$nonpad_kv_seqlen),
  (ins Onnx_Int<"0">:$is_causal, Onnx_Int<"0">:$kv_num_heads, Onnx_Int<"0">:$q_num_heads,
       Onnx_Int<"0">:$qk_matmul_output_mode, OptionalAttr<F32Attr>:$scale,
       Onnx_Float<"0.0f">:$softcap, OptionalAttr<TypeAttr>:$softmax_precision,
       Onnx_Int<"-1">:$left_window_size, Onnx_Int<"-1">:$right_window_size),
  (outs Onnx_T:$result, Onnx_T:$present_key, Onnx_T:$present_value, Onnx_T:$scores),
  "(%q, %k, %v, none, none, none, none) : (tensor<1x4x2x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, none, none, none, none) -> (tensor<1x4x2x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x4x2x3xf32>)",
  [AttrSizedOperandSegments]>;
def Onnx_RotaryEmbeddingOp : Onnx_Op<"RotaryEmbedding", "inferSame",
  (ins Onnx_T:$input, Onnx_T:$cosine, Onnx_T:$sine, Onnx_Maybe:$position_ids),
  (ins Onnx_Int<"0">:$interleaved, Onnx_Int<"0">:$num_heads,
       Onnx_Int<"0">:$rotary_embedding_dim), (outs Onnx_T:$result),
  "(%x, %c, %s, %p) : (tensor<1x4x2x8xf32>, tensor<50x4xf32>, tensor<50x4xf32>, tensor<1x2xi64>) -> tensor<1x4x2x8xf32>">;
def Onnx_TensorScatterOp : Onnx_Op<"TensorScatter", "inferSame",
  (ins Onnx_T:$past, Onnx_T:$update, Onnx_Maybe:$write_indices),
  (ins Onnx_Int<"-2">:$axis, Onnx_String<"linear">:$mode), (outs Onnx_T:$result),
  "(%c, %u, %i) : (tensor<1x2x8x4xf32>, tensor<1x2x1x4xf32>, tensor<1xi64>) -> tensor<1x2x8x4xf32>">;

#endif // WEFT_DIALECTS_ONNX_TRANSFORMER_OPS_TD
