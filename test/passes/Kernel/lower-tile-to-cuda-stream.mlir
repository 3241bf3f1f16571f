// RUN: weft-opt %s --weft-pipeline-folds --weft-lower-tile-to-cuda --canonicalize --cse | FileCheck %s

// Roles are branches of the block's warps; a channel is a ring of slots in
// shared memory with two mbarriers each, and the blocks of a cluster add up
// through each other's shared memory.

// CHECK-LABEL: cuda.kernel @linear arch "sm_90a" threads 288 shared
//  CHECK-SAME:     attributes {cluster = 2 : i64, dependent_launch}
//       CHECK:   cuda.launch_dependents
//       CHECK:   cuda.mbarrier_init
//       CHECK:   cuda.fence_mbarrier_init
//       CHECK:   cuda.cluster_barrier
//       CHECK:   %[[MATH:.*]] = arith.cmpi slt, %{{.*}}, %c256_i32
//       CHECK:   scf.if %[[MATH]] {
//       CHECK:     cuda.wait_dependency
//       CHECK:     scf.for {{.*}} -> (vector<8xf32>)
//       CHECK:       cuda.mbarrier_wait
//       CHECK:       cuda.load %{{.*}} : <i32, shared>, i32 -> vector<4xi32>
//       CHECK:       cuda.load_matrix
// CHECK-COUNT-8:     cuda.mma bf16
//       CHECK:       cuda.mbarrier_arrive
//       CHECK:     cuda.barrier id 1 threads 256
//       CHECK:     cuda.mbarrier_arrive_cluster
//       CHECK:     cuda.mbarrier_wait %{{.*}} {cluster}
//       CHECK:     cuda.load %{{.*}} : <f32, cluster>, i32 -> f32
//       CHECK:     cuda.store
//       CHECK:   } else {
//       CHECK:     cuda.mbarrier_expect
//       CHECK:     cuda.copy_bulk {{.*}} hint stream
//       CHECK:     cuda.wait_dependency
//       CHECK:     cuda.copy_bulk {{.*}} hint keep
//       CHECK:     cuda.mbarrier_wait
//       CHECK:     cuda.copy_bulk
//       CHECK:     cuda.copy_bulk
//       CHECK:   cuda.cluster_barrier
//       CHECK:   cuda.return
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @linear symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"2", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x512xbf16, #tile.panels<columns = 128, stride = 136>>, %w: memref<512x512xbf16, #tile.fragments>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule, constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<8x128xf32>
    %begin = arith.muli %i, %c256 : index
    %end = arith.addi %begin, %c256 : index
    scf.for %c = %begin to %end step %c128 {
      %d = arith.subi %c, %begin : index
      %round = arith.divui %d, %c128 : index
      %sum = tile.fold %k = %c0 to %c512 step %c128 merge add init (%s = %zero : tensor<8x128xf32>) {
        %a = tile.load %x[%c0, %k] rows %rows : memref<?x512xbf16, #tile.panels<columns = 128, stride = 136>> -> tensor<8x128xbf16>
        %b = tile.load %w[%c, %k] dims [1, 0] : memref<512x512xbf16, #tile.fragments> -> tensor<128x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32>
        tile.yield %m : tensor<8x128xf32>
      }
      %rank = tile.cluster_rank
      %offset = arith.muli %rank, %c64 : index
      %first = arith.addi %c, %offset : index
      %part = tile.share %sum round %round : tensor<8x128xf32> -> tensor<8x64xf32>
      %half = arith.truncf %part : tensor<8x64xf32> to tensor<8x64xbf16>
      tile.store %half, %y[%c0, %first] rows %rows : tensor<8x64xbf16>, memref<?x512xbf16>
    }
    tile.return
  }
}

