// What cannot be pipelined: every message of the pass.
// RUN: weft-opt %s --weft-pipeline-folds --split-input-file --verify-diagnostics

#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  // expected-error @below {{cannot pipeline a kernel with 0 folds on tensor cores; expected one, or another schedule}}
  tile.kernel @k level "sm_90a" () symbols () item (%i) attributes {schedule = #schedule} {
    tile.return
  }
}

// -----

#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>) symbols () item (%i) attributes {schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<8x128xf32>
    // expected-error @below {{cannot pipeline a fold outside a loop over tiles at the top level of its kernel}}
    %sum = tile.fold %k = %c0 to %c512 step %c128 merge add init (%s = %zero : tensor<8x128xf32>) {
      %a = tile.load %x[%c0, %k] : memref<8x512xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
      %b = tile.load %w[%c0, %k] dims [1, 0] : memref<512x512xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
      %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32>
      tile.yield %m : tensor<8x128xf32>
    }
    tile.return
  }
}

// -----

#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>) symbols () item (%i) attributes {schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c500 = arith.constant 500 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<8x128xf32>
    scf.for %c = %c0 to %c512 step %c128 {
      // expected-error @below {{cannot pipeline a fold unless it runs from 0 to a multiple of its step}}
      %sum = tile.fold %k = %c0 to %c500 step %c128 merge add init (%s = %zero : tensor<8x128xf32>) {
        %a = tile.load %x[%c0, %k] : memref<8x512xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        %b = tile.load %w[%c, %k] dims [1, 0] : memref<512x512xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32>
        tile.yield %m : tensor<8x128xf32>
      }
    }
    tile.return
  }
}

// -----

#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 2, column_warps = 4, step_warps = 2>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x512xbf16, #tile.panels<columns = 128>>, %w: memref<512x512xbf16, #tile.core_matrices>) symbols () item (%i) attributes {schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : tensor<8x128xf32>
    %scratch = tile.scratch : memref<8x128xf32>
    scf.for %c = %c0 to %c512 step %c128 {
      %sum = tile.fold %k = %c0 to %c512 step %c128 merge add init (%s = %zero : tensor<8x128xf32>) {
        %a = tile.load %x[%c0, %k] : memref<8x512xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        %b = tile.load %w[%c, %k] dims [1, 0] : memref<512x512xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32>
        // expected-error @below {{cannot be pipelined in a fold; expected loads, multiplications and index arithmetic}}
        tile.store %m, %scratch[%c0, %c0] : tensor<8x128xf32>, memref<8x128xf32>
        tile.yield %m : tensor<8x128xf32>
      }
    }
    tile.return
  }
}
