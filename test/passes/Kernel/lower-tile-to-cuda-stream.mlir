// RUN: weft-opt %s --weft-pipeline-folds --weft-lower-tile-to-cuda --canonicalize --cse | FileCheck %s

// Roles are branches of the block's warps; a channel is a ring of slots in
// shared memory with two mbarriers each, and the blocks of a cluster add up
// through each other's shared memory.

// CHECK-LABEL: cuda.kernel @linear arch "sm_90a" threads 288 shared
//  CHECK-SAME:     attributes {cluster = 2 : i64, dependent_launch}
//       CHECK:   cuda.cluster_arrive relaxed
//       CHECK:   cuda.launch_dependents
//       CHECK:   cuda.mbarrier_init %{{.*}} count 1 :
//       CHECK:   cuda.mbarrier_init %{{.*}} count 8 :
//       CHECK:   cuda.fence_mbarrier_init
//       CHECK:   cuda.barrier{{$}}
//       CHECK:   %[[MATH:.*]] = arith.cmpi slt, %{{.*}}, %c256_i32
//       CHECK:   scf.if %[[MATH]] {
//       CHECK:     cuda.wait_dependency
//       CHECK:     scf.for {{.*}} -> (vector<8xf32>)
//       CHECK:       cuda.mbarrier_wait
// CHECK-COUNT-4:     cuda.load_matrix
// CHECK-COUNT-8:     cuda.mma bf16
//       CHECK:       cuda.mbarrier_arrive
//       CHECK:     cuda.cluster_wait
//       CHECK:     cuda.store %{{.*}} : f32, <f32, shared>
//       CHECK:     cuda.barrier id 1 threads 256
//       CHECK:     cuda.store %{{.*}} : f32, <f32, shared>
//   CHECK-NOT:     cuda.barrier
//       CHECK:     cuda.cluster_arrive{{$}}
//  CHECK-NEXT:     cuda.cluster_wait
//       CHECK:     cuda.load %{{.*}} : <f32, cluster>, i32 -> vector<2xf32>
//       CHECK:     cuda.cluster_arrive{{$}}
//       CHECK:     cuda.store %{{.*}} : {{.*}}, <bf16, global>
//       CHECK:   } else {
//       CHECK:     cuda.mbarrier_expect
//       CHECK:     cuda.copy_bulk {{.*}} hint stream
//       CHECK:     cuda.wait_dependency
//       CHECK:     cuda.copy_bulk {{.*}} hint keep
//       CHECK:     scf.for
//       CHECK:       scf.for
//       CHECK:         cuda.mbarrier_wait
// CHECK-COUNT-2:       cuda.copy_bulk
//       CHECK:       cuda.cluster_wait
//  CHECK-NEXT:       cuda.cluster_arrive relaxed
//       CHECK:       scf.for
//       CHECK:         cuda.mbarrier_wait
// CHECK-COUNT-2:       cuda.copy_bulk
//       CHECK:       cuda.cluster_wait
//  CHECK-NEXT:       cuda.cluster_arrive relaxed
//       CHECK:   cuda.cluster_wait
//  CHECK-NEXT:   cuda.return
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @linear symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"2", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule, constants = array<i64: 1>} {
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
        %a = tile.load %x[%c0, %k] rows %rows : memref<?x512xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        %b = tile.load %w[%c, %k] dims [1, 0] : memref<512x512xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
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

// Warpgroups read the weight where it lies in the slot: eight steps of 16 for 64
// columns of each of two groups. A warp has fragments of its 16 rows in registers
// and stores pairs of neighbouring sums.

// CHECK-LABEL: cuda.kernel @warpgroups
//       CHECK:     scf.for {{.*}} -> (vector<32xf32>)
//       CHECK:       cuda.mbarrier_wait
// CHECK-COUNT-8:     cuda.load_matrix
//       CHECK:       %[[HELD:.*]]:9 = cuda.warpgroup_arrive %{{.*}} : vector<32xf32>, vector<4xi32>,
//       CHECK:       cuda.warpgroup_mma bf16 %[[HELD]]#1, %{{.*}}[%{{.*}}] strides 64, 1024, %[[HELD]]#0
// CHECK-COUNT-6:     cuda.warpgroup_mma
//       CHECK:       %[[LAST:.*]] = cuda.warpgroup_mma bf16 %[[HELD]]#8,
//       CHECK:       cuda.warpgroup_wait %[[LAST]] : vector<32xf32>
//       CHECK:       cuda.mbarrier_arrive
// CHECK-COUNT-16:    cuda.store %{{.*}} : vector<2xf32>, <f32, shared>
#warpgroups = #tile.stream_schedule<level = "sm_90a", most_rows = 64, rows = 64, columns = 128, step = 128, slots = 3, ranges = 2, cluster = 2, column_warps = 8, step_warps = 1, warpgroups = true>
tile.program @warpgroups symbols ["rows"] grid [#tile.extent<"rows", 64>, #tile.extent<"2", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #warpgroups, constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<64x128xf32>
    %begin = arith.muli %i, %c256 : index
    %end = arith.addi %begin, %c256 : index
    scf.for %c = %begin to %end step %c128 {
      %d = arith.subi %c, %begin : index
      %round = arith.divui %d, %c128 : index
      %sum = tile.fold %k = %c0 to %c512 step %c128 merge add init (%s = %zero : tensor<64x128xf32>) {
        %a = tile.load %x[%c0, %k] rows %rows : memref<?x512xbf16, #tile.panels<columns = 128>> -> tensor<64x128xbf16>
        %b = tile.load %w[%c, %k] dims [1, 0] : memref<512x512xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xf32>
        tile.yield %m : tensor<64x128xf32>
      }
      %rank = tile.cluster_rank
      %offset = arith.muli %rank, %c64 : index
      %first = arith.addi %c, %offset : index
      %part = tile.share %sum round %round : tensor<64x128xf32> -> tensor<64x64xf32>
      %half = arith.truncf %part : tensor<64x64xf32> to tensor<64x64xbf16>
      tile.store %half, %y[%c0, %first] rows %rows : tensor<64x64xbf16>, memref<?x512xbf16>
    }
    tile.return
  }
}

