// RUN: weft-opt %s --weft-choose-schedules=levels=sm_90a --weft-choose-flash-schedules --weft-build-tile-programs --canonicalize --cse | FileCheck %s

// Item = (token, key head). With a cluster a tile has the query heads of a
// token, 4 of the 8 rows that tensor cores compute. Scores are in registers, and
// the values behind the end of the sequence are not read. What says where they
// lie are inputs of the step; keys of positions below that of the sequence's
// first token in the step are settled.

// CHECK-LABEL: tile.program @attention_1 symbols ["rows", "table_width"] grid [#tile.extent<"rows", 1>, #tile.extent<"2", 1>]
//       CHECK: schedule = #tile.flash_schedule<level = "sm_90a", most_rows = 8, rows = 4, {{.*}} cluster = 8, early = true>
//       CHECK: %[[TOKEN:.*]] = arith.divui %[[ITEM:.*]], %c2
//       CHECK: %[[HEAD:.*]] = arith.remui %[[ITEM]], %c2
//       CHECK: %[[BEFORE:.*]] = arith.subi %[[TOKEN]], %{{.*}} : index
//       CHECK: %[[FIRST:.*]] = arith.subi %{{.*}}, %[[BEFORE]] : index
//       CHECK: %[[SETTLED:.*]] = arith.divui %[[FIRST]], %c64 : index
//       CHECK:   tile.wait_dependency settled %[[SETTLED]]
//       CHECK:   %[[Q:.*]] = tile.load_heads %{{.*}}[%[[TOKEN]], %{{.*}}] rows %[[COUNT:.*]] heads 4 size 32 : memref<?x256xf16> -> tensor<8x32xf16, #tile.warp_tile<1>>
//       CHECK:   %[[S:.*]]:3 = tile.fold %[[N:.*]] = %{{.*}} to %{{.*}} step %c1 merge softmax
//   CHECK-DAG:     %[[K:.*]] = tile.load %{{.*}}[%[[P:.*]], %[[HEAD]], %c0, %c0] : memref<?x2x32x64xf16> -> tensor<32x64xf16>
//   CHECK-DAG:     %[[V:.*]] = tile.load %{{.*}}[%[[P]], %[[HEAD]], %c0, %c0] rows %{{.*}} : memref<?x2x64x32xf16> -> tensor<64x32xf16>
//       CHECK:     %[[SCORE:.*]] = tile.mma tensor %[[Q]], %[[K]], %{{.*}} : tensor<8x32xf16, #tile.warp_tile<1>>, tensor<32x64xf16>, tensor<8x64xf32, #tile.warp_tile<4>>
//       CHECK:     math.tanh
//       CHECK:     arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<8x64xi32, #tile.warp_tile<4>>
//       CHECK:     tile.reduce max
//       CHECK:     math.exp2
//       CHECK:     tile.reduce add
//       CHECK:     %[[W:.*]] = arith.truncf {{.*}} to tensor<8x64xf16, #tile.warp_tile<4>>
//       CHECK:     %[[PART:.*]] = tile.mma tensor %[[W]], %[[V]], %{{.*}} : tensor<8x64xf16, #tile.warp_tile<4>>, tensor<64x32xf16>, tensor<8x32xf32, #tile.warp_tile<1>>
//       CHECK:     math.fma %{{.*}}, %{{.*}}, %[[PART]]
//       CHECK:   %[[O:.*]] = tile.share_softmax %[[S]]#0, %[[S]]#1, %[[S]]#2 : {{.*}} -> tensor<4x4xf32>
//       CHECK:   tile.store_heads %{{.*}}, %{{.*}}[%[[TOKEN]], %{{.*}}] rows %[[COUNT]] heads 4 size 32 : tensor<4x4xf16>, memref<?x256xf16>

// For many rows the first token of a tile of 64 / 4 tokens of its sequence
// computes the tile, of which each warp has 16 rows.

// CHECK-LABEL: tile.program @attention_5
//       CHECK: most_rows = 0, rows = 64, {{.*}} row_warps = 4, early = true>
//       CHECK: %[[FIRST:.*]] = arith.remui %{{.*}}, %c16
//       CHECK: %[[IS:.*]] = arith.cmpi eq, %[[FIRST]], %c0
//       CHECK: scf.if %[[IS]] {
//       CHECK:   tile.wait_dependency settled
//       CHECK:   tile.mma tensor %{{.*}} : tensor<64x32xf16, #tile.warp_tile<1, rows = 4>>, tensor<32x64xf16>, tensor<64x64xf32, #tile.warp_tile<1, rows = 4>>
//       CHECK:   tile.share_softmax {{.*}} -> tensor<64x32xf32>
//       CHECK: } else {
//  CHECK-NEXT:   tile.wait_dependency{{$}}

// CHECK-LABEL: func.func @attention
//       CHECK: tile.launch @attention_5 {{.*}} variants = [#tile.variant<@attention_1, 8>, #tile.variant<@attention_2, 16>, #tile.variant<@attention_3, 33>, #tile.variant<@attention_4, 256>]
func.func @attention(%q: tensor<?x8x32xf16> {weft.name = "q", weft.symbols = ["tokens"]}, %k: tensor<?x2x32x64xf16>, %v: tensor<?x2x64x32xf16>,
    %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x8x32xf16> {
  %0 = weft.dispatch "attention" (%a = %q : tensor<?x8x32xf16>, %b = %k : tensor<?x2x32x64xf16>, %c = %v : tensor<?x2x64x32xf16>,
      %d = %p : tensor<?xi32>, %e = %ids : tensor<?xi32>, %f = %starts : tensor<?xi32>, %g = %lengths : tensor<?xi32>, %h = %table : tensor<?x?xi32>)
      -> (tensor<?x8x32xf16>) {
    %1 = weft.attention %a, %b, %c positions %d sequences %e, %f context %g, %h {scale = 0.17677669 : f32, causal, window = 100, softcap = 30.0 : f32}
        : (tensor<?x8x32xf16>, tensor<?x2x32x64xf16>, tensor<?x2x64x32xf16>) -> tensor<?x8x32xf16>
    weft.yield %1 : tensor<?x8x32xf16>
  }
  return %0 : tensor<?x8x32xf16>
}
