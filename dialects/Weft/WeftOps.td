//===- WeftOps.td - Model-level operations -----------------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_WEFT_OPS_TD
#define WEFT_DIALECTS_WEFT_OPS_TD

include "dialects/Weft/WeftAttrs.td"
include "dialects/Weft/WeftInterfaces.td"
include "mlir/Dialect/Linalg/IR/LinalgInterfaces.td"
include "mlir/Dialect/Shard/Interfaces/ShardingInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Weft_FloatTensor : RankedTensorOf<[F32, F16, BF16]>;
def Weft_IndexTensor : RankedTensorOf<[I32]>;
def Weft_Indices : 1DTensorOf<[I32]>;

class Weft_Op<string mnemonic, list<Trait> traits = []>
    : Op<Weft_Dialect, mnemonic, traits>;

/// An operation of the model: pure, with a decomposition that is its meaning,
/// a cost and a sharding rule.
class Weft_ModelOp<string mnemonic, list<Trait> traits = []>
    : Weft_Op<mnemonic, !listconcat([
        Pure,
        DeclareOpInterfaceMethods<AggregatedOpInterface, ["decomposeOperation"]>,
        DeclareOpInterfaceMethods<Weft_CostInterface>,
        DeclareOpInterfaceMethods<Weft_DimSourceInterface>,
        DeclareOpInterfaceMethods<ShardingInterface,
            ["getLoopIteratorTypes", "getReductionLoopIteratorKinds", "getIndexingMaps"]>
      ], traits)> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

def Weft_WeightOp : Weft_Op<"weight", [Pure]> {
  let summary = "a constant tensor of the checkpoint";
  let description = [{
    The rows of all `sources`, in order, concatenated along the leading
    dimension and read with the shape of the result (before packing, if there
    is a `layout`: then the result has the packed shape and `logical_shape` is
    the shape before packing). Only names are kept in the IR; the bytes are
    read when the artifact is written.

    A merged query/key/value projection is a weight with three sources.

    ```mlir
    %w = weft.weight [#weft.source<"q_proj.weight">, #weft.source<"k_proj.weight">]
        : tensor<96x64xf32>
    ```
  }];
  let arguments = (ins
    TypedArrayAttrBase<Weft_SourceAttr, "array of sources">:$sources,
    OptionalAttr<Weft_PackedLayoutInterface>:$layout,
    OptionalAttr<DenseI64ArrayAttr>:$logical_shape);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = [{
    $sources (`layout` custom<PackedLayout>($layout)^ `of` $logical_shape)? attr-dict `:` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::llvm::StringRef":$name,
                   CArg<"bool", "false">:$transposed)>
  ];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Shape before packing.
    llvm::ArrayRef<int64_t> getShapeBeforePacking();
  }];
}

