// RUN: weft-opt %s --weft-interleave-rope --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-interleave-rope --split-input-file --remarks-filter=fuse -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Query and keys are computed pair by pair; values and what is in no pair stay.

// DOC
// CHECK-LABEL: func @step
//       CHECK:   weft.weight [#weft.source<"q", block = 8, stride = 8, count = 4, pairs = 2>]
//       CHECK:   weft.weight [#weft.source<"q.bias", block = 8, stride = 8, count = 4, pairs = 2>]
//       CHECK:   weft.weight [#weft.source<"kv", start = 16, block = 8, stride = 8, count = 2, pairs = 2>]
//       CHECK:   weft.rope %{{.*}} {interleaved} : tensor<?x4x8xbf16>
//       CHECK:   weft.rope %{{.*}} {interleaved} : tensor<?x2x8xbf16>
// REMARK-COUNT-2: [Passed] rope-interleaved
func.func @step(%x: tensor<?x16xbf16>, %cos: tensor<?x2xf32>, %sin: tensor<?x2xf32>, %slots: tensor<?xi32>, %positions: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>,
    %keys: tensor<?x2x8x16xbf16> {weft.state = "cache.0.key"}, %values: tensor<?x2x16x8xbf16> {weft.state = "cache.0.value"}) -> tensor<?x4x8xbf16> {
  %c0 = arith.constant 0 : index
  %wq = weft.weight [#weft.source<"q">] : tensor<32x16xbf16>
  %bq = weft.weight [#weft.source<"q.bias">] : tensor<32xbf16>
  %wk = weft.weight [#weft.source<"kv", start = 16, block = 16, stride = 16, count = 1>] : tensor<16x16xbf16>
  %q = weft.linear %x, %wq bias %bq : (tensor<?x16xbf16>, tensor<32x16xbf16>, tensor<32xbf16>) -> tensor<?x32xbf16>
  %k = weft.linear %x, %wk : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xbf16>
  %n = tensor.dim %q, %c0 : tensor<?x32xbf16>
  %qh = tensor.expand_shape %q [[0], [1, 2]] output_shape [%n, 4, 8] : tensor<?x32xbf16> into tensor<?x4x8xbf16>
  %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [%n, 2, 8] : tensor<?x16xbf16> into tensor<?x2x8xbf16>
  %qr = weft.rope %qh, %cos, %sin : tensor<?x4x8xbf16>, tensor<?x2xf32>
  %kr = weft.rope %kh, %cos, %sin : tensor<?x2x8xbf16>, tensor<?x2xf32>
  %cache = weft.cache_append key %keys, %kr, %slots : tensor<?x2x8x16xbf16>, tensor<?x2x8xbf16>
  %y = weft.attention %qr, %cache, %values positions %positions sequences %ids, %starts context %lengths, %table {causal, scale = 1.0 : f32} : (tensor<?x4x8xbf16>, tensor<?x2x8x16xbf16>, tensor<?x2x16x8xbf16>) -> tensor<?x4x8xbf16>
  return %y : tensor<?x4x8xbf16>
}

// -----

// The heads are normalised before they are rotated: the norm's weight would
// have to change too.

// CHECK-LABEL: func @norm
//   CHECK-NOT:   pairs
//   CHECK-NOT:   interleaved
// REMARK: [Missed] rope-not-interleaved
func.func @norm(%x: tensor<?x16xbf16>, %nw: tensor<8xbf16>, %cos: tensor<?x4xf32>, %sin: tensor<?x4xf32>, %slots: tensor<?xi32>, %positions: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>,
    %keys: tensor<?x2x8x16xbf16> {weft.state = "cache.0.key"}, %values: tensor<?x2x16x8xbf16> {weft.state = "cache.0.value"}) -> tensor<?x2x8xbf16> {
  %c0 = arith.constant 0 : index
  %w = weft.weight [#weft.source<"w">] : tensor<16x16xbf16>
  %q = weft.linear %x, %w : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xbf16>
  %n = tensor.dim %q, %c0 : tensor<?x16xbf16>
  %qh = tensor.expand_shape %q [[0], [1, 2]] output_shape [%n, 2, 8] : tensor<?x16xbf16> into tensor<?x2x8xbf16>
  %qn = weft.rms_norm %qh, %nw {epsilon = 1.0e-5 : f32} : tensor<?x2x8xbf16>, tensor<8xbf16>
  %qr = weft.rope %qn, %cos, %sin : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %cache = weft.cache_append key %keys, %qr, %slots : tensor<?x2x8x16xbf16>, tensor<?x2x8xbf16>
  %y = weft.attention %qr, %cache, %values positions %positions sequences %ids, %starts context %lengths, %table {causal, scale = 1.0 : f32} : (tensor<?x2x8xbf16>, tensor<?x2x8x16xbf16>, tensor<?x2x16x8xbf16>) -> tensor<?x2x8xbf16>
  return %y : tensor<?x2x8xbf16>
}

// -----

// Another entry point writes keys of its own into the cache.

// CHECK-LABEL: func @step
//   CHECK-NOT:   interleaved
func.func @step(%x: tensor<?x16xbf16>, %cos: tensor<?x4xf32>, %sin: tensor<?x4xf32>, %slots: tensor<?xi32>, %positions: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>,
    %keys: tensor<?x2x8x16xbf16> {weft.state = "cache.0.key"}, %values: tensor<?x2x16x8xbf16> {weft.state = "cache.0.value"}) -> tensor<?x2x8xbf16> {
  %c0 = arith.constant 0 : index
  %w = weft.weight [#weft.source<"w">] : tensor<16x16xbf16>
  %v = weft.weight [#weft.source<"v">] : tensor<16x16xbf16>
  %q = weft.linear %x, %w : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xbf16>
  %k = weft.linear %x, %v : (tensor<?x16xbf16>, tensor<16x16xbf16>) -> tensor<?x16xbf16>
  %n = tensor.dim %q, %c0 : tensor<?x16xbf16>
  %qh = tensor.expand_shape %q [[0], [1, 2]] output_shape [%n, 2, 8] : tensor<?x16xbf16> into tensor<?x2x8xbf16>
  %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [%n, 2, 8] : tensor<?x16xbf16> into tensor<?x2x8xbf16>
  %qr = weft.rope %qh, %cos, %sin : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %kr = weft.rope %kh, %cos, %sin : tensor<?x2x8xbf16>, tensor<?x4xf32>
  %cache = weft.cache_append key %keys, %kr, %slots : tensor<?x2x8x16xbf16>, tensor<?x2x8xbf16>
  %y = weft.attention %qr, %cache, %values positions %positions sequences %ids, %starts context %lengths, %table {causal, scale = 1.0 : f32} : (tensor<?x2x8xbf16>, tensor<?x2x8x16xbf16>, tensor<?x2x16x8xbf16>) -> tensor<?x2x8xbf16>
  return %y : tensor<?x2x8xbf16>
}

func.func @other(%k: tensor<?x2x8xbf16>, %slots: tensor<?xi32>, %keys: tensor<?x2x8x16xbf16> {weft.state = "cache.0.key"}) -> tensor<?x2x8x16xbf16> {
  %cache = weft.cache_append key %keys, %k, %slots : tensor<?x2x8x16xbf16>, tensor<?x2x8xbf16>
  return %cache : tensor<?x2x8x16xbf16>
}
