// RUN: weft-opt %s --weft-pack-weights --split-input-file | FileCheck %s

// f32 columns in panels of 64; the last panel is padded.

// CHECK-LABEL: func @f32
//       CHECK:   weft.weight [#weft.source<"w">] layout <columns = 64, group = 1> of [96, 64] : tensor<2x64x64x1xf32>
//       CHECK:   weft.linear %{{.*}}, %{{.*}} layout <columns = 64, group = 1>
func.func @f32(%x: tensor<?x64xf32>) -> tensor<?x96xf32> {
  %w = weft.weight [#weft.source<"w">] : tensor<96x64xf32>
  %y = weft.linear %x, %w : (tensor<?x64xf32>, tensor<96x64xf32>) -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

// bf16 in pairs along the inner dimension, unless it is odd.

// CHECK-LABEL: func @bf16
//       CHECK:   layout <columns = 64, group = 2> of [64, 32] : tensor<1x16x64x2xbf16>
//       CHECK:   layout <columns = 64, group = 1> of [64, 33] : tensor<1x33x64x1xbf16>
func.func @bf16(%x: tensor<?x32xbf16>, %z: tensor<?x33xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %w = weft.weight [#weft.source<"even">] : tensor<64x32xbf16>
  %v = weft.weight [#weft.source<"odd">] : tensor<64x33xbf16>
  %0 = weft.linear %x, %w : (tensor<?x32xbf16>, tensor<64x32xbf16>) -> tensor<?x64xbf16>
  %1 = weft.linear %z, %v : (tensor<?x33xbf16>, tensor<64x33xbf16>) -> tensor<?x64xbf16>
  return %0, %1 : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// -----

// A21: a table that is embedding and head is stored once, packed.

// CHECK-LABEL: func @tied
//       CHECK:   %[[W:.*]] = weft.weight [#weft.source<"embed">] layout
//   CHECK-NOT:   weft.weight
//       CHECK:   weft.embed %{{.*}}, %[[W]] layout <columns = 64, group = 1>
//       CHECK:   weft.linear %{{.*}}, %[[W]] layout <columns = 64, group = 1>
func.func @tied(%ids: tensor<?xi32>) -> tensor<?x256xf32> {
  %w = weft.weight [#weft.source<"embed">] : tensor<256x64xf32>
  %x = weft.embed %ids, %w : (tensor<?xi32>, tensor<256x64xf32>) -> tensor<?x64xf32>
  %y = weft.linear %x, %w : (tensor<?x64xf32>, tensor<256x64xf32>) -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}

// -----

// A table that is only an embedding stays row-major, and so do norm weights.

// CHECK-LABEL: func @embedding
//   CHECK-NOT:   layout
func.func @embedding(%ids: tensor<?xi32>) -> tensor<?x64xf32> {
  %w = weft.weight [#weft.source<"embed">] : tensor<256x64xf32>
  %n = weft.weight [#weft.source<"norm">] : tensor<64xf32>
  %x = weft.embed %ids, %w : (tensor<?xi32>, tensor<256x64xf32>) -> tensor<?x64xf32>
  %y = weft.rms_norm %x, %n {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
  return %y : tensor<?x64xf32>
}
