// RUN: weft-opt %s --weft-recompose-decoder --split-input-file | FileCheck %s

// Keys of the past become the runtime's cache, positions and masks those of the
// step, and only wanted rows go through the head. // DOC

//       CHECK: module attributes {weft.meta = "{{.*}}\22context_length\22:64{{.*}}\22kind\22:\22decoder\22{{.*}}\22vocab_size\22:32}"}
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func @step
//  CHECK-SAME:   (%[[TOKENS:.*]]: tensor<?xi32> {weft.name = "tokens", weft.symbols = ["tokens"]}
//  CHECK-SAME:    %[[KEYS:[a-z0-9]*]]: tensor<?x1x8x64xf32> {weft.state = "cache.0.key", weft.symbols = ["cache_blocks"]}
//       CHECK:   %[[X:.*]] = weft.embed %[[TOKENS]], %{{.*}} : (tensor<?xi32>, tensor<32x16xf32>) -> tensor<?x16xf32>
//       CHECK:   %[[Q:.*]] = weft.linear %[[X]]
//       CHECK:   %[[K:.*]] = weft.linear %[[X]]
//       CHECK:   %[[COS:.*]], %{{.*}} = weft.rope_table %{{.*}}, %{{.*}} {scale = array<f32: 1.000000e+00>} : (tensor<?xi32>, tensor<1x4xf32>) -> tensor<?x4xf32>
//       CHECK:   %[[R:.*]] = weft.rope %{{.*}}, %[[COS]], %{{.*}} : tensor<?x2x8xf32>, tensor<?x4xf32>
//       CHECK:   %[[NEW:.*]] = weft.cache_append key %[[KEYS]], %{{.*}} : tensor<?x1x8x64xf32>, tensor<?x1x8xf32>
//       CHECK:   %[[A:.*]] = weft.attention %[[R]], %[[NEW]], %{{.*}} positions %{{.*}} sequences %{{.*}}, %{{.*}} context %{{.*}}, %{{.*}} {causal, scale = 5.000000e-01 : f32}
//       CHECK:   %[[SUM:.*]] = arith.addf %[[X]], %{{.*}} : tensor<?x16xf32>
//       CHECK:   %[[ROWS:.*]] = weft.embed %{{.*}}, %[[SUM]] : (tensor<?xi32>, tensor<?x16xf32>) -> tensor<?x16xf32>
//       CHECK:   %[[N:.*]] = weft.rms_norm %[[ROWS]]
//       CHECK:   %[[L:.*]] = weft.linear %[[N]], %{{.*}} : (tensor<?x16xf32>, tensor<32x16xf32>) -> tensor<?x32xf32>
//       CHECK:   return %[[L]], %[[NEW]], %{{.*}}
module attributes {weft.decoder = "{\"context_length\": 64, \"name\": \"tiny\"}"} {
  func.func @main(%ids: tensor<?x?xi64, #onnx.dims<"b", "n">> {weft.name = "input_ids", weft.symbols = ["b", "n"]},
      %mask: tensor<?x?xi64, #onnx.dims<"b", "n + p">> {weft.name = "attention_mask", weft.symbols = ["b", "n + p"]},
      %pos: tensor<?x?xi64, #onnx.dims<"b", "n">> {weft.name = "position_ids", weft.symbols = ["b", "n"]},
      %pk: tensor<?x1x?x8xf32, #onnx.dims<"b", "p">> {weft.name = "past_key_values.0.key", weft.symbols = ["b", "p"]},
      %pv: tensor<?x1x?x8xf32, #onnx.dims<"b", "p">> {weft.name = "past_key_values.0.value", weft.symbols = ["b", "p"]})
      -> (tensor<?x?x32xf32, #onnx.dims<"b", "n">> {weft.name = "logits"},
          tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">> {weft.name = "present.0.key"},
          tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">> {weft.name = "present.0.value"}) {
    %table = onnx.Initializer "table" : tensor<32x16xf32>
    %wq = onnx.Initializer "wq" : tensor<16x16xf32>
    %wk = onnx.Initializer "wk" : tensor<16x8xf32>
    %wo = onnx.Initializer "wo" : tensor<16x16xf32>
    %w = onnx.Initializer "w" : tensor<16xf32>
    %head = onnx.Initializer "head" : tensor<16x32xf32>
    %frequencies = onnx.Constant dense<[[[1.0], [0.1], [0.01], [0.001]]]> : tensor<1x4x1xf32>
    %zero = onnx.Constant dense<0> : tensor<i64>
    %one = onnx.Constant dense<1> : tensor<i64>
    %axis1 = onnx.Constant dense<1> : tensor<1xi64>
    %axes12 = onnx.Constant dense<[1, 2]> : tensor<2xi64>
    %axes03 = onnx.Constant dense<[0, 1, 3]> : tensor<3xi64>
    %axes02 = onnx.Constant dense<[0, 1, 2]> : tensor<3xi64>
    %nothing = onnx.Constant dense<0.0> : tensor<f32>
    %low = onnx.Constant dense<-3.40282347E+38> : tensor<f32>
    // Angles.
    %p0 = onnx.Unsqueeze(%pos, %axis1) : (tensor<?x?xi64, #onnx.dims<"b", "n">>, tensor<1xi64>) -> tensor<?x1x?xi64, #onnx.dims<"b", "n">>
    %p1 = onnx.Cast(%p0) {to = f32} : (tensor<?x1x?xi64, #onnx.dims<"b", "n">>) -> tensor<?x1x?xf32, #onnx.dims<"b", "n">>
    %p2 = onnx.MatMul(%frequencies, %p1) : (tensor<1x4x1xf32>, tensor<?x1x?xf32, #onnx.dims<"b", "n">>) -> tensor<?x4x?xf32, #onnx.dims<"b", "n">>
    %p3 = onnx.Transpose(%p2) {perm = array<i64: 0, 2, 1>} : (tensor<?x4x?xf32, #onnx.dims<"b", "n">>) -> tensor<?x?x4xf32, #onnx.dims<"b", "n">>
    %cos = onnx.Cos(%p3) : (tensor<?x?x4xf32, #onnx.dims<"b", "n">>) -> tensor<?x?x4xf32, #onnx.dims<"b", "n">>
    %sin = onnx.Sin(%p3) : (tensor<?x?x4xf32, #onnx.dims<"b", "n">>) -> tensor<?x?x4xf32, #onnx.dims<"b", "n">>
    // The mask: keys up to the query, none of padding.
    %n = onnx.Shape(%pk) {start = 2 : i64, end = 3 : i64} : (tensor<?x1x?x8xf32, #onnx.dims<"b", "p">>) -> tensor<1xi64>
    %first = onnx.Squeeze(%n, none) : (tensor<1xi64>, none) -> tensor<i64>
    %t = onnx.Shape(%mask) {start = 1 : i64, end = 2 : i64} : (tensor<?x?xi64, #onnx.dims<"b", "n + p">>) -> tensor<1xi64>
    %total = onnx.Squeeze(%t, none) : (tensor<1xi64>, none) -> tensor<i64>
    %q0 = onnx.Range(%first, %total, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64, #onnx.dims<"n">>
    %q1 = onnx.Unsqueeze(%q0, %axes03) : (tensor<?xi64, #onnx.dims<"n">>, tensor<3xi64>) -> tensor<1x1x?x1xi64, #onnx.dims<"n">>
    %k0 = onnx.Range(%zero, %total, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64, #onnx.dims<"n + p">>
    %k1 = onnx.Unsqueeze(%k0, %axes02) : (tensor<?xi64, #onnx.dims<"n + p">>, tensor<3xi64>) -> tensor<1x1x1x?xi64, #onnx.dims<"n + p">>
    %below = onnx.LessOrEqual(%k1, %q1) : (tensor<1x1x1x?xi64, #onnx.dims<"n + p">>, tensor<1x1x?x1xi64, #onnx.dims<"n">>) -> tensor<1x1x?x?xi1, #onnx.dims<"n", "n + p">>
    %m0 = onnx.Cast(%mask) {to = i1} : (tensor<?x?xi64, #onnx.dims<"b", "n + p">>) -> tensor<?x?xi1, #onnx.dims<"b", "n + p">>
    %m1 = onnx.Unsqueeze(%m0, %axes12) : (tensor<?x?xi1, #onnx.dims<"b", "n + p">>, tensor<2xi64>) -> tensor<?x1x1x?xi1, #onnx.dims<"b", "n + p">>
    %both = onnx.And(%below, %m1) : (tensor<1x1x?x?xi1, #onnx.dims<"n", "n + p">>, tensor<?x1x1x?xi1, #onnx.dims<"b", "n + p">>) -> tensor<?x1x?x?xi1, #onnx.dims<"b", "n", "n + p">>
    %bias = onnx.Where(%both, %nothing, %low) : (tensor<?x1x?x?xi1, #onnx.dims<"b", "n", "n + p">>, tensor<f32>, tensor<f32>) -> tensor<?x1x?x?xf32, #onnx.dims<"b", "n", "n + p">>
    // The layer.
    %x = onnx.Gather(%table, %ids) : (tensor<32x16xf32>, tensor<?x?xi64, #onnx.dims<"b", "n">>) -> tensor<?x?x16xf32, #onnx.dims<"b", "n">>
    %q = onnx.MatMul(%x, %wq) : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<16x16xf32>) -> tensor<?x?x16xf32, #onnx.dims<"b", "n">>
    %k = onnx.MatMul(%x, %wk) : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<16x8xf32>) -> tensor<?x?x8xf32, #onnx.dims<"b", "n">>
    %r = onnx.RotaryEmbedding(%q, %cos, %sin, none) {num_heads = 2 : i64} : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x?x4xf32, #onnx.dims<"b", "n">>, tensor<?x?x4xf32, #onnx.dims<"b", "n">>, none) -> tensor<?x?x16xf32, #onnx.dims<"b", "n">>
    %a:4 = onnx.Attention(%r, %k, %k, %bias, %pk, %pv, none) {q_num_heads = 2 : i64, kv_num_heads = 1 : i64, scale = 0.5 : f32} : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x?xf32, #onnx.dims<"b", "n", "n + p">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "p">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "p">>, none) -> (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">>, tensor<?x2x?x?xf32, #onnx.dims<"b", "n", "n + p">>)
    %o = onnx.MatMul(%a#0, %wo) : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<16x16xf32>) -> tensor<?x?x16xf32, #onnx.dims<"b", "n">>
    %y = onnx.Add(%x, %o) : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x?x16xf32, #onnx.dims<"b", "n">>) -> tensor<?x?x16xf32, #onnx.dims<"b", "n">>
    %norm = onnx.RMSNormalization(%y, %w) : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<16xf32>) -> tensor<?x?x16xf32, #onnx.dims<"b", "n">>
    %logits = onnx.MatMul(%norm, %head) : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<16x32xf32>) -> tensor<?x?x32xf32, #onnx.dims<"b", "n">>
    return %logits, %a#1, %a#2 : tensor<?x?x32xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">>
  }
}

// -----

// All tokens see each other: no decoder.

//       CHECK: module {
//   CHECK-NOT: func.func @step
module attributes {weft.decoder = "{\"context_length\": 64, \"name\": \"tiny\"}"} {
  func.func @main(%ids: tensor<?x?xi64, #onnx.dims<"b", "n">> {weft.name = "input_ids", weft.symbols = ["b", "n"]})
      -> (tensor<?x?x8xf32, #onnx.dims<"b", "n">> {weft.name = "y"}) {
    %table = onnx.Initializer "table" : tensor<32x8xf32>
    %x = onnx.Gather(%table, %ids) : (tensor<32x8xf32>, tensor<?x?xi64, #onnx.dims<"b", "n">>) -> tensor<?x?x8xf32, #onnx.dims<"b", "n">>
    %a:4 = onnx.Attention(%x, %x, %x, none, none, none, none) {q_num_heads = 1 : i64, kv_num_heads = 1 : i64} : (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, none, none, none, none) -> (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x?xf32, #onnx.dims<"b", "n", "n">>)
    return %a#0 : tensor<?x?x8xf32, #onnx.dims<"b", "n">>
  }
}

// -----

// Causal, but a token sees the mean of all in another way.

//       CHECK: module {
//   CHECK-NOT: func.func @step
module attributes {weft.decoder = "{\"context_length\": 64, \"name\": \"tiny\"}"} {
  func.func @main(%ids: tensor<?x?xi64, #onnx.dims<"b", "n">> {weft.name = "input_ids", weft.symbols = ["b", "n"]})
      -> (tensor<?x?x8xf32, #onnx.dims<"b", "n">> {weft.name = "y"}) {
    %table = onnx.Initializer "table" : tensor<32x8xf32>
    %axis = onnx.Constant dense<1> : tensor<1xi64>
    %x = onnx.Gather(%table, %ids) : (tensor<32x8xf32>, tensor<?x?xi64, #onnx.dims<"b", "n">>) -> tensor<?x?x8xf32, #onnx.dims<"b", "n">>
    %a:4 = onnx.Attention(%x, %x, %x, none, none, none, none) {is_causal = 1 : i64, q_num_heads = 1 : i64, kv_num_heads = 1 : i64} : (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, none, none, none, none) -> (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x?xf32, #onnx.dims<"b", "n", "n">>)
    %mean = onnx.ReduceMean(%x, %axis) : (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<1xi64>) -> tensor<?x1x8xf32, #onnx.dims<"b">>
    %y = onnx.Add(%a#0, %mean) : (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x8xf32, #onnx.dims<"b">>) -> tensor<?x?x8xf32, #onnx.dims<"b", "n">>
    return %y : tensor<?x?x8xf32, #onnx.dims<"b", "n">>
  }
}

// -----

// A table has rows for 16 positions: a step reads no others.

//       CHECK: module attributes {weft.meta = "{{.*}}\22context_length\22:16,
// CHECK-LABEL: func.func @step
//       CHECK: weft.embed %{{.*}}, %{{.*}} : (tensor<?xi32>, tensor<16x8xf32>)
module attributes {weft.decoder = "{\"context_length\": 64, \"name\": \"tiny\"}"} {
  func.func @main(%ids: tensor<?x?xi64, #onnx.dims<"b", "n">> {weft.name = "input_ids", weft.symbols = ["b", "n"]},
      %pos: tensor<?x?xi64, #onnx.dims<"b", "n">> {weft.name = "position_ids", weft.symbols = ["b", "n"]})
      -> (tensor<?x?x32xf32, #onnx.dims<"b", "n">> {weft.name = "logits"}) {
    %table = onnx.Initializer "table" : tensor<32x8xf32>
    %places = onnx.Initializer "places" : tensor<16x8xf32>
    %head = onnx.Initializer "head" : tensor<8x32xf32>
    %t = onnx.Gather(%table, %ids) : (tensor<32x8xf32>, tensor<?x?xi64, #onnx.dims<"b", "n">>) -> tensor<?x?x8xf32, #onnx.dims<"b", "n">>
    %p = onnx.Gather(%places, %pos) : (tensor<16x8xf32>, tensor<?x?xi64, #onnx.dims<"b", "n">>) -> tensor<?x?x8xf32, #onnx.dims<"b", "n">>
    %x = onnx.Add(%t, %p) : (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>) -> tensor<?x?x8xf32, #onnx.dims<"b", "n">>
    %a:4 = onnx.Attention(%x, %x, %x, none, none, none, none) {is_causal = 1 : i64, q_num_heads = 1 : i64, kv_num_heads = 1 : i64} : (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, none, none, none, none) -> (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x?xf32, #onnx.dims<"b", "n", "n">>)
    %logits = onnx.MatMul(%a#0, %head) : (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<8x32xf32>) -> tensor<?x?x32xf32, #onnx.dims<"b", "n">>
    return %logits : tensor<?x?x32xf32, #onnx.dims<"b", "n">>
  }
}

// -----

// An id of the logits that has no row in the table could not go on.

//       CHECK: module {
//   CHECK-NOT: func.func @step
module attributes {weft.decoder = "{\"context_length\": 64, \"name\": \"tiny\"}"} {
  func.func @main(%ids: tensor<?x?xi64, #onnx.dims<"b", "n">> {weft.name = "input_ids", weft.symbols = ["b", "n"]},
      %pos: tensor<?x?xi64, #onnx.dims<"b", "n">> {weft.name = "position_ids", weft.symbols = ["b", "n"]})
      -> (tensor<?x?x32xf32, #onnx.dims<"b", "n">> {weft.name = "logits"}) {
    %table = onnx.Initializer "table" : tensor<5x8xf32>
    %places = onnx.Initializer "places" : tensor<16x8xf32>
    %head = onnx.Initializer "head" : tensor<8x32xf32>
    %t = onnx.Gather(%table, %ids) : (tensor<5x8xf32>, tensor<?x?xi64, #onnx.dims<"b", "n">>) -> tensor<?x?x8xf32, #onnx.dims<"b", "n">>
    %p = onnx.Gather(%places, %pos) : (tensor<16x8xf32>, tensor<?x?xi64, #onnx.dims<"b", "n">>) -> tensor<?x?x8xf32, #onnx.dims<"b", "n">>
    %x = onnx.Add(%t, %p) : (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>) -> tensor<?x?x8xf32, #onnx.dims<"b", "n">>
    %a:4 = onnx.Attention(%x, %x, %x, none, none, none, none) {is_causal = 1 : i64, q_num_heads = 1 : i64, kv_num_heads = 1 : i64} : (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, none, none, none, none) -> (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x?xf32, #onnx.dims<"b", "n", "n">>)
    %logits = onnx.MatMul(%a#0, %head) : (tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<8x32xf32>) -> tensor<?x?x32xf32, #onnx.dims<"b", "n">>
    return %logits : tensor<?x?x32xf32, #onnx.dims<"b", "n">>
  }
}

// -----

// Of a GroupQueryAttention with all projections in one matrix: lengths that an
// attention mask without padding has are those of the past and the new tokens, the
// context is no longer than the tables of cosines.

//       CHECK: module attributes {weft.meta = "{{.*}}\22context_length\22:50{{.*}}"}
// CHECK-LABEL: func.func @step
//       CHECK:   weft.linear %{{.*}} : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
//       CHECK:   weft.weight [#weft.source<"wqkv", start = 16, block = 8, count = 1, transposed = true>] : tensor<8x16xf32>
//       CHECK:   weft.weight [#weft.source<"wqkv", start = 24, block = 8, count = 1, transposed = true>] : tensor<8x16xf32>
//       CHECK:   %[[COS:.*]] = weft.embed %{{.*}}, %{{.*}} : (tensor<?xi32>, tensor<50x4xf32>) -> tensor<?x4xf32>
//       CHECK:   %[[Q:.*]] = weft.rope %{{.*}}, %[[COS]], %{{.*}} : tensor<?x2x8xf32>, tensor<?x4xf32>
//       CHECK:   %[[KEYS:.*]] = weft.cache_append key
//       CHECK:   weft.attention %[[Q]], %[[KEYS]], %{{.*}} {causal, scale = 0.353553385 : f32, window = 5 : i64}
module attributes {weft.decoder = "{\"context_length\": 64, \"name\": \"tiny\"}"} {
  func.func @main(%ids: tensor<?x?xi64, #onnx.dims<"b", "n">> {weft.name = "input_ids", weft.symbols = ["b", "n"]},
      %mask: tensor<?x?xi64, #onnx.dims<"b", "n + p">> {weft.name = "attention_mask", weft.symbols = ["b", "n + p"]},
      %pk: tensor<?x1x?x8xf32, #onnx.dims<"b", "p">> {weft.name = "past_key_values.0.key", weft.symbols = ["b", "p"]},
      %pv: tensor<?x1x?x8xf32, #onnx.dims<"b", "p">> {weft.name = "past_key_values.0.value", weft.symbols = ["b", "p"]})
      -> (tensor<?x?x16xf32, #onnx.dims<"b", "n">> {weft.name = "logits"},
          tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">> {weft.name = "present.0.key"},
          tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">> {weft.name = "present.0.value"}) {
    %table = onnx.Initializer "table" : tensor<32x16xf32>
    %wqkv = onnx.Initializer "wqkv" : tensor<16x32xf32>
    %cos = onnx.Initializer "cos_cache" : tensor<50x4xf32>
    %sin = onnx.Initializer "sin_cache" : tensor<50x4xf32>
    %axis = onnx.Constant dense<1> : tensor<1xi64>
    %one = onnx.Constant dense<1> : tensor<i64>
    %s0 = onnx.ReduceSum(%mask, %axis) {keepdims = 1 : i64} : (tensor<?x?xi64, #onnx.dims<"b", "n + p">>, tensor<1xi64>) -> tensor<?x1xi64, #onnx.dims<"b">>
    %s1 = onnx.Sub(%s0, %one) : (tensor<?x1xi64, #onnx.dims<"b">>, tensor<i64>) -> tensor<?x1xi64, #onnx.dims<"b">>
    %lasts = onnx.Cast(%s1) {to = i32} : (tensor<?x1xi64, #onnx.dims<"b">>) -> tensor<?x1xi32, #onnx.dims<"b">>
    %t0 = onnx.Shape(%mask) {start = 1 : i64, end = 2 : i64} : (tensor<?x?xi64, #onnx.dims<"b", "n + p">>) -> tensor<1xi64>
    %total = onnx.Cast(%t0) {to = i32} : (tensor<1xi64>) -> tensor<1xi32>
    %x = onnx.Gather(%table, %ids) : (tensor<32x16xf32>, tensor<?x?xi64, #onnx.dims<"b", "n">>) -> tensor<?x?x16xf32, #onnx.dims<"b", "n">>
    %qkv = onnx.MatMul(%x, %wqkv) : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<16x32xf32>) -> tensor<?x?x32xf32, #onnx.dims<"b", "n">>
    %a:4 = onnx.microsoft.GroupQueryAttention(%qkv, none, none, %pk, %pv, %lasts, %total, %cos, %sin, none, none, none, none, none, none, none) {do_rotary = 1 : i64, kv_num_heads = 1 : i64, local_window_size = 5 : i64, num_heads = 2 : i64} : (tensor<?x?x32xf32, #onnx.dims<"b", "n">>, none, none, tensor<?x1x?x8xf32, #onnx.dims<"b", "p">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "p">>, tensor<?x1xi32, #onnx.dims<"b">>, tensor<1xi32>, tensor<50x4xf32>, tensor<50x4xf32>, none, none, none, none, none, none, none) -> (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">>, tensor<?x2x?x?xf32, #onnx.dims<"b", "n", "n + p">>)
    return %a#0, %a#1, %a#2 : tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n + p">>
  }
}
