// RUN: weft-opt %s --weft-pipeline-folds --canonicalize --cse --split-input-file | FileCheck %s

// One warp copies pieces of the weight and the input, eight multiply. The first
// pieces of the weight come before the wait for earlier kernels; the two blocks
// of a cluster have half of the 4 steps each. The warp that copies counts tiles
// and steps, and passes the two phases of a tile of the cluster's barrier when
// half and when all of the tile's pieces have been released.

// DOC
// CHECK-LABEL: tile.kernel @sm_90a
//       CHECK:   %[[RING:.*]] = tile.channel slots 6 : <memref<8x128xbf16, #tile.panels<columns = 128>>, memref<128x128xbf16, #tile.core_matrices>>
//       CHECK:   %[[RANK:.*]] = tile.cluster_rank
//       CHECK:   tile.role "math" warps 8 {
//       CHECK:     tile.wait_dependency
//       CHECK:     scf.for
//       CHECK:       %[[SUM:.*]] = scf.for {{.*}} -> (tensor<8x128xf32, #tile.accumulator>)
//       CHECK:         tile.consume %[[RING]][%{{.*}}] (%[[X:.*]]: memref<8x128xbf16, {{.*}}>, %[[W:.*]]: memref<128x128xbf16, #tile.core_matrices>)
//       CHECK:           %[[A:.*]] = tile.load %[[X]]
//       CHECK:           %[[B:.*]] = tile.load %[[W]]{{.*}} dims [1, 0]
//       CHECK:           tile.mma tensor %[[A]], %[[B]]
//       CHECK:       tile.share %[[SUM]] round
//       CHECK:       tile.store
//       CHECK:   tile.role "load" warps 1 {
//       CHECK:     %[[FIRST:.*]]:2 = scf.for %[[P:.*]] = %c0 to %c4 step %c1 iter_args(%[[TILE:.*]] = %c0, %[[STEP:.*]] = %c0)
//       CHECK:       tile.produce early %[[RING]][%[[P]]]
//       CHECK:       tile.copy %{{.*}} rows
//       CHECK:       tile.copy constant %{{.*}} rows
//       CHECK:     tile.wait_dependency
//       CHECK:     tile.produce late %[[RING]]
//       CHECK:     scf.for %[[T:.*]] = %c0 to %c2 step %c1 iter_args(%[[NEXT:.*]] = %c4, %{{.*}} = %[[FIRST]]#0, %{{.*}} = %[[FIRST]]#1)
//       CHECK:       %[[DOUBLE:.*]] = arith.muli %[[T]], %c2
//       CHECK:       scf.for %{{.*}} = %[[NEXT]] to %[[HALF:.*]] step %c1
//       CHECK:         tile.produce all %[[RING]]
//       CHECK:       tile.cluster_barrier phase %[[DOUBLE]]
//       CHECK:       %[[ODD:.*]] = arith.addi %[[DOUBLE]], %c1
//       CHECK:       scf.for %{{.*}} = %[[HALF]] to %{{.*}} step %c1
//       CHECK:         tile.produce all %[[RING]]
//       CHECK:       tile.cluster_barrier phase %[[ODD]]
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

// -----

// What is computed from an input before it is multiplied goes along; a sum over
// its columns is a part of a sum, as the products are.

