// RUN: weft-opt %s --weft-pack-weights --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-pack-weights=core-matrices --split-input-file | FileCheck %s --check-prefix=CORE

// f32 columns in panels of 64; the last panel is padded.

// CHECK-LABEL: func @f32
//       CHECK:   weft.weight [#weft.source<"w">] layout panels<columns = 64, group = 1> of [96, 64] : tensor<2x64x64x1xf32>
//       CHECK:   weft.linear %{{.*}}, %{{.*}} layout panels<columns = 64, group = 1>
func.func @f32(%x: tensor<?x64xf32>) -> tensor<?x96xf32> {
  %w = weft.weight [#weft.source<"w">] : tensor<96x64xf32>
  %y = weft.linear %x, %w : (tensor<?x64xf32>, tensor<96x64xf32>) -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

// bf16 in pairs along the inner dimension, unless it is odd.

// CHECK-LABEL: func @bf16
//       CHECK:   layout panels<columns = 64, group = 2> of [64, 32] : tensor<1x16x64x2xbf16>
//       CHECK:   layout panels<columns = 64, group = 1> of [64, 33] : tensor<1x33x64x1xbf16>
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
//       CHECK:   weft.embed %{{.*}}, %[[W]] layout panels<columns = 64, group = 1>
//       CHECK:   weft.linear %{{.*}}, %[[W]] layout panels<columns = 64, group = 1>
func.func @tied(%ids: tensor<?xi32>) -> tensor<?x256xf32> {
  %w = weft.weight [#weft.source<"embed">] : tensor<256x64xf32>
  %x = weft.embed %ids, %w : (tensor<?xi32>, tensor<256x64xf32>) -> tensor<?x64xf32>
  %y = weft.linear %x, %w : (tensor<?x64xf32>, tensor<256x64xf32>) -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}

// -----

// A table that is only an embedding stays row-major, and so do norm weights.

// CHECK-LABEL: func @embedding
//  CHECK-SAME:   {
//   CHECK-NOT:   layout
//       CHECK:   return
func.func @embedding(%ids: tensor<?xi32>) -> tensor<?x64xf32> {
  %w = weft.weight [#weft.source<"embed">] : tensor<256x64xf32>
  %n = weft.weight [#weft.source<"norm">] : tensor<64xf32>
  %x = weft.embed %ids, %w : (tensor<?xi32>, tensor<256x64xf32>) -> tensor<?x64xf32>
  %y = weft.rms_norm %x, %n {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// On GPUs, what tensor cores multiply is stored as operands of their
// instruction, also a table that is embedding and head.

// CORE-LABEL: func @core_matrices
//       CORE:   %[[W:.*]] = weft.weight [#weft.source<"embed">] layout core_matrices of [256, 128] : tensor<16x1x32x8x8xbf16>
//       CORE:   weft.embed %{{.*}}, %[[W]] layout core_matrices
//       CORE:   weft.linear %{{.*}}, %[[W]] layout core_matrices
func.func @core_matrices(%ids: tensor<?xi32>) -> tensor<?x256xbf16> {
  %w = weft.weight [#weft.source<"embed">] : tensor<256x128xbf16>
  %x = weft.embed %ids, %w : (tensor<?xi32>, tensor<256x128xbf16>) -> tensor<?x128xbf16>
  %y = weft.linear %x, %w : (tensor<?x128xbf16>, tensor<256x128xbf16>) -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// -----

// Other matrices keep panels: of f32, of another type than the input, with
// sizes that do not fit, of experts.

// CORE-LABEL: func @others
//  CORE-SAME:   {
//   CORE-NOT:   core_matrices
func.func @others(%x: tensor<?x128xf32>, %y: tensor<?x64xbf16>, %z: tensor<?x128xbf16>, %e: tensor<?x2xi32>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xbf16>, tensor<?x72xbf16>, tensor<?x2x64xbf16>) {
  %0 = weft.weight [#weft.source<"wide">] : tensor<64x128xf32>
  %1 = weft.weight [#weft.source<"mixed">] : tensor<64x128xbf16>
  %2 = weft.weight [#weft.source<"k">] : tensor<64x64xbf16>
  %3 = weft.weight [#weft.source<"n">] : tensor<72x128xbf16>
  %4 = weft.weight [#weft.source<"experts">] : tensor<8x64x128xbf16>
  %5 = weft.linear %x, %0 : (tensor<?x128xf32>, tensor<64x128xf32>) -> tensor<?x64xf32>
  %6 = weft.linear %x, %1 : (tensor<?x128xf32>, tensor<64x128xbf16>) -> tensor<?x64xf32>
  %7 = weft.linear %y, %2 : (tensor<?x64xbf16>, tensor<64x64xbf16>) -> tensor<?x64xbf16>
  %8 = weft.linear %z, %3 : (tensor<?x128xbf16>, tensor<72x128xbf16>) -> tensor<?x72xbf16>
  %9 = weft.grouped_linear %z, %4, %e : (tensor<?x128xbf16>, tensor<8x64x128xbf16>, tensor<?x2xi32>) -> tensor<?x2x64xbf16>
  return %5, %6, %7, %8, %9 : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xbf16>, tensor<?x72xbf16>, tensor<?x2x64xbf16>
}
