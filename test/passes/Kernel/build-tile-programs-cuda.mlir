// RUN: weft-opt %s --weft-build-tile-programs --canonicalize --cse | FileCheck %s

// A block of a GPU has one work item, so one key head: its state is as small as
// its group of query heads, and the fold goes over all blocks of keys at once.

#schedule = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 8, column_block = 64>

// CHECK-LABEL: tile.program @attention_1 
//   CHECK-DAG:   tile.scratch : memref<8x16xf32>
//   CHECK-DAG:   %[[STATE:.*]] = tile.scratch : memref<2x16xf32>
//       CHECK:   %[[BLOCKS:.*]] = arith.ceildivui {{.*}}, %c64
//  CHECK-NEXT:   scf.for
//       CHECK:     %[[O:.*]] = tile.load %[[STATE]]
//       CHECK:     %[[S:.*]]:3 = tile.fold %{{.*}} = %c0 to %[[BLOCKS]] step %c1 merge softmax init ({{.*}} = %[[O]] : tensor<2x16xf32>)
//       CHECK:     tile.store %[[S]]#2, %[[STATE]]
func.func @attention(%q: tensor<?x4x16xf32> {weft.name = "q", weft.symbols = ["tokens"]}, %k: tensor<?x2x16x64xf32>, %v: tensor<?x2x64x16xf32>,
    %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x4x16xf32> {
  %0 = weft.dispatch "attention" (%a = %q : tensor<?x4x16xf32>, %b = %k : tensor<?x2x16x64xf32>, %c = %v : tensor<?x2x64x16xf32>,
      %d = %p : tensor<?xi32>, %e = %ids : tensor<?xi32>, %f = %starts : tensor<?xi32>, %g = %lengths : tensor<?xi32>, %h = %table : tensor<?x?xi32>)
      attributes {schedules = [#schedule]} -> (tensor<?x4x16xf32>) {
    %1 = weft.attention %a, %b, %c positions %d sequences %e, %f context %g, %h {scale = 0.25 : f32, causal}
        : (tensor<?x4x16xf32>, tensor<?x2x16x64xf32>, tensor<?x2x64x16xf32>) -> tensor<?x4x16xf32>
    weft.yield %1 : tensor<?x4x16xf32>
  }
  return %0 : tensor<?x4x16xf32>
}
