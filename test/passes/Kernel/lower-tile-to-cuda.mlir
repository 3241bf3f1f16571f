// RUN: weft-opt %s --weft-lower-tile-to-cuda --canonicalize --cse --split-input-file | FileCheck %s

// A work item is a block of threads; a row of 256 numbers is two registers of
// each of 128 threads.

// CHECK-LABEL: tile.program @scale
//       CHECK: module @scale.sm_90a attributes {tile.description = "mulf", tile.level = "sm_90a", tile.program = "scale"}
//       CHECK:   cuda.kernel @scale arch "sm_90a" threads 128 shared 0
//  CHECK-SAME:       (%[[X:.*]]: !cuda.ptr<f32, global>, %[[Y:.*]]: !cuda.ptr<f32, global>, %{{.*}}: index, %{{.*}}: index) attributes {dependent_launch}
//       CHECK:     %[[THREAD:.*]] = cuda.thread_index : i32
//       CHECK:     %[[SECOND:.*]] = arith.addi %[[THREAD]], %c128_i32 : i32
//       CHECK:     %[[ITEM:.*]] = cuda.block_index : index
//       CHECK:     cuda.wait_dependency
//       CHECK:     cuda.launch_dependents
//       CHECK:     %[[AT:.*]] = arith.muli %[[ITEM]], %c256 : index
//       CHECK:     %[[FROM:.*]] = cuda.offset %[[X]][%[[AT]]]
//       CHECK:     cuda.load %[[FROM]][%[[THREAD]]] hint l2
//       CHECK:     cuda.load %[[FROM]][%[[SECOND]]] hint l2
//       CHECK:     arith.mulf {{.*}} : vector<2xf32>
//       CHECK:     cuda.store {{.*}}[%[[THREAD]]] : f32
//       CHECK:     cuda.store {{.*}}[%[[SECOND]]] : f32
//   CHECK-NOT:     cuda.barrier
tile.program @scale symbols ["rows"] grid [#tile.extent<"rows", 1>] attributes {description = "mulf"} {
  tile.kernel @h level "sm_90a" (%x: memref<?x256xf32>, %y: memref<?x256xf32>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %half = arith.constant dense<0.5> : tensor<1x256xf32>
    %a = tile.load %x[%i, %zero] : memref<?x256xf32> -> tensor<1x256xf32>
    %b = arith.mulf %a, %half : tensor<1x256xf32>
    tile.store %b, %y[%i, %zero] : tensor<1x256xf32>, memref<?x256xf32>
    tile.return
  }
}

// -----

// Kernels of CPU levels are left alone; before 9.0 there is no dependent launch.

// CHECK-LABEL: tile.program @levels
//   CHECK-NOT: x86-64-v2 {{.*}}module
//       CHECK: module @levels.sm_80
//       CHECK:   cuda.kernel @levels arch "sm_80" threads 128 shared 0
//   CHECK-NOT:   dependent
tile.program @levels symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @v2 level "x86-64-v2" (%x: memref<4x64xf32>) symbols () item (%i) {
  }
  tile.kernel @a level "sm_80" (%x: memref<4x64xf32>) symbols () item (%i) {
  }
}

// -----

// A kernel of a range of items gets a range of one, which needs no loop.

// CHECK-LABEL: cuda.kernel @range
//       CHECK:   %[[ITEM:.*]] = cuda.block_index : index
//   CHECK-NOT:   scf.for
//       CHECK:   %[[AT:.*]] = arith.muli %[[ITEM]], %c128 : index
//       CHECK:   cuda.offset %{{.*}}[%[[AT]]]
tile.program @range symbols [] grid [#tile.extent<"4", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<4x128xf32>) symbols () items (%begin, %end) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %c = arith.constant dense<1.0> : tensor<1x128xf32>
    scf.for %i = %begin to %end step %one {
      tile.store %c, %x[%i, %zero] : tensor<1x128xf32>, memref<4x128xf32>
    }
  }
}

// -----

// A tile that does not fill its registers reads some element of itself and is
// written element by element; rows behind the last repeat it.

