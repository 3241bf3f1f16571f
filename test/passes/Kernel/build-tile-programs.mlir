// RUN: weft-opt %s --weft-choose-schedules=levels=x86-64-v4 --weft-build-tile-programs --canonicalize --cse --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-choose-schedules=levels=x86-64-v4 --weft-build-tile-programs --canonicalize --cse --split-input-file --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATIONS

// Equal dispatches share a program: two layers, one kernel.

// CHECK-COUNT-1: tile.program
// CHECK-LABEL: func @layers
//       CHECK:   %[[A:.*]] = tile.launch @rms_norm "first"
//       CHECK:   tile.launch @rms_norm "second"(%[[A]]
//  CHECK-SAME:     symbols ["tokens"]
func.func @layers(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]}, %n: tensor<64xf32>, %m: tensor<64xf32>) -> tensor<?x64xf32> {
  %0 = weft.dispatch "first" (%a = %x : tensor<?x64xf32>, %b = %n : tensor<64xf32>) -> (tensor<?x64xf32>) {
    %1 = weft.rms_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
    weft.yield %1 : tensor<?x64xf32>
  }
  %2 = weft.dispatch "second" (%a = %0 : tensor<?x64xf32>, %b = %m : tensor<64xf32>) -> (tensor<?x64xf32>) {
    %1 = weft.rms_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
    weft.yield %1 : tensor<?x64xf32>
  }
  return %2 : tensor<?x64xf32>
}

// -----

// A program does not take the name of an entry point. A linear layer is a fold
// over k whose accumulator starts at zero. If there is one row in all, several
// panels are folded at once, as many as there are here; otherwise full row
// tiles and single rows are two cases of the same body.

// CHECK-LABEL: tile.program @linear_1 
//  CHECK-SAME:   grid [#tile.extent<"128", 128>, #tile.extent<"rows", 48>]
//       CHECK:   symbols (%[[ROWS:.*]]) items (%[[BEGIN:.*]], %[[END:.*]]) attributes
//       CHECK:   %[[SINGLE:.*]] = arith.cmpi eq, %[[ROWS]], %c1
//       CHECK:   scf.if %[[SINGLE]]
//       CHECK:   %[[TWO:.*]]:2 = tile.fold {{.*}} merge add init ({{.*}} : tensor<1x64xf32>, {{.*}} : tensor<1x64xf32>)
// CHECK-COUNT-2:   tile.mma fma {{.*}} : tensor<1x8xf32>, tensor<8x64x1xf32>, tensor<1x64xf32>
//       CHECK:   tile.store %[[TWO]]#0
//       CHECK:   tile.store %[[TWO]]#1
//       CHECK:   tile.fold {{.*}} merge add init ({{.*}} : tensor<1x64xf32>)
//       CHECK:   else
//       CHECK:   scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
//       CHECK:   tile.fold {{.*}} merge add init ({{.*}} : tensor<6x64xf32>)
//       CHECK:     tile.mma fma {{.*}} : tensor<6x8xf32>, tensor<8x64x1xf32>, tensor<6x64xf32>
//       CHECK:   tile.store {{.*}} : tensor<6x64xf32>
//       CHECK:   tile.fold {{.*}} merge add init ({{.*}} : tensor<1x64xf32>)
func.func @linear(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]}, %w: tensor<2x64x64x1xf32>) -> tensor<?x128xf32> {
  %0 = weft.dispatch "linear" (%a = %x : tensor<?x64xf32>, %b = %w : tensor<2x64x64x1xf32>) -> (tensor<?x128xf32>) {
    %1 = weft.linear %a, %b layout panels<columns = 64, group = 1> : (tensor<?x64xf32>, tensor<2x64x64x1xf32>) -> tensor<?x128xf32>
    weft.yield %1 : tensor<?x128xf32>
  }
  return %0 : tensor<?x128xf32>
}

// -----

// The panels of a single row are those of both matrices of a gate; the columns
// behind the last whole panel are a tile of their own.

