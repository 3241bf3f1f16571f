// What a kernel may not hold: every message of the pass.
// RUN: weft-opt %s --weft-lower-tile-to-cuda --split-input-file --verify-diagnostics

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  // expected-error @below {{unknown GPU architecture 'pentium'; expected one of sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100a, sm_120a}}
  tile.kernel @k level "pentium" () symbols () item (%i) {
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x8xf32>, %y: memref<8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 1.0 : f32
    // expected-error @below {{cannot lower 'memref.store' in a kernel; expected tile, arith and math operations, memref.load, scf.for, scf.if or scf.while}}
    memref.store %n, %x[%zero, %zero] : memref<8x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    // expected-error @below {{cannot lower a tile of type 'tensor<2x2x2xf32>'; expected one or two dimensions}}
    %a = arith.constant dense<0.0> : tensor<2x2x2xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 1.0 : f32
    // expected-error @below {{cannot lower a tile of type 'tensor<f32>'; expected one or two dimensions}}
    %a = tile.splat %n : f32 -> tensor<f32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    // expected-error @below {{cannot lower a loop with unsigned bounds in a kernel}}
    scf.for unsigned %j = %zero to %one step %one {
    }
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    // expected-error @below {{cannot lower a constant of type 'vector<4xf32>'}}
    %a = arith.constant dense<0.0> : vector<4xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 1 : i32
    // expected-error @below {{cannot lower an operation with 2 results in a kernel}}
    %s, %c = arith.addui_extended %n, %n : i32, i1
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 1.0 : f64
    // expected-error @below {{cannot round 'f64' to 'bf16' at once; round to f32 first}}
    %h = arith.truncf %n : f64 to bf16
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant dense<1.0> : tensor<2x8xf16>
    // expected-error @below {{cannot reduce elements of type 'f16'; expected f32, f64 or i32}}
    %b = tile.reduce add %n : tensor<2x8xf16> -> tensor<2x1xf16>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    // expected-error @below {{a tile of three dimensions can only be the right-hand side of tile.mma}}
    %a = tile.load %x[%zero, %zero, %zero] : memref<8x8x8xf32> -> tensor<2x8x8xf32>
    tile.store %a, %x[%zero, %zero, %zero] : tensor<2x8x8xf32>, memref<8x8x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x8xf32>, %y: memref<8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    // expected-error @below {{'rows' needs a tile of two dimensions, found 'tensor<8xf32>'}}
    %a = tile.load %x[%zero, %zero] rows %zero : memref<8x8xf32> -> tensor<8xf32>
    tile.store %a, %y[%zero, %zero] : tensor<8xf32>, memref<8x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x8xf32>, %y: memref<8x8xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%zero, %zero] : memref<8x8xf32> -> tensor<8xf32>
    // expected-error @below {{'rows' needs a tile of two dimensions, found 'tensor<8xf32>'}}
    tile.store %a, %y[%zero, %zero] rows %zero : tensor<8xf32>, memref<8x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x8xf32>, %y: memref<8x8x1xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %true = arith.constant true
    %c = arith.constant dense<0.0> : tensor<2x8xf32>
    %a = tile.load %x[%zero, %zero] : memref<8x8xf32> -> tensor<2x8xf32>
    // expected-error @below {{cannot lower a tile of type 'tensor<8x8x1xf32>'; expected one or two dimensions}}
    %b = scf.if %true -> tensor<8x8x1xf32> {
      %d = tile.load %y[%zero, %zero, %zero] : memref<8x8x1xf32> -> tensor<8x8x1xf32>
      scf.yield %d : tensor<8x8x1xf32>
    } else {
      %d = tile.load %y[%zero, %zero, %zero] : memref<8x8x1xf32> -> tensor<8x8x1xf32>
      scf.yield %d : tensor<8x8x1xf32>
    }
    %m = tile.mma fma %a, %b, %c : tensor<2x8xf32>, tensor<8x8x1xf32>, tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  // expected-error @below {{needs 262144 bytes of shared memory for a block (262144 of scratch), but 'sm_90a' has 232448; choose a schedule with smaller tiles}}
  tile.kernel @k level "sm_90a" () symbols () item (%i) {
    %s = tile.scratch : memref<256x256xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) {
    // expected-error @below {{a constant tile must be dense and have one number, or one column}}
    %a = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x8xbf16>, %y: memref<4x8x2xbf16>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %c = arith.constant dense<0.0> : tensor<2x8xf32>
    %a = tile.load %x[%zero, %zero] : memref<8x8xbf16> -> tensor<2x8xbf16>
    %b = tile.load %y[%zero, %zero, %zero] : memref<4x8x2xbf16> -> tensor<4x8x2xbf16>
    // expected-error @below {{'sm_90a' has no instruction for dot_bf16}}
    %m = tile.mma dot_bf16 %a, %b, %c : tensor<2x8xbf16>, tensor<4x8x2xbf16>, tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%x: memref<8x8xf32>, %y: memref<8x8x1xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %c = arith.constant dense<0.0> : tensor<2x8xf32>
    %a = tile.load %x[%zero, %zero] : memref<8x8xf32> -> tensor<2x8xf32>
    // expected-error @below {{a tile of three dimensions can only be the right-hand side of tile.mma, and may not be overwritten before}}
    %b = tile.load %y[%zero, %zero, %zero] : memref<8x8x1xf32> -> tensor<8x8x1xf32>
    tile.store %c, %y[%zero, %zero, %zero] dims [0, 1] : tensor<2x8xf32>, memref<8x8x1xf32>
    %m = tile.mma fma %a, %b, %c : tensor<2x8xf32>, tensor<8x8x1xf32>, tensor<2x8xf32>
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%w: memref<64x64xbf16>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 64 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<64x64xbf16>>
    tile.role "load" warps 1 {
      tile.wait_dependency
      tile.produce all %ring[%zero] (%part: memref<64x64xbf16>) {
        // expected-error @below {{cannot copy a view of type 'memref<64x64xbf16>'; expected core matrices, panels or one row}}
        tile.copy %w[%zero, %zero] to %part rows %n : memref<64x64xbf16>, memref<64x64xbf16>
      }
    }
  }
}

