// Every operation of the dialect, in each of its forms: printed and parsed
// back, and decomposed and lowered as far as LLVM.
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --weft-decompose-model-ops | FileCheck %s --check-prefix=DECOMPOSED --implicit-check-not='= weft.{{[a-c,e-r,t-v,x-z]|s[^i]}}'

// CHECK-LABEL: func.func @weights
// DECOMPOSED-LABEL: func.func @weights
func.func @weights() -> (tensor<96x64xf32>, tensor<32x64xf32>, tensor<12x32x8x2xbf16>, tensor<6x1x32x8x8xbf16>) {
  // CHECK: weft.weight [#weft.source<"q.weight">, #weft.source<"k.weight">] : tensor<96x64xf32>
  %merged = weft.weight [#weft.source<"q.weight">, #weft.source<"k.weight">] : tensor<96x64xf32>
  // CHECK: weft.weight [#weft.source<"qkv.weight", start = 32, block = 16, stride = 48, count = 2, transposed = true>] : tensor<32x64xf32>
  %rows = weft.weight [#weft.source<"qkv.weight", start = 32, block = 16, stride = 48, count = 2, transposed = true>] : tensor<32x64xf32>
  // CHECK: weft.weight [#weft.source<"o.weight">] layout panels<columns = 8, group = 2> of [96, 64] : tensor<12x32x8x2xbf16>
  %packed = weft.weight [#weft.source<"o.weight">] layout panels<columns = 8, group = 2> of [96, 64] : tensor<12x32x8x2xbf16>
  // CHECK: weft.weight [#weft.source<"o.weight">] layout core_matrices of [96, 128] : tensor<6x1x32x8x8xbf16>
  %matrices = weft.weight [#weft.source<"o.weight">] layout core_matrices of [96, 128] : tensor<6x1x32x8x8xbf16>
  return %merged, %rows, %packed, %matrices : tensor<96x64xf32>, tensor<32x64xf32>, tensor<12x32x8x2xbf16>, tensor<6x1x32x8x8xbf16>
}

// CHECK-LABEL: func.func @sizes
func.func @sizes() -> index {
  // CHECK: weft.size "past + 2*sequence"
  %n = weft.size "past + 2*sequence"
  return %n : index
}

// CHECK-LABEL: func.func @embed
func.func @embed(%ids: tensor<?xi32>, %table: tensor<512x64xbf16>) -> (tensor<?x64xf32>, tensor<?x64xbf16>) {
  // CHECK: weft.embed %{{.*}}, %{{.*}} {scale = 8.000000e+00 : f32} : (tensor<?xi32>, tensor<512x64xbf16>) -> tensor<?x64xf32>
  %x = weft.embed %ids, %table {scale = 8.0 : f32} : (tensor<?xi32>, tensor<512x64xbf16>) -> tensor<?x64xf32>
  // CHECK: weft.embed %{{.*}}, %{{.*}} : (tensor<?xi32>, tensor<512x64xbf16>) -> tensor<?x64xbf16>
  %y = weft.embed %ids, %table : (tensor<?xi32>, tensor<512x64xbf16>) -> tensor<?x64xbf16>
  return %x, %y : tensor<?x64xf32>, tensor<?x64xbf16>
}

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<?x64xf16>, %h: tensor<?x4x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf16>)
    -> (tensor<?x64xf16>, tensor<?x4x64xf32>, tensor<?x64xf16>, tensor<?x64xf16>) {
  // CHECK: weft.rms_norm %{{.*}}, %{{.*}} {epsilon = {{.*}} : f32} : tensor<?x64xf16>, tensor<64xf32>
  %0 = weft.rms_norm %x, %w {epsilon = 1.0e-5 : f32} : tensor<?x64xf16>, tensor<64xf32>
  // CHECK: weft.rms_norm %{{.*}}, %{{.*}} {epsilon = {{.*}} : f32, weight_offset = 1.000000e+00 : f32} : tensor<?x4x64xf32>, tensor<64xf32>
  %1 = weft.rms_norm %h, %w {epsilon = 1.0e-6 : f32, weight_offset = 1.0 : f32} : tensor<?x4x64xf32>, tensor<64xf32>
  // CHECK: weft.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = {{.*}} : f32} : tensor<?x64xf16>, tensor<64xf32>, tensor<64xf16>
  %2 = weft.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f32} : tensor<?x64xf16>, tensor<64xf32>, tensor<64xf16>
  // CHECK: weft.layer_norm %{{.*}}, %{{.*}} {epsilon = {{.*}} : f32} : tensor<?x64xf16>, tensor<64xf32>
  %3 = weft.layer_norm %x, %w {epsilon = 1.0e-5 : f32} : tensor<?x64xf16>, tensor<64xf32>
  return %0, %1, %2, %3 : tensor<?x64xf16>, tensor<?x4x64xf32>, tensor<?x64xf16>, tensor<?x64xf16>
}

// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<?x63xf32>, %w: tensor<95x63xf32>, %b: tensor<95xf32>, %p: tensor<12x32x8x2xbf16>)
    -> (tensor<?x95xf32>, tensor<?x95xbf16>) {
  // CHECK: weft.linear %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<?x63xf32>, tensor<95x63xf32>, tensor<95xf32>) -> tensor<?x95xf32>
  %0 = weft.linear %x, %w bias %b : (tensor<?x63xf32>, tensor<95x63xf32>, tensor<95xf32>) -> tensor<?x95xf32>
  // CHECK: weft.linear %{{.*}}, %{{.*}} layout panels<columns = 8, group = 2> : (tensor<?x63xf32>, tensor<12x32x8x2xbf16>) -> tensor<?x95xbf16>
  %1 = weft.linear %x, %p layout panels<columns = 8, group = 2> : (tensor<?x63xf32>, tensor<12x32x8x2xbf16>) -> tensor<?x95xbf16>
  return %0, %1 : tensor<?x95xf32>, tensor<?x95xbf16>
}

// CHECK-LABEL: func.func @rope
func.func @rope(%positions: tensor<?xi32>, %choice: tensor<?xi32>, %f: tensor<1x32xf32>, %g: tensor<2x16xf32>,
                %x: tensor<?x8x64xf32>) -> (tensor<?x8x64xf32>, tensor<?x8x64xf32>) {
  // CHECK: weft.rope_table %{{.*}}, %{{.*}} {scale = array<f32: 1.000000e+00>} : (tensor<?xi32>, tensor<1x32xf32>) -> tensor<?x32xf32>
  %cos, %sin = weft.rope_table %positions, %f {scale = array<f32: 1.0>} : (tensor<?xi32>, tensor<1x32xf32>) -> tensor<?x32xf32>
  // CHECK: weft.rope_table %{{.*}}, %{{.*}} choice %{{.*}} {scale = array<f32: 1.000000e+00, 2.000000e+00>} : (tensor<?xi32>, tensor<2x16xf32>, tensor<?xi32>) -> tensor<?x16xf32>
  %c, %s = weft.rope_table %positions, %g choice %choice {scale = array<f32: 1.0, 2.0>} : (tensor<?xi32>, tensor<2x16xf32>, tensor<?xi32>) -> tensor<?x16xf32>
  // CHECK: weft.rope %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x64xf32>, tensor<?x32xf32>
  %0 = weft.rope %x, %cos, %sin : tensor<?x8x64xf32>, tensor<?x32xf32>
  // CHECK: weft.rope %{{.*}}, %{{.*}}, %{{.*}} {interleaved} : tensor<?x8x64xf32>, tensor<?x16xf32>
  %1 = weft.rope %x, %c, %s {interleaved} : tensor<?x8x64xf32>, tensor<?x16xf32>
  return %0, %1 : tensor<?x8x64xf32>, tensor<?x8x64xf32>
}

// CHECK-LABEL: func.func @paged_attention
func.func @paged_attention(%q: tensor<?x8x64xbf16>, %k: tensor<?x4x64xbf16>, %kc: tensor<?x4x64x16xbf16>, %vc: tensor<?x4x16x64xbf16>,
    %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>, %slots: tensor<?xi32>)
    -> (tensor<?x8x64xbf16>, tensor<?x4x64x16xbf16>, tensor<?x4x16x64xbf16>) {
  // CHECK: weft.cache_append key %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4x64x16xbf16>, tensor<?x4x64xbf16>
  %k1 = weft.cache_append key %kc, %k, %slots : tensor<?x4x64x16xbf16>, tensor<?x4x64xbf16>
  // CHECK: weft.cache_append value %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4x16x64xbf16>, tensor<?x4x64xbf16>
  %v1 = weft.cache_append value %vc, %k, %slots : tensor<?x4x16x64xbf16>, tensor<?x4x64xbf16>
  // CHECK: weft.attention %{{.*}}, %{{.*}}, %{{.*}} positions %{{.*}} sequences %{{.*}}, %{{.*}} context %{{.*}}, %{{.*}} {causal, scale = 1.250000e-01 : f32, softcap = 5.000000e+01 : f32, window = 512 : i64} : (tensor<?x8x64xbf16>, tensor<?x4x64x16xbf16>, tensor<?x4x16x64xbf16>) -> tensor<?x8x64xbf16>
  %o = weft.attention %q, %k1, %v1 positions %p sequences %ids, %starts context %lengths, %table
      {scale = 0.125 : f32, causal, window = 512 : i64, softcap = 50.0 : f32}
      : (tensor<?x8x64xbf16>, tensor<?x4x64x16xbf16>, tensor<?x4x16x64xbf16>) -> tensor<?x8x64xbf16>
  return %o, %k1, %v1 : tensor<?x8x64xbf16>, tensor<?x4x64x16xbf16>, tensor<?x4x16x64xbf16>
}

// CHECK-LABEL: func.func @biased_attention
func.func @biased_attention(%q: tensor<?x8x64xf32>, %k: tensor<?x8x64xf32>, %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %keys: tensor<?xi32>, %b: tensor<?x1x?xf32>)
    -> tensor<?x8x64xf32> {
  // CHECK: weft.attention %{{.*}}, %{{.*}}, %{{.*}} positions %{{.*}} sequences %{{.*}}, %{{.*}} keys %{{.*}} bias %{{.*}} {scale = 1.250000e-01 : f32} : (tensor<?x8x64xf32>, tensor<?x8x64xf32>, tensor<?x8x64xf32>, tensor<?x1x?xf32>) -> tensor<?x8x64xf32>
  %o = weft.attention %q, %k, %k positions %p sequences %ids, %starts keys %keys bias %b {scale = 0.125 : f32}
      : (tensor<?x8x64xf32>, tensor<?x8x64xf32>, tensor<?x8x64xf32>, tensor<?x1x?xf32>) -> tensor<?x8x64xf32>
  return %o : tensor<?x8x64xf32>
}

// CHECK-LABEL: func.func @ragged_attention
func.func @ragged_attention(%q: tensor<?x8x64xf32>, %k: tensor<?x8x64xf32>, %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>)
    -> tensor<?x8x64xf32> {
  // CHECK: weft.attention %{{.*}}, %{{.*}}, %{{.*}} positions %{{.*}} sequences %{{.*}}, %{{.*}} {scale = 1.250000e-01 : f32} : (tensor<?x8x64xf32>, tensor<?x8x64xf32>, tensor<?x8x64xf32>) -> tensor<?x8x64xf32>
  %o = weft.attention %q, %k, %k positions %p sequences %ids, %starts {scale = 0.125 : f32}
      : (tensor<?x8x64xf32>, tensor<?x8x64xf32>, tensor<?x8x64xf32>) -> tensor<?x8x64xf32>
  return %o : tensor<?x8x64xf32>
}

// Static sizes of index tensors are written behind the other types.
// CHECK-LABEL: func.func @static_tokens
func.func @static_tokens(%q: tensor<1x8x64xf32>, %k: tensor<1x4x64xf32>, %kc: tensor<9x4x64x16xf32>, %vc: tensor<9x4x16x64xf32>,
    %p: tensor<1xi32>, %starts: tensor<2xi32>, %table: tensor<1x?xi32>) -> (tensor<1x8x64xf32>, tensor<1x8x64xf32>) {
  // CHECK: weft.cache_append key %{{.*}}, %{{.*}}, %{{.*}} : tensor<9x4x64x16xf32>, tensor<1x4x64xf32>, tensor<1xi32>
  %k1 = weft.cache_append key %kc, %k, %p : tensor<9x4x64x16xf32>, tensor<1x4x64xf32>, tensor<1xi32>
  // CHECK: -> tensor<1x8x64xf32> indices(tensor<1xi32>, tensor<1xi32>, tensor<2xi32>, tensor<1xi32>, tensor<1x?xi32>)
  %0 = weft.attention %q, %k1, %vc positions %p sequences %p, %starts context %p, %table {scale = 0.125 : f32}
      : (tensor<1x8x64xf32>, tensor<9x4x64x16xf32>, tensor<9x4x16x64xf32>) -> tensor<1x8x64xf32>
      indices(tensor<1xi32>, tensor<1xi32>, tensor<2xi32>, tensor<1xi32>, tensor<1x?xi32>)
  // CHECK: -> tensor<1x8x64xf32> indices(tensor<1xi32>, tensor<1xi32>, tensor<2xi32>)
  %1 = weft.attention %q, %k, %k positions %p sequences %p, %starts {scale = 0.125 : f32}
      : (tensor<1x8x64xf32>, tensor<1x4x64xf32>, tensor<1x4x64xf32>) -> tensor<1x8x64xf32>
      indices(tensor<1xi32>, tensor<1xi32>, tensor<2xi32>)
  return %0, %1 : tensor<1x8x64xf32>, tensor<1x8x64xf32>
}

// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<?x172xf16>, %y: tensor<?x172xf16>) -> tensor<?x172xf16> {
  // CHECK: weft.activation silu %{{.*}} : tensor<?x172xf16>
  %0 = weft.activation silu %x : tensor<?x172xf16>
  // CHECK: weft.activation gelu %{{.*}} : tensor<?x172xf16>
  %1 = weft.activation gelu %0 : tensor<?x172xf16>
  // CHECK: weft.activation gelu_tanh %{{.*}} : tensor<?x172xf16>
  %2 = weft.activation gelu_tanh %1 : tensor<?x172xf16>
  // CHECK: weft.activation relu %{{.*}} : tensor<?x172xf16>
  %3 = weft.activation relu %2 : tensor<?x172xf16>
  // CHECK: weft.activation quick_gelu %{{.*}} : tensor<?x172xf16>
  %4 = weft.activation quick_gelu %3 : tensor<?x172xf16>
  // CHECK: weft.activation tanh %{{.*}} : tensor<?x172xf16>
  %5 = weft.activation tanh %4 : tensor<?x172xf16>
  // CHECK: weft.gated_activation silu %{{.*}}, %{{.*}} : tensor<?x172xf16>
  %6 = weft.gated_activation silu %5, %y : tensor<?x172xf16>
  // CHECK: weft.softcap %{{.*}} {cap = 3.000000e+01 : f32} : tensor<?x172xf16>
  %7 = weft.softcap %6 {cap = 30.0 : f32} : tensor<?x172xf16>
  return %7 : tensor<?x172xf16>
}

// CHECK-LABEL: func.func @experts
func.func @experts(%logits: tensor<?x8xf32>, %x: tensor<?x64xf32>, %up: tensor<8x96x64xf32>, %down: tensor<8x8x96x8x1xf32>)
    -> tensor<?x64xf32> {
  // CHECK: weft.route %{{.*}} {renormalize, top_k = 2 : i64} : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  %experts, %weights = weft.route %logits {top_k = 2 : i64, renormalize} : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  // CHECK: weft.grouped_linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x64xf32>, tensor<8x96x64xf32>, tensor<?x2xi32>) -> tensor<?x2x96xf32>
  %h = weft.grouped_linear %x, %up, %experts : (tensor<?x64xf32>, tensor<8x96x64xf32>, tensor<?x2xi32>) -> tensor<?x2x96xf32>
  // CHECK: weft.grouped_linear %{{.*}}, %{{.*}}, %{{.*}} layout panels<columns = 8, group = 1> : (tensor<?x2x96xf32>, tensor<8x8x96x8x1xf32>, tensor<?x2xi32>) -> tensor<?x2x64xf32>
  %y = weft.grouped_linear %h, %down, %experts layout panels<columns = 8, group = 1>
      : (tensor<?x2x96xf32>, tensor<8x8x96x8x1xf32>, tensor<?x2xi32>) -> tensor<?x2x64xf32>
  // CHECK: weft.combine %{{.*}}, %{{.*}} : (tensor<?x2x64xf32>, tensor<?x2xf32>) -> tensor<?x64xf32>
  %z = weft.combine %y, %weights : (tensor<?x2x64xf32>, tensor<?x2xf32>) -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @sampling
// DECOMPOSED-LABEL: func.func @sampling
func.func @sampling(%x: tensor<?x512xf32>, %places: tensor<?x2xi32>, %values: tensor<?x2xf32>, %counts: tensor<?x2xi32>, %options: tensor<?x4xf32>) -> tensor<?xi32> {
  // CHECK: weft.adjust_logits %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x512xf32>, tensor<?x2xi32>, tensor<?x2xf32>
  // DECOMPOSED: scf.for
  // DECOMPOSED:   tensor.insert
  %y = weft.adjust_logits %x, %places, %values
      : tensor<?x512xf32>, tensor<?x2xi32>, tensor<?x2xf32>
  // CHECK: weft.sample %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x512xf32>, tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>
  // DECOMPOSED: linalg.generic
  %ids = weft.sample %y, %counts, %options
      : tensor<?x512xf32>, tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>
  return %ids : tensor<?xi32>
}

// The body of a dispatch is decomposed in place.
// CHECK-LABEL: func.func @dispatch
// DECOMPOSED-LABEL: func.func @dispatch
func.func @dispatch(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // CHECK: weft.dispatch "layers.0.o_proj" (%[[A:.*]] = %{{.*}} : tensor<?x64xf32>, %[[B:.*]] = %{{.*}} : tensor<64x64xf32>) -> (tensor<?x64xf32>) {
  // DECOMPOSED: weft.dispatch
  %y = weft.dispatch "layers.0.o_proj" (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64xf32>) -> (tensor<?x64xf32>) {
    // CHECK: weft.linear %[[A]], %[[B]]
    // DECOMPOSED: linalg.generic
    %0 = weft.linear %a, %b : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
    // CHECK: weft.yield
    // DECOMPOSED: weft.yield
    weft.yield %0 : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}

// A dispatch may have nothing to say.
// CHECK-LABEL: func.func @empty_dispatch
func.func @empty_dispatch() {
  // CHECK: weft.dispatch "nothing" () -> () {
  weft.dispatch "nothing" () -> () {
  }
  return
}
