// RUN: weft-opt %s --weft-build-tile-programs --canonicalize --cse --split-input-file | FileCheck %s

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

// -----

// What stays inside of a dispatch is no traffic, however many parts of it are
// read. For each token there are 256 bytes of input, twice 64 of the table of
// angles, twice 4 of slots, 64 of the query, and 32 each in the caches.

#matrix = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
#stream = #tile.stream_schedule<level = "sm_90a", most_rows = 0, rows = 64, columns = 64, step = 128, slots = 3, ranges = 1, cluster = 1, column_warps = 4, step_warps = 2>
#lean = #tile.stream_schedule<level = "sm_90a", most_rows = 0, rows = 64, columns = 64, step = 128, slots = 3, ranges = 1, cluster = 1, column_warps = 2, step_warps = 4>
#panels = #tile.panels<columns = 128>

// Schedules for the same rows and grid are alternatives: the first that gives
// usable code is taken.

// CHECK-LABEL: tile.program @linear
//       CHECK:   tile.kernel @sm_90a level
//       CHECK:   column_warps = 4,
//       CHECK:   tile.kernel @sm_90a_1 level
//       CHECK:   column_warps = 2,
// CHECK-LABEL: func @parts
//       CHECK:   tile.launch @linear "parts"
//  CHECK-SAME:     bytes = "16384 + 520*tokens"
func.func @parts(%x: tensor<?x128xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %w: tensor<4x1x32x8x8xbf16>, %cos: tensor<?x8xf32> {weft.name = "cos", weft.symbols = ["tokens"]}, %sin: tensor<?x8xf32> {weft.name = "sin", weft.symbols = ["tokens"]}, %slots: tensor<?xi32> {weft.name = "slots", weft.symbols = ["tokens"]}, %keys: tensor<?x1x16x16xbf16>, %values: tensor<?x1x16x16xbf16>) -> (tensor<?x2x16xbf16>, tensor<?x1x16x16xbf16>, tensor<?x1x16x16xbf16>) {
  %z = weft.dispatch "twice" (%a = %x : tensor<?x128xbf16>) attributes {result_layouts = [#panels], schedules = [#matrix]} -> (tensor<?x128xbf16>) {
    %0 = arith.addf %a, %a : tensor<?x128xbf16>
    weft.yield %0 : tensor<?x128xbf16>
  }
  %r:3 = weft.dispatch "parts" (%x1 = %z : tensor<?x128xbf16>, %b = %w : tensor<4x1x32x8x8xbf16>, %c = %cos : tensor<?x8xf32>, %s = %sin : tensor<?x8xf32>, %t = %slots : tensor<?xi32>, %kc = %keys : tensor<?x1x16x16xbf16>, %vc = %values : tensor<?x1x16x16xbf16>)
      attributes {schedules = [#stream, #lean], input_layouts = [#panels, unit, unit, unit, unit, unit, unit]} -> (tensor<?x2x16xbf16>, tensor<?x1x16x16xbf16>, tensor<?x1x16x16xbf16>) {
    %c0 = arith.constant 0 : index
    %a = weft.linear %x1, %b layout core_matrices : (tensor<?x128xbf16>, tensor<4x1x32x8x8xbf16>) -> tensor<?x64xbf16>
    %n = tensor.dim %a, %c0 : tensor<?x64xbf16>
    %q = tensor.extract_slice %a[0, 0] [%n, 32] [1, 1] : tensor<?x64xbf16> to tensor<?x32xbf16>
    %qh = tensor.expand_shape %q [[0], [1, 2]] output_shape [%n, 2, 16] : tensor<?x32xbf16> into tensor<?x2x16xbf16>
    %qr = weft.rope %qh, %c, %s {interleaved} : tensor<?x2x16xbf16>, tensor<?x8xf32>
    %k = tensor.extract_slice %a[0, 32] [%n, 16] [1, 1] : tensor<?x64xbf16> to tensor<?x16xbf16>
    %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [%n, 1, 16] : tensor<?x16xbf16> into tensor<?x1x16xbf16>
    %kr = weft.rope %kh, %c, %s {interleaved} : tensor<?x1x16xbf16>, tensor<?x8xf32>
    %ka = weft.cache_append key %kc, %kr, %t : tensor<?x1x16x16xbf16>, tensor<?x1x16xbf16>
    %v = tensor.extract_slice %a[0, 48] [%n, 16] [1, 1] : tensor<?x64xbf16> to tensor<?x16xbf16>
    %vh = tensor.expand_shape %v [[0], [1, 2]] output_shape [%n, 1, 16] : tensor<?x16xbf16> into tensor<?x1x16xbf16>
    %va = weft.cache_append value %vc, %vh, %t : tensor<?x1x16x16xbf16>, tensor<?x1x16xbf16>
    weft.yield %qr, %ka, %va : tensor<?x2x16xbf16>, tensor<?x1x16x16xbf16>, tensor<?x1x16x16xbf16>
  }
  return %r#0, %r#1, %r#2 : tensor<?x2x16xbf16>, tensor<?x1x16x16xbf16>, tensor<?x1x16x16xbf16>
}

// -----

// Two blocks choose an id of a row: each folds its half, then both know what
// the other one found, and the first one stores the id.

// CHECK-LABEL: tile.program @sample
//   CHECK-DAG:   %[[RANK:.*]] = tile.cluster_rank
//   CHECK-DAG:   %[[IDS:.*]] = tile.scratch : memref<1x2xi32>
//       CHECK:   %[[BEGIN:.*]] = arith.muli %[[RANK]], %c2048
//       CHECK:   %[[NEXT:.*]] = arith.addi %[[BEGIN]], %c2048
//       CHECK:   %[[END:.*]] = arith.minsi %[[NEXT]], %{{.*}}
//       CHECK:   tile.fold %{{.*}} = %[[BEGIN]] to %[[NEXT]] step %c2048 merge argmax
//       CHECK:   tile.store %{{.*}}, %[[LOGITS:.*]][%c0, %[[RANK]]]
//       CHECK:   tile.store %{{.*}}, %[[IDS]][%c0, %[[RANK]]]
//       CHECK:   tile.all_gather %[[LOGITS]], %[[IDS]] : memref<1x2xf32>, memref<1x2xi32>
//       CHECK:   scf.while
//       CHECK:     tile.fold %{{.*}} = %[[BEGIN]] to %[[END]] step %c2048 merge add_max
//       CHECK:     tile.all_gather %{{.*}} : memref<1x16xf32>
//       CHECK:   %[[FIRST:.*]] = arith.cmpi eq, %[[RANK]], %c0
//       CHECK:   scf.if %[[FIRST]] {
//       CHECK:     tile.store %{{.*}}, %{{.*}}[%{{.*}}] : tensor<1xi32>, memref<?xi32>
#schedule = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 512, unroll = 4, row_columns = 512, row_unroll = 4, row_block = 1, column_block = 512, cluster = 2>
func.func @sample(%x: tensor<?x4000xf32> {weft.name = "x", weft.symbols = ["logits"]}, %c: tensor<?x2xi32>, %o: tensor<?x4xf32>) -> tensor<?xi32> {
  %0 = weft.dispatch "sample" (%a = %x : tensor<?x4000xf32>, %b = %c : tensor<?x2xi32>, %d = %o : tensor<?x4xf32>) attributes {schedules = [#schedule]} -> (tensor<?xi32>) {
    %1 = weft.sample %a, %b, %d : tensor<?x4000xf32>, tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>
    weft.yield %1 : tensor<?xi32>
  }
  return %0 : tensor<?xi32>
}
