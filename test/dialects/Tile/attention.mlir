// Heads as rows and shared softmax states, printed and parsed back.
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s

// CHECK: schedule = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
#schedule = #tile.flash_schedule<level = "sm_90a", most_rows = 0, rows = 16, keys = 64, key_warps = 4, stages = 2, splits = 8, cluster = 1>
tile.program @p symbols ["rows"] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_90a" (%q: memref<?x512xbf16>, %y: memref<?x512xbf16>) symbols (%rows) item (%i) attributes {schedule = #schedule} {
    %one = arith.constant 1 : index
    // CHECK: tile.load_heads %{{.*}}[%{{.*}}, %{{.*}}] rows %{{.*}} heads 4 size 128 : memref<?x512xbf16> -> tensor<16x128xbf16, #tile.warp_tile<1>>
    %tile = tile.load_heads %q[%i, %i] rows %one heads 4 size 128 : memref<?x512xbf16> -> tensor<16x128xbf16, #tile.warp_tile<1>>
    %column = arith.constant dense<0.0> : tensor<16x1xf32, #tile.warp_tile<1>>
    %zero = arith.constant dense<0.0> : tensor<16x128xf32, #tile.warp_tile<1>>
    %s:3 = tile.fold %n = %i to %rows step %one merge softmax init (%m = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %l = %column : tensor<16x1xf32, #tile.warp_tile<1>>, %o = %zero : tensor<16x128xf32, #tile.warp_tile<1>>) {
      tile.yield %m, %l, %o : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x128xf32, #tile.warp_tile<1>>
    }
    // CHECK: tile.share_softmax %{{.*}}#0, %{{.*}}#1, %{{.*}}#2 : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x128xf32, #tile.warp_tile<1>> -> tensor<16x128xf32>
    %mean = tile.share_softmax %s#0, %s#1, %s#2 : tensor<16x1xf32, #tile.warp_tile<1>>, tensor<16x128xf32, #tile.warp_tile<1>> -> tensor<16x128xf32>
    %rounded = arith.truncf %mean : tensor<16x128xf32> to tensor<16x128xbf16>
    // CHECK: tile.store_heads %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] rows %{{.*}} heads 4 size 128 : tensor<16x128xbf16>, memref<?x512xbf16>
    tile.store_heads %rounded, %y[%i, %i] rows %one heads 4 size 128 : tensor<16x128xbf16>, memref<?x512xbf16>
    tile.return
  }
}
