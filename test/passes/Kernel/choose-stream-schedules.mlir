// RUN: weft-opt %s --weft-choose-stream-schedules --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-choose-stream-schedules=batch-invariant --split-input-file | FileCheck %s --check-prefix=INVARIANT
// RUN: weft-opt %s --weft-choose-stream-schedules=batch-invariant --weft-build-tile-programs --canonicalize --split-input-file | FileCheck %s --check-prefix=PROGRAM

#matrix = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
#panels = #tile.panels<columns = 128>

// A layer with few outputs is cut for clusters of two blocks where there are
// many rows, and into narrow tiles with long steps where there are few. A block
// keeps a single row.

// DOC
// CHECK-LABEL: func @layer
//       CHECK:   weft.dispatch "o_proj"
//  CHECK-SAME:     schedules = [#tile.stream_schedule<level = "sm_90a", most_rows = 1, rows = 8, columns = 16, step = 512, slots = 8, ranges = 32, cluster = 1, column_warps = 1, step_warps = 8, resident_rows = 1>,
//  CHECK-SAME:       most_rows = 8, rows = 8, columns = 32, step = 512, slots = 5, ranges = 32, cluster = 1, column_warps = 2, step_warps = 4>,
//  CHECK-SAME:       most_rows = 16, rows = 16, columns = 32, step = 512,
//  CHECK-SAME:       most_rows = 32, rows = 32, columns = 16, step = 128, slots = 16, ranges = 32, cluster = 2, column_warps = 8, step_warps = 1, warpgroups = true>,
//  CHECK-SAME:       most_rows = 0, rows = 64, columns = 16, step = 128, slots = 10, ranges = 32, cluster = 2,

// With one order of summation for all, as many rows have it.

// INVARIANT-LABEL: func @layer
//       INVARIANT:   weft.dispatch "o_proj"
//  INVARIANT-SAME:     schedules = [#tile.stream_schedule<level = "sm_90a", most_rows = 8, rows = 8, columns = 16, step = 128, slots = 32, ranges = 32, cluster = 2, column_warps = 8, step_warps = 1, warpgroups = true>,
//  INVARIANT-SAME:       most_rows = 16, rows = 16,
//  INVARIANT-SAME:       most_rows = 32, rows = 32,
//  INVARIANT-SAME:       most_rows = 0, rows = 64, columns = 16, step = 128, slots = 10, ranges = 32, cluster = 2,

// The launch names the programs for few rows; the program's columns are divided
// among the clusters and its rows into tiles.

