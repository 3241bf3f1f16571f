// RUN: weft-opt %s --weft-merge-parallel-linears --split-input-file | FileCheck %s

// The projections of one input become one multiplication and slices of it.

// CHECK-LABEL: func @query_key_value
//       CHECK:   %[[W:.*]] = weft.weight [#weft.source<"q">, #weft.source<"k">, #weft.source<"v">] : tensor<128x64xf32>
//       CHECK:   %[[Y:.*]] = weft.linear %{{.*}}, %[[W]] : (tensor<?x64xf32>, tensor<128x64xf32>) -> tensor<?x128xf32>
//       CHECK:   tensor.extract_slice %[[Y]][0, 0] [%{{.*}}, 64] [1, 1]
//       CHECK:   tensor.extract_slice %[[Y]][0, 64] [%{{.*}}, 32] [1, 1]
//       CHECK:   tensor.extract_slice %[[Y]][0, 96] [%{{.*}}, 32] [1, 1]
//   CHECK-NOT:   weft.linear
func.func @query_key_value(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>) {
  %wq = weft.weight [#weft.source<"q">] : tensor<64x64xf32>
  %wk = weft.weight [#weft.source<"k">] : tensor<32x64xf32>
  %wv = weft.weight [#weft.source<"v">] : tensor<32x64xf32>
  %q = weft.linear %x, %wq : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %k = weft.linear %x, %wk : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %v = weft.linear %x, %wv : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %q, %k, %v : tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

// Biases are concatenated like the weights.

// CHECK-LABEL: func @biases
//       CHECK:   %[[B:.*]] = weft.weight [#weft.source<"qb">, #weft.source<"kb">] : tensor<96xf32>
//       CHECK:   weft.linear %{{.*}}, %{{.*}} bias %[[B]]
func.func @biases(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x32xf32>) {
  %wq = weft.weight [#weft.source<"q">] : tensor<64x64xf32>
  %wk = weft.weight [#weft.source<"k">] : tensor<32x64xf32>
  %bq = weft.weight [#weft.source<"qb">] : tensor<64xf32>
  %bk = weft.weight [#weft.source<"kb">] : tensor<32xf32>
  %q = weft.linear %x, %wq bias %bq : (tensor<?x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %k = weft.linear %x, %wk bias %bk : (tensor<?x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<?x32xf32>
  return %q, %k : tensor<?x64xf32>, tensor<?x32xf32>
}

// -----

// Layers that differ in bias stay apart.

// CHECK-LABEL: func @one_has_a_bias
// CHECK-COUNT-2: weft.linear
func.func @one_has_a_bias(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x32xf32>) {
  %wq = weft.weight [#weft.source<"q">] : tensor<64x64xf32>
  %wk = weft.weight [#weft.source<"k">] : tensor<32x64xf32>
  %bq = weft.weight [#weft.source<"qb">] : tensor<64xf32>
  %q = weft.linear %x, %wq bias %bq : (tensor<?x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %k = weft.linear %x, %wk : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %q, %k : tensor<?x64xf32>, tensor<?x32xf32>
}

// -----

// The halves of a gate become one kernel with two accumulators instead.

// CHECK-LABEL: func @gate
// CHECK-COUNT-2: weft.linear
func.func @gate(%x: tensor<?x64xf32>) -> tensor<?x96xf32> {
  %wg = weft.weight [#weft.source<"g">] : tensor<96x64xf32>
  %wu = weft.weight [#weft.source<"u">] : tensor<96x64xf32>
  %g = weft.linear %x, %wg : (tensor<?x64xf32>, tensor<96x64xf32>) -> tensor<?x96xf32>
  %u = weft.linear %x, %wu : (tensor<?x64xf32>, tensor<96x64xf32>) -> tensor<?x96xf32>
  %y = weft.gated_activation silu %g, %u : tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
