// RUN: weft-opt %s --weft-prefetch-weights --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-prefetch-weights --weft-build-tile-programs --split-input-file | FileCheck %s --check-prefix=PROGRAM
// RUN: weft-opt %s --weft-prefetch-weights --split-input-file --remarks-filter=kernel -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#one = #tile.stream_schedule<level = "sm_90a", most_rows = 1, rows = 8, columns = 16, step = 256, slots = 12, ranges = 16, cluster = 1, column_warps = 1, step_warps = 8, resident_rows = 1>
#any = #tile.stream_schedule<level = "sm_90a", most_rows = 0, rows = 64, columns = 128, step = 128, slots = 3, ranges = 4, cluster = 4, column_warps = 4, step_warps = 2>
#panels = #tile.panels<columns = 128>

// A kernel brings the start of each range of the next weight, as the schedule
// for as many rows cuts it.

// DOC
// CHECK-LABEL: func @adjacent
//       CHECK:   %[[X:.*]] = weft.dispatch "x"
//       CHECK:   %[[W:.*]] = weft.weight [#weft.source<"second">]
//       CHECK:   weft.dispatch "first" (%{{.*}} = %[[X]] : {{.*}}, %{{.*}} = %{{.*}} : tensor<16x16x32x8xbf16>, %{{.*}} = %[[W]] : tensor<16x16x32x8xbf16>)
//  CHECK-SAME:     input_layouts = [#{{.*}}, unit, unit], prefetched = array<i64: 2>
//  CHECK-SAME:     most_rows = 1, {{[^>]*}} resident_rows = 1, prefetch_ranges = 16, prefetch_bytes = 786432>
//  CHECK-SAME:     most_rows = 0, {{[^>]*}} prefetch_ranges = 4, prefetch_bytes = 3145728>
//       CHECK:   weft.dispatch "second"
//   CHECK-NOT:     prefetched

