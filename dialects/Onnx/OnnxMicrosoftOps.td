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

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Onnx_MicrosoftGroupQueryAttentionOp : Onnx_MicrosoftOp<"GroupQueryAttention",
  "inferGroupQueryAttention",
  (ins Onnx_T:$query, Onnx_Maybe:$key, Onnx_Maybe:$value, Onnx_Maybe:$past_key,
       Onnx_Maybe:$past_value, Onnx_T:$seqlens_k, Onnx_T:$total_sequence_length,
       Onnx_Maybe:$cos_cache, Onnx_Maybe:$sin_cache, Onnx_Maybe:$position_ids,
       Onnx_Maybe:$attention_bias, Onnx_Maybe:$head_sink, Onnx_Maybe:$k_scale,
       Onnx_Maybe:$v_scale, Onnx_Maybe:$q_norm_weight, Onnx_Maybe:$k_norm_weight),
  (ins Onnx_I64:$num_heads, Onnx_I64:$kv_num_heads, Onnx_Float<"0.0f">:$scale,
       Onnx_Float<"0.0f">:$softcap, Onnx_Int<"-1">:$local_window_size,
       Onnx_Int<"0">:$do_rotary, Onnx_Int<"0">:$rotary_interleaved,
       Onnx_Int<"0">:$smooth_softmax, Onnx_Int<"1">:$causal, Onnx_Int<"0">:$qk_output,
       Onnx_String<"NONE">:$k_quant_type, Onnx_String<"NONE">:$v_quant_type,
       Onnx_Int<"0">:$kv_cache_bit_width, Onnx_Float<"1e-6f">:$qk_norm_epsilon,
       Onnx_Int<"0">:$sliding_window_cache),
  (outs Onnx_T:$result, Onnx_T:$present_key, Onnx_T:$present_value, Onnx_T:$scores),
  "(%q, %k, %v, none, none, %l, %t, none, none, none, none, none, none, none, none, none) {kv_num_heads = 1 : i64, num_heads = 2 : i64} : (tensor<1x3x16xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>, none, none, tensor<1xi32>, tensor<i32>, none, none, none, none, none, none, none, none, none) -> (tensor<1x3x16xf32>, tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32>, tensor<1x2x3x3xf32>)",
  [AttrSizedOperandSegments]>;
def Onnx_MicrosoftMultiHeadAttentionOp : Onnx_MicrosoftOp<"MultiHeadAttention",
  "inferMultiHeadAttention",
  (ins Onnx_T:$query, Onnx_Maybe:$key, Onnx_Maybe:$value, Onnx_Maybe:$bias,
       Onnx_Maybe:$key_padding_mask, Onnx_Maybe:$attention_bias, Onnx_Maybe:$past_key,
       Onnx_Maybe:$past_value, Onnx_Maybe:$past_sequence_length,
       Onnx_Maybe:$cache_indirection),
  (ins Onnx_I64:$num_heads, Onnx_Float<"0.0f">:$scale,
       Onnx_Float<"-10000.0f">:$mask_filter_value, Onnx_Int<"0">:$unidirectional),
  (outs Onnx_T:$result, Onnx_T:$present_key, Onnx_T:$present_value, Onnx_T:$scores),
  "(%q, %k, %v, none, none, none, none, none, none, none) {num_heads = 2 : i64} : (tensor<1x3x16xf32>, tensor<1x5x16xf32>, tensor<1x5x16xf32>, none, none, none, none, none, none, none) -> (tensor<1x3x16xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x3x5xf32>)",
  [AttrSizedOperandSegments]>;
def Onnx_MicrosoftAttentionOp : Onnx_MicrosoftOp<"Attention", "inferMicrosoftAttention",
  (ins Onnx_T:$input, Onnx_T:$weights, Onnx_Maybe:$bias, Onnx_Maybe:$mask_index,
       Onnx_Maybe:$past, Onnx_Maybe:$attention_bias, Onnx_Maybe:$past_sequence_length),
  (ins Onnx_I64:$num_heads, Onnx_Int<"0">:$unidirectional,
       OptionalAttr<Onnx_Ints>:$qkv_hidden_sizes, Onnx_Int<"0">:$do_rotary,
       Onnx_Int<"0">:$rotary_embedding_dim, Onnx_Float<"0.0f">:$scale,
       Onnx_Float<"-10000.0f">:$mask_filter_value,
       Onnx_Int<"0">:$past_present_share_buffer),
  (outs Onnx_T:$result, Onnx_T:$present),
  "(%x, %w, %b, none, none, none, none) {num_heads = 2 : i64} : (tensor<1x3x8xf32>, tensor<8x24xf32>, tensor<24xf32>, none, none, none, none) -> (tensor<1x3x8xf32>, tensor<2x1x2x3x4xf32>)",
  [AttrSizedOperandSegments]>;
