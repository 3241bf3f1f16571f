// What weft-pipeline-folds writes is right: a block alone and a cluster, fewer
// pieces than slots and more, none in a block, and the rows of every variant.
// RUN: weft-opt %s --weft-pipeline-folds --weft-verify-channels --split-input-file | FileCheck %s
// RUN: weft-opt %S/lower-tile-to-cuda-stream.mlir --weft-pipeline-folds --weft-verify-channels | FileCheck %s --check-prefix=STREAM

// The pass changes nothing.
// STREAM: tile.produce early

// DOC
// CHECK-LABEL: tile.kernel @sm_90a
//       CHECK:   tile.role "math"
//       CHECK:   tile.role "load"
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 3, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @linear symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"2", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x640xbf16, #tile.panels<columns = 128>>, %w: memref<512x640xbf16, #tile.core_matrices>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule, constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c640 = arith.constant 640 : index
    %zero = arith.constant dense<0.0> : tensor<8x128xf32>
    %first = arith.muli %i, %c256 : index
    %last = arith.addi %first, %c256 : index
    scf.for %n = %first to %last step %c128 {
      %sum = tile.fold %k = %c0 to %c640 step %c128 merge add init (%s = %zero : tensor<8x128xf32>) {
        %a = tile.load %x[%c0, %k] rows %rows : memref<?x640xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        %b = tile.load %w[%n, %k] dims [1, 0] : memref<512x640xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32>
        tile.yield %m : tensor<8x128xf32>
      }
      %r = arith.subi %n, %first : index
      %round = arith.divui %r, %c128 : index
      %part = tile.share %sum round %round : tensor<8x128xf32> -> tensor<8x64xf32>
      %rank = tile.cluster_rank
      %offset = arith.muli %rank, %c64 : index
      %column = arith.addi %n, %offset : index
      %h = arith.truncf %part : tensor<8x64xf32> to tensor<8x64xbf16>
      tile.store %h, %y[%c0, %column] rows %rows : tensor<8x64xbf16>, memref<?x512xbf16>
    }
  }
}

// -----

// One step for two blocks: one of them has no pieces, and takes part in every
// exchange.

// CHECK-LABEL: tile.program @short
#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 2, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @short symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"2", 1>] {
  tile.kernel @sm_90a level "sm_90a" (%x: memref<?x128xbf16, #tile.panels<columns = 128>>, %w: memref<512x128xbf16, #tile.core_matrices>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule, constants = array<i64: 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<8x128xf32>
    %first = arith.muli %i, %c256 : index
    %last = arith.addi %first, %c256 : index
    scf.for %n = %first to %last step %c128 {
      %sum = tile.fold %k = %c0 to %c128 step %c128 merge add init (%s = %zero : tensor<8x128xf32>) {
        %a = tile.load %x[%c0, %k] rows %rows : memref<?x128xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        %b = tile.load %w[%n, %k] dims [1, 0] : memref<512x128xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32>
        tile.yield %m : tensor<8x128xf32>
      }
      %r = arith.subi %n, %first : index
      %round = arith.divui %r, %c128 : index
      %part = tile.share %sum round %round : tensor<8x128xf32> -> tensor<8x64xf32>
      %rank = tile.cluster_rank
      %offset = arith.muli %rank, %c64 : index
      %column = arith.addi %n, %offset : index
      %h = arith.truncf %part : tensor<8x64xf32> to tensor<8x64xbf16>
      tile.store %h, %y[%c0, %column] rows %rows : tensor<8x64xbf16>, memref<?x512xbf16>
    }
  }
}
