// What a tile that warps hold, and a fold of them, cannot be lowered from.
// RUN: weft-opt %s --weft-lower-tile-to-cuda --split-input-file --verify-diagnostics

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %zero = arith.constant 0 : i32
    // expected-error @below {{expected 8 or 16 rows of one column or a multiple of 64, found a tile of type 'tensor<24x64xi32, #tile.warp_tile<4>>'}}
    %t = tile.iota %zero dim 0 : tensor<24x64xi32, #tile.warp_tile<4>>
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %c = arith.constant dense<0.0> : tensor<16x64xf32, #tile.warp_tile<4>>
    // expected-error @below {{can only repeat one column that warps hold, found a tile of type 'tensor<16x64xf32, #tile.warp_tile<4>>'}}
    %t = tile.broadcast %c : tensor<16x64xf32, #tile.warp_tile<4>> -> tensor<16x64xf32, #tile.warp_tile<4>>
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %c = arith.constant dense<0.0> : tensor<16x64xf32>
    // expected-error @below {{mixes a tile that warps hold with one of type 'tensor<16x64xf32>'}}
    %t = tile.reduce max %c : tensor<16x64xf32> -> tensor<16x1xf32, #tile.warp_tile<1>>
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %c = arith.constant dense<0.0> : tensor<16x1xf32, #tile.warp_tile<1>>
    // expected-error @below {{expected f16 or bf16 in several columns, found a tile of type 'tensor<16x1xbf16, #tile.warp_tile<1>>'}}
    %t = arith.truncf %c : tensor<16x1xf32, #tile.warp_tile<1>> to tensor<16x1xbf16, #tile.warp_tile<1>>
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%x: memref<64x64xbf16>, %q: memref<8x64xbf16>) symbols () item (%i) attributes {schedule = #s} {
    %one = arith.constant 1 : index
    %a = tile.load_heads %q[%i, %i] rows %one heads 1 size 64 : memref<8x64xbf16> -> tensor<16x64xbf16, #tile.warp_tile<1>>
    %b = tile.load %x[%i, %i] : memref<64x64xbf16> -> tensor<64x64xbf16>
    %c = arith.constant dense<0.0> : tensor<16x64xf32, #tile.warp_tile<4>>
    // expected-error @below {{expected a left-hand side that warps hold in f16 or bf16 and a right-hand side that the fold around it loads from a buffer}}
    %t = tile.mma tensor %a, %b, %c : tensor<16x64xbf16, #tile.warp_tile<1>>, tensor<64x64xbf16>, tensor<16x64xf32, #tile.warp_tile<4>>
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%q: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %one = arith.constant 1 : index
    // expected-error @below {{expected heads of an even number of f16 or bf16 columns, found a tile of type 'tensor<16x64xf32, #tile.warp_tile<1>>'}}
    %a = tile.load_heads %q[%i, %i] rows %one heads 1 size 64 : memref<8x64xf32> -> tensor<16x64xf32, #tile.warp_tile<1>>
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%q: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %one = arith.constant 1 : index
    %a = arith.constant dense<0.0> : tensor<16x64xf32, #tile.warp_tile<1>>
    // expected-error @below {{expected a tile that all threads share, found one of type 'tensor<16x64xf32, #tile.warp_tile<1>>'}}
    tile.store_heads %a, %q[%i, %i] rows %one heads 1 size 64 : tensor<16x64xf32, #tile.warp_tile<1>>, memref<8x64xf32>
    tile.return
  }
}

// -----

