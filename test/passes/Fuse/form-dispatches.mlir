// RUN: weft-opt %s --weft-form-dispatches --canonicalize --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-form-dispatches=fuse=false --canonicalize --split-input-file | FileCheck %s --check-prefix=ALONE

// A linear layer takes its residual along.

// CHECK-LABEL: func @residual
//       CHECK:   weft.dispatch
//  CHECK-NEXT:     weft.linear
//  CHECK-NEXT:     arith.addf
//  CHECK-NEXT:     weft.yield
//   CHECK-NOT:   weft.dispatch
// ALONE-LABEL: func @residual
// ALONE-COUNT-2: weft.dispatch
func.func @residual(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %0 = weft.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = arith.addf %x, %0 : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// Both halves of a gate and the activation are one kernel.

// CHECK-LABEL: func @gate
//       CHECK:   weft.dispatch
//  CHECK-NEXT:     weft.linear
//  CHECK-NEXT:     weft.linear
//  CHECK-NEXT:     weft.gated_activation
//   CHECK-NOT:   weft.dispatch
func.func @gate(%x: tensor<?x64xf32>, %a: tensor<96x64xf32>, %b: tensor<96x64xf32>) -> tensor<?x96xf32> {
  %g = weft.linear %x, %a : (tensor<?x64xf32>, tensor<96x64xf32>) -> tensor<?x96xf32>
  %u = weft.linear %x, %b : (tensor<?x64xf32>, tensor<96x64xf32>) -> tensor<?x96xf32>
  %y = weft.gated_activation gelu_tanh %g, %u : tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

// A value that is read elsewhere too is computed once: the activation stays a
// kernel of its own.

// CHECK-LABEL: func @two_readers
// CHECK-COUNT-2: weft.dispatch
func.func @two_readers(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %0 = weft.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = weft.activation silu %0 : tensor<?x64xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// Slices and reshapes move into the kernel that reads them; rotary embedding
// and the cache appends of a layer share one.

// CHECK-LABEL: func @rope_and_append
//       CHECK:   weft.dispatch {{.*}}(%[[QKV:.*]] = %arg0 : tensor<?x128xf32>
//       CHECK:     tensor.extract_slice %[[QKV]][0, 64]
//       CHECK:     weft.rope
//       CHECK:     weft.cache_append key
//       CHECK:     weft.cache_append value
//   CHECK-NOT:   weft.dispatch
func.func @rope_and_append(%qkv: tensor<?x128xf32>, %cos: tensor<?x8xf32>, %sin: tensor<?x8xf32>,
    %slots: tensor<?xi32>, %keys: tensor<?x2x16x64xf32>, %values: tensor<?x2x64x16xf32>)
    -> (tensor<?x2x16x64xf32>, tensor<?x2x64x16xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x128xf32>
  %k = tensor.extract_slice %qkv[0, 64] [%t, 32] [1, 1] : tensor<?x128xf32> to tensor<?x32xf32>
  %v = tensor.extract_slice %qkv[0, 96] [%t, 32] [1, 1] : tensor<?x128xf32> to tensor<?x32xf32>
  %k3 = tensor.expand_shape %k [[0], [1, 2]] output_shape [%t, 2, 16] : tensor<?x32xf32> into tensor<?x2x16xf32>
  %v3 = tensor.expand_shape %v [[0], [1, 2]] output_shape [%t, 2, 16] : tensor<?x32xf32> into tensor<?x2x16xf32>
  %kr = weft.rope %k3, %cos, %sin : tensor<?x2x16xf32>, tensor<?x8xf32>
  %0 = weft.cache_append key %keys, %kr, %slots : tensor<?x2x16x64xf32>, tensor<?x2x16xf32>
  %1 = weft.cache_append value %values, %v3, %slots : tensor<?x2x64x16xf32>, tensor<?x2x16xf32>
  return %0, %1 : tensor<?x2x16x64xf32>, tensor<?x2x64x16xf32>
}

// -----

// Row operations in a chain share a kernel, also when a value in the middle is
// needed later (gemma's norm, residual, norm).

// CHECK-LABEL: func @rows
//       CHECK:   weft.dispatch {{.*}} -> (tensor<?x64xf32>, tensor<?x64xf32>)
//  CHECK-NEXT:     weft.rms_norm
//  CHECK-NEXT:     arith.addf
//  CHECK-NEXT:     weft.rms_norm
//   CHECK-NOT:   weft.dispatch
func.func @rows(%x: tensor<?x64xf32>, %r: tensor<?x64xf32>, %n: tensor<64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %0 = weft.rms_norm %x, %n {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
  %1 = arith.addf %r, %0 : tensor<?x64xf32>
  %2 = weft.rms_norm %1, %n {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
  return %1, %2 : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// Rows picked from a table that a row kernel makes are other rows.

// CHECK-LABEL: func @picked_rows
// CHECK-COUNT-2: weft.dispatch
func.func @picked_rows(%x: tensor<?x64xf32>, %n: tensor<64xf32>, %rows: tensor<?xi32>) -> tensor<?x64xf32> {
  %0 = weft.rms_norm %x, %n {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
  %1 = weft.embed %rows, %0 : (tensor<?xi32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}