def Weft_SizeOp : Weft_Op<"size", [Pure]> {
  let summary = "a size that depends on symbols";
  let description = [{
    The value of a polynomial over the symbols of the entry point, for tensors
    whose sizes are not those of an operand.

    ```mlir
    %n = weft.size "past + sequence"
    ```
  }];
  let arguments = (ins StrAttr:$size);
  let results = (outs Index:$result);
  let assemblyFormat = "$size attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Rows, norms, linear layers
//===----------------------------------------------------------------------===//

def Weft_EmbedOp : Weft_ModelOp<"embed"> {
  let summary = "picks rows of a table";
  let description = [{
    `result[i, :] = table[ids[i], :] * scale`. The ids must be in range. Also
    picks the rows of the hidden state whose logits are wanted. The table is
    `[N, C]`, or packed when it carries a layout (an embedding that is
    also the output head is stored once, as the head wants it).

    ```mlir
    %x = weft.embed %ids, %table {scale = 8.0 : f32}
        : (tensor<?xi32>, tensor<512x64xf32>) -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Weft_Indices:$ids, Weft_FloatTensor:$table,
                       DefaultValuedAttr<F32Attr, "1.0f">:$scale,
                       OptionalAttr<Weft_PackedLayoutInterface>:$layout);
  let results = (outs Weft_FloatTensor:$result);
  let assemblyFormat = [{
    $ids `,` $table (`layout` custom<PackedLayout>($layout)^)? attr-dict `:` functional-type(operands, results)
  }];
}

def Weft_RmsNormOp : Weft_ModelOp<"rms_norm", [AllTypesMatch<["input", "result"]>]> {
  let summary = "root-mean-square normalisation of the last dimension";
  let description = [{
    `x / sqrt(mean(x^2) + epsilon) * (weight + weight_offset)`, computed in
    f32 whatever the element type (Zhang and Sennrich, 2019). Gemma stores
    `weight - 1`, so its `weight_offset` is 1.

    ```mlir
    %y = weft.rms_norm %x, %w {epsilon = 1.0e-5 : f32}
        : tensor<?x64xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Weft_FloatTensor:$input, Weft_FloatTensor:$weight,
                       F32Attr:$epsilon,
                       DefaultValuedAttr<F32Attr, "0.0f">:$weight_offset);
  let results = (outs Weft_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` type($input) `,` type($weight)";
}

def Weft_LayerNormOp : Weft_ModelOp<"layer_norm", [AllTypesMatch<["input", "result"]>]> {
  let summary = "layer normalisation of the last dimension";
  let description = [{
    `(x - mean) / sqrt(variance + epsilon) * weight + bias`, with the biased
    variance, computed in f32 (Ba, Kiros and Hinton, 2016).

    ```mlir
    %y = weft.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f32}
        : tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Weft_FloatTensor:$input, Weft_FloatTensor:$weight,
                       Optional<Weft_FloatTensor>:$bias, F32Attr:$epsilon);
  let results = (outs Weft_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? attr-dict `:` type($input) `,` type($weight)
    (`,` type($bias)^)?
  }];
}

def Weft_LinearOp : Weft_ModelOp<"linear"> {
  let summary = "multiplication by a weight matrix";
  let description = [{
    `result[t, n] = sum_k input[t, k] * weight[n, k] + bias[n]`, accumulated
    in f32 and rounded once to the result's element type. The weight is
    `[N, K]` (out, in), or packed when it carries a layout.

    ```mlir
    %y = weft.linear %x, %w : (tensor<?x64xf32>, tensor<96x64xf32>) -> tensor<?x96xf32>
    ```
  }];
  let arguments = (ins Weft_FloatTensor:$input, Weft_FloatTensor:$weight,
                       Optional<Weft_FloatTensor>:$bias,
                       OptionalAttr<Weft_PackedLayoutInterface>:$layout);
  let results = (outs Weft_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? (`layout` custom<PackedLayout>($layout)^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Number of inputs K and outputs N of the matrix.
    int64_t getInputSize();
    int64_t getOutputSize();
  }];
}

//===----------------------------------------------------------------------===//
// Positions and attention
//===----------------------------------------------------------------------===//

def Weft_RopeTableOp : Weft_ModelOp<"rope_table", [AllTypesMatch<["cosine", "sine"]>]> {
  let summary = "cosines and sines of rotary position embeddings";
  let description = [{
    `cosine[t, i] = cos(positions[t] * frequencies[c, i]) * scale[c]`, and the
    same for the sine, where c is `choice[t]`, or 0 without `choice`. The
    product is rounded to f32 (as every implementation does), the angle is then
    reduced exactly (Su et al., RoFormer, 2021).

    ```mlir
    %cos, %sin = weft.rope_table %positions, %frequencies {scale = array<f32: 1.0>}
        : (tensor<?xi32>, tensor<1x32xf32>) -> tensor<?x32xf32>
    ```
  }];
  let arguments = (ins Weft_Indices:$positions, 2DTensorOf<[F32]>:$frequencies,
                       Optional<Weft_Indices>:$choice, DenseF32ArrayAttr:$scale);
  let results = (outs 2DTensorOf<[F32]>:$cosine, 2DTensorOf<[F32]>:$sine);
  let assemblyFormat = [{
    $positions `,` $frequencies (`choice` $choice^)? attr-dict `:`
    `(` type($positions) `,` type($frequencies) (`,` type($choice)^)? `)` `->` type($cosine)
  }];
}

