// RUN: weft-opt %s --weft-lower-tile-to-cuda --canonicalize --cse | FileCheck %s

// The other column of a pair is in the next thread. A column beyond the heads
// that are rotated, or beyond the angles of a head, stays; keys go to their
// place in the block that the token's slot is in.

// CHECK-LABEL: cuda.kernel @rotate arch "sm_90a"
//       CHECK:   %[[X:.*]] = cuda.load %{{.*}} -> f32
//       CHECK:   %[[COS:.*]] = cuda.load %{{.*}} : <f32, global>
//       CHECK:   %[[SIN:.*]] = cuda.load %{{.*}} : <f32, global>
//       CHECK:   %[[MINUS:.*]] = arith.negf %[[SIN]]
//       CHECK:   %[[OTHER:.*]] = cuda.shuffle_xor %[[X]] mask 1
//       CHECK:   %[[SIGNED:.*]] = arith.select %{{.*}}, %[[MINUS]], %[[SIN]]
//       CHECK:   %[[A:.*]] = arith.mulf %[[X]], %[[COS]]
//       CHECK:   %[[B:.*]] = arith.mulf %[[OTHER]], %[[SIGNED]]
//       CHECK:   %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
//       CHECK:   %[[Y:.*]] = arith.select %{{.*}}, %[[SUM]], %[[X]]
//       CHECK:   %[[IS:.*]] = arith.cmpi ult, %{{.*}}, %c128_i32
//       CHECK:   scf.if
//       CHECK:     %[[SLOT:.*]] = cuda.load %{{.*}} : <i32, global>
//       CHECK:     arith.divui %[[SLOT]], %c16_i32
//       CHECK:     arith.remui %[[SLOT]], %c16_i32
//       CHECK:     cuda.store %[[Y]]
#schedule = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
tile.program @rotate symbols ["rows"] grid [#tile.extent<"rows", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x512xf32>, %cos: memref<?x16xf32>, %sin: memref<?x16xf32>, %slots: memref<?xi32>, %keys: memref<?x2x64x16xf32>) symbols (%rows) item (%i) attributes {schedule = #schedule} {
    %c64 = arith.constant 64 : index
    %c1 = arith.constant 1 : index
    %a = tile.load %x[%i, %c64] : memref<?x512xf32> -> tensor<1x64xf32>
    %y = tile.rotate %a by %cos, %sin[%i, %c64] rows %c1 size 64 columns 384 : tensor<1x64xf32>, memref<?x16xf32>
    tile.append_heads %y, %keys at %slots[%i, %c64] rows %c1 columns %c64 first 256 {keys} : tensor<1x64xf32>, memref<?x2x64x16xf32>, memref<?xi32>
    tile.return
  }
}