// Tiles of 96 columns begin at multiples of 32: each of two blocks has 48 of
// them, four neighbours a thread, which are loaded and stored at once.

// CHECK-LABEL: cuda.kernel @neighbours
//       CHECK:     scf.for {{.*}} -> (vector<24xf32>)
//       CHECK:       cuda.warpgroup_wait
// CHECK-COUNT-6:   cuda.load %{{.*}} : <f32, cluster>, i32 -> vector<4xf32>
// CHECK-COUNT-3:   cuda.load %{{.*}} hint l2 : <bf16, global>, index -> vector<4xbf16>
// CHECK-COUNT-3:   cuda.store %{{.*}} : vector<4xbf16>, <bf16, global>
//   CHECK-NOT:     : bf16, <bf16, global>
//       CHECK:   cuda.return
#neighbours = #tile.stream_schedule<level = "sm_90a", most_rows = 64, rows = 64, columns = 96, step = 128, slots = 3, ranges = 4, cluster = 2, column_warps = 8, step_warps = 1, warpgroups = true>
tile.program @neighbours symbols ["rows"] grid [#tile.extent<"rows", 64>, #tile.extent<"4", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x512xbf16, #tile.panels<columns = 128>>, %w: memref<384x512xbf16, #tile.core_matrices>, %r: memref<?x384xbf16, #tile.panels<columns = 128>>, %y: memref<?x384xbf16, #tile.panels<columns = 128>>) symbols (%rows) item (%i) attributes {schedule = #neighbours, constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c48 = arith.constant 48 : index
    %c96 = arith.constant 96 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<64x96xf32>
    %begin = arith.muli %i, %c96 : index
    %end = arith.addi %begin, %c96 : index
    scf.for %c = %begin to %end step %c96 {
      %sum = tile.fold %k = %c0 to %c512 step %c128 merge add init (%s = %zero : tensor<64x96xf32>) {
        %a = tile.load %x[%c0, %k] rows %rows : memref<?x512xbf16, #tile.panels<columns = 128>> -> tensor<64x128xbf16>
        %b = tile.load %w[%c, %k] dims [1, 0] : memref<384x512xbf16, #tile.core_matrices> -> tensor<128x96xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<64x128xbf16>, tensor<128x96xbf16>, tensor<64x96xf32>
        tile.yield %m : tensor<64x96xf32>
      }
      %rank = tile.cluster_rank
      %offset = arith.muli %rank, %c48 : index
      %first = arith.addi %c, %offset : index
      %part = tile.share %sum round %c0 : tensor<64x96xf32> -> tensor<64x48xf32>
      %old = tile.load %r[%c0, %first] rows %rows columns %c48 : memref<?x384xbf16, #tile.panels<columns = 128>> -> tensor<64x48xbf16>
      %wide = arith.extf %old : tensor<64x48xbf16> to tensor<64x48xf32>
      %next = arith.addf %part, %wide : tensor<64x48xf32>
      %half = arith.truncf %next : tensor<64x48xf32> to tensor<64x48xbf16>
      tile.store %half, %y[%c0, %first] rows %rows columns %c48 : tensor<64x48xbf16>, memref<?x384xbf16, #tile.panels<columns = 128>>
    }
    tile.return
  }
}

