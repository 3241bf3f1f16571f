// RUN: weft-opt %s --weft-decompose-onnx --split-input-file --verify-diagnostics | FileCheck %s

// A quantized product is a product of integers and scales. // DOC

// CHECK-LABEL: func.func @product
//       CHECK:   %[[Q:.*]], %[[A:.*]], %[[Z:.*]] = onnx.DynamicQuantizeLinear(%{{.*}})
//       CHECK:   %[[P:.*]] = onnx.MatMulInteger(%[[Q]], %{{.*}}, %[[Z]], none)
//       CHECK:   %[[F:.*]] = onnx.Cast(%[[P]])
//       CHECK:   %[[S:.*]] = onnx.Mul(%[[A]], %{{.*}})
//       CHECK:   onnx.Mul(%[[F]], %[[S]])
func.func @product(%x: tensor<3x4xf32>, %w: tensor<4x2xi8>, %s: tensor<f32>) -> tensor<3x2xf32> {
  %0 = onnx.microsoft.DynamicQuantizeMatMul(%x, %w, %s, none, none) : (tensor<3x4xf32>, tensor<4x2xi8>, tensor<f32>, none, none) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// New rows go behind those of the past, and each query sees what is before it.

// CHECK-LABEL: func.func @group
//   CHECK-NOT:   onnx.microsoft
//       CHECK:   onnx.RotaryEmbedding
//       CHECK:   onnx.RotaryEmbedding
//       CHECK:   %[[K:.*]] = onnx.TensorScatter
//       CHECK:   %[[V:.*]] = onnx.TensorScatter
//       CHECK:   onnx.Attention(%{{.*}}, %[[K]], %[[V]], none, none, none, %{{.*}}) {is_causal = 1 : i64, {{.*}}left_window_size = 3 : i64
func.func @group(%q: tensor<1x2x16xf32>, %k: tensor<1x2x8xf32>, %v: tensor<1x2x8xf32>, %pk: tensor<1x1x6x8xf32>, %pv: tensor<1x1x6x8xf32>, %l: tensor<1xi32>, %c: tensor<9x4xf32>, %s: tensor<9x4xf32>)
    -> (tensor<1x2x16xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) {
  %t = onnx.Constant dense<8> : tensor<i32>
  %0:4 = onnx.microsoft.GroupQueryAttention(%q, %k, %v, %pk, %pv, %l, %t, %c, %s, none, none, none, none, none, none, none) {do_rotary = 1 : i64, kv_num_heads = 1 : i64, local_window_size = 4 : i64, num_heads = 2 : i64} : (tensor<1x2x16xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<1xi32>, tensor<i32>, tensor<9x4xf32>, tensor<9x4xf32>, none, none, none, none, none, none, none) -> (tensor<1x2x16xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x2x2x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x2x16xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>
}

// -----

// A first prompt counts on from the first position that is given.

// CHECK-LABEL: func.func @positions
//       CHECK:   %[[FIRST:.*]] = onnx.Slice
//       CHECK:   %[[SUM:.*]] = onnx.Add(%{{.*}}, %[[FIRST]])
//       CHECK:   %[[COUNTED:.*]] = onnx.Expand(%[[SUM]], %{{.*}})
//       CHECK:   onnx.RotaryEmbedding(%{{.*}}, %{{.*}}, %{{.*}}, %[[COUNTED]])
func.func @positions(%q: tensor<1x2x16xf32>, %k: tensor<1x2x8xf32>, %v: tensor<1x2x8xf32>, %l: tensor<1xi32>, %c: tensor<9x4xf32>, %s: tensor<9x4xf32>, %p: tensor<1x2xi64>) -> tensor<1x2x16xf32> {
  %t = onnx.Constant dense<2> : tensor<i32>
  %0:4 = onnx.microsoft.GroupQueryAttention(%q, %k, %v, none, none, %l, %t, %c, %s, %p, none, none, none, none, none, none) {do_rotary = 1 : i64, kv_num_heads = 1 : i64, num_heads = 2 : i64} : (tensor<1x2x16xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, none, none, tensor<1xi32>, tensor<i32>, tensor<9x4xf32>, tensor<9x4xf32>, tensor<1x2xi64>, none, none, none, none, none, none) -> (tensor<1x2x16xf32>, tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32>, tensor<1x2x2x2xf32>)
  return %0#0 : tensor<1x2x16xf32>
}

// -----

// Tokens of several sequences lie behind each other; the bias is that of places in a sequence.

// CHECK-LABEL: func.func @packed
//       CHECK:   %[[SAME:.*]] = onnx.Equal
//       CHECK:   %[[PAIRS:.*]] = onnx.GatherND
//       CHECK:   %[[MASK:.*]] = onnx.Where(%[[SAME]], %{{.*}}, %{{.*}})
//       CHECK:   onnx.Attention(%{{.*}}, %{{.*}}, %{{.*}}, %[[MASK]], none, none, none)
func.func @packed(%q: tensor<5x16xf32>, %o: tensor<2x3xi32>, %c: tensor<3xi32>, %b: tensor<1x2x3x3xf32>) -> tensor<5x16xf32> {
  %0 = onnx.microsoft.PackedMultiHeadAttention(%q, %q, %q, none, %o, %c, %b) {num_heads = 2 : i64} : (tensor<5x16xf32>, tensor<5x16xf32>, tensor<5x16xf32>, none, tensor<2x3xi32>, tensor<3xi32>, tensor<1x2x3x3xf32>) -> tensor<5x16xf32>
  return %0 : tensor<5x16xf32>
}

// -----

func.func @type(%x: tensor<3x4xf32>, %w: tensor<4x2xi8>, %s: tensor<f32>) -> tensor<3x3xf32> {
  // expected-error@+1 {{found a result of 'tensor<3x3xf32>', expected 'tensor<3x2xf32>'}}
  %0 = onnx.microsoft.DynamicQuantizeMatMul(%x, %w, %s, none, none) : (tensor<3x4xf32>, tensor<4x2xi8>, tensor<f32>, none, none) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// -----

func.func @factors(%x: tensor<3x4xf32>, %w: tensor<5x2xi8>, %s: tensor<f32>) -> tensor<3x2xf32> {
  // expected-error@+1 {{cannot be decomposed: found the sizes 4 and 5, expected equal ones}}
  %0 = onnx.microsoft.DynamicQuantizeMatMul(%x, %w, %s, none, none) : (tensor<3x4xf32>, tensor<5x2xi8>, tensor<f32>, none, none) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
