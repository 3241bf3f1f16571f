// Channels, roles, shares and gathers, printed and parsed back.
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s

#schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 128, step = 128, slots = 6, ranges = 1, cluster = 1, column_warps = 4, step_warps = 2>

// CHECK: tile.kernel @a level "sm_90a" ({{.*}}) symbols () item (%{{.*}}) attributes {constants = array<i64: 0>, schedule = #tile.stream_schedule<
tile.program @p symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @a level "sm_90a" (%w: memref<128x128xbf16, #tile.core_matrices>, %y: memref<8x128xf32>) symbols () item (%i) attributes {schedule = #schedule, constants = array<i64: 0>} {
    %zero = arith.constant 0 : index
    %rows = arith.constant 128 : index
    // CHECK: %[[RING:.*]] = tile.channel slots 6 : <memref<128x128xbf16, #tile.core_matrices>>
    %ring = tile.channel slots 6 : !tile.channel<memref<128x128xbf16, #tile.core_matrices>>
    // CHECK: tile.cluster_rank
    %rank = tile.cluster_rank
    // CHECK: tile.role "math" warps 8 {
    tile.role "math" warps 8 {
      // CHECK: tile.wait_dependency
      tile.wait_dependency
      %sum = arith.constant dense<0.0> : tensor<8x128xf32, #tile.accumulator>
      // CHECK: tile.consume %[[RING]][%{{.*}}] (%{{.*}}: memref<128x128xbf16, #tile.core_matrices>) init (%{{.*}} = %{{.*}} : tensor<8x128xf32, #tile.accumulator>) {
      %next = tile.consume %ring[%zero] (%part: memref<128x128xbf16, #tile.core_matrices>) init (%s = %sum : tensor<8x128xf32, #tile.accumulator>) {
        tile.yield %s : tensor<8x128xf32, #tile.accumulator>
      }
      // CHECK: tile.consume %[[RING]][%{{.*}}] (%{{.*}}: memref<128x128xbf16, #tile.core_matrices>) init () {
      tile.consume %ring[%zero] (%part: memref<128x128xbf16, #tile.core_matrices>) init () {
        tile.yield
      }
      // CHECK: tile.share %{{.*}} round %{{.*}} : tensor<8x128xf32, #tile.accumulator> -> tensor<8x128xf32>
      %all = tile.share %next round %zero : tensor<8x128xf32, #tile.accumulator> -> tensor<8x128xf32>
      tile.store %all, %y[%zero, %zero] : tensor<8x128xf32>, memref<8x128xf32>
    }
    // CHECK: tile.role "load" warps 1 {
    tile.role "load" warps 1 {
      // CHECK: tile.produce all %[[RING]][%{{.*}}] (%[[PART:.*]]: memref<128x128xbf16, #tile.core_matrices>) {
      tile.produce all %ring[%zero] (%part: memref<128x128xbf16, #tile.core_matrices>) {
        // CHECK: tile.copy constant %{{.*}}[%{{.*}}, %{{.*}}] to %[[PART]] rows %{{.*}} : memref<128x128xbf16, #tile.core_matrices>, memref<128x128xbf16, #tile.core_matrices>
        tile.copy constant %w[%zero, %zero] to %part rows %rows : memref<128x128xbf16, #tile.core_matrices>, memref<128x128xbf16, #tile.core_matrices>
      }
      // CHECK: tile.cluster_barrier phase %{{.*}}
      tile.cluster_barrier phase %zero
    }
    tile.return
  }
}

// CHECK: tile.kernel @b level "sm_90a" () symbols () item (%{{.*}}) attributes {schedule = #tile.cuda_schedule<{{.*}}, column_block = 512, cluster = 2>} {
#divided = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 512, unroll = 4, row_columns = 512, row_unroll = 4, row_block = 1, column_block = 512, cluster = 2>
tile.program @gather symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @b level "sm_90a" () symbols () item (%i) attributes {schedule = #divided} {
    %sums = tile.scratch : memref<1x16xf32>
    %ids = tile.scratch : memref<1x2xi32>
    // CHECK: tile.all_gather %{{.*}}, %{{.*}} : memref<1x16xf32>, memref<1x2xi32>
    tile.all_gather %sums, %ids : memref<1x16xf32>, memref<1x2xi32>
    tile.return
  }
}

// CHECK: tile.launch @p "few"(%{{.*}}) {{.*}} {variants = [#tile.variant<@p, 8>, #tile.variant<@p, 0>, #tile.variant<@p, 4>]}
func.func @launch(%w: tensor<8x1x32x8x8xbf16>) -> tensor<8x128xf32> {
  %y = tile.launch @p "few"(%w) tied [-1] symbols [] sizes [["8", "128"]] {variants = [#tile.variant<@p, 8>, #tile.variant<@p, 0>, #tile.variant<@p, 4>]} : (tensor<8x1x32x8x8xbf16>) -> tensor<8x128xf32>
  return %y : tensor<8x128xf32>
}