// PROGRAM: tile.program @linear symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"32", 1>]
// PROGRAM:   tile.kernel @sm_90a {{.*}} attributes {constants = array<i64: 1>, schedule = #tile.stream_schedule<level = "sm_90a", most_rows = 8,
// PROGRAM:     tile.fold
// PROGRAM:       tile.load %{{.*}} rows %{{.*}} -> tensor<8x128xbf16>
// PROGRAM:       tile.load %{{.*}} columns %{{.*}} dims [1, 0] {{.*}} -> tensor<128x16xbf16>
// PROGRAM:       tile.mma tensor
// PROGRAM:     tile.share %{{.*}} round %{{.*}} : tensor<8x16xf32> -> tensor<8x8xf32>
// PROGRAM:     tile.store %{{.*}} rows %{{.*}} columns
// PROGRAM: tile.program @linear_3 symbols ["rows"] grid [#tile.extent<"rows", 64>, #tile.extent<"32", 1>]
// PROGRAM: tile.launch @linear_3 "o_proj"{{.*}} variants = [#tile.variant<@linear, 8>, #tile.variant<@linear_1, 16>, #tile.variant<@linear_2, 32>]
func.func @layer(%x: tensor<?x512xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %w: tensor<32x4x32x8x8xbf16>, %r: tensor<?x512xbf16> {weft.name = "r", weft.symbols = ["tokens"]}) -> tensor<?x512xbf16> {
  %0 = weft.dispatch "norm" (%a = %x : tensor<?x512xbf16>) attributes {result_layouts = [#panels], schedules = [#matrix]} -> (tensor<?x512xbf16>) {
    %1 = arith.addf %a, %a : tensor<?x512xbf16>
    weft.yield %1 : tensor<?x512xbf16>
  }
  %2 = weft.dispatch "o_proj" (%a = %0 : tensor<?x512xbf16>, %b = %w : tensor<32x4x32x8x8xbf16>, %c = %r : tensor<?x512xbf16>) attributes {input_layouts = [#panels, unit, unit], schedules = [#matrix]} -> (tensor<?x512xbf16>) {
    %3 = weft.linear %a, %b layout core_matrices : (tensor<?x512xbf16>, tensor<32x4x32x8x8xbf16>) -> tensor<?x512xbf16>
    %4 = arith.addf %c, %3 : tensor<?x512xbf16>
    weft.yield %4 : tensor<?x512xbf16>
  }
  return %2 : tensor<?x512xbf16>
}

// -----

// A norm of the input is part of the fold: its products and squares are summed
// together, and both sums are shared at once.

#matrix = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
#panels = #tile.panels<columns = 128>

// PROGRAM: tile.program @linear symbols
// PROGRAM:   tile.kernel @sm_90a {{.*}} attributes {constants = array<i64: 1, 2>,
// PROGRAM:     %[[SUMS:.*]]:2 = tile.fold {{.*}} init (%[[S:.*]] = %{{.*}} : tensor<8x16xf32>, %[[Q:.*]] = %{{.*}} : tensor<8x1xf32>)
// PROGRAM:       arith.extf
// PROGRAM:       %[[SQUARES:.*]] = tile.reduce add
// PROGRAM:       %[[LHS:.*]] = arith.mulf %{{.*}} : tensor<8x128xbf16>
// PROGRAM:       tile.mma tensor %[[LHS]], %{{.*}}, %[[S]]
// PROGRAM:       arith.addf %[[Q]], %[[SQUARES]]
// PROGRAM:     %[[PARTS:.*]]:2 = tile.share %[[SUMS]]#0, %[[SUMS]]#1 round %{{.*}} : tensor<8x16xf32>, tensor<8x1xf32> -> tensor<8x8xf32>, tensor<8x8xf32>
// PROGRAM:     math.sqrt
// PROGRAM:     %[[INVERSE:.*]] = arith.divf %{{.*}}, %{{.*}} : tensor<8x8xf32>
// PROGRAM:     arith.mulf %[[PARTS]]#0, %[[INVERSE]]
func.func @norm(%x: tensor<?x256xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %w: tensor<32x2x32x8x8xbf16>, %n: tensor<256xbf16>) -> tensor<?x512xbf16> {
  %0 = weft.dispatch "residual" (%a = %x : tensor<?x256xbf16>) attributes {result_layouts = [#panels], schedules = [#matrix]} -> (tensor<?x256xbf16>) {
    %1 = arith.addf %a, %a : tensor<?x256xbf16>
    weft.yield %1 : tensor<?x256xbf16>
  }
  %2 = weft.dispatch "q_proj" (%a = %0 : tensor<?x256xbf16>, %b = %w : tensor<32x2x32x8x8xbf16>, %c = %n : tensor<256xbf16>) attributes {input_layouts = [#panels, unit, unit], schedules = [#matrix]} -> (tensor<?x512xbf16>) {
    %3 = weft.rms_norm %a, %c {epsilon = 1.0e-5 : f32} : tensor<?x256xbf16>, tensor<256xbf16>
    %4 = weft.linear %3, %b layout core_matrices : (tensor<?x256xbf16>, tensor<32x2x32x8x8xbf16>) -> tensor<?x512xbf16>
    weft.yield %4 : tensor<?x512xbf16>
  }
  return %2 : tensor<?x512xbf16>
}

// -----

// Without panels the schedule stays.

#matrix = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>

// CHECK-LABEL: func @others
//   CHECK-NOT:   stream_schedule
func.func @others(%x: tensor<?x256xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %w: tensor<32x2x32x8x8xbf16>) -> tensor<?x512xbf16> {
  %0 = weft.dispatch "plain" (%a = %x : tensor<?x256xbf16>, %b = %w : tensor<32x2x32x8x8xbf16>) attributes {schedules = [#matrix]} -> (tensor<?x512xbf16>) {
    %1 = weft.linear %a, %b layout core_matrices : (tensor<?x256xbf16>, tensor<32x2x32x8x8xbf16>) -> tensor<?x512xbf16>
    weft.yield %1 : tensor<?x512xbf16>
  }
  return %0 : tensor<?x512xbf16>
}

// -----

// Before sm_90 the warps that multiply also copy, and there are no clusters.
// Of the smaller shared memory of sm_89 only tiles of 64 columns fit twice.

#ampere = #tile.cuda_schedule<level = "sm_80", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
#ada = #tile.cuda_schedule<level = "sm_89", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
#panels = #tile.panels<columns = 128>

// CHECK-LABEL: func @old
//       CHECK:   weft.dispatch "old"
//  CHECK-SAME:     schedules = [#tile.stream_schedule<level = "sm_80", most_rows = 1, rows = 8, columns = 16, {{[^>]*}}, resident_rows = 1, load_warps = 0>,
//  CHECK-SAME:       level = "sm_80", most_rows = 8, rows = 8, columns = 32, step = 256, slots = 7, ranges = 32, cluster = 1, column_warps = 2, step_warps = 4, load_warps = 0>,
//  CHECK-SAME:       level = "sm_80", most_rows = 0, rows = 64, columns = 128, step = 128, slots = 2, ranges = 32, cluster = 1, column_warps = 4, step_warps = 2, load_warps = 0>,
//  CHECK-SAME:       level = "sm_89", most_rows = 8, rows = 8, columns = 32, step = 256, slots = 4,
//  CHECK-SAME:       level = "sm_89", most_rows = 0, rows = 64, columns = 64, step = 128, slots = 2, ranges = 32, cluster = 1, column_warps = 4, step_warps = 2, load_warps = 0>]

// Both have the same number of blocks: a program has kernels for both.

// PROGRAM: tile.program @addf
// PROGRAM: tile.program @linear symbols
// PROGRAM:   tile.kernel @sm_80
// PROGRAM:   tile.kernel @sm_89
// PROGRAM: tile.launch @linear_3 "old"{{.*}} variants = [#tile.variant<@linear, 8>, #tile.variant<@linear_1, 16>, #tile.variant<@linear_2, 32>]
func.func @old(%x: tensor<?x256xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %w: tensor<32x2x32x8x8xbf16>) -> tensor<?x512xbf16> {
  %0 = weft.dispatch "input" (%a = %x : tensor<?x256xbf16>) attributes {result_layouts = [#panels], schedules = [#ampere, #ada]} -> (tensor<?x256xbf16>) {
    %1 = arith.addf %a, %a : tensor<?x256xbf16>
    weft.yield %1 : tensor<?x256xbf16>
  }
  %2 = weft.dispatch "old" (%a = %0 : tensor<?x256xbf16>, %b = %w : tensor<32x2x32x8x8xbf16>) attributes {input_layouts = [#panels, unit], schedules = [#ampere, #ada]} -> (tensor<?x512xbf16>) {
    %3 = weft.linear %a, %b layout core_matrices : (tensor<?x256xbf16>, tensor<32x2x32x8x8xbf16>) -> tensor<?x512xbf16>
    weft.yield %3 : tensor<?x512xbf16>
  }
  return %2 : tensor<?x512xbf16>
}

// -----

// Programs of other grids are for their architectures only: the launch takes
// the first that has code for the GPU and is for so many rows.

#old = #tile.cuda_schedule<level = "sm_80", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
#matrix = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
#panels = #tile.panels<columns = 128>

// CHECK-LABEL: func @several
//       CHECK:   weft.dispatch "layer"
//  CHECK-SAME:     schedules = [#tile.stream_schedule<level = "sm_80", most_rows = 1,
//  CHECK-SAME:       level = "sm_80", most_rows = 0, {{[^>]*}} ranges = 108, cluster = 1,
//  CHECK-SAME:       level = "sm_90a", most_rows = 0, {{[^>]*}} ranges = 66, cluster = 2,

// PROGRAM: tile.program @addf {{.*}} grid [#tile.extent<"rows", 1>]
// PROGRAM:   tile.kernel @sm_80
// PROGRAM:   tile.kernel @sm_90a
// PROGRAM: tile.program @linear_3 symbols ["rows"] grid [#tile.extent<"rows", 64>, #tile.extent<"66", 1>]
// PROGRAM-NOT: tile.kernel @sm_80
// PROGRAM:   tile.kernel @sm_90a
// PROGRAM-NOT: tile.kernel @sm_80
// PROGRAM: tile.program @linear_4 symbols ["rows"] grid [#tile.extent<"rows", 8>, #tile.extent<"108", 1>]
// PROGRAM-NOT: tile.kernel @sm_90a
// PROGRAM:   tile.kernel @sm_80
// PROGRAM-NOT: tile.kernel @sm_90a
// PROGRAM: tile.launch @linear_7 "layer"{{.*}} variants = [#tile.variant<@linear, 8>, #tile.variant<@linear_1, 16>, #tile.variant<@linear_2, 32>, #tile.variant<@linear_3, 0>, #tile.variant<@linear_4, 8>, #tile.variant<@linear_5, 16>, #tile.variant<@linear_6, 32>]
func.func @several(%x: tensor<?x256xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %w: tensor<128x2x32x8x8xbf16>) -> tensor<?x2048xbf16> {
  %0 = weft.dispatch "input" (%a = %x : tensor<?x256xbf16>) attributes {result_layouts = [#panels], schedules = [#old, #matrix]} -> (tensor<?x256xbf16>) {
    %1 = arith.addf %a, %a : tensor<?x256xbf16>
    weft.yield %1 : tensor<?x256xbf16>
  }
  %2 = weft.dispatch "layer" (%a = %0 : tensor<?x256xbf16>, %b = %w : tensor<128x2x32x8x8xbf16>) attributes {input_layouts = [#panels, unit], schedules = [#old, #matrix]} -> (tensor<?x2048xbf16>) {
    %3 = weft.linear %a, %b layout core_matrices : (tensor<?x256xbf16>, tensor<128x2x32x8x8xbf16>) -> tensor<?x2048xbf16>
    weft.yield %3 : tensor<?x2048xbf16>
  }
  return %2 : tensor<?x2048xbf16>
}
