// RUN: weft-opt %s --weft-fuse-rope --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-fuse-rope --split-input-file --remarks-filter=fuse -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The layer rotates its first columns, returns the query and writes the rest to
// the caches.

// DOC
// CHECK-LABEL: func @layer
//       CHECK:   weft.dispatch "query" (%[[X:[a-z0-9]+]] = %{{.*}} : tensor<?x128xbf16>, %[[W:[a-z0-9]+]] = %{{.*}} : tensor<4x1x32x8x8xbf16>, %[[COS:[a-z0-9]+]] = %{{[a-z0-9]+}} : tensor<?x8xf32>, %[[SIN:[a-z0-9]+]] = {{.*}}) -> (tensor<?x2x16xbf16>, tensor<?x1x16x16xbf16>, tensor<?x1x16x16xbf16>)
//       CHECK:     %[[Y:.*]] = weft.linear %[[X]], %[[W]]
//       CHECK:     tensor.extract_slice %[[Y]]
//       CHECK:     %[[Q:.*]] = weft.rope %{{.*}}, %[[COS]], %[[SIN]] {interleaved}
//       CHECK:     %[[K:.*]] = weft.rope
//       CHECK:     %[[KEYS:.*]] = weft.cache_append key %{{.*}}, %[[K]]
//       CHECK:     %[[VALUES:.*]] = weft.cache_append value
//       CHECK:     weft.yield %[[Q]], %[[KEYS]], %[[VALUES]]
//   CHECK-NOT:   weft.dispatch
// REMARK: [Passed] rope-fused
func.func @layer(%x: tensor<?x128xbf16>, %w: tensor<4x1x32x8x8xbf16>, %cos: tensor<?x8xf32>, %sin: tensor<?x8xf32>, %slots: tensor<?xi32>, %keys: tensor<?x1x16x16xbf16>, %values: tensor<?x1x16x16xbf16>) -> (tensor<?x2x16xbf16>, tensor<?x1x16x16xbf16>, tensor<?x1x16x16xbf16>) {
  %y = weft.dispatch "query" (%a = %x : tensor<?x128xbf16>, %b = %w : tensor<4x1x32x8x8xbf16>) -> (tensor<?x64xbf16>) {
    %0 = weft.linear %a, %b layout core_matrices : (tensor<?x128xbf16>, tensor<4x1x32x8x8xbf16>) -> tensor<?x64xbf16>
    weft.yield %0 : tensor<?x64xbf16>
  }
  %r:3 = weft.dispatch "rope" (%a = %y : tensor<?x64xbf16>, %c = %cos : tensor<?x8xf32>, %s = %sin : tensor<?x8xf32>, %t = %slots : tensor<?xi32>, %kc = %keys : tensor<?x1x16x16xbf16>, %vc = %values : tensor<?x1x16x16xbf16>) -> (tensor<?x2x16xbf16>, tensor<?x1x16x16xbf16>, tensor<?x1x16x16xbf16>) {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %a, %c0 : tensor<?x64xbf16>
    %q = tensor.extract_slice %a[0, 0] [%n, 32] [1, 1] : tensor<?x64xbf16> to tensor<?x32xbf16>
    %qh = tensor.expand_shape %q [[0], [1, 2]] output_shape [%n, 2, 16] : tensor<?x32xbf16> into tensor<?x2x16xbf16>
    %qr = weft.rope %qh, %c, %s {interleaved} : tensor<?x2x16xbf16>, tensor<?x8xf32>
    %k = tensor.extract_slice %a[0, 32] [%n, 16] [1, 1] : tensor<?x64xbf16> to tensor<?x16xbf16>
    %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [%n, 1, 16] : tensor<?x16xbf16> into tensor<?x1x16xbf16>
    %kr = weft.rope %kh, %c, %s {interleaved} : tensor<?x1x16xbf16>, tensor<?x8xf32>
    %ka = weft.cache_append key %kc, %kr, %t : tensor<?x1x16x16xbf16>, tensor<?x1x16xbf16>
    %v = tensor.extract_slice %a[0, 48] [%n, 16] [1, 1] : tensor<?x64xbf16> to tensor<?x16xbf16>
    %vh = tensor.expand_shape %v [[0], [1, 2]] output_shape [%n, 1, 16] : tensor<?x16xbf16> into tensor<?x1x16xbf16>
    %va = weft.cache_append value %vc, %vh, %t : tensor<?x1x16x16xbf16>, tensor<?x1x16xbf16>
    weft.yield %qr, %ka, %va : tensor<?x2x16xbf16>, tensor<?x1x16x16xbf16>, tensor<?x1x16x16xbf16>
  }
  return %r#0, %r#1, %r#2 : tensor<?x2x16xbf16>, tensor<?x1x16x16xbf16>, tensor<?x1x16x16xbf16>
}

