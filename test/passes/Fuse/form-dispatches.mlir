// RUN: weft-opt %s --weft-merge-parallel-linears --weft-pack-weights --canonicalize --cse --weft-form-dispatches --canonicalize | FileCheck %s
func.func @layer(%x: tensor<?x64xf32> {weft.symbols = ["tokens"]}, %cos: tensor<?x8xf32> {weft.symbols = ["tokens"]}, %sin: tensor<?x8xf32>{weft.symbols = ["tokens"]},
   %slots: tensor<?xi32>{weft.symbols = ["tokens"]}, %pos: tensor<?xi32>{weft.symbols = ["tokens"]}, %ids: tensor<?xi32>{weft.symbols = ["tokens"]}, %starts: tensor<?xi32>, %len: tensor<?xi32>, %table: tensor<?x?xi32>,
   %kc: tensor<?x2x16x64xf32>, %vc: tensor<?x2x64x16xf32>) -> (tensor<?x64xf32>, tensor<?x2x16x64xf32>, tensor<?x2x64x16xf32>) {
  %n = weft.weight [#weft.source<"n">] : tensor<64xf32>
  %wq = weft.weight [#weft.source<"q">] : tensor<64x64xf32>
  %wk = weft.weight [#weft.source<"k">] : tensor<32x64xf32>
  %wv = weft.weight [#weft.source<"v">] : tensor<32x64xf32>
  %wo = weft.weight [#weft.source<"o">] : tensor<64x64xf32>
  %wg = weft.weight [#weft.source<"g">] : tensor<160x64xf32>
  %wu = weft.weight [#weft.source<"u">] : tensor<160x64xf32>
  %wd = weft.weight [#weft.source<"d">] : tensor<64x160xf32>
  %h = weft.rms_norm %x, %n {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
  %q = weft.linear %h, %wq : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %k = weft.linear %h, %wk : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %v = weft.linear %h, %wv : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf32>
  %q3 = tensor.expand_shape %q [[0], [1, 2]] output_shape [%t, 4, 16] : tensor<?x64xf32> into tensor<?x4x16xf32>
  %k3 = tensor.expand_shape %k [[0], [1, 2]] output_shape [%t, 2, 16] : tensor<?x32xf32> into tensor<?x2x16xf32>
  %v3 = tensor.expand_shape %v [[0], [1, 2]] output_shape [%t, 2, 16] : tensor<?x32xf32> into tensor<?x2x16xf32>
  %qr = weft.rope %q3, %cos, %sin : tensor<?x4x16xf32>, tensor<?x8xf32>
  %kr = weft.rope %k3, %cos, %sin : tensor<?x2x16xf32>, tensor<?x8xf32>
  %kc2 = weft.cache_append key %kc, %kr, %slots : tensor<?x2x16x64xf32>, tensor<?x2x16xf32>
  %vc2 = weft.cache_append value %vc, %v3, %slots : tensor<?x2x64x16xf32>, tensor<?x2x16xf32>
  %a = weft.attention %qr, %kc2, %vc2 positions %pos sequences %ids, %starts context %len, %table {scale = 0.25 : f32, causal} : (tensor<?x4x16xf32>, tensor<?x2x16x64xf32>, tensor<?x2x64x16xf32>) -> tensor<?x4x16xf32>
  %a2 = tensor.collapse_shape %a [[0], [1, 2]] : tensor<?x4x16xf32> into tensor<?x64xf32>
  %o = weft.linear %a2, %wo : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %x1 = arith.addf %x, %o : tensor<?x64xf32>
  %h1 = weft.rms_norm %x1, %n {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
  %g = weft.linear %h1, %wg : (tensor<?x64xf32>, tensor<160x64xf32>) -> tensor<?x160xf32>
  %u = weft.linear %h1, %wu : (tensor<?x64xf32>, tensor<160x64xf32>) -> tensor<?x160xf32>
  %act = weft.gated_activation silu %g, %u : tensor<?x160xf32>
  %d = weft.linear %act, %wd : (tensor<?x160xf32>, tensor<64x160xf32>) -> tensor<?x64xf32>
  %x2 = arith.addf %x1, %d : tensor<?x64xf32>
  return %x2, %kc2, %vc2 : tensor<?x64xf32>, tensor<?x2x16x64xf32>, tensor<?x2x64x16xf32>
}