def Onnx_MicrosoftPackedMultiHeadAttentionOp : Onnx_MicrosoftOp<
  "PackedMultiHeadAttention", "inferPackedMultiHeadAttention",
  (ins Onnx_T:$query, Onnx_Maybe:$key, Onnx_Maybe:$value, Onnx_Maybe:$bias,
       Onnx_T:$token_offset, Onnx_T:$cumulative_sequence_length,
       Onnx_Maybe:$attention_bias),
  (ins Onnx_I64:$num_heads, Onnx_Float<"0.0f">:$scale,
       Onnx_Float<"-10000.0f">:$mask_filter_value), (outs Onnx_T:$result),
  "(%q, %k, %v, none, %o, %c, none) {num_heads = 2 : i64} : (tensor<5x16xf32>, tensor<5x16xf32>, tensor<5x16xf32>, none, tensor<2x3xi32>, tensor<3xi32>, none) -> tensor<5x16xf32>",
  [AttrSizedOperandSegments]>;
def Onnx_MicrosoftEmbedLayerNormalizationOp : Onnx_MicrosoftOp<"EmbedLayerNormalization",
  "inferEmbedLayerNormalization",
  (ins Onnx_T:$input_ids, Onnx_Maybe:$segment_ids, Onnx_T:$word_embedding,
       Onnx_T:$position_embedding, Onnx_Maybe:$segment_embedding, Onnx_T:$gamma,
       Onnx_T:$beta, Onnx_Maybe:$mask, Onnx_Maybe:$position_ids),
  (ins Onnx_Float<"1e-12f">:$epsilon, Onnx_Int<"0">:$mask_index_type),
  (outs Onnx_T:$result, Onnx_T:$mask_index, Onnx_T:$sum),
  "(%i, none, %w, %p, none, %g, %b, none, none) : (tensor<1x3xi32>, none, tensor<50x8xf32>, tensor<16x8xf32>, none, tensor<8xf32>, tensor<8xf32>, none, none) -> (tensor<1x3x8xf32>, tensor<1xi32>, tensor<1x3x8xf32>)",
  [AttrSizedOperandSegments]>;

//===----------------------------------------------------------------------===//
// Weights of few bits
//===----------------------------------------------------------------------===//

def Onnx_MicrosoftMatMulNBitsOp : Onnx_MicrosoftOp<"MatMulNBits", "inferMatMulNBits",
  (ins Onnx_T:$input, Onnx_T:$weight, Onnx_T:$scales, Onnx_Maybe:$zero_points,
       Onnx_Maybe:$g_idx, Onnx_Maybe:$bias),
  (ins Onnx_I64:$K, Onnx_I64:$N, Onnx_Int<"4">:$bits, Onnx_I64:$block_size,
       Onnx_Int<"0">:$accuracy_level, Onnx_Int<"0">:$weight_prepacked),
  (outs Onnx_T:$result),
  "(%x, %w, %s, none, none, none) {K = 32 : i64, N = 2 : i64, block_size = 16 : i64} : (tensor<3x32xf32>, tensor<2x2x8xui8>, tensor<4xf32>, none, none, none) -> tensor<3x2xf32>",
  [AttrSizedOperandSegments]>;
def Onnx_MicrosoftMatMulBnb4Op : Onnx_MicrosoftOp<"MatMulBnb4", "inferMatMulNBits",
  (ins Onnx_T:$input, Onnx_T:$weight, Onnx_T:$absmax),
  (ins Onnx_I64:$K, Onnx_I64:$N, Onnx_I64:$block_size, Onnx_I64:$quant_type,
       Onnx_Int<"1">:$transB, Onnx_Int<"0">:$training_mode), (outs Onnx_T:$result),
  "(%x, %w, %s) {K = 32 : i64, N = 2 : i64, block_size = 16 : i64, quant_type = 1 : i64} : (tensor<3x32xf32>, tensor<32xui8>, tensor<4xf32>) -> tensor<3x2xf32>">;