def Weft_RopeOp : Weft_ModelOp<"rope", [AllTypesMatch<["input", "result"]>,
                                       AllTypesMatch<["cosine", "sine"]>]> {
  let summary = "rotates query or key heads by their position";
  let description = [{
    Rotates pairs of the first R = 2 * dim(cosine, 1) elements of every head
    `[token, head, :]`; the rest passes through. Pairs are (i, i + R/2), or
    (2i, 2i + 1) when `interleaved`.

    ```mlir
    %y = weft.rope %x, %cos, %sin : tensor<?x8x64xf32>, tensor<?x32xf32>
    ```
  }];
  let arguments = (ins 3DTensorOf<[F32, F16, BF16]>:$input,
                       2DTensorOf<[F32]>:$cosine, 2DTensorOf<[F32]>:$sine,
                       UnitAttr:$interleaved);
  let results = (outs 3DTensorOf<[F32, F16, BF16]>:$result);
  let assemblyFormat = [{
    $input `,` $cosine `,` $sine attr-dict `:` type($input) `,` type($cosine)
  }];
  let hasFolder = 1;
}

def Weft_CacheAppendOp : Weft_ModelOp<"cache_append", [AllTypesMatch<["cache", "result"]>]> {
  let summary = "writes keys or values of the step's tokens into the cache";
  let description = [{
    A key cache is `[blocks, kv_heads, head_size, block_size]`, a value cache
    `[blocks, kv_heads, block_size, head_size]`. Token t goes to block
    `slots[t] / block_size`, position `slots[t] % block_size`. Slots of a step
    are distinct.

    ```mlir
    %new = weft.cache_append key %cache, %k, %slots
        : tensor<?x4x64x64xf32>, tensor<?x4x64xf32>
    ```
  }];
  let arguments = (ins Weft_CacheKindAttr:$kind,
                       4DTensorOf<[F32, F16, BF16]>:$cache,
                       3DTensorOf<[F32, F16, BF16]>:$input, Weft_Indices:$slots);
  let results = (outs 4DTensorOf<[F32, F16, BF16]>:$result);
  let assemblyFormat = [{
    `` $kind $cache `,` $input `,` $slots attr-dict `:` type($cache) `,` type($input)
    `` custom<IndexTensorTypes>(type($slots))
  }];
}