// A block alone whose warpgroups divide the columns: every thread goes on with its
// sums, and the lanes of a group add up the squares of their rows. Nothing goes
// through shared memory; a pair of neighbours is stored at once.

// CHECK-LABEL: cuda.kernel @kept arch "sm_90a"
//       CHECK:     scf.for {{.*}} -> (vector<32xf32>, vector<2xf32>)
//       CHECK:       math.fma
//       CHECK:       cuda.warpgroup_wait
//       CHECK:       cuda.mbarrier_arrive
//   CHECK-NOT:     cuda.barrier
//   CHECK-NOT:     <f32, shared>
// CHECK-COUNT-2:   cuda.shuffle_xor
// CHECK-COUNT-2:   cuda.shuffle_xor
//   CHECK-NOT:     <f32, shared>
// CHECK-COUNT-16:  cuda.store %{{.*}} : vector<2xbf16>, <bf16, global>
//   CHECK-NOT:     cuda.store
//       CHECK:   } else {
#kept_schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 64, rows = 64, columns = 128, step = 128, slots = 4, ranges = 4, cluster = 1, column_warps = 8, step_warps = 1, warpgroups = true>
tile.program @kept symbols ["rows"] grid [#tile.extent<"rows", 64>, #tile.extent<"4", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>, %y: memref<?x512xbf16, #tile.panels<columns = 128>>) symbols (%rows) item (%i) attributes {schedule = #kept_schedule, constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<64x128xf32>
    %none = arith.constant dense<0.0> : tensor<64x1xf32>
    %begin = arith.muli %i, %c128 : index
    %end = arith.addi %begin, %c128 : index
    scf.for %c = %begin to %end step %c128 {
      %sums:2 = tile.fold %k = %c0 to %c512 step %c128 merge add init (%s = %zero : tensor<64x128xf32>, %q = %none : tensor<64x1xf32>) {
        %a = tile.load %x[%c0, %k] rows %rows : memref<?x512xbf16, #tile.panels<columns = 128>> -> tensor<64x128xbf16>
        %f = arith.extf %a : tensor<64x128xbf16> to tensor<64x128xf32>
        %p = arith.mulf %f, %f : tensor<64x128xf32>
        %r = tile.reduce add %p : tensor<64x128xf32> -> tensor<64x1xf32>
        %b = tile.load %w[%c, %k] dims [1, 0] : memref<512x512xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<64x128xbf16>, tensor<128x128xbf16>, tensor<64x128xf32>
        %t = arith.addf %q, %r : tensor<64x1xf32>
        tile.yield %m, %t : tensor<64x128xf32>, tensor<64x1xf32>
      }
      %parts:2 = tile.share %sums#0, %sums#1 round %c0 : tensor<64x128xf32>, tensor<64x1xf32> -> tensor<64x128xf32>, tensor<64x128xf32>
      %d = arith.divf %parts#0, %parts#1 : tensor<64x128xf32>
      %half = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xbf16>
      tile.store %half, %y[%c0, %c] : tensor<64x128xbf16>, memref<?x512xbf16, #tile.panels<columns = 128>>
    }
    tile.return
  }
}