def Onnx_MicrosoftGatherBlockQuantizedOp : Onnx_MicrosoftOp<"GatherBlockQuantized",
  "inferGatherBlockQuantized",
  (ins Onnx_T:$data, Onnx_T:$indices, Onnx_T:$scales, Onnx_Maybe:$zero_points),
  (ins Onnx_Int<"0">:$gather_axis, Onnx_Int<"1">:$quantize_axis,
       Onnx_Int<"128">:$block_size, Onnx_Int<"4">:$bits), (outs Onnx_T:$result),
  "(%w, %i, %s, none) {block_size = 16 : i64} : (tensor<8x16xui8>, tensor<3xi64>, tensor<8x2xf32>, none) -> tensor<3x32xf32>">;
def Onnx_MicrosoftDynamicQuantizeMatMulOp : Onnx_MicrosoftOp<"DynamicQuantizeMatMul",
  "inferQuantizedMatMul",
  (ins Onnx_T:$lhs, Onnx_T:$rhs, Onnx_T:$rhs_scale, Onnx_Maybe:$rhs_zero_point,
       Onnx_Maybe:$bias), (ins), (outs Onnx_T:$result),
  "(%x, %w, %s, none, none) : (tensor<3x4xf32>, tensor<4x2xi8>, tensor<f32>, none, none) -> tensor<3x2xf32>",
  [AttrSizedOperandSegments]>;
def Onnx_MicrosoftMatMulIntegerToFloatOp : Onnx_MicrosoftOp<"MatMulIntegerToFloat",
  "inferQuantizedMatMul",
  (ins Onnx_T:$lhs, Onnx_T:$rhs, Onnx_T:$lhs_scale, Onnx_T:$rhs_scale,
       Onnx_Maybe:$lhs_zero_point, Onnx_Maybe:$rhs_zero_point, Onnx_Maybe:$bias), (ins),
  (outs Onnx_T:$result),
  "(%x, %w, %a, %s, none, none, none) : (tensor<3x4xui8>, tensor<4x2xi8>, tensor<f32>, tensor<f32>, none, none, none) -> tensor<3x2xf32>",
  [AttrSizedOperandSegments]>;

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

defvar Onnx_Experts = (ins Onnx_Int<"1">:$k, Onnx_String<"relu">:$activation_type,
  Onnx_Int<"0">:$normalize_routing_weights, Onnx_Int<"0">:$use_sparse_mixer,
  Onnx_Int<"0">:$swiglu_fusion, OptionalAttr<F32Attr>:$swiglu_limit,
  Onnx_Float<"1.0f">:$activation_alpha, Onnx_Float<"0.0f">:$activation_beta);

def Onnx_MicrosoftMoEOp : Onnx_MicrosoftOp<"MoE", "inferSame",
  (ins Onnx_T:$input, Onnx_T:$router_probs, Onnx_T:$fc1_weights, Onnx_Maybe:$fc1_bias,
       Onnx_T:$fc2_weights, Onnx_Maybe:$fc2_bias, Onnx_Maybe:$fc3_weights,
       Onnx_Maybe:$fc3_bias), Onnx_Experts, (outs Onnx_T:$result),
  "(%x, %r, %a, none, %b, none, none, none) : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x16x8xf32>, none, tensor<4x8x16xf32>, none, none, none) -> tensor<3x8xf32>",
  [AttrSizedOperandSegments]>;
def Onnx_MicrosoftQMoEOp : Onnx_MicrosoftOp<"QMoE", "inferSame",
  (ins Onnx_T:$input, Onnx_T:$router_probs, Onnx_T:$fc1_weights, Onnx_T:$fc1_scales,
       Onnx_Maybe:$fc1_bias, Onnx_T:$fc2_weights, Onnx_T:$fc2_scales,
       Onnx_Maybe:$fc2_bias, Onnx_Maybe:$fc3_weights, Onnx_Maybe:$fc3_scales,
       Onnx_Maybe:$fc3_bias, Onnx_Maybe:$fc1_zero_points, Onnx_Maybe:$fc2_zero_points,
       Onnx_Maybe:$fc3_zero_points, Onnx_Maybe:$router_weights),
  !con(Onnx_Experts, (ins Onnx_Int<"4">:$expert_weight_bits, Onnx_Int<"0">:$block_size,
    Onnx_String<"int">:$quant_type, Onnx_Int<"-1">:$weights_prepacked)),
  (outs Onnx_T:$result),
  "(%x, %r, %a, %s, none, %b, %t, none, none, none, none, none, none, none, none) {weights_prepacked = 0 : i64} : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<4x16x4xui8>, tensor<4x16xf32>, none, tensor<4x8x8xui8>, tensor<4x8xf32>, none, none, none, none, none, none, none, none) -> tensor<3x8xf32>",
  [AttrSizedOperandSegments]>;

#endif // WEFT_DIALECTS_ONNX_MICROSOFT_OPS_TD