#s = #tile.cuda_schedule<level = "sm_80", threads = 128, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 8, column_block = 64>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%q: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %one = arith.constant 1 : index
    %column = arith.constant dense<0.0> : tensor<16x1xf32, #tile.warp_tile<1>>
    %zero = arith.constant dense<0.0> : tensor<16x64xf32, #tile.warp_tile<1>>
    // expected-error @below {{can be cut over warps once in a kernel with a #tile.flash_schedule, outside of loops}}
    %s:3 = tile.fold %n = %i to %one step %one merge softmax init (%m = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %l = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %o = %zero : tensor<16x64xf32, #tile.warp_tile<1>>) {
      tile.yield %m, %l, %o : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x64xf32, #tile.warp_tile<1>>
    }
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%q: memref<8x64xbf16>, %v: memref<64x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %one = arith.constant 1 : index
    %a = tile.load_heads %q[%i, %i] rows %one heads 1 size 64 : memref<8x64xbf16> -> tensor<16x64xbf16, #tile.warp_tile<1>>
    %column = arith.constant dense<0.0> : tensor<16x1xf32, #tile.warp_tile<1>>
    %zero = arith.constant dense<0.0> : tensor<16x64xf32, #tile.warp_tile<1>>
    %s:3 = tile.fold %n = %i to %one step %one merge softmax init (%m = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %l = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %o = %zero : tensor<16x64xf32, #tile.warp_tile<1>>) {
      // expected-error @below {{cannot be copied ahead; expected rows of a multiple of 8 consecutive f16 or bf16 elements of a buffer}}
      %b = tile.load %v[%i, %i] : memref<64x64xf32> -> tensor<64x64xf32>
      %t = tile.mma tensor %a, %b, %o : tensor<16x64xbf16, #tile.warp_tile<1>>, tensor<64x64xf32>, tensor<16x64xf32, #tile.warp_tile<1>>
      tile.yield %m, %l, %t : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x64xf32, #tile.warp_tile<1>>
    }
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%q: memref<8x64xbf16>, %v: memref<64x64xbf16>) symbols () item (%i) attributes {schedule = #s} {
    %one = arith.constant 1 : index
    %a = tile.load_heads %q[%i, %i] rows %one heads 1 size 64 : memref<8x64xbf16> -> tensor<16x64xbf16, #tile.warp_tile<1>>
    %column = arith.constant dense<0.0> : tensor<16x1xf32, #tile.warp_tile<1>>
    %zero = arith.constant dense<0.0> : tensor<16x64xf32, #tile.warp_tile<1>>
    %zero2 = arith.constant dense<0.0> : tensor<1x1xbf16>
    %s:3 = tile.fold %n = %i to %one step %one merge softmax init (%m = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %l = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %o = %zero : tensor<16x64xf32, #tile.warp_tile<1>>) {
      // expected-error @below {{cannot be computed ahead of its step}}
      %r = scf.for %j = %i to %n step %one iter_args(%k = %i) -> (index) {
        tile.store %zero2, %v[%i, %i] : tensor<1x1xbf16>, memref<64x64xbf16>
        scf.yield %k : index
      }
      %b = tile.load %v[%r, %i] : memref<64x64xbf16> -> tensor<64x64xbf16>
      %t = tile.mma tensor %a, %b, %o : tensor<16x64xbf16, #tile.warp_tile<1>>, tensor<64x64xbf16>, tensor<16x64xf32, #tile.warp_tile<1>>
      tile.yield %m, %l, %t : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x64xf32, #tile.warp_tile<1>>
    }
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%q: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %one = arith.constant 1 : index
    %column = arith.constant dense<0.0> : tensor<16x1xf32>
    %zero = arith.constant dense<0.0> : tensor<16x64xf32>
    %s:3 = tile.fold %n = %i to %one step %one merge softmax init (%m = %column : tensor<16x1xf32>, %l = %column : tensor<16x1xf32>, %o = %zero : tensor<16x64xf32>) {
      tile.yield %m, %l, %o : tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x64xf32>
    }
    // expected-error @below {{needs a fold that is cut over warps}}
    %t = tile.share_softmax %s#0, %s#1, %s#2 : tensor<16x1xf32>, tensor<16x64xf32> -> tensor<16x64xf32>
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_80", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_80" (%q: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %one = arith.constant 1 : index
    %column = arith.constant dense<0.0> : tensor<16x1xf32, #tile.warp_tile<1>>
    %zero = arith.constant dense<0.0> : tensor<16x64xf32, #tile.warp_tile<1>>
    %s:3 = tile.fold %n = %i to %one step %one merge softmax init (%m = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %l = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %o = %zero : tensor<16x64xf32, #tile.warp_tile<1>>) {
      tile.yield %m, %l, %o : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x64xf32, #tile.warp_tile<1>>
    }
    // expected-error @below {{expected 16 rows of 64 columns, of which each block of a cluster of 1 has its part, found a tile of type 'tensor<16x32xf32>'}}
    %t = tile.share_softmax %s#0, %s#1, %s#2 : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x64xf32, #tile.warp_tile<1>> -> tensor<16x32xf32>
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1, early = true>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_90a" (%q: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    // expected-error @below {{says that steps are settled, but no fold with merge softmax whose state warps hold stands behind it}}
    tile.wait_dependency settled %i
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1, early = true>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_90a" (%q: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %one = arith.constant 1 : index
    %column = arith.constant dense<0.0> : tensor<16x1xf32, #tile.warp_tile<1>>
    %zero = arith.constant dense<0.0> : tensor<16x64xf32, #tile.warp_tile<1>>
    tile.wait_dependency settled %i
    %end = arith.addi %i, %one : index
    // expected-error @below {{begins at the tile.wait_dependency before it, but its steps need what is computed between the two}}
    %s:3 = tile.fold %n = %i to %end step %one merge softmax init (%m = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %l = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %o = %zero : tensor<16x64xf32, #tile.warp_tile<1>>) {
      tile.yield %m, %l, %o : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x64xf32, #tile.warp_tile<1>>
    }
    tile.return
  }
}

// -----

#s = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_90a" (%q: memref<8x64xf32>) symbols () item (%i) attributes {schedule = #s} {
    %zero = arith.constant 0 : i32
    // expected-error @below {{divides rows among 4 warps, but the kernel has no #tile.flash_schedule with so many row warps}}
    %t = tile.iota %zero dim 0 : tensor<64x64xi32, #tile.warp_tile<1, rows = 4>>
    tile.return
  }
}