def Weft_AttentionOp : Weft_ModelOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "softmax attention of ragged sequences";
  let description = [{
    For every token t and query head h, with s = `sequence_ids[t]` and
    p = `positions[t]`:

    `result[t, h, :] = sum_j softmax_j(score(j)) * value(s, j, h / group, :)`,
    `score(j) = softcap(scale * dot(query[t, h, :], key(s, j, h / group, :))) + bias[t, h, j]`

    over the key positions j of sequence s that are visible: j <= p when
    `causal`, and p - j < window when there is a `window` (so a window of W
    admits exactly W keys). `softcap(x) = cap * tanh(x / cap)` and comes before
    the mask. group = query heads / key heads, so that consecutive query heads
    share a key head. The softmax is computed in f32. A token that sees no key
    gives 0.

    Two forms:

    * paged: `key` and `value` are caches (see `weft.cache_append`) that
      already contain the tokens of this step; position j of sequence s lies in
      block `block_table[s, j / block_size]`, and there are
      `context_lengths[s]` positions;
    * ragged: `key` and `value` are `[tokens, kv_heads, head_size]`; position
      j of sequence s is row `sequence_starts[s] + j`. With `key_starts` they
      have other rows than the query: position j is row `key_starts[s] + j` of
      `[key_starts[s], key_starts[s + 1])`.

    The `bias` of the ragged form is `[tokens, query_heads, width]`, or
    `[tokens, 1, width]` for all heads: a mask is one of 0 and the number that
    hides. The width is at least that of the longest sequence plus 63, since
    kernels read 64 positions at a time; what lies behind a sequence's keys is not
    used. A token all of whose scores are -infinity sees no key.

    The types of the index tensors are written, as `indices(...)` behind the
    result, only when a size of theirs is static.

    ```mlir
    %o = weft.attention %q, %k, %v positions %p sequences %ids, %starts
        context %lengths, %table {scale = 0.125 : f32, causal}
        : (tensor<?x8x64xf32>, tensor<?x4x64x64xf32>, tensor<?x4x64x64xf32>) -> tensor<?x8x64xf32>
    ```
  }];
  let arguments = (ins
    3DTensorOf<[F32, F16, BF16]>:$query,
    Weft_FloatTensor:$key,
    Weft_FloatTensor:$value,
    Weft_Indices:$positions,
    Weft_Indices:$sequence_ids,
    Weft_Indices:$sequence_starts,
    Optional<Weft_Indices>:$context_lengths,
    Optional<2DTensorOf<[I32]>>:$block_table,
    Optional<Weft_Indices>:$key_starts,
    Optional<3DTensorOf<[F32]>>:$bias,
    F32Attr:$scale,
    UnitAttr:$causal,
    OptionalAttr<I64Attr>:$window,
    OptionalAttr<F32Attr>:$softcap);
  let results = (outs 3DTensorOf<[F32, F16, BF16]>:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value `positions` $positions `sequences` $sequence_ids
    `,` $sequence_starts (`context` $context_lengths^ `,` $block_table)?
    (`keys` $key_starts^)? (`bias` $bias^)? attr-dict
    `:` `(` type($query) `,` type($key) `,` type($value) (`,` type($bias)^)? `)` `->` type($result)
    `` custom<AttentionIndexTypes>(ref($context_lengths), ref($key_starts),
      type($positions), type($sequence_ids), type($sequence_starts),
      type($context_lengths), type($block_table), type($key_starts))
  }];
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    bool isPaged() { return static_cast<bool>(getBlockTable()); }
    int64_t getQueryHeads();
    int64_t getKeyHeads();
    int64_t getHeadSize();
    /// Positions per cache block; only for the paged form.
    int64_t getBlockSize();
  }];
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