// CHECK-LABEL: cuda.kernel @partial
//       CHECK:   %[[THREAD:.*]] = cuda.thread_index : i32
//       CHECK:   arith.minsi %[[THREAD]], %c14_i32
//       CHECK:   %[[CLAMPED:.*]] = arith.minsi %{{.*}}, %c3
//       CHECK:   arith.index_cast %[[CLAMPED]] : index to i32
//       CHECK:   cuda.load
//       CHECK:   arith.andi
//       CHECK:   scf.if
//       CHECK:     cuda.store
tile.program @partial symbols ["rows"] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<?x5xf16>, %y: memref<?x5xf16>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%zero, %zero] rows %rows : memref<?x5xf16> -> tensor<3x5xf16>
    tile.store %a, %y[%zero, %zero] rows %rows : tensor<3x5xf16>, memref<?x5xf16>
    tile.return
  }
}

// -----

// Every thread has a tile of one column; one of them writes it.

// CHECK-LABEL: cuda.kernel @column
//       CHECK:   cuda.load {{.*}}[%c0_i32]
//       CHECK:   cuda.load {{.*}}[%c1_i32]
//       CHECK:   %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32 : i32
//       CHECK:   scf.if %[[FIRST]]
// CHECK-COUNT-2:   cuda.store
tile.program @column symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<2x1xf32>, %y: memref<2x1xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%zero, %zero] : memref<2x1xf32> -> tensor<2x1xf32>
    tile.store %a, %y[%zero, %zero] : tensor<2x1xf32>, memref<2x1xf32>
    tile.return
  }
}

// -----

// Scratch is shared memory: barriers stand between the write and the read, and
// in a loop between the read and the next write.

// CHECK-LABEL: cuda.kernel @scratch arch "sm_80" threads 128 shared 512
//       CHECK:   scf.for
//       CHECK:     cuda.barrier
//       CHECK:     cuda.store {{.*}} : f32, <f32, shared>
//       CHECK:     cuda.barrier
//       CHECK:     cuda.load {{.*}} : <f32, shared>
//   CHECK-NOT:     cuda.barrier
tile.program @scratch symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<8x128xf32>, %y: memref<8x128xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %eight = arith.constant 8 : index
    %s = tile.scratch : memref<1x128xf32>
    scf.for %r = %zero to %eight step %one {
      %a = tile.load %x[%r, %zero] : memref<8x128xf32> -> tensor<1x128xf32>
      tile.store %a, %s[%zero, %zero] : tensor<1x128xf32>, memref<1x128xf32>
      %b = tile.load %s[%zero, %zero] : memref<1x128xf32> -> tensor<1x128xf32>
      tile.store %b, %y[%r, %zero] : tensor<1x128xf32>, memref<8x128xf32>
    }
    tile.return
  }
}

// -----

// Stores that may overlap in a loop are in order.

// CHECK-LABEL: cuda.kernel @overlap
//       CHECK:   scf.for
//       CHECK:     cuda.barrier
//       CHECK:     cuda.store
tile.program @overlap symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%y: memref<1x256xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %eight = arith.constant 8 : index
    %a = arith.constant dense<1.0> : tensor<1x128xf32>
    scf.for %r = %zero to %eight step %one {
      tile.store %a, %y[%zero, %r] : tensor<1x128xf32>, memref<1x256xf32>
    }
    tile.return
  }
}

// -----

// A sum: a thread's registers, the lanes of a warp, the warps in order.

// CHECK-LABEL: cuda.kernel @sum arch "sm_80" threads 128 shared 16
//       CHECK:   arith.addf
//       CHECK:   cuda.shuffle_xor %{{.*}} mask 16
//       CHECK:   cuda.shuffle_xor %{{.*}} mask 8
//       CHECK:   cuda.shuffle_xor %{{.*}} mask 4
//       CHECK:   cuda.shuffle_xor %{{.*}} mask 2
//       CHECK:   cuda.shuffle_xor %{{.*}} mask 1
//       CHECK:   scf.if
//       CHECK:     cuda.store
//       CHECK:   cuda.barrier
// CHECK-COUNT-4: cuda.load {{.*}} : <f32, shared>
tile.program @sum symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<1x256xf32>, %y: memref<1x1xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%zero, %zero] : memref<1x256xf32> -> tensor<1x256xf32>
    %s = tile.reduce add %a : tensor<1x256xf32> -> tensor<1x1xf32>
    tile.store %s, %y[%zero, %zero] : tensor<1x1xf32>, memref<1x1xf32>
    tile.return
  }
}