// A norm in front: fragments of the input are multiplied by the norm's weight,
// pair by pair; one of the column warps sums the squares, each lane those of its
// own elements, which the lanes of a group put together. Both step warps leave
// what they have of a sum.

// CHECK-LABEL: cuda.kernel @norm arch "sm_90a"
//       CHECK:     scf.for {{.*}} -> (vector<8xf32>, f32)
// CHECK-COUNT-4:     cuda.load_matrix
//       CHECK:       %[[X:.*]] = cuda.load_matrix
//       CHECK:       %[[PAIR:.*]] = vector.extract %[[X]][0]
// CHECK-COUNT-4:     cuda.load %{{.*}} : <i32, shared>, i32 -> i32
// CHECK-COUNT-4:     cuda.multiply_pairs bf16
//       CHECK:       cuda.mma bf16
//       CHECK:       %[[WARP:.*]] = arith.cmpi slt
//       CHECK:       scf.if %[[WARP]] -> (f32) {
//       CHECK:         %[[B:.*]] = vector.bitcast %{{.*}} : vector<4xi32> to vector<8xbf16>
//       CHECK:         %[[F:.*]] = arith.extf %[[B]]
//       CHECK:         math.fma
//       CHECK:       cuda.mbarrier_arrive
//       CHECK:     cuda.barrier id 1
//       CHECK:     cuda.shuffle_xor %{{.*}} mask 1
//       CHECK:     cuda.shuffle_xor %{{.*}} mask 2
//       CHECK:     arith.divf
#norm_schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 4, cluster = 1, column_warps = 4, step_warps = 2>
tile.program @norm symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"4", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>, %n: memref<1x512xbf16>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #norm_schedule, constants = array<i64: 1, 2>} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<8x128xf32>
    %none = arith.constant dense<0.0> : tensor<8x1xf32>
    %begin = arith.muli %i, %c128 : index
    %end = arith.addi %begin, %c128 : index
    scf.for %c = %begin to %end step %c128 {
      %sums:2 = tile.fold %k = %c0 to %c512 step %c128 merge add init (%s = %zero : tensor<8x128xf32>, %q = %none : tensor<8x1xf32>) {
        %a = tile.load %x[%c0, %k] rows %rows : memref<?x512xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        %f = arith.extf %a : tensor<8x128xbf16> to tensor<8x128xf32>
        %p = arith.mulf %f, %f : tensor<8x128xf32>
        %r = tile.reduce add %p : tensor<8x128xf32> -> tensor<8x1xf32>
        %h = tile.load %n[%c0, %k] : memref<1x512xbf16> -> tensor<1x128xbf16>
        %e = tile.broadcast %h : tensor<1x128xbf16> -> tensor<8x128xbf16>
        %l = arith.mulf %a, %e : tensor<8x128xbf16>
        %b = tile.load %w[%c, %k] dims [1, 0] : memref<512x512xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %l, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32>
        %d = arith.addf %q, %r : tensor<8x1xf32>
        tile.yield %m, %d : tensor<8x128xf32>, tensor<8x1xf32>
      }
      %part:2 = tile.share %sums#0, %sums#1 round %c0 : tensor<8x128xf32>, tensor<8x1xf32> -> tensor<8x128xf32>, tensor<8x128xf32>
      %o = arith.divf %part#0, %part#1 : tensor<8x128xf32>
      %half = arith.truncf %o : tensor<8x128xf32> to tensor<8x128xbf16>
      tile.store %half, %y[%c0, %c] rows %rows : tensor<8x128xbf16>, memref<?x512xbf16>
    }
    tile.return
  }
}

// A row that the block keeps: a barrier stands between its store and the first
// tile, and all rows of a fragment are this one.

