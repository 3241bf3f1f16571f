// RUN: weft-opt %s --weft-lower-onnx --split-input-file | FileCheck %s

// One linear layer follows the other on rows; the matrix of the file is read
// transposed, the bias is part of the layer, and the shape of the graph is made at
// the end.

// CHECK-LABEL: func.func @layers
//  CHECK-SAME:   (%[[X:.*]]: tensor<?x?x8xf32>
//       CHECK:   %[[ROWS:.*]] = tensor.collapse_shape %[[X]] {{\[}}[0, 1], [2]] : tensor<?x?x8xf32> into tensor<?x8xf32>
//       CHECK:   %[[A:.*]] = weft.weight [#weft.source<"a", transposed = true>] : tensor<16x8xf32>
//       CHECK:   %[[BIAS:.*]] = weft.weight [#weft.source<"bias">] : tensor<16xf32>
//       CHECK:   %[[Y:.*]] = weft.linear %[[ROWS]], %[[A]] bias %[[BIAS]]
//       CHECK:   %[[ACT:.*]] = weft.activation gelu %[[Y]]
//       CHECK:   %[[B:.*]] = weft.weight [#weft.source<"b">] : tensor<8x16xf32>
//       CHECK:   %[[Z:.*]] = weft.linear %[[ACT]], %[[B]]
//       CHECK:   %[[SUM:.*]] = arith.addf %[[ROWS]], %[[Z]] : tensor<?x8xf32>
//       CHECK:   tensor.expand_shape %[[SUM]] {{\[}}[0, 1], [2]] output_shape [%{{.*}}, %{{.*}}, 8]
//   CHECK-NOT:   linalg.generic
func.func @layers(%x: tensor<?x?x8xf32, #onnx.dims<"b", "s">> {weft.name = "x", weft.symbols = ["b", "s"]})
    -> (tensor<?x?x8xf32, #onnx.dims<"b", "s">> {weft.name = "y"}) {
  %a = onnx.Initializer "a" : tensor<8x16xf32>
  %bias = onnx.Initializer "bias" : tensor<16xf32>
  %b = onnx.Initializer "b" : tensor<8x16xf32>
  %bt = onnx.Transpose(%b) {perm = array<i64: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %0 = onnx.MatMul(%x, %a) : (tensor<?x?x8xf32, #onnx.dims<"b", "s">>, tensor<8x16xf32>) -> tensor<?x?x16xf32, #onnx.dims<"b", "s">>
  %1 = onnx.Add(%bias, %0) : (tensor<16xf32>, tensor<?x?x16xf32, #onnx.dims<"b", "s">>) -> tensor<?x?x16xf32, #onnx.dims<"b", "s">>
  %2 = onnx.Gelu(%1) : (tensor<?x?x16xf32, #onnx.dims<"b", "s">>) -> tensor<?x?x16xf32, #onnx.dims<"b", "s">>
  %3 = onnx.MatMul(%2, %bt) : (tensor<?x?x16xf32, #onnx.dims<"b", "s">>, tensor<16x8xf32>) -> tensor<?x?x8xf32, #onnx.dims<"b", "s">>
  %4 = onnx.Add(%x, %3) : (tensor<?x?x8xf32, #onnx.dims<"b", "s">>, tensor<?x?x8xf32, #onnx.dims<"b", "s">>) -> tensor<?x?x8xf32, #onnx.dims<"b", "s">>
  return %4 : tensor<?x?x8xf32, #onnx.dims<"b", "s">>
}

// -----

// CHECK-LABEL: func.func @gemm
//       CHECK:   weft.linear %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
func.func @gemm(%x: tensor<?x8xf32, #onnx.dims<"n">> {weft.name = "x", weft.symbols = ["n"]})
    -> (tensor<?x4xf32, #onnx.dims<"n">> {weft.name = "y"}) {
  %w = onnx.Initializer "w" : tensor<4x8xf32>
  %b = onnx.Initializer "b" : tensor<4xf32>
  %0 = onnx.Gemm(%x, %w, %b) {transB = 1 : i64} : (tensor<?x8xf32, #onnx.dims<"n">>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32, #onnx.dims<"n">>
  return %0 : tensor<?x4xf32, #onnx.dims<"n">>
}

// -----

// A gate, a soft cap, norms and rows of a table.

// CHECK-LABEL: func.func @rows
//       CHECK:   %[[X:.*]] = weft.embed %{{.*}}, %{{.*}} : (tensor<?xi32>, tensor<32x8xf32>) -> tensor<?x8xf32>
//       CHECK:   %[[N:.*]] = weft.rms_norm %[[X]], %{{.*}} {epsilon = 9.99999974E-6 : f32}
//       CHECK:   %[[G:.*]] = weft.gated_activation silu %[[N]], %[[X]]
//       CHECK:   %[[L:.*]] = weft.layer_norm %[[G]], %{{.*}}
//       CHECK:   weft.softcap %[[L]] {cap = 3.000000e+01 : f32}
func.func @rows(%ids: tensor<1x?xi64, #onnx.dims<"n">> {weft.name = "ids", weft.symbols = ["n"]})
    -> (tensor<1x?x8xf32, #onnx.dims<"n">> {weft.name = "y"}) {
  %table = onnx.Initializer "table" : tensor<32x8xf32>
  %w = onnx.Initializer "w" : tensor<8xf32>
  %cap = onnx.Constant dense<30.0> : tensor<f32>
  %0 = onnx.Gather(%table, %ids) : (tensor<32x8xf32>, tensor<1x?xi64, #onnx.dims<"n">>) -> tensor<1x?x8xf32, #onnx.dims<"n">>
  %1 = onnx.RMSNormalization(%0, %w) : (tensor<1x?x8xf32, #onnx.dims<"n">>, tensor<8xf32>) -> tensor<1x?x8xf32, #onnx.dims<"n">>
  %2 = onnx.Swish(%1) : (tensor<1x?x8xf32, #onnx.dims<"n">>) -> tensor<1x?x8xf32, #onnx.dims<"n">>
  %3 = onnx.Mul(%2, %0) : (tensor<1x?x8xf32, #onnx.dims<"n">>, tensor<1x?x8xf32, #onnx.dims<"n">>) -> tensor<1x?x8xf32, #onnx.dims<"n">>
  %4:3 = onnx.LayerNormalization(%3, %w, none) : (tensor<1x?x8xf32, #onnx.dims<"n">>, tensor<8xf32>, none) -> (tensor<1x?x8xf32, #onnx.dims<"n">>, tensor<1x?x1xf32, #onnx.dims<"n">>, tensor<1x?x1xf32, #onnx.dims<"n">>)
  %5 = onnx.Div(%4#0, %cap) : (tensor<1x?x8xf32, #onnx.dims<"n">>, tensor<f32>) -> tensor<1x?x8xf32, #onnx.dims<"n">>
  %6 = onnx.Tanh(%5) : (tensor<1x?x8xf32, #onnx.dims<"n">>) -> tensor<1x?x8xf32, #onnx.dims<"n">>
  %7 = onnx.Mul(%6, %cap) : (tensor<1x?x8xf32, #onnx.dims<"n">>, tensor<f32>) -> tensor<1x?x8xf32, #onnx.dims<"n">>
  return %7 : tensor<1x?x8xf32, #onnx.dims<"n">>
}

// -----

// Rotation and causal attention of all batches as sequences; then one with a
// mask, whose keys have other rows than its queries.

// CHECK-LABEL: func.func @attention
//       CHECK:   %[[Q:.*]] = weft.rope %{{.*}} : tensor<?x2x8xf32>, tensor<?x4xf32>
//       CHECK:   %[[A:.*]] = weft.attention %[[Q]], %{{.*}}, %{{.*}} positions %{{.*}} sequences %{{.*}}, %{{.*}} {causal, scale = 2.500000e-01 : f32} : (tensor<?x2x8xf32>, tensor<?x1x8xf32>, tensor<?x1x8xf32>) -> tensor<?x2x8xf32>
//       CHECK:   %[[W:.*]] = weft.size "63 + n + past"
//       CHECK:   weft.attention %[[Q]], %{{.*}}, %{{.*}} positions %{{.*}} sequences %{{.*}}, %{{.*}} keys %{{.*}} bias %{{.*}} {scale = 2.500000e-01 : f32} : (tensor<?x2x8xf32>, tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?x1x?xf32>) -> tensor<?x2x8xf32>
func.func @attention(%q: tensor<?x?x16xf32, #onnx.dims<"b", "n">> {weft.name = "q", weft.symbols = ["b", "n"]},
    %k: tensor<?x?x8xf32, #onnx.dims<"b", "n">> {weft.name = "k", weft.symbols = ["b", "n"]},
    %t: tensor<1x?x4xf32, #onnx.dims<"n">> {weft.name = "t", weft.symbols = ["n"]},
    %p: tensor<?x1x?x8xf32, #onnx.dims<"b", "past">> {weft.name = "p", weft.symbols = ["b", "past"]},
    %m: tensor<?x1x?x?xi1, #onnx.dims<"b", "n", "n + past">> {weft.name = "m", weft.symbols = ["b", "n", "n + past"]})
    -> (tensor<?x?x16xf32, #onnx.dims<"b", "n">> {weft.name = "y"}, tensor<?x?x16xf32, #onnx.dims<"b", "n">> {weft.name = "z"}) {
  %0 = onnx.RotaryEmbedding(%q, %t, %t, none) {num_heads = 2 : i64} : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<1x?x4xf32, #onnx.dims<"n">>, tensor<1x?x4xf32, #onnx.dims<"n">>, none) -> tensor<?x?x16xf32, #onnx.dims<"b", "n">>
  %1:4 = onnx.Attention(%0, %k, %k, none, none, none, none) {is_causal = 1 : i64, q_num_heads = 2 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32} : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, none, none, none, none) -> (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x2x?x?xf32, #onnx.dims<"b", "n", "n">>)
  %2:4 = onnx.Attention(%0, %k, %k, %m, %p, %p, none) {q_num_heads = 2 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32} : (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x?x8xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x?xi1, #onnx.dims<"b", "n", "n + past">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "past">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "past">>, none) -> (tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n + past">>, tensor<?x1x?x8xf32, #onnx.dims<"b", "n + past">>, tensor<?x2x?x?xf32, #onnx.dims<"b", "n", "n + past">>)
  return %1#0, %2#0 : tensor<?x?x16xf32, #onnx.dims<"b", "n">>, tensor<?x?x16xf32, #onnx.dims<"b", "n">>
}

// -----

// No matrix of the file, and a norm of another dimension: loops.

// CHECK-LABEL: func.func @loops
//   CHECK-NOT:   weft.linear
//   CHECK-NOT:   weft.rms_norm
func.func @loops(%x: tensor<4x4xf32> {weft.name = "x"}, %w: tensor<4x4xf32> {weft.name = "w"})
    -> (tensor<4x4xf32> {weft.name = "y"}) {
  %s = onnx.Initializer "s" : tensor<4x4xf32>
  %0 = onnx.MatMul(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.RMSNormalization(%0, %s) {axis = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// A matrix of few bits is a weight whose numbers are computed when the artifact is
// written.

// CHECK-LABEL: func.func @quantized
//       CHECK:   %[[B:.*]] = weft.weight [#weft.source<"b">] : tensor<32xf32>
//       CHECK:   %[[W:.*]] = weft.weight [#weft.source<"q", quantization = <scales = "s", zero_points = "z", bits = 4, block = 16, columns = 24>>] : tensor<32x24xf32>
//       CHECK:   weft.linear %{{.*}}, %[[W]] bias %[[B]]
//   CHECK-NOT:   linalg.generic
func.func @quantized(%x: tensor<?x24xf32, #onnx.dims<"n">> {weft.name = "x", weft.symbols = ["n"]})
    -> (tensor<?x32xf32, #onnx.dims<"n">> {weft.name = "y"}) {
  %q = onnx.Initializer "q" : tensor<32x2x8xui8>
  %s = onnx.Initializer "s" : tensor<64xf32>
  %z = onnx.Initializer "z" : tensor<32x1xui8>
  %b = onnx.Initializer "b" : tensor<32xf32>
  %0 = onnx.microsoft.MatMulNBits(%x, %q, %s, %z, none, %b) {K = 24 : i64, N = 32 : i64, block_size = 16 : i64} : (tensor<?x24xf32, #onnx.dims<"n">>, tensor<32x2x8xui8>, tensor<64xf32>, tensor<32x1xui8>, none, tensor<32xf32>) -> tensor<?x32xf32, #onnx.dims<"n">>
  return %0 : tensor<?x32xf32, #onnx.dims<"n">>
}

// -----

// Parts of the outputs of one layer are layers of rows of its weight.

// CHECK-LABEL: func.func @parts
//       CHECK:   %[[A:.*]] = weft.weight [#weft.source<"w", block = 16, count = 1, transposed = true>] : tensor<16x8xf32>
//       CHECK:   weft.linear %{{.*}}, %[[A]]
//       CHECK:   %[[B:.*]] = weft.weight [#weft.source<"w", start = 16, block = 32, count = 1, transposed = true>] : tensor<32x8xf32>
//       CHECK:   weft.linear %{{.*}}, %[[B]]
//   CHECK-NOT:   linalg.generic
func.func @parts(%x: tensor<?x8xf32, #onnx.dims<"n">> {weft.name = "x", weft.symbols = ["n"]})
    -> (tensor<?x16xf32, #onnx.dims<"n">> {weft.name = "y"}, tensor<?x32xf32, #onnx.dims<"n">> {weft.name = "z"}) {
  %w = onnx.Initializer "w" : tensor<8x48xf32>
  %sizes = onnx.Constant dense<[16, 32]> : tensor<2xi64>
  %0 = onnx.MatMul(%x, %w) : (tensor<?x8xf32, #onnx.dims<"n">>, tensor<8x48xf32>) -> tensor<?x48xf32, #onnx.dims<"n">>
  %1:2 = onnx.Split(%0, %sizes) {axis = 1 : i64} : (tensor<?x48xf32, #onnx.dims<"n">>, tensor<2xi64>) -> (tensor<?x16xf32, #onnx.dims<"n">>, tensor<?x32xf32, #onnx.dims<"n">>)
  return %1#0, %1#1 : tensor<?x16xf32, #onnx.dims<"n">>, tensor<?x32xf32, #onnx.dims<"n">>
}