// -----

// A multiplication: the accumulators are registers, a weight is read once for
// all rows, pairs of bf16 by one load.

// CHECK-LABEL: module @linear.sm_90a attributes {{.*}}tile.schedule = #tile.cuda_schedule<level = "sm_90a", threads = 64
//       CHECK:   cuda.kernel @linear arch "sm_90a" threads 64 shared 0
//       CHECK:   scf.for {{.*}} -> (f32, f32) : i32 {
//       CHECK:     cuda.load {{.*}} : <bf16, global>, i32 -> bf16
//       CHECK:     cuda.load {{.*}} : <bf16, global>, i32 -> vector<2xbf16>
//       CHECK:     math.fma
//       CHECK:     cuda.load {{.*}} -> bf16
//   CHECK-NOT:     vector<2xbf16>
//       CHECK:     math.fma
tile.program @linear symbols ["rows"] grid [#tile.extent<"rows", 2>] {
  tile.kernel @h level "sm_90a" (%x: memref<?x64xbf16>, %w: memref<1x32x64x2xbf16>, %y: memref<?x64xf32>) symbols (%rows) item (%i)
      attributes {schedule = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 2, columns = 64, unroll = 2, row_columns = 64, row_unroll = 2, row_block = 2, column_block = 64>} {
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    %row = arith.muli %i, %two : index
    %init = arith.constant dense<0.0> : tensor<2x64xf32>
    %a = tile.load %x[%row, %zero] : memref<?x64xbf16> -> tensor<2x64xbf16>
    %b = tile.load %w[%zero, %zero, %zero, %zero] : memref<1x32x64x2xbf16> -> tensor<32x64x2xbf16>
    %c = tile.mma fma %a, %b, %init : tensor<2x64xbf16>, tensor<32x64x2xbf16>, tensor<2x64xf32>
    tile.store %c, %y[%row, %zero] : tensor<2x64xf32>, memref<?x64xf32>
    tile.return
  }
}

// -----

// Operands that are not in memory, or not any more, go through shared memory.

// CHECK-LABEL: cuda.kernel @staged arch "sm_80" threads 128 shared 320
//       CHECK:   cuda.store {{.*}} : f32, <f32, shared>
//       CHECK:   cuda.store {{.*}} : f32, <f32, shared>
//       CHECK:   cuda.barrier
//       CHECK:   math.fma
tile.program @staged symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<2x8xf32>, %w: memref<8x8xf32>, %y: memref<2x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %init = arith.constant dense<0.0> : tensor<2x8xf32>
    %a = tile.load %x[%zero, %zero] : memref<2x8xf32> -> tensor<2x8xf32>
    %e = math.exp %a : tensor<2x8xf32>
    %b = tile.load %w[%zero, %zero] : memref<8x8xf32> -> tensor<8x8xf32>
    tile.store %b, %w[%zero, %zero] : tensor<8x8xf32>, memref<8x8xf32>
    %c = tile.mma fma %e, %b, %init : tensor<2x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>
    tile.store %c, %y[%zero, %zero] : tensor<2x8xf32>, memref<2x8xf32>
    tile.return
  }
}

// -----

// Slices of one tile stage it once.

// CHECK-LABEL: cuda.kernel @halves
//       CHECK:   cuda.store {{.*}} : f32, <f32, shared>
//       CHECK:   cuda.barrier
//   CHECK-NOT:   cuda.barrier
//       CHECK:   cuda.load {{.*}} : <f32, shared>
//       CHECK:   cuda.load {{.*}} : <f32, shared>
//       CHECK:   arith.addf
tile.program @halves symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<1x64xf32>, %y: memref<1x32xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%zero, %zero] : memref<1x64xf32> -> tensor<1x64xf32>
    %l = tile.slice %a at 0 {stride = 2 : i64} : tensor<1x64xf32> -> tensor<1x32xf32>
    %r = tile.slice %a at 1 {stride = 2 : i64} : tensor<1x64xf32> -> tensor<1x32xf32>
    %s = arith.addf %l, %r : tensor<1x32xf32>
    tile.store %s, %y[%zero, %zero] : tensor<1x32xf32>, memref<1x32xf32>
    tile.return
  }
}

// -----

