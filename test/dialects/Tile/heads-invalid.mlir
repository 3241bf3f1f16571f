// Verifiers of rotated columns and heads into caches.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<8x15xf32>, %cos: memref<?x64xf32>, %n: index) {
  // expected-error @below {{needs a tile of pairs of columns and rows of f32 angles, found 'tensor<8x15xf32>' and 'memref<?x64xf32>'}}
  %y = tile.rotate %x by %cos, %cos[%n, %n] rows %n size 128 columns 5120 : tensor<8x15xf32>, memref<?x64xf32>
  return
}

// -----

func.func @f(%x: tensor<8x16xf32>, %cos: memref<?x64xf32>, %n: index) {
  // expected-error @below {{rotates whole heads with at most half as many angles as columns, found 64 angles for heads of 64 in 512 columns}}
  %y = tile.rotate %x by %cos, %cos[%n, %n] rows %n size 64 columns 512 : tensor<8x16xf32>, memref<?x64xf32>
  return
}

// -----

func.func @f(%x: tensor<8x16xbf16>, %keys: memref<?x8x128x64xf32>, %slots: memref<?xi32>, %n: index) {
  // expected-error @below {{needs a tile of two dimensions, a cache of four with its element type and slots of type i32, found 'tensor<8x16xbf16>', 'memref<?x8x128x64xf32>' and 'memref<?xi32>'}}
  tile.append_heads %x, %keys at %slots[%n, %n] rows %n columns %n first 4096 {keys} : tensor<8x16xbf16>, memref<?x8x128x64xf32>, memref<?xi32>
  return
}
