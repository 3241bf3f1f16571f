// Rotated columns and heads into caches, printed and parsed back.
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s

func.func @f(%x: tensor<8x16xf32>, %cos: memref<?x64xf32>, %sin: memref<?x64xf32>, %keys: memref<?x8x128x64xf32>, %values: memref<?x8x64x128xf32>, %slots: memref<?xi32>, %n: index) {
  // CHECK: %[[Y:.*]] = tile.rotate %{{.*}} by %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] rows %{{.*}} size 128 columns 5120 : tensor<8x16xf32>, memref<?x64xf32>
  %y = tile.rotate %x by %cos, %sin[%n, %n] rows %n size 128 columns 5120 : tensor<8x16xf32>, memref<?x64xf32>
  // CHECK: tile.append_heads %[[Y]], %{{.*}} at %{{.*}}[%{{.*}}, %{{.*}}] rows %{{.*}} columns %{{.*}} first 4096 {keys} : tensor<8x16xf32>, memref<?x8x128x64xf32>, memref<?xi32>
  tile.append_heads %y, %keys at %slots[%n, %n] rows %n columns %n first 4096 {keys} : tensor<8x16xf32>, memref<?x8x128x64xf32>, memref<?xi32>
  // CHECK: tile.append_heads %[[Y]], %{{.*}} first 5120 : tensor<8x16xf32>, memref<?x8x64x128xf32>, memref<?xi32>
  tile.append_heads %y, %values at %slots[%n, %n] rows %n columns %n first 5120 : tensor<8x16xf32>, memref<?x8x64x128xf32>, memref<?xi32>
  return
}