// CHECK-LABEL: tile.program @linear
//       CHECK:   tile.fold {{.*}} init (%{{[^)]*}} : tensor<1x64xf32>, %{{[^)]*}} : tensor<1x64xf32>, %{{[^)]*}} : tensor<1x64xf32>, %{{[^)]*}} : tensor<1x64xf32>)
//       CHECK:   tile.fold {{.*}} init (%{{[^)]*}} : tensor<1x64xf32>, %{{[^)]*}} : tensor<1x64xf32>)
//       CHECK:   tile.fold {{.*}} init (%{{[^)]*}} : tensor<1x8xf32>, %{{[^)]*}} : tensor<1x8xf32>)
//       CHECK:   else
func.func @gate(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]}, %g: tensor<3x64x64x1xf32>, %u: tensor<3x64x64x1xf32>) -> tensor<?x136xf32> {
  %0 = weft.dispatch "gate" (%a = %x : tensor<?x64xf32>, %b = %g : tensor<3x64x64x1xf32>, %c = %u : tensor<3x64x64x1xf32>) -> (tensor<?x136xf32>) {
    %1 = weft.linear %a, %b layout panels<columns = 64, group = 1> : (tensor<?x64xf32>, tensor<3x64x64x1xf32>) -> tensor<?x136xf32>
    %2 = weft.linear %a, %c layout panels<columns = 64, group = 1> : (tensor<?x64xf32>, tensor<3x64x64x1xf32>) -> tensor<?x136xf32>
    %3 = weft.gated_activation silu %1, %2 : tensor<?x136xf32>
    weft.yield %3 : tensor<?x136xf32>
  }
  return %0 : tensor<?x136xf32>
}

// -----

// Attention is a fold over blocks of keys with the softmax merge. The largest
// tile of scores is one register tile by one block: no matrix of scores over
// all keys exists, in registers, scratch or memory. A single token's heads have
// their turn in every block, with their states in scratch meanwhile.

// CHECK-LABEL: tile.program @attention_1 
//  CHECK-SAME:   grid [#tile.extent<"rows", 24>, #tile.extent<"2", 1>]
//   CHECK-DAG:   tile.scratch : memref<6x16xf32>
//   CHECK-DAG:   tile.scratch : memref<6x64xf32>
//   CHECK-DAG:   %[[STATE:.*]] = tile.scratch : memref<4x16xf32>
//   CHECK-NOT:   tile.scratch : memref<?
//       CHECK:   scf.for {{.*}} step %c1
//       CHECK:   %[[O:.*]] = tile.load %[[STATE]]
//       CHECK:   %[[S:.*]]:3 = tile.fold {{.*}} merge softmax init ({{.*}} : tensor<2x1xf32>, {{.*}} : tensor<2x1xf32>, {{.*}} = %[[O]] : tensor<2x16xf32>)
//       CHECK:     tile.mma fma {{.*}} : tensor<2x16xf32>, tensor<16x64xf32>, tensor<2x64xf32>
//       CHECK:     tile.reduce max
//       CHECK:     math.exp
//       CHECK:     tile.mma fma {{.*}} : tensor<2x64xf32>, tensor<64x16xf32>, tensor<2x16xf32>
//       CHECK:   tile.store %[[S]]#2, %[[STATE]]
//       CHECK:   tile.fold {{.*}} merge softmax init ({{.*}} : tensor<6x1xf32>
// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<?x4x16xf32> {weft.name = "q", weft.symbols = ["tokens"]}, %k: tensor<?x2x16x64xf32>, %v: tensor<?x2x64x16xf32>,
    %p: tensor<?xi32>, %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x4x16xf32> {
  %0 = weft.dispatch "attention" (%a = %q : tensor<?x4x16xf32>, %b = %k : tensor<?x2x16x64xf32>, %c = %v : tensor<?x2x64x16xf32>,
      %d = %p : tensor<?xi32>, %e = %ids : tensor<?xi32>, %f = %starts : tensor<?xi32>, %g = %lengths : tensor<?xi32>, %h = %table : tensor<?x?xi32>)
      -> (tensor<?x4x16xf32>) {
    %1 = weft.attention %a, %b, %c positions %d sequences %e, %f context %g, %h {scale = 0.25 : f32, causal}
        : (tensor<?x4x16xf32>, tensor<?x2x16x64xf32>, tensor<?x2x64x16xf32>) -> tensor<?x4x16xf32>
    weft.yield %1 : tensor<?x4x16xf32>
  }
  return %0 : tensor<?x4x16xf32>
}

// -----

// Tiles are f32 between a load and a store, so a conversion leaves nothing
// between them.