// CHECK-LABEL: cuda.kernel @resident arch "sm_90a"
//       CHECK:     cuda.wait_dependency
//       CHECK:     cuda.store %{{.*}} : vector<2xbf16>, <bf16, shared>
//       CHECK:     cuda.barrier id 1 threads 256
//       CHECK:     scf.for
//       CHECK:       scf.for {{.*}} -> (vector<4xf32>)
//       CHECK:         cuda.mbarrier_wait
//       CHECK:         cuda.load_matrix
// CHECK-COUNT-2:       cuda.mma bf16
//       CHECK:       cuda.barrier id 1 threads 256
//       CHECK:       cuda.store %{{.*}} : f32, <f32, shared>
//       CHECK:       cuda.barrier id 1 threads 256
// CHECK-COUNT-8:     cuda.load %{{.*}} : <f32, shared>, i32 -> f32
//       CHECK:   } else {
// CHECK-COUNT-2:     cuda.copy_bulk
#resident_schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 1, rows = 8, columns = 16, step = 256, slots = 12, ranges = 4, cluster = 1, column_warps = 1, step_warps = 8, resident_rows = 1>
tile.program @resident symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"4", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #resident_schedule, constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<8x16xf32>
    %begin = arith.muli %i, %c128 : index
    %end = arith.addi %begin, %c128 : index
    %all = tile.load %x[%c0, %c0] : memref<?x512xbf16, #tile.panels<columns = 128>> -> tensor<1x512xbf16>
    %kept = tile.scratch : memref<1x512xbf16>
    tile.store %all, %kept[%c0, %c0] : tensor<1x512xbf16>, memref<1x512xbf16>
    scf.for %c = %begin to %end step %c16 {
      %d = arith.subi %c, %begin : index
      %round = arith.divui %d, %c16 : index
      %sum = tile.fold %k = %c0 to %c512 step %c256 merge add init (%s = %zero : tensor<8x16xf32>) {
        %a = tile.load %kept[%c0, %k] rows %c1 : memref<1x512xbf16> -> tensor<8x256xbf16>
        %b = tile.load %w[%c, %k] dims [1, 0] : memref<512x512xbf16, #tile.core_matrices> -> tensor<256x16xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<8x256xbf16>, tensor<256x16xbf16>, tensor<8x16xf32>
        tile.yield %m : tensor<8x16xf32>
      }
      %part = tile.share %sum round %round : tensor<8x16xf32> -> tensor<8x16xf32>
      %half = arith.truncf %part : tensor<8x16xf32> to tensor<8x16xbf16>
      tile.store %half, %y[%c0, %c] rows %rows : tensor<8x16xbf16>, memref<?x512xbf16>
    }
    tile.return
  }
}

// Without bulk copies all threads copy 16 bytes at a time. A piece is a group of
// copies, and the barrier behind the wait for it frees the slot that is filled
// next.

// CHECK-LABEL: cuda.kernel @together arch "sm_80" threads 256 shared
//   CHECK-NOT:   cuda.mbarrier
//       CHECK:   scf.for
//       CHECK:     cuda.copy_async {{.*}} bytes 16
//       CHECK:     cuda.commit_copies
//       CHECK:   scf.for {{.*}} -> (vector<8xf32>)
//       CHECK:     cuda.wait_copies 1
//  CHECK-NEXT:     cuda.barrier
//       CHECK:     cuda.copy_async {{.*}} bytes 16
//       CHECK:     cuda.commit_copies
//       CHECK:     cuda.load_matrix
// CHECK-COUNT-8:   cuda.mma bf16
//   CHECK-NOT:   cuda.mbarrier
//       CHECK:   cuda.return
#together = #tile.stream_schedule<level = "sm_80", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 3, ranges = 2, cluster = 1, column_warps = 4, step_warps = 2, load_warps = 0>
tile.program @together symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"2", 1>] {
  tile.kernel @sm_80 level "sm_80" (%x: memref<?x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #together, constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
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
        %a = tile.load %x[%c0, %k] rows %rows : memref<?x512xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        %b = tile.load %w[%c, %k] dims [1, 0] : memref<512x512xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32>
        tile.yield %m : tensor<8x128xf32>
      }
      %part = tile.share %sum round %round : tensor<8x128xf32> -> tensor<8x128xf32>
      %half = arith.truncf %part : tensor<8x128xf32> to tensor<8x128xbf16>
      tile.store %half, %y[%c0, %c] rows %rows : tensor<8x128xbf16>, memref<?x512xbf16>
    }
    tile.return
  }
}
