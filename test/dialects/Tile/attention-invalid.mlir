// Verifiers of heads as rows, softmax states and their schedules.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: memref<?x512xbf16>, %n: index) {
  // expected-error @below {{needs a view and a tile of two dimensions and one element type, found 'memref<?x512xbf16>' and 'tensor<16x128xf16>'}}
  %0 = tile.load_heads %q[%n, %n] rows %n heads 4 size 128 : memref<?x512xbf16> -> tensor<16x128xf16>
  return
}

// -----

func.func @f(%q: memref<?x512xbf16>, %n: index) {
  // expected-error @below {{needs 1 to 16 heads, as the tile has rows, found 17}}
  %0 = tile.load_heads %q[%n, %n] rows %n heads 17 size 128 : memref<?x512xbf16> -> tensor<16x128xbf16>
  return
}

// -----

func.func @f(%q: memref<?x512xbf16>, %t: tensor<16x128xbf16>, %n: index) {
  // expected-error @below {{tile has more columns than a head of 64: 'tensor<16x128xbf16>'}}
  tile.store_heads %t, %q[%n, %n] rows %n heads 4 size 64 : tensor<16x128xbf16>, memref<?x512xbf16>
  return
}

// -----

func.func @f(%m: tensor<16x1xf32>, %o: tensor<16x128xf32>) {
  // expected-error @below {{takes [R, 1], [R, 1] and [R, C] to [R, C / n] or its first rows, found 'tensor<16x1xf32>', 'tensor<16x128xf32>' and 'tensor<16x48xf32>'}}
  %0 = tile.share_softmax %m, %m, %o : tensor<16x1xf32>, tensor<16x128xf32> -> tensor<16x48xf32>
  return
}

// -----

func.func @f(%m: tensor<16x1xf32>, %o: tensor<16x128xf32>) {
  // expected-error @below {{needs the state of a tile.fold with merge softmax}}
  %0 = tile.share_softmax %m, %m, %o : tensor<16x1xf32>, tensor<16x128xf32> -> tensor<16x128xf32>
  return
}

// -----

// expected-error @below {{a schedule is for a number of rows or, with 0, for any, found -1}}
#s = #tile.flash_schedule<level = "sm_90a", most_rows = -1, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>

// -----

// expected-error @below {{a tile of attention has 1 to 16 rows, found 32}}
#s = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 32, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>

// -----

// expected-error @below {{expected 1 to 8 key warps with 16 keys of a block or a multiple each, found 8 for 64 keys}}
#s = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 16, keys = 64, key_warps = 8, stages = 2, splits = 8, cluster = 1>

// -----

// expected-error @below {{expected 2 stages or more and 1 to 8 splits, found 1 and 8}}
#s = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 1, splits = 8, cluster = 1>

// -----

// expected-error @below {{the blocks of a cluster divide 8 splits, found 3}}
#s = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 3>

// -----

// expected-error @below {{columns are divided among 1 warp or more, found 0}}
func.func private @f(tensor<16x64xf32, #tile.warp_tile<0>>)

// -----

// expected-error @below {{rows are divided among 1 warp or more, found 0}}
func.func private @f(tensor<16x64xf32, #tile.warp_tile<1, rows = 0>>)

// -----

// expected-error @below {{expected 1 to 8 row warps, found 9}}
#s = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 16, keys = 64, key_warps = 1, stages = 2, splits = 1, cluster = 1, row_warps = 9>

// -----

// expected-error @below {{a tile of attention has 1 to 64 rows, found 65}}
#s = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 65, keys = 64, key_warps = 1, stages = 2, splits = 1, cluster = 1, row_warps = 4>