// CHECK-LABEL: tile.program @norm
//       CHECK:   tile.channel slots 6 : <memref<8x128xbf16, {{.*}}>, memref<1x128xbf16>, memref<128x128xbf16, #tile.core_matrices>>
//       CHECK:   tile.consume {{.*}} init (%[[S:.*]] = %{{.*}} : tensor<8x128xf32, #tile.accumulator>, %[[Q:.*]] = %{{.*}} : tensor<8x1xf32, #tile.accumulator>)
//       CHECK:     %[[R:.*]] = tile.reduce add %{{.*}} : tensor<8x128xf32> -> tensor<8x1xf32, #tile.accumulator>
//       CHECK:     %[[L:.*]] = arith.truncf
//       CHECK:     tile.mma tensor %[[L]], %{{.*}}, %[[S]]
//       CHECK:     arith.addf %[[Q]], %[[R]] : tensor<8x1xf32, #tile.accumulator>
//       CHECK:   tile.produce early
//       CHECK:     tile.copy constant {{.*}} memref<1x512xbf16>, memref<1x128xbf16>
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 4, cluster = 1, column_warps = 4, step_warps = 2>
tile.program @norm symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"4", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>, %n: memref<1x512xbf16>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule, constants = array<i64: 1, 2>} {
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
        %g = arith.extf %h : tensor<1x128xbf16> to tensor<1x128xf32>
        %e = tile.broadcast %g : tensor<1x128xf32> -> tensor<8x128xf32>
        %t = arith.mulf %f, %e : tensor<8x128xf32>
        %l = arith.truncf %t : tensor<8x128xf32> to tensor<8x128xbf16>
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

// -----

// What a block computes before its first tile it computes in the role that
// multiplies; what it keeps is read by k, as a piece is by its number.

// CHECK-LABEL: tile.program @resident
//       CHECK:   %[[KEPT:.*]] = tile.scratch
//       CHECK:   tile.channel slots 12 : <memref<16x256xbf16, #tile.core_matrices>>
//       CHECK:   tile.role "math" warps 8 {
//       CHECK:     tile.wait_dependency
//       CHECK:     %[[ALL:.*]] = tile.load {{.*}} -> tensor<1x512xbf16>
//       CHECK:     tile.store %[[ALL]], %[[KEPT]]
//       CHECK:     scf.for %{{.*}} step
//       CHECK:       scf.for %{{.*}} = %c0
//       CHECK:         %[[K:.*]] = arith.muli %{{.*}}, %c256
//       CHECK:         tile.consume {{.*}} (%[[W:.*]]: memref<16x256xbf16, #tile.core_matrices>)
//       CHECK:           tile.load %[[W]]
//       CHECK:           tile.load %[[KEPT]][%c0, %[[K]]]
//       CHECK:   tile.role "load" warps 1 {
//       CHECK:     tile.produce early
//  CHECK-NEXT:       tile.copy constant
//       CHECK:     tile.produce all
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

// -----

// Without a warp that copies all do: two pieces ahead of three slots. A piece is
// copied in the body that consumes the piece behind its slot's last one; behind
// the last piece there is nothing to copy.

// CHECK-LABEL: tile.kernel @sm_80
//   CHECK-NOT:   tile.role
//       CHECK:   %[[RING:.*]] = tile.channel slots 3
//       CHECK:   scf.for %[[FIRST:.*]] = %c0 to %c2 step
//       CHECK:     %[[INSIDE:.*]] = arith.cmpi slt, %[[FIRST]],
//       CHECK:     tile.produce all %[[RING]][%[[FIRST]]]
//       CHECK:   scf.for
//       CHECK:     scf.for
//       CHECK:       tile.consume %[[RING]][%[[PIECE:.*]]] (
//       CHECK:         %[[NEXT:.*]] = arith.addi %[[PIECE]], %c2
//       CHECK:         %[[INSIDE:.*]] = arith.cmpi slt, %[[NEXT]],
//       CHECK:         tile.produce all %[[RING]][%[[NEXT]]]
//       CHECK:           %[[ROWS:.*]] = arith.select %[[INSIDE]], %{{.*}}, %c0
//       CHECK:           tile.copy %{{.*}} rows %[[ROWS]]
//       CHECK:           tile.copy constant %{{.*}} rows
//       CHECK:         tile.mma tensor
#schedule = #tile.stream_schedule<level = "sm_80", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 3, ranges = 2, cluster = 1, column_warps = 4, step_warps = 2, load_warps = 0>
tile.program @linear symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"2", 1>] {
  tile.kernel @sm_80 level "sm_80" (%x: memref<?x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule, constants = array<i64: 1>} {
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

// -----

// Kernels with other schedules stay as they are.

// CHECK-LABEL: tile.kernel @plain
//   CHECK-NOT:   tile.role
tile.program @other symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @plain level "sm_90a" (%x: memref<8x8xf32>) symbols () item (%i) {
    tile.return
  }
}