// CHECK-LABEL: tile.program @extf
//       CHECK:   %[[X:.*]] = tile.load {{.*}} : memref<?x64xbf16>{{.*}}tensor<1x64xbf16>
//       CHECK:   %[[WIDE:.*]] = arith.extf %[[X]] : tensor<1x64xbf16> to tensor<1x64xf32>
//  CHECK-NEXT:   tile.store %[[WIDE]]
func.func @widen(%x: tensor<?x64xbf16> {weft.name = "x", weft.symbols = ["tokens"]}) -> tensor<?x64xf32> {
  %0 = weft.dispatch "hidden" (%a = %x : tensor<?x64xbf16>) -> (tensor<?x64xf32>) {
    %1 = arith.extf %a : tensor<?x64xbf16> to tensor<?x64xf32>
    weft.yield %1 : tensor<?x64xf32>
  }
  return %0 : tensor<?x64xf32>
}

// -----

// A norm of heads that no other operation joins has all heads of a token in an
// item.

// CHECK-LABEL: tile.program @rms_norm
//       CHECK:   scf.for {{.*}} = %c0{{.*}} to %c4{{.*}}
//       CHECK:     tile.load {{.*}} -> tensor<1x16xf32>
//       CHECK:     tile.store
func.func @head_norm(%x: tensor<?x4x16xf32> {weft.name = "x", weft.symbols = ["tokens"]}, %n: tensor<16xf32>) -> tensor<?x4x16xf32> {
  %0 = weft.dispatch "norm" (%a = %x : tensor<?x4x16xf32>, %b = %n : tensor<16xf32>) -> (tensor<?x4x16xf32>) {
    %1 = weft.rms_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x4x16xf32>, tensor<16xf32>
    weft.yield %1 : tensor<?x4x16xf32>
  }
  return %0 : tensor<?x4x16xf32>
}

// -----

// An adjustment is an item that changes one logit in place. Sampling: an item
// is a row; the largest logit and where it is are a fold; only what is drawn
// searches for cuts (a loop for top-k, one for top-p) and walks.

// CHECK-LABEL: tile.program @adjust_logits
//  CHECK-SAME:   grid [#tile.extent<"rows", 1>]
//       CHECK:   %[[ROW:.*]] = memref.load
//       CHECK:   scf.if
//       CHECK:     tile.store %{{.*}} : tensor<1x1xf32>, memref<?x512xf32>
// CHECK-LABEL: tile.program @sample
//  CHECK-SAME:   grid [#tile.extent<"rows", 1>]
//       CHECK:   tile.fold {{.*}} merge argmax init
//       CHECK:   scf.if
//       CHECK:     scf.while
//       CHECK:       tile.fold {{.*}} merge add_max init
//       CHECK:     scf.while
//       CHECK:     tile.fold {{.*}} merge add init
//       CHECK:   tile.store %{{.*}} : tensor<1xi32>, memref<?xi32>
// CHECK-LABEL: func @sampling
//       CHECK:   tile.launch @adjust_logits "adjust"(%{{.*}}) tied [0]
//       CHECK:   tile.launch @sample "sample"
func.func @sampling(%x: tensor<?x512xf32> {weft.name = "x", weft.symbols = ["logits"]},
    %p: tensor<?x2xi32> {weft.name = "p", weft.symbols = ["adjustments"]}, %v: tensor<?x2xf32> {weft.name = "v", weft.symbols = ["adjustments"]},
    %c: tensor<?x2xi32> {weft.name = "c", weft.symbols = ["logits"]}, %o: tensor<?x4xf32> {weft.name = "o", weft.symbols = ["logits"]}) -> (tensor<?x512xf32>, tensor<?xi32>) {
  %0 = weft.dispatch "adjust" (%a = %x : tensor<?x512xf32>, %b = %p : tensor<?x2xi32>, %d = %v : tensor<?x2xf32>) -> (tensor<?x512xf32>) {
    %2 = weft.adjust_logits %a, %b, %d : tensor<?x512xf32>, tensor<?x2xi32>, tensor<?x2xf32>
    weft.yield %2 : tensor<?x512xf32>
  }
  %1 = weft.dispatch "sample" (%a = %0 : tensor<?x512xf32>, %b = %c : tensor<?x2xi32>, %d = %o : tensor<?x4xf32>) -> (tensor<?xi32>) {
    %2 = weft.sample %a, %b, %d : tensor<?x512xf32>, tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>
    weft.yield %2 : tensor<?xi32>
  }
  return %0, %1 : tensor<?x512xf32>, tensor<?xi32>
}

// The two layers of the first case share a program when locations are printed, too.

// LOCATIONS:     tile.program @rms_norm
// LOCATIONS-NOT: tile.program @rms_norm_1
// LOCATIONS:     func.func @layers