// -----

tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" (%w: memref<1024x128xbf16, #tile.core_matrices>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %n = arith.constant 1024 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<1024x128xbf16, #tile.core_matrices>>
    tile.role "load" warps 1 {
      tile.wait_dependency
      tile.produce all %ring[%zero] (%part: memref<1024x128xbf16, #tile.core_matrices>) {
        // expected-error @below {{copies 64 pieces; expected at most one for each lane}}
        tile.copy %w[%zero, %zero] to %part rows %n : memref<1024x128xbf16, #tile.core_matrices>, memref<1024x128xbf16, #tile.core_matrices>
      }
    }
  }
}

// -----

#schedule = #tile.stream_schedule<level = "sm_80", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 2, ranges = 2, cluster = 1, column_warps = 4, step_warps = 2, load_warps = 0>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_80" (%w: memref<128x128xbf16, #tile.core_matrices>) symbols () item (%i) attributes {schedule = #schedule} {
    %zero = arith.constant 0 : index
    %n = arith.constant 128 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<128x128xbf16, #tile.core_matrices>>
    // expected-error @below {{cannot copy a part of a piece without bulk copies}}
    tile.produce early %ring[%zero] (%part: memref<128x128xbf16, #tile.core_matrices>) {
      tile.copy %w[%zero, %zero] to %part rows %n : memref<128x128xbf16, #tile.core_matrices>, memref<128x128xbf16, #tile.core_matrices>
    }
  }
}

// -----

#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 1, column_warps = 4, step_warps = 2>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) attributes {schedule = #schedule} {
    %zero = arith.constant 0 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16>, memref<128x128xbf16, #tile.core_matrices>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %sum = arith.constant dense<0.0> : tensor<8x128xf32, #tile.accumulator>
      %next = tile.consume %ring[%zero] (%x: memref<8x128xbf16>, %w: memref<128x128xbf16, #tile.core_matrices>) init (%s = %sum : tensor<8x128xf32, #tile.accumulator>) {
        // expected-error @below {{needs the input of multiplications in panels of a slot, or one row of 16-bit elements; found a view of type 'memref<8x128xbf16>'}}
        %a = tile.load %x[%zero, %zero] : memref<8x128xbf16> -> tensor<8x128xbf16>
        %b = tile.load %w[%zero, %zero] dims [1, 0] : memref<128x128xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32, #tile.accumulator>
        tile.yield %m : tensor<8x128xf32, #tile.accumulator>
      }
    }
    tile.role "load" warps 1 {
      tile.wait_dependency
    }
  }
}

// -----

#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 1, column_warps = 4, step_warps = 2>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) attributes {schedule = #schedule} {
    %zero = arith.constant 0 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16, #tile.panels<columns = 128>>, memref<128x128xbf16>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %sum = arith.constant dense<0.0> : tensor<8x128xf32, #tile.accumulator>
      %next = tile.consume %ring[%zero] (%x: memref<8x128xbf16, #tile.panels<columns = 128>>, %w: memref<128x128xbf16>) init (%s = %sum : tensor<8x128xf32, #tile.accumulator>) {
        %a = tile.load %x[%zero, %zero] : memref<8x128xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        %b = tile.load %w[%zero, %zero] : memref<128x128xbf16> -> tensor<128x128xbf16>
        // expected-error @below {{needs its right-hand side in core matrices of a slot}}
        %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32, #tile.accumulator>
        tile.yield %m : tensor<8x128xf32, #tile.accumulator>
      }
    }
    tile.role "load" warps 1 {
      tile.wait_dependency
    }
  }
}