def Weft_ActivationOp : Weft_ModelOp<"activation", [AllTypesMatch<["input", "result"]>]> {
  let summary = "pointwise activation function";
  let description = [{
    `silu(x) = x * sigmoid(x)`, `gelu(x) = x * Phi(x)` with the error function,
    `gelu_tanh` its tanh form, `quick_gelu(x) = x * sigmoid(1.702 x)`;
    computed in f32 (Hendrycks and Gimpel, 2016).

    ```mlir
    %y = weft.activation gelu %x : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Weft_ActivationAttr:$function, Weft_FloatTensor:$input);
  let results = (outs Weft_FloatTensor:$result);
  let assemblyFormat = "`` $function $input attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Weft_GatedActivationOp : Weft_ModelOp<"gated_activation",
    [AllTypesMatch<["gate", "up", "result"]>]> {
  let summary = "activation of a gate times an input";
  let description = [{
    `activation(gate) * up` (Shazeer, GLU variants, 2020).

    ```mlir
    %y = weft.gated_activation silu %gate, %up : tensor<?x172xf32>
    ```
  }];
  let arguments = (ins Weft_ActivationAttr:$function, Weft_FloatTensor:$gate,
                       Weft_FloatTensor:$up);
  let results = (outs Weft_FloatTensor:$result);
  let assemblyFormat = "`` $function $gate `,` $up attr-dict `:` type($gate)";
}

def Weft_SoftcapOp : Weft_ModelOp<"softcap", [AllTypesMatch<["input", "result"]>]> {
  let summary = "limits values smoothly";
  let description = [{
    `cap * tanh(x / cap)`, computed in f32.

    ```mlir
    %y = weft.softcap %x {cap = 30.0 : f32} : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Weft_FloatTensor:$input, F32Attr:$cap);
  let results = (outs Weft_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

//===----------------------------------------------------------------------===//
// Mixture of experts
//===----------------------------------------------------------------------===//

def Weft_RouteOp : Weft_ModelOp<"route"> {
  let summary = "chooses experts for every token";
  let description = [{
    Softmax over all experts in f32, then the `top_k` largest, ties to the
    lowest expert, in descending order. With `renormalize` the chosen weights
    are divided by their sum; without it they stay as the full softmax gave
    them.

    ```mlir
    %experts, %weights = weft.route %logits {top_k = 2 : i64, renormalize}
        : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
    ```
  }];
  let arguments = (ins 2DTensorOf<[F32, F16, BF16]>:$logits, I64Attr:$top_k,
                       UnitAttr:$renormalize);
  let results = (outs 2DTensorOf<[I32]>:$experts, 2DTensorOf<[F32]>:$weights);
  let assemblyFormat = [{
    $logits attr-dict `:` type($logits) `->` type($experts) `,` type($weights)
  }];
}

def Weft_GroupedLinearOp : Weft_ModelOp<"grouped_linear"> {
  let summary = "multiplication by the weight matrices of the chosen experts";
  let description = [{
    `result[t, i, n] = sum_k input[t, (i,) k] * weight[experts[t, i], n, k]`:
    the input is `[tokens, K]`, shared by the chosen experts, or
    `[tokens, top_k, K]`. The weight is `[experts, N, K]`, packed when it
    carries a layout. Weights of experts that no token chose are not read.

    ```mlir
    %y = weft.grouped_linear %x, %w, %experts
        : (tensor<?x64xf32>, tensor<8x96x64xf32>, tensor<?x2xi32>) -> tensor<?x2x96xf32>
    ```
  }];
  let arguments = (ins Weft_FloatTensor:$input, Weft_FloatTensor:$weight,
                       2DTensorOf<[I32]>:$experts,
                       OptionalAttr<Weft_PackedLayoutInterface>:$layout);
  let results = (outs 3DTensorOf<[F32, F16, BF16]>:$result);
  let assemblyFormat = [{
    $input `,` $weight `,` $experts (`layout` custom<PackedLayout>($layout)^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Weft_CombineOp : Weft_ModelOp<"combine"> {
  let summary = "weighted sum of the chosen experts' outputs";
  let description = [{
    `result[t, n] = sum_i weights[t, i] * input[t, i, n]`, in f32, experts in
    the order in which they were chosen.

    ```mlir
    %y = weft.combine %x, %weights : (tensor<?x2x64xf32>, tensor<?x2xf32>) -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins 3DTensorOf<[F32, F16, BF16]>:$input, 2DTensorOf<[F32]>:$weights);
  let results = (outs 2DTensorOf<[F32, F16, BF16]>:$result);
  let assemblyFormat = "$input `,` $weights attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

def Weft_AdjustLogitsOp : Weft_ModelOp<"adjust_logits", [AllTypesMatch<["logits", "result"]>]> {
  let summary = "changes single logits: penalties and biases";
  let description = [{
    For every entry e with r = `places[e, 0]`, v = `places[e, 1]` and x =
    `logits[r, v]`:

    `result[r, v] = (x > 0 ? x / values[e, 0] : x * values[e, 0]) + values[e, 1]`,

    limited to the range of f32 where x is finite; all other logits stay as
    they are. So `values[e, 0]` is a repetition penalty (Keskar et al., CTRL,
    2019) and `values[e, 1]` is a bias less the presence and frequency
    penalties. Entries with r < 0 are skipped. No two entries have the same
    place. The result reuses the buffer of the logits.

    ```mlir
    %y = weft.adjust_logits %x, %places, %values
        : tensor<?x512xf32>, tensor<?x2xi32>, tensor<?x2xf32>
    ```
  }];
  let arguments = (ins 2DTensorOf<[F32]>:$logits, 2DTensorOf<[I32]>:$places,
                       2DTensorOf<[F32]>:$values);
  let results = (outs 2DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $logits `,` $places `,` $values attr-dict `:` type($logits) `,` type($places) `,` type($values)
  }];
}

def Weft_SampleOp : Weft_ModelOp<"sample"> {
  let summary = "chooses an id by each row of logits";
  let description = [{
    Row r has the numbers k, n = `counts[r]` and t, p, q, u = `options[r]`, and
    the ids 0 to n - 1 (1 <= n <= V). If a logit of these ids is not a finite
    number, the result is -1 - id of the first such id. Otherwise, if t is 0, it
    is the id of the largest logit, the lowest among equals. Otherwise

    1. ids are ordered by descending logit, equal ones by ascending id; the
       first k of them stay, all if k is 0;
    2. with weights `exp((logit - largest) / t)`, of what is left the shortest
       prefix stays whose weight is at least (p - 1e-6) times the whole; all if
       p is 1 (nucleus sampling, Holtzman et al., 2020);
    3. of that, ids with a weight of at least q * (1 - 1e-6) stay (min-p, Nguyen
       et al., 2024);
    4. the result is the lowest id such that the weights of all ids up to it
       that are left exceed u times the weight of all that are left.

    The first id in the order always stays. Arithmetic is in f32. t is at least
    the smallest normal number where it is not 0, p is in (0, 1], q in [0, 1]
    and u in [0, 1).

    ```mlir
    %ids = weft.sample %logits, %counts, %options
        : tensor<?x512xf32>, tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>
    ```
  }];
  let arguments = (ins 2DTensorOf<[F32]>:$logits, 2DTensorOf<[I32]>:$counts,
                       2DTensorOf<[F32]>:$options);
  let results = (outs Weft_Indices:$ids);
  let assemblyFormat = [{
    $logits `,` $counts `,` $options attr-dict `:` type($logits) `,` type($counts) `,` type($options)
    `->` type($ids)
  }];
}

//===----------------------------------------------------------------------===//
// Kernels to be
//===----------------------------------------------------------------------===//

def Weft_DispatchOp : Weft_Op<"dispatch", [IsolatedFromAbove,
    SingleBlockImplicitTerminator<"::weft::YieldOp">, RecursiveMemoryEffects]> {
  let summary = "model operations that become one kernel";
  let description = [{
    The body's operations are computed by one kernel launch. Operands that are
    caches or logits may be updated in place: a result whose value is a cache
    append or an adjustment of an operand reuses the operand's buffer.

    ```mlir
    %y = weft.dispatch "layers.0.o_proj" (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64xf32>,
        %r = %residual : tensor<?x64xf32>) -> (tensor<?x64xf32>) {
      %0 = weft.linear %a, %b : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
      %1 = arith.addf %r, %0 : tensor<?x64xf32>
      weft.yield %1 : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$label, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// The input whose buffer result `index` reuses, or nullopt: the yielded
    /// value is a chain of cache appends, or an adjustment of logits, that
    /// starts at a block argument.
    std::optional<unsigned> getTiedInput(unsigned index);
  }];
}

def Weft_YieldOp : Weft_Op<"yield", [Pure, Terminator, ReturnLike,
                                     HasParent<"::weft::DispatchOp">]> {
  let summary = "ends a dispatch";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange());
  }]>];
}

#endif // WEFT_DIALECTS_WEFT_OPS_TD
