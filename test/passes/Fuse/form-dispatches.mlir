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

// -----

// A linalg.generic is a dispatch of its own, which takes along sizes, numbers,
// what its result starts from, and what its body reads.

// CHECK-LABEL: func @loops
//       CHECK:   %[[A:.*]] = weft.dispatch "generic" (%{{.*}} = %{{.*}} : tensor<?xf32>)
//       CHECK:     weft.size "n"
//       CHECK:     linalg.generic
//       CHECK:   weft.dispatch "generic#1" (%{{.*}} = %[[A]] : tensor<?xf32>)
//   CHECK-DAG:     tensor.expand_shape
//   CHECK-DAG:     linalg.fill
//       CHECK:     linalg.generic
//       CHECK:       tensor.extract
func.func @loops(%x: tensor<?xf32> {weft.name = "x", weft.symbols = ["n"]}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %n = weft.size "n"
  %empty = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  %column = tensor.expand_shape %0 [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %scalar = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %extents = tensor.empty(%n) : tensor<?xi1>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%extents : tensor<?xi1>) outs(%init : tensor<f32>) {
  ^bb0(%in: i1, %total: f32):
    %i = linalg.index 0 : index
    %c0 = arith.constant 0 : index
    %2 = tensor.extract %column[%i, %c0] : tensor<?x1xf32>
    %3 = arith.addf %total, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// An output that no operation computes is a copy.

// CHECK-LABEL: func @copies
//       CHECK:   %[[A:.*]] = weft.dispatch
//       CHECK:     tensor.extract
//       CHECK:   %[[B:.*]] = weft.dispatch
//       CHECK:   return %[[A]], %[[B]]
func.func @copies(%x: tensor<?x4xf32> {weft.name = "x", weft.symbols = ["n"]})
    -> (tensor<?x4xf32> {weft.name = "a"}, tensor<?xf32> {weft.name = "b"}) {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  return %x, %0 : tensor<?x4xf32>, tensor<?xf32>
}

// -----

// A loop between the rotations reads one of them where its body is: they stay apart.

// CHECK-LABEL: func @readers
//       CHECK:   weft.dispatch
//       CHECK:     weft.rope
//       CHECK:   weft.dispatch
//       CHECK:     linalg.generic
//       CHECK:   weft.dispatch
//       CHECK:     weft.rope
func.func @readers(%x: tensor<?x1x4xf32> {weft.name = "x", weft.symbols = ["n"]}, %c: tensor<?x2xf32> {weft.name = "c", weft.symbols = ["n"]})
    -> (tensor<?x1x4xf32> {weft.name = "y"}, tensor<?xf32> {weft.name = "z"}) {
  %n = weft.size "n"
  %0 = weft.rope %x, %c, %c : tensor<?x1x4xf32>, tensor<?x2xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%empty : tensor<?xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %c0 = arith.constant 0 : index
    %3 = tensor.extract %0[%i, %c0, %c0] : tensor<?x1x4xf32>
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  %2 = weft.rope %0, %c, %c : tensor<?x1x4xf32>, tensor<?x2xf32>
  return %2, %1 : tensor<?x1x4xf32>, tensor<?xf32>
}