// Packed views are indexed by their logical shape. A tile that starts at a
// multiple of its size goes on as at 0: eight columns of a panel are
// consecutive, and steps of fragments come in aligned pairs. Elsewhere every
// element has its shift and mask.

// CHECK-LABEL: cuda.kernel @packed
//  CHECK-SAME:     (%[[X:.*]]: !cuda.ptr<bf16, global>, %[[W:.*]]: !cuda.ptr<bf16, global>, %{{.*}}: !cuda.ptr<bf16, global>, %[[ROWS:.*]]: index, %{{.*}}: index)
//       CHECK:   %[[THREAD:.*]] = cuda.thread_index
//       CHECK:   %[[ITEM:.*]] = cuda.block_index
//       CHECK:   %[[STORED:.*]] = arith.addi %[[ROWS]], %c7 : index
//       CHECK:   scf.for %[[K:.*]] = %c0 to %c256 step %c8
//   CHECK-DAG:     %[[GROUP:.*]] = arith.shrui %[[ITEM]], %c3 : index
//   CHECK-DAG:     arith.muli %[[GROUP]], %c1024 : index
//   CHECK-DAG:     %[[INGROUP:.*]] = arith.andi %[[ITEM]], %c7 : index
//   CHECK-DAG:     arith.muli %[[INGROUP]], %c8 : index
//   CHECK-DAG:     %[[PANEL:.*]] = arith.shrui %[[K]], %c7 : index
//   CHECK-DAG:     %[[STRIDE:.*]] = arith.muli %[[PANEL]], %c128 : index
//   CHECK-DAG:     arith.muli %[[STRIDE]], %[[STORED]] : index
//       CHECK:     cuda.load %[[A:.*]][%c0_i32] {{.*}} -> bf16
//       CHECK:     cuda.load %[[B:.*]][%c0_i32] {{.*}} -> vector<2xbf16>
//       CHECK:     cuda.load %[[A]][%c1_i32]
//       CHECK:     cuda.load %[[A]][%c2_i32]
//       CHECK:     cuda.load %[[B]][%c2_i32] {{.*}} -> vector<2xbf16>
//       CHECK:   cuda.store %{{.*}}[%{{.*}}] : bf16
//       CHECK:   %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[THREAD]] : i32
//   CHECK-DAG:   arith.andi %[[COLUMN]], %c7_i32
//   CHECK-DAG:   arith.shrui %[[COLUMN]], %c7_i32
#schedule = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
#panels = #tile.panels<columns = 128>
tile.program @packed symbols ["rows"] grid [#tile.extent<"rows", 1>] {
  tile.kernel @h level "sm_90a" (%x: memref<?x256xbf16, #panels>, %w: memref<64x256xbf16, #tile.core_matrices>, %y: memref<?x128xbf16, #panels>) symbols (%rows) item (%i) attributes {schedule = #schedule} {
    %zero = arith.constant 0 : index
    %end = arith.constant 256 : index
    %step = arith.constant 8 : index
    %init = arith.constant dense<0.0> : tensor<1x64xf32>
    %sum = tile.fold %k = %zero to %end step %step merge add init (%s = %init : tensor<1x64xf32>) {
      %a = tile.load %x[%i, %k] : memref<?x256xbf16, #panels> -> tensor<1x8xbf16>
      %b = tile.load %w[%zero, %k] dims [1, 0] : memref<64x256xbf16, #tile.core_matrices> -> tensor<8x64xbf16>
      %n = tile.mma fma %a, %b, %s : tensor<1x8xbf16>, tensor<8x64xbf16>, tensor<1x64xf32>
      tile.yield %n : tensor<1x64xf32>
    }
    %r = arith.truncf %sum : tensor<1x64xf32> to tensor<1x64xbf16>
    tile.store %r, %y[%i, %zero] : tensor<1x64xbf16>, memref<?x128xbf16, #panels>
    %t = tile.load %x[%i, %i] : memref<?x256xbf16, #panels> -> tensor<1x64xbf16>
    tile.store %t, %y[%i, %i] : tensor<1x64xbf16>, memref<?x128xbf16, #panels>
    tile.return
  }
}

// -----

// A number of a tile decides about control flow: the same in all threads.

