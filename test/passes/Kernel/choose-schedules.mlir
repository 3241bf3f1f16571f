// RUN: weft-opt %s --weft-choose-schedules=levels=x86-64-v2,x86-64-v4-bf16 --split-input-file | FileCheck %s
// RUN: not weft-opt %s --weft-choose-schedules=levels=pentium 2>&1 | FileCheck %s --check-prefix=ERROR

// RUN: weft-opt %s --weft-choose-schedules=levels=sm_80,sm_90a --split-input-file | FileCheck %s --check-prefix=CUDA
// RUN: not weft-opt %s --weft-choose-schedules=levels=x86-64-v2,sm_90a 2>&1 | FileCheck %s --check-prefix=MIXED

// ERROR: unknown level 'pentium'; expected one of x86-64-v2
// MIXED: a program is for CPU levels or for GPU architectures, found both: 'x86-64-v2' and 'sm_90a'

// The kernels of all architectures share one grid.

// CUDA-LABEL: func @bf16
//       CUDA: schedules = [#tile.cuda_schedule<level = "sm_80", threads = 64, {{.*}}row_block = [[ROWS:[0-9]+]], column_block = [[COLUMNS:[0-9]+]]>,
//  CUDA-SAME:              #tile.cuda_schedule<level = "sm_90a", threads = 64, {{.*}}row_block = [[ROWS]], column_block = [[COLUMNS]]>]


// One schedule per level, baseline first; bf16 operands take the dot product
// where the level has it.

// CHECK-LABEL: func @bf16
//       CHECK:   schedules = [#tile.cpu_schedule<level = "x86-64-v2", {{.*}}row_panels = 2, {{.*}}mma = fma>,
//  CHECK-SAME:                #tile.cpu_schedule<level = "x86-64-v4-bf16", rows = 6, columns = 64, {{.*}}row_panels = 8, {{.*}}mma = dot_bf16>]
func.func @bf16(%x: tensor<?x64xbf16>, %w: tensor<2x32x64x2xbf16>) -> tensor<?x128xbf16> {
  %0 = weft.dispatch "linear" (%a = %x : tensor<?x64xbf16>, %b = %w : tensor<2x32x64x2xbf16>) -> (tensor<?x128xbf16>) {
    %1 = weft.linear %a, %b layout panels<columns = 64, group = 2> : (tensor<?x64xbf16>, tensor<2x32x64x2xbf16>) -> tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  return %0 : tensor<?x128xbf16>
}

// -----

// The two accumulators of a gate share the registers and the panels.

// CHECK-LABEL: func @gate
//       CHECK:   level = "x86-64-v4-bf16", rows = 6, columns = 32, unroll = 1, row_columns = 64, row_panels = 4,
func.func @gate(%x: tensor<?x64xf32>, %g: tensor<1x64x64x1xf32>, %u: tensor<1x64x64x1xf32>) -> tensor<?x64xf32> {
  %0 = weft.dispatch "gate" (%a = %x : tensor<?x64xf32>, %b = %g : tensor<1x64x64x1xf32>, %c = %u : tensor<1x64x64x1xf32>) -> (tensor<?x64xf32>) {
    %1 = weft.linear %a, %b layout panels<columns = 64, group = 1> : (tensor<?x64xf32>, tensor<1x64x64x1xf32>) -> tensor<?x64xf32>
    %2 = weft.linear %a, %c layout panels<columns = 64, group = 1> : (tensor<?x64xf32>, tensor<1x64x64x1xf32>) -> tensor<?x64xf32>
    %3 = weft.gated_activation silu %1, %2 : tensor<?x64xf32>
    weft.yield %3 : tensor<?x64xf32>
  }
  return %0 : tensor<?x64xf32>
}

// -----

// Blocks of a cluster divide a row that they choose an id of, each as many tiles
// as it has under way or more.

// CUDA-LABEL: func @sample
//       CUDA:   schedules = [#tile.cuda_schedule<level = "sm_80", threads = 512, rows = 1, columns = 2048, unroll = 4, {{.*}}column_block = 2048>,
//  CUDA-SAME:                #tile.cuda_schedule<level = "sm_90a", threads = 512, rows = 1, columns = 2048, unroll = 4, {{.*}}column_block = 2048, cluster = 8>]
//       CUDA:   schedules = [#tile.cuda_schedule<level = "sm_80", threads = 128, rows = 1, columns = 512, unroll = 4, {{.*}}column_block = 512>,
//  CUDA-SAME:                #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 512, unroll = 4, {{.*}}column_block = 512>]
func.func @sample(%x: tensor<?x128256xf32>, %y: tensor<?x2000xf32>, %c: tensor<?x2xi32>, %o: tensor<?x4xf32>) -> (tensor<?xi32>, tensor<?xi32>) {
  %0 = weft.dispatch "sample" (%a = %x : tensor<?x128256xf32>, %b = %c : tensor<?x2xi32>, %d = %o : tensor<?x4xf32>) -> (tensor<?xi32>) {
    %2 = weft.sample %a, %b, %d : tensor<?x128256xf32>, tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>
    weft.yield %2 : tensor<?xi32>
  }
  %1 = weft.dispatch "sample" (%a = %y : tensor<?x2000xf32>, %b = %c : tensor<?x2xi32>, %d = %o : tensor<?x4xf32>) -> (tensor<?xi32>) {
    %2 = weft.sample %a, %b, %d : tensor<?x2000xf32>, tensor<?x2xi32>, tensor<?x4xf32> -> tensor<?xi32>
    weft.yield %2 : tensor<?xi32>
  }
  return %0, %1 : tensor<?xi32>, tensor<?xi32>
}
