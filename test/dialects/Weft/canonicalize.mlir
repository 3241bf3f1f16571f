// RUN: weft-opt %s --canonicalize --cse | FileCheck %s

// Equal weights are one weight, and equal computations one computation.
// CHECK-LABEL: func.func @equal_weights
func.func @equal_weights(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %[[A:.*]] = weft.weight [#weft.source<"a">]
  // CHECK: %[[B:.*]] = weft.weight [#weft.source<"b">]
  // CHECK: %[[Y:.*]] = weft.linear %{{.*}}, %[[A]]
  // CHECK: %[[Z:.*]] = weft.linear %{{.*}}, %[[B]]
  // CHECK: return %[[Y]], %[[Y]], %[[Z]]
  %a = weft.weight [#weft.source<"a">] : tensor<64x64xf32>
  %a2 = weft.weight [#weft.source<"a">] : tensor<64x64xf32>
  %b = weft.weight [#weft.source<"b">] : tensor<64x64xf32>
  %0 = weft.linear %x, %a : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = weft.linear %x, %a2 : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %2 = weft.linear %x, %b : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  return %0, %1, %2 : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}

// A weight is not a constant that upstream patterns could evaluate.
// CHECK-LABEL: func.func @weight_in_arithmetic
func.func @weight_in_arithmetic(%x: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK: %[[W:.*]] = weft.weight
  // CHECK: arith.addf %[[W]], %{{.*}}
  %w = weft.weight [#weft.source<"bias">] : tensor<64xf32>
  %y = arith.addf %w, %x : tensor<64xf32>
  return %y : tensor<64xf32>
}

// CHECK-LABEL: func.func @rope_without_pairs
// CHECK-SAME: (%[[X:[^:]*]]:
func.func @rope_without_pairs(%x: tensor<?x8x64xf32>, %cos: tensor<?x0xf32>, %sin: tensor<?x0xf32>) -> tensor<?x8x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %y = weft.rope %x, %cos, %sin : tensor<?x8x64xf32>, tensor<?x0xf32>
  return %y : tensor<?x8x64xf32>
}

// CHECK-LABEL: func.func @relu_twice
func.func @relu_twice(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-COUNT-1: weft.activation relu
  // CHECK-NEXT: %[[T:.*]] = weft.activation tanh
  // CHECK-NEXT: %[[U:.*]] = weft.activation tanh %[[T]]
  // CHECK-NEXT: return %[[U]]
  %0 = weft.activation relu %x : tensor<?x8xf32>
  %1 = weft.activation relu %0 : tensor<?x8xf32>
  %2 = weft.activation tanh %1 : tensor<?x8xf32>
  %3 = weft.activation tanh %2 : tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// The default scale is not written.
// CHECK-LABEL: func.func @embed_without_scale
func.func @embed_without_scale(%ids: tensor<?xi32>, %t: tensor<8x4xf32>) -> tensor<?x4xf32> {
  // CHECK: weft.embed %{{.*}}, %{{.*}} : (
  %y = weft.embed %ids, %t {scale = 1.0 : f32} : (tensor<?xi32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @window_without_end
func.func @window_without_end(%q: tensor<?x8x64xf32>, %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>)
    -> (tensor<?x8x64xf32>, tensor<?x8x64xf32>) {
  // CHECK: weft.attention {{.*}} {causal, scale = 1.000000e+00 : f32} :
  %0 = weft.attention %q, %q, %q positions %p sequences %ids, %starts {scale = 1.0 : f32, causal, window = 2147483648 : i64}
      : (tensor<?x8x64xf32>, tensor<?x8x64xf32>, tensor<?x8x64xf32>) -> tensor<?x8x64xf32>
  // CHECK: weft.attention {{.*}} {causal, scale = 1.000000e+00 : f32, window = 2147483647 : i64} :
  %1 = weft.attention %q, %q, %q positions %p sequences %ids, %starts {scale = 1.0 : f32, causal, window = 2147483647 : i64}
      : (tensor<?x8x64xf32>, tensor<?x8x64xf32>, tensor<?x8x64xf32>) -> tensor<?x8x64xf32>
  return %0, %1 : tensor<?x8x64xf32>, tensor<?x8x64xf32>
}

// Inputs that repeat one or are not used, and results that are not used or are
// an input, leave a dispatch.
// CHECK-LABEL: func.func @dispatch
// CHECK-SAME: (%[[X:[^:]*]]: tensor<?x8xf32>, %[[Y:[^:]*]]: tensor<?x8xf32>)
func.func @dispatch(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[D:.*]] = weft.dispatch "add" (%[[A:.*]] = %[[X]] : tensor<?x8xf32>) -> (tensor<?x8xf32>) {
  // CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[A]]
  // CHECK-NEXT: weft.yield %[[S]] : tensor<?x8xf32>
  // CHECK: return %[[D]], %[[Y]]
  %0:3 = weft.dispatch "add" (%a = %x : tensor<?x8xf32>, %b = %y : tensor<?x8xf32>, %c = %x : tensor<?x8xf32>)
      -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
    %s = arith.addf %a, %c : tensor<?x8xf32>
    %t = arith.mulf %a, %c : tensor<?x8xf32>
    weft.yield %t, %b, %s : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  }
  return %0#2, %0#1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: func.func @dead_dispatch
// CHECK-SAME: (%[[X:[^:]*]]:
func.func @dead_dispatch(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = weft.dispatch "nothing" (%a = %x : tensor<?x8xf32>) -> (tensor<?x8xf32>) {
    weft.yield %a : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}