// CHECK-LABEL: cuda.kernel @extract
//       CHECK:   cuda.shuffle_xor
//       CHECK:   %[[SUM:.*]] = arith.addf
//       CHECK:   arith.cmpf olt, %{{.*}}, %{{.*}} : f32
//       CHECK:   scf.if
tile.program @extract symbols ["rows"] grid [#tile.extent<"rows", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<?x128xf32>, %y: memref<?x128xf32>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %limit = arith.constant 1.0 : f32
    %a = tile.load %x[%i, %zero] : memref<?x128xf32> -> tensor<1x128xf32>
    %s = tile.reduce add %a : tensor<1x128xf32> -> tensor<1x1xf32>
    %n = tile.extract %s : tensor<1x1xf32> -> f32
    %c = arith.cmpf olt, %n, %limit : f32
    scf.if %c {
      tile.store %a, %y[%i, %zero] : tensor<1x128xf32>, memref<?x128xf32>
    }
    tile.return
  }
}

// -----

// Blocks of a cluster: each reads what the others have written between two
// barriers, views in warps of their own, and none ends with a third one. In a
// kernel of one block nothing is left of it.

// CHECK-LABEL: cuda.kernel @gather arch "sm_90a" threads 64
//  CHECK-SAME:   cluster = 2
//   CHECK-DAG:   %[[SUMS:.*]] = cuda.shared_memory at 0 : <f32, shared>
//   CHECK-DAG:   %[[IDS:.*]] = cuda.shared_memory at 64 : <i32, shared>
//   CHECK-NOT:   cuda.cluster
//       CHECK:   cuda.cluster_arrive{{$}}
//  CHECK-NEXT:   cuda.cluster_wait
//       CHECK:   %[[RANK:.*]] = cuda.cluster_rank : i32
//       CHECK:   %[[OWNER:.*]] = arith.divui %{{.*}}, %c8_i32
//       CHECK:   arith.cmpi ne, %[[OWNER]], %[[RANK]]
//       CHECK:   scf.if
//       CHECK:     %[[THERE:.*]] = cuda.map_cluster %[[SUMS]] rank %[[OWNER]]
//       CHECK:     %[[SUM:.*]] = cuda.load %[[THERE]][%[[AT:.*]]] : <f32, cluster>
//       CHECK:     cuda.store %[[SUM]], %[[SUMS]][%[[AT]]]
//       CHECK:   arith.addi %{{.*}}, %c32_i32
//       CHECK:   scf.if
//       CHECK:     cuda.map_cluster %[[IDS]] rank
//       CHECK:   cuda.cluster_arrive{{$}}
//  CHECK-NEXT:   cuda.cluster_wait
//   CHECK-NOT:   cuda.cluster
//       CHECK: cuda.kernel @gather
//   CHECK-NOT:   barrier
#divided = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 1, columns = 512, unroll = 4, row_columns = 512, row_unroll = 4, row_block = 1, column_block = 512, cluster = 2>
#whole = #tile.cuda_schedule<level = "sm_80", threads = 64, rows = 1, columns = 512, unroll = 4, row_columns = 512, row_unroll = 4, row_block = 1, column_block = 512>
tile.program @gather symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @h level "sm_90a" () symbols () item (%i) attributes {schedule = #divided} {
    %sums = tile.scratch : memref<1x16xf32>
    %ids = tile.scratch : memref<1x2xi32>
    tile.all_gather %sums, %ids : memref<1x16xf32>, memref<1x2xi32>
    tile.return
  }
  tile.kernel @a level "sm_80" () symbols () item (%i) attributes {schedule = #whole} {
    %sums = tile.scratch : memref<1x16xf32>
    tile.all_gather %sums : memref<1x16xf32>
    tile.return
  }
}

// -----

// An integer becomes f32 and is rounded: what canonicalization makes one of.

// CHECK-LABEL: cuda.kernel @convert
//       CHECK:   arith.sitofp %{{.*}} : i32 to bf16
tile.program @convert symbols ["rows"] grid [#tile.extent<"rows", 1>] {
  tile.kernel @h level "sm_90a" (%x: memref<?x128xi32>, %y: memref<?x128xbf16>) symbols (%rows) item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%i, %zero] : memref<?x128xi32> -> tensor<1x128xi32>
    %h = arith.sitofp %a : tensor<1x128xi32> to tensor<1x128xbf16>
    tile.store %h, %y[%i, %zero] : tensor<1x128xbf16>, memref<?x128xbf16>
    tile.return
  }
}