// -----

// Halves of a head are not in one tile.

// CHECK-LABEL: func @halves
//       CHECK:   weft.dispatch "query"
//       CHECK:   weft.dispatch "rope"
// REMARK: [Missed] rope-not-fused | {{.*}}it rotates halves of heads, which are not in one tile
func.func @halves(%x: tensor<?x128xbf16>, %w: tensor<1x1x32x8x8xbf16>, %cos: tensor<?x8xf32>, %sin: tensor<?x8xf32>, %slots: tensor<?xi32>, %keys: tensor<?x1x16x16xbf16>) -> tensor<?x1x16x16xbf16> {
  %y = weft.dispatch "query" (%a = %x : tensor<?x128xbf16>, %b = %w : tensor<1x1x32x8x8xbf16>) -> (tensor<?x16xbf16>) {
    %0 = weft.linear %a, %b layout core_matrices : (tensor<?x128xbf16>, tensor<1x1x32x8x8xbf16>) -> tensor<?x16xbf16>
    weft.yield %0 : tensor<?x16xbf16>
  }
  %r = weft.dispatch "rope" (%a = %y : tensor<?x16xbf16>, %c = %cos : tensor<?x8xf32>, %s = %sin : tensor<?x8xf32>, %t = %slots : tensor<?xi32>, %kc = %keys : tensor<?x1x16x16xbf16>) -> (tensor<?x1x16x16xbf16>) {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %a, %c0 : tensor<?x16xbf16>
    %kh = tensor.expand_shape %a [[0], [1, 2]] output_shape [%n, 1, 16] : tensor<?x16xbf16> into tensor<?x1x16xbf16>
    %kr = weft.rope %kh, %c, %s : tensor<?x1x16xbf16>, tensor<?x8xf32>
    %ka = weft.cache_append key %kc, %kr, %t : tensor<?x1x16x16xbf16>, tensor<?x1x16xbf16>
    weft.yield %ka : tensor<?x1x16x16xbf16>
  }
  return %r : tensor<?x1x16x16xbf16>
}

// -----

// The first heads are not rotated.

// CHECK-LABEL: func @order
//       CHECK:   weft.dispatch "query"
//       CHECK:   weft.dispatch "rope"
// REMARK: [Missed] rope-not-fused | {{.*}}the heads that it rotates are not the first ones in order
func.func @order(%x: tensor<?x128xbf16>, %w: tensor<2x1x32x8x8xbf16>, %cos: tensor<?x8xf32>, %sin: tensor<?x8xf32>, %slots: tensor<?xi32>, %keys: tensor<?x1x16x16xbf16>) -> tensor<?x1x16x16xbf16> {
  %y = weft.dispatch "query" (%a = %x : tensor<?x128xbf16>, %b = %w : tensor<2x1x32x8x8xbf16>) -> (tensor<?x32xbf16>) {
    %0 = weft.linear %a, %b layout core_matrices : (tensor<?x128xbf16>, tensor<2x1x32x8x8xbf16>) -> tensor<?x32xbf16>
    weft.yield %0 : tensor<?x32xbf16>
  }
  %r = weft.dispatch "rope" (%a = %y : tensor<?x32xbf16>, %c = %cos : tensor<?x8xf32>, %s = %sin : tensor<?x8xf32>, %t = %slots : tensor<?xi32>, %kc = %keys : tensor<?x1x16x16xbf16>) -> (tensor<?x1x16x16xbf16>) {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %a, %c0 : tensor<?x32xbf16>
    %k = tensor.extract_slice %a[0, 16] [%n, 16] [1, 1] : tensor<?x32xbf16> to tensor<?x16xbf16>
    %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [%n, 1, 16] : tensor<?x16xbf16> into tensor<?x1x16xbf16>
    %kr = weft.rope %kh, %c, %s {interleaved} : tensor<?x1x16xbf16>, tensor<?x8xf32>
    %ka = weft.cache_append key %kc, %kr, %t : tensor<?x1x16x16xbf16>, tensor<?x1x16xbf16>
    weft.yield %ka : tensor<?x1x16x16xbf16>
  }
  return %r : tensor<?x1x16x16xbf16>
}