// PROGRAM: tile.program @linear symbols
// PROGRAM:   tile.kernel @sm_90a level "sm_90a" (%{{.*}}, %{{.*}}, %[[NEXT:.*]]: memref<256x256xbf16, #tile.fragments>, %{{.*}})
// PROGRAM:     scf.for
// PROGRAM:     }
// PROGRAM:     tile.prefetch %[[NEXT]] ranges 16 bytes 786432 : memref<256x256xbf16, #tile.fragments>
func.func @adjacent(%x: tensor<?x256xbf16> {weft.name = "x", weft.symbols = ["tokens"]}) -> tensor<?x256xbf16> {
  %0 = weft.dispatch "x" (%a = %x : tensor<?x256xbf16>) attributes {result_layouts = [#panels], schedules = [#tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>]} -> (tensor<?x256xbf16>) {
    %1 = arith.addf %a, %a : tensor<?x256xbf16>
    weft.yield %1 : tensor<?x256xbf16>
  }
  %w0 = weft.weight [#weft.source<"first">] layout fragments of [256, 256] : tensor<16x16x32x8xbf16>
  %2 = weft.dispatch "first" (%a = %0 : tensor<?x256xbf16>, %b = %w0 : tensor<16x16x32x8xbf16>) attributes {input_layouts = [#panels, unit], result_layouts = [#panels], schedules = [#one, #any]} -> (tensor<?x256xbf16>) {
    %3 = weft.linear %a, %b layout fragments : (tensor<?x256xbf16>, tensor<16x16x32x8xbf16>) -> tensor<?x256xbf16>
    weft.yield %3 : tensor<?x256xbf16>
  }
  %w1 = weft.weight [#weft.source<"second">] layout fragments of [256, 256] : tensor<16x16x32x8xbf16>
  %4 = weft.dispatch "second" (%a = %2 : tensor<?x256xbf16>, %b = %w1 : tensor<16x16x32x8xbf16>) attributes {input_layouts = [#panels, unit], schedules = [#one, #any]} -> (tensor<?x256xbf16>) {
    %5 = weft.linear %a, %b layout fragments : (tensor<?x256xbf16>, tensor<16x16x32x8xbf16>) -> tensor<?x256xbf16>
    weft.yield %5 : tensor<?x256xbf16>
  }
  return %4 : tensor<?x256xbf16>
}

// -----

// With other kernels between them there is time for more, but only few rows
// leave the cache to it.

#one = #tile.stream_schedule<level = "sm_90a", most_rows = 1, rows = 8, columns = 16, step = 256, slots = 12, ranges = 16, cluster = 1, column_warps = 1, step_warps = 8, resident_rows = 1>
#any = #tile.stream_schedule<level = "sm_90a", most_rows = 0, rows = 64, columns = 128, step = 128, slots = 3, ranges = 4, cluster = 4, column_warps = 4, step_warps = 2>
#other = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
#panels = #tile.panels<columns = 128>

// CHECK-LABEL: func @pause
//       CHECK:   weft.dispatch "first"
//  CHECK-SAME:     most_rows = 1, {{[^>]*}} prefetch_ranges = 16, prefetch_bytes = 2097152>
//  CHECK-SAME:     most_rows = 0, {{[^>]*}} step_warps = 2>]
func.func @pause(%x: tensor<?x256xbf16> {weft.name = "x", weft.symbols = ["tokens"]}) -> tensor<?x256xbf16> {
  %w0 = weft.weight [#weft.source<"first">] layout fragments of [256, 256] : tensor<16x16x32x8xbf16>
  %w1 = weft.weight [#weft.source<"second">] layout fragments of [256, 256] : tensor<16x16x32x8xbf16>
  %0 = weft.dispatch "x" (%a = %x : tensor<?x256xbf16>) attributes {result_layouts = [#panels], schedules = [#other]} -> (tensor<?x256xbf16>) {
    %1 = arith.addf %a, %a : tensor<?x256xbf16>
    weft.yield %1 : tensor<?x256xbf16>
  }
  %2 = weft.dispatch "first" (%a = %0 : tensor<?x256xbf16>, %b = %w0 : tensor<16x16x32x8xbf16>) attributes {input_layouts = [#panels, unit], schedules = [#one, #any]} -> (tensor<?x256xbf16>) {
    %3 = weft.linear %a, %b layout fragments : (tensor<?x256xbf16>, tensor<16x16x32x8xbf16>) -> tensor<?x256xbf16>
    weft.yield %3 : tensor<?x256xbf16>
  }
  %4 = weft.dispatch "between" (%a = %2 : tensor<?x256xbf16>) attributes {result_layouts = [#panels], schedules = [#other]} -> (tensor<?x256xbf16>) {
    %5 = arith.addf %a, %a : tensor<?x256xbf16>
    weft.yield %5 : tensor<?x256xbf16>
  }
  %6 = weft.dispatch "second" (%a = %4 : tensor<?x256xbf16>, %b = %w1 : tensor<16x16x32x8xbf16>) attributes {input_layouts = [#panels, unit], schedules = [#one, #any]} -> (tensor<?x256xbf16>) {
    %7 = weft.linear %a, %b layout fragments : (tensor<?x256xbf16>, tensor<16x16x32x8xbf16>) -> tensor<?x256xbf16>
    weft.yield %7 : tensor<?x256xbf16>
  }
  return %6 : tensor<?x256xbf16>
}

// -----

#any = #tile.stream_schedule<level = "sm_90a", most_rows = 0, rows = 64, columns = 128, step = 128, slots = 3, ranges = 4, cluster = 4, column_warps = 4, step_warps = 2>
#panels = #tile.panels<columns = 128>

// REMARK: remark: [Missed] weight-not-prefetched | {{.*}}Remark="its weight is computed"
// CHECK-LABEL: func @computed
//   CHECK-NOT:   prefetched
func.func @computed(%x: tensor<?x256xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %w: tensor<16x16x32x8xbf16>) -> tensor<?x256xbf16> {
  %0 = weft.dispatch "x" (%a = %x : tensor<?x256xbf16>) attributes {result_layouts = [#panels], schedules = [#tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>]} -> (tensor<?x256xbf16>) {
    %1 = arith.addf %a, %a : tensor<?x256xbf16>
    weft.yield %1 : tensor<?x256xbf16>
  }
  %2 = weft.dispatch "first" (%a = %0 : tensor<?x256xbf16>, %b = %w : tensor<16x16x32x8xbf16>) attributes {input_layouts = [#panels, unit], result_layouts = [#panels], schedules = [#any]} -> (tensor<?x256xbf16>) {
    %3 = weft.linear %a, %b layout fragments : (tensor<?x256xbf16>, tensor<16x16x32x8xbf16>) -> tensor<?x256xbf16>
    weft.yield %3 : tensor<?x256xbf16>
  }
  %4 = weft.dispatch "second" (%a = %2 : tensor<?x256xbf16>, %b = %w : tensor<16x16x32x8xbf16>) attributes {input_layouts = [#panels, unit], schedules = [#any]} -> (tensor<?x256xbf16>) {
    %5 = weft.linear %a, %b layout fragments : (tensor<?x256xbf16>, tensor<16x16x32x8xbf16>) -> tensor<?x256xbf16>
    weft.yield %5 : tensor<?x256xbf16>
  }
  return %4 : tensor<?x256xbf16>
}

// -----

// Without bulk copies nothing is brought.

#any = #tile.stream_schedule<level = "sm_80", most_rows = 0, rows = 64, columns = 128, step = 128, slots = 2, ranges = 16, cluster = 1, column_warps = 4, step_warps = 2, load_warps = 0>
#panels = #tile.panels<columns = 128>

// CHECK-LABEL: func @old
//   CHECK-NOT:   prefetch
func.func @old(%x: tensor<?x256xbf16> {weft.name = "x", weft.symbols = ["tokens"]}) -> tensor<?x256xbf16> {
  %0 = weft.dispatch "x" (%a = %x : tensor<?x256xbf16>) attributes {result_layouts = [#panels], schedules = [#tile.cuda_schedule<level = "sm_80", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>]} -> (tensor<?x256xbf16>) {
    %1 = arith.addf %a, %a : tensor<?x256xbf16>
    weft.yield %1 : tensor<?x256xbf16>
  }
  %w0 = weft.weight [#weft.source<"first">] layout fragments of [256, 256] : tensor<16x16x32x8xbf16>
  %2 = weft.dispatch "first" (%a = %0 : tensor<?x256xbf16>, %b = %w0 : tensor<16x16x32x8xbf16>) attributes {input_layouts = [#panels, unit], result_layouts = [#panels], schedules = [#any]} -> (tensor<?x256xbf16>) {
    %3 = weft.linear %a, %b layout fragments : (tensor<?x256xbf16>, tensor<16x16x32x8xbf16>) -> tensor<?x256xbf16>
    weft.yield %3 : tensor<?x256xbf16>
  }
  %w1 = weft.weight [#weft.source<"second">] layout fragments of [256, 256] : tensor<16x16x32x8xbf16>
  %4 = weft.dispatch "second" (%a = %2 : tensor<?x256xbf16>, %b = %w1 : tensor<16x16x32x8xbf16>) attributes {input_layouts = [#panels, unit], schedules = [#any]} -> (tensor<?x256xbf16>) {
    %5 = weft.linear %a, %b layout fragments : (tensor<?x256xbf16>, tensor<16x16x32x8xbf16>) -> tensor<?x256xbf16>
    weft.yield %5 : tensor<?x256xbf16>
  }
  return %4 : tensor<?x256xbf16>
}