// -----

#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 1, column_warps = 4, step_warps = 2>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) attributes {schedule = #schedule} {
    %zero = arith.constant 0 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16, #tile.panels<columns = 128>>, memref<128x128xbf16, #tile.core_matrices>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %sum = arith.constant dense<0.0> : tensor<8x128xf32, #tile.accumulator>
      %next = tile.consume %ring[%zero] (%x: memref<8x128xbf16, #tile.panels<columns = 128>>, %w: memref<128x128xbf16, #tile.core_matrices>) init (%s = %sum : tensor<8x128xf32, #tile.accumulator>) {
        %a = tile.load %x[%zero, %zero] : memref<8x128xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        // expected-error @below {{cannot be computed on fragments of a piece; expected loads of its parts, constants, tile.broadcast along rows, arithmetic in f32 and products of 16-bit numbers}}
        %h = arith.addf %a, %a : tensor<8x128xbf16>
        %b = tile.load %w[%zero, %zero] dims [1, 0] : memref<128x128xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %h, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32, #tile.accumulator>
        tile.yield %m : tensor<8x128xf32, #tile.accumulator>
      }
    }
    tile.role "load" warps 1 {
      tile.wait_dependency
    }
  }
}

// -----

#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 1, column_warps = 8, step_warps = 1, warpgroups = true>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) attributes {schedule = #schedule} {
    %zero = arith.constant 0 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16, #tile.panels<columns = 128>>, memref<128x128xbf16, #tile.core_matrices>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %sum = arith.constant dense<0.0> : tensor<8x128xf32, #tile.accumulator>
      %next = tile.consume %ring[%zero] (%x: memref<8x128xbf16, #tile.panels<columns = 128>>, %w: memref<128x128xbf16, #tile.core_matrices>) init (%s = %sum : tensor<8x128xf32, #tile.accumulator>) {
        %a = tile.load %x[%zero, %zero] : memref<8x128xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        %b = tile.load %w[%zero, %zero] dims [1, 0] : memref<128x128xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %h = arith.mulf %a, %a : tensor<8x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32, #tile.accumulator>
        // expected-error @below {{cannot be computed by warpgroups together with multiplications of another input}}
        %n = tile.mma tensor %h, %b, %m : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32, #tile.accumulator>
        tile.yield %n : tensor<8x128xf32, #tile.accumulator>
      }
    }
    tile.role "load" warps 1 {
      tile.wait_dependency
    }
  }
}

// -----

#schedule = #tile.stream_schedule<level = "sm_90", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 2, cluster = 1, column_warps = 8, step_warps = 1, warpgroups = true>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  // expected-error @below {{'sm_90' has no multiplications of warpgroups}}
  tile.kernel @k level "sm_90" () symbols () item (%i) attributes {schedule = #schedule} {
    %zero = arith.constant 0 : index
    %ring = tile.channel slots 2 : !tile.channel<memref<8x128xbf16, #tile.panels<columns = 128>>, memref<128x128xbf16, #tile.core_matrices>>
    tile.role "math" warps 8 {
      tile.wait_dependency
      %sum = arith.constant dense<0.0> : tensor<8x128xf32, #tile.accumulator>
      %next = tile.consume %ring[%zero] (%x: memref<8x128xbf16, #tile.panels<columns = 128>>, %w: memref<128x128xbf16, #tile.core_matrices>) init (%s = %sum : tensor<8x128xf32, #tile.accumulator>) {
        %a = tile.load %x[%zero, %zero] : memref<8x128xbf16, #tile.panels<columns = 128>> -> tensor<8x128xbf16>
        %b = tile.load %w[%zero, %zero] dims [1, 0] : memref<128x128xbf16, #tile.core_matrices> -> tensor<128x128xbf16>
        %m = tile.mma tensor %a, %b, %s : tensor<8x128xbf16>, tensor<128x128xbf16>, tensor<8x128xf32, #tile.accumulator>
        tile.yield %m : tensor<8x128xf32, #tile.accumulator>
      }
    }
    tile.role "load" warps 1 {
      tile.wait_dependency
    }
  }
}

// -----

#schedule = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 512, unroll = 4, row_columns = 512, row_unroll = 4, row_block = 1, column_block = 512, cluster = 4>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @k level "sm_90a" () symbols () item (%i) attributes {schedule = #schedule} {
    %sums = tile.scratch : memref<1x6xf32>
    // expected-error @below {{cannot deal out 'memref<1x6xf32>' to the 4 blocks of a cluster; expected a multiple of as many elements}}
    tile.all_gather %sums : memref<1x6xf32>
    tile.return
  }
}
