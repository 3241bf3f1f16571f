// RUN: weft-opt %s --weft-assign-layouts --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-assign-layouts --weft-build-tile-programs --canonicalize --split-input-file | FileCheck %s --check-prefix=PROGRAM
// RUN: weft-opt %s --weft-assign-layouts --remarks-filter=assign-layouts --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#rows = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 1024, unroll = 8, row_columns = 1024, row_unroll = 8, row_block = 1, column_block = 1024>
#matrix = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>

// What a linear layer multiplies by a weight in core matrices is written and read
// in panels, also by others that read it.

// CHECK-LABEL: func @chain
//       CHECK:   weft.dispatch "norm"
//  CHECK-SAME:     attributes {result_layouts = [#tile.panels<columns = 128>]
//       CHECK:   weft.dispatch "linear"
//  CHECK-SAME:     attributes {input_layouts = [#tile.panels<columns = 128>, unit], schedules
//       CHECK:   weft.dispatch "other"
//  CHECK-SAME:     attributes {input_layouts = [unit, #tile.panels<columns = 128>], schedules

// The kernels see logical shapes, the entry point the shape in memory.

// PROGRAM-LABEL: tile.program @rms_norm
//       PROGRAM:   tile.kernel @sm_90a {{.*}}: memref<?x256xbf16>, {{.*}}: memref<1x256xbf16>, %[[Y:.*]]: memref<?x256xbf16, #tile.panels<columns = 128>>)
//       PROGRAM:   tile.store {{.*}}, %[[Y]]
// PROGRAM-LABEL: tile.program @linear
//       PROGRAM:   tile.kernel @sm_90a {{.*}} (%[[X:.*]]: memref<?x256xbf16, #tile.panels<columns = 128>>, %[[W:.*]]: memref<64x256xbf16, #tile.core_matrices>, %{{.*}}: memref<?x64xbf16>)
//       PROGRAM:   tile.load %[[X]]{{.*}} -> tensor<1x8xbf16>
//       PROGRAM:   tile.load %[[W]][%[[N:.*]], %[[K:.*]]] dims [1, 0] {{.*}} -> tensor<8x64xbf16>
// PROGRAM-LABEL: func.func @chain
//       PROGRAM:   %[[P:.*]] = tile.launch @rms_norm {{.*}} sizes {{\[\[}}"2", "7 + tokens", "128"]] {{.*}} -> tensor<2x?x128xbf16>
//       PROGRAM:   tile.launch @linear "linear"(%[[P]], {{.*}} sizes {{\[\[}}"tokens", "64"]]
//       PROGRAM:   tile.launch @addf "other"({{.*}}, %[[P]])
func.func @chain(%x: tensor<?x256xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %w: tensor<256xbf16>, %m: tensor<4x2x32x8x8xbf16>) -> (tensor<?x64xbf16>, tensor<?x256xbf16>) {
  %0 = weft.dispatch "norm" (%a = %x : tensor<?x256xbf16>, %b = %w : tensor<256xbf16>) attributes {schedules = [#rows]} -> (tensor<?x256xbf16>) {
    %1 = weft.rms_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x256xbf16>, tensor<256xbf16>
    weft.yield %1 : tensor<?x256xbf16>
  }
  %2 = weft.dispatch "linear" (%a = %0 : tensor<?x256xbf16>, %b = %m : tensor<4x2x32x8x8xbf16>) attributes {schedules = [#matrix]} -> (tensor<?x64xbf16>) {
    %3 = weft.linear %a, %b layout core_matrices : (tensor<?x256xbf16>, tensor<4x2x32x8x8xbf16>) -> tensor<?x64xbf16>
    weft.yield %3 : tensor<?x64xbf16>
  }
  %4 = weft.dispatch "other" (%a = %x : tensor<?x256xbf16>, %b = %0 : tensor<?x256xbf16>) attributes {schedules = [#rows]} -> (tensor<?x256xbf16>) {
    %5 = arith.addf %a, %b : tensor<?x256xbf16>
    weft.yield %5 : tensor<?x256xbf16>
  }
  return %2, %4 : tensor<?x64xbf16>, tensor<?x256xbf16>
}

// -----

// Heads of a rank of three are columns of a row; a kernel that picks rows has
// other rows, whose input stays as it is.

#rows = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 1024, unroll = 8, row_columns = 1024, row_unroll = 8, row_block = 1, column_block = 1024>
#matrix = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>

// CHECK-LABEL: func @heads
//       CHECK:   weft.dispatch "rope"
//  CHECK-SAME:     attributes {result_layouts = [#tile.panels<columns = 128>]
//       CHECK:   weft.dispatch "linear"
//  CHECK-SAME:     attributes {input_layouts = [#tile.panels<columns = 128>, unit], schedules
//       CHECK:   weft.dispatch "pick"
//  CHECK-SAME:     attributes {result_layouts = [#tile.panels<columns = 128>]
//       CHECK:   weft.dispatch "head"
//  CHECK-SAME:     attributes {input_layouts = [#tile.panels<columns = 128>, unit], schedules
// PROGRAM-LABEL: func.func @heads
//       PROGRAM:   sizes {{\[\[}}"2", "7 + tokens", "128"]]
//       PROGRAM:   sizes {{\[\[}}"tokens", "256"]]
//       PROGRAM:   sizes {{\[\[}}"2", "7 + logits", "128"]]
func.func @heads(%x: tensor<?x4x64xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %cos: tensor<?x32xf32> {weft.name = "cos", weft.symbols = ["tokens"]}, %sin: tensor<?x32xf32> {weft.name = "sin", weft.symbols = ["tokens"]}, %ids: tensor<?xi32> {weft.name = "ids", weft.symbols = ["logits"]}, %m: tensor<16x2x32x8x8xbf16>) -> tensor<?x256xbf16> {
  %0 = weft.dispatch "rope" (%a = %x : tensor<?x4x64xbf16>, %b = %cos : tensor<?x32xf32>, %c = %sin : tensor<?x32xf32>) attributes {schedules = [#rows]} -> (tensor<?x4x64xbf16>) {
    %1 = weft.rope %a, %b, %c : tensor<?x4x64xbf16>, tensor<?x32xf32>
    weft.yield %1 : tensor<?x4x64xbf16>
  }
  %2 = weft.dispatch "linear" (%a = %0 : tensor<?x4x64xbf16>, %b = %m : tensor<16x2x32x8x8xbf16>) attributes {schedules = [#matrix]} -> (tensor<?x256xbf16>) {
    %3 = tensor.collapse_shape %a [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
    %4 = weft.linear %3, %b layout core_matrices : (tensor<?x256xbf16>, tensor<16x2x32x8x8xbf16>) -> tensor<?x256xbf16>
    weft.yield %4 : tensor<?x256xbf16>
  }
  %5 = weft.dispatch "pick" (%a = %ids : tensor<?xi32>, %b = %2 : tensor<?x256xbf16>) attributes {schedules = [#rows]} -> (tensor<?x256xbf16>) {
    %6 = weft.embed %a, %b : (tensor<?xi32>, tensor<?x256xbf16>) -> tensor<?x256xbf16>
    weft.yield %6 : tensor<?x256xbf16>
  }
  %7 = weft.dispatch "head" (%a = %5 : tensor<?x256xbf16>, %b = %m : tensor<16x2x32x8x8xbf16>) attributes {schedules = [#matrix]} -> (tensor<?x256xbf16>) {
    %8 = weft.linear %a, %b layout core_matrices : (tensor<?x256xbf16>, tensor<16x2x32x8x8xbf16>) -> tensor<?x256xbf16>
    weft.yield %8 : tensor<?x256xbf16>
  }
  return %7 : tensor<?x256xbf16>
}

// -----

// What is returned, read by a kernel of other rows, or has other columns stays
// row-major; and so does everything on a CPU.

#rows = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 1024, unroll = 8, row_columns = 1024, row_unroll = 8, row_block = 1, column_block = 1024>
#matrix = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>
#cpu = #tile.cpu_schedule<level = "x86-64-v4", rows = 6, columns = 64, unroll = 8, row_columns = 64, row_panels = 1, row_unroll = 8, row_block = 48, column_block = 64, mma = fma>

// CHECK-LABEL: func @others
//   CHECK-NOT:   layouts
// REMARK-DAG: the entry point returns it
// REMARK-DAG: a kernel of other rows reads it
// REMARK-DAG: its elements are not 16-bit floats
func.func @others(%x: tensor<?x128xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %z: tensor<?x128xf32> {weft.name = "z", weft.symbols = ["tokens"]}, %ids: tensor<?xi32> {weft.name = "ids", weft.symbols = ["logits"]}, %m: tensor<8x1x32x8x8xbf16>)
    -> (tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x128xf32>, tensor<?x128xbf16>) {
  %0 = weft.dispatch "returned" (%a = %x : tensor<?x128xbf16>) attributes {schedules = [#rows]} -> (tensor<?x128xbf16>) {
    %1 = weft.activation silu %a : tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  %2 = weft.dispatch "l0" (%a = %0 : tensor<?x128xbf16>, %b = %m : tensor<8x1x32x8x8xbf16>) attributes {schedules = [#matrix]} -> (tensor<?x128xbf16>) {
    %1 = weft.linear %a, %b layout core_matrices : (tensor<?x128xbf16>, tensor<8x1x32x8x8xbf16>) -> tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  %3 = weft.dispatch "picked" (%a = %x : tensor<?x128xbf16>) attributes {schedules = [#rows]} -> (tensor<?x128xbf16>) {
    %1 = weft.activation gelu %a : tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  %4 = weft.dispatch "l1" (%a = %3 : tensor<?x128xbf16>, %b = %m : tensor<8x1x32x8x8xbf16>) attributes {schedules = [#matrix]} -> (tensor<?x128xbf16>) {
    %1 = weft.linear %a, %b layout core_matrices : (tensor<?x128xbf16>, tensor<8x1x32x8x8xbf16>) -> tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  %5 = weft.dispatch "pick" (%a = %ids : tensor<?xi32>, %b = %3 : tensor<?x128xbf16>) attributes {schedules = [#rows]} -> (tensor<?x128xbf16>) {
    %1 = weft.embed %a, %b : (tensor<?xi32>, tensor<?x128xbf16>) -> tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  %8 = weft.dispatch "wide" (%a = %z : tensor<?x128xf32>) attributes {schedules = [#rows]} -> (tensor<?x128xf32>) {
    %1 = weft.activation silu %a : tensor<?x128xf32>
    weft.yield %1 : tensor<?x128xf32>
  }
  %9 = weft.dispatch "l3" (%a = %8 : tensor<?x128xf32>, %b = %m : tensor<8x1x32x8x8xbf16>) attributes {schedules = [#matrix]} -> (tensor<?x128xf32>) {
    %1 = weft.linear %a, %b layout core_matrices : (tensor<?x128xf32>, tensor<8x1x32x8x8xbf16>) -> tensor<?x128xf32>
    weft.yield %1 : tensor<?x128xf32>
  }
  %10 = weft.dispatch "host" (%a = %x : tensor<?x128xbf16>) attributes {schedules = [#cpu]} -> (tensor<?x128xbf16>) {
    %1 = weft.activation relu %a : tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  %11 = weft.dispatch "l4" (%a = %10 : tensor<?x128xbf16>, %b = %m : tensor<8x1x32x8x8xbf16>) attributes {schedules = [#cpu]} -> (tensor<?x128xbf16>) {
    %1 = weft.linear %a, %b layout core_matrices : (tensor<?x128xbf16>, tensor<8x1x32x8x8xbf16>) -> tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  return %0, %2, %4, %5, %9, %11 : tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x128xf32>, tensor<?x128xbf16>
}
