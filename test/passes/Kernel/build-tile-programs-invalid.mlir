// RUN: weft-opt %s --weft-build-tile-programs --split-input-file --verify-diagnostics

func.func @no_schedules(%x: tensor<?x64xf32>, %n: tensor<64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{has no schedules; run weft-choose-schedules first}}
  %0 = weft.dispatch "norm" (%a = %x : tensor<?x64xf32>, %b = %n : tensor<64xf32>) -> (tensor<?x64xf32>) {
    %1 = weft.rms_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x64xf32>, tensor<64xf32>
    weft.yield %1 : tensor<?x64xf32>
  }
  return %0 : tensor<?x64xf32>
}

// -----

#schedule = #tile.cpu_schedule<level = "x86-64-v4", rows = 6, columns = 64, unroll = 8, row_columns = 64, row_panels = 1, row_unroll = 8, row_block = 48, column_block = 64, mma = fma>
func.func @not_packed(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // expected-error @+1 {{has a weight that is not packed; run weft-pack-weights first}}
  %0 = weft.dispatch "linear" (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64xf32>) attributes {schedules = [#schedule]} -> (tensor<?x64xf32>) {
    %1 = weft.linear %a, %b : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
    weft.yield %1 : tensor<?x64xf32>
  }
  return %0 : tensor<?x64xf32>
}

// -----

// An operation of several results between row operations.

#schedule = #tile.cpu_schedule<level = "x86-64-v4", rows = 6, columns = 64, unroll = 8, row_columns = 64, row_panels = 1, row_unroll = 8, row_block = 48, column_block = 64, mma = fma>
func.func @two_results(%x: tensor<?x64xi32>) -> tensor<?x64xi32> {
  %0 = weft.dispatch "sum" (%a = %x : tensor<?x64xi32>) attributes {schedules = [#schedule]} -> (tensor<?x64xi32>) {
    // expected-error @+1 {{has no kernel}}
    %1, %2 = arith.addui_extended %a, %a : tensor<?x64xi32>, tensor<?x64xi1>
    weft.yield %1 : tensor<?x64xi32>
  }
  return %0 : tensor<?x64xi32>
}

// -----

// What only names a part of a value has no rows.

#schedule = #tile.cpu_schedule<level = "x86-64-v4", rows = 6, columns = 64, unroll = 8, row_columns = 64, row_panels = 1, row_unroll = 8, row_block = 48, column_block = 64, mma = fma>
func.func @no_rows(%x: tensor<?x64xf32>) -> tensor<?x8xf32> {
  %0 = weft.dispatch "part" (%a = %x : tensor<?x64xf32>) attributes {schedules = [#schedule]} -> (tensor<?x8xf32>) {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{cannot be a kernel of its own: nothing says which of its operands has the kernel's rows}}
    %rows = tensor.dim %a, %c0 : tensor<?x64xf32>
    %1 = tensor.extract_slice %a[0, 0] [%rows, 8] [1, 1] : tensor<?x64xf32> to tensor<?x8xf32>
    weft.yield %1 : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// -----

#schedule = #tile.cpu_schedule<level = "x86-64-v4", rows = 6, columns = 64, unroll = 8, row_columns = 64, row_panels = 1, row_unroll = 8, row_block = 48, column_block = 64, mma = fma>
func.func @norm_of_heads(%x: tensor<?x4x16xf32>, %n: tensor<16xf32>) -> tensor<?x4x16xf32> {
  %0 = weft.dispatch "norm" (%a = %x : tensor<?x4x16xf32>, %b = %n : tensor<16xf32>) attributes {schedules = [#schedule]} -> (tensor<?x4x16xf32>) {
    // expected-error @+1 {{of rows must have a matrix, not}}
    %1 = weft.layer_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x4x16xf32>, tensor<16xf32>
    weft.yield %1 : tensor<?x4x16xf32>
  }
  return %0 : tensor<?x4x16xf32>
}

// -----

#rows = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 1024, unroll = 8, row_columns = 1024, row_unroll = 8, row_block = 1, column_block = 1024>

func.func @f(%x: tensor<?x128xbf16> {weft.name = "x", weft.symbols = ["tokens"]}) -> tensor<?x128xbf16> {
  // expected-error @below {{needs a list of 1 layouts in 'input_layouts', found [unit, unit]}}
  %0 = weft.dispatch "d" (%a = %x : tensor<?x128xbf16>) attributes {input_layouts = [unit, unit], schedules = [#rows]} -> (tensor<?x128xbf16>) {
    %1 = weft.activation silu %a : tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  return %0 : tensor<?x128xbf16>
}

// -----

#rows = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 1024, unroll = 8, row_columns = 1024, row_unroll = 8, row_block = 1, column_block = 1024>

func.func @f(%x: tensor<?x128xbf16> {weft.name = "x", weft.symbols = ["tokens"]}) -> tensor<?x128xbf16> {
  // expected-error @below {{has #tile.core_matrices in 'result_layouts'; expected #tile.panels or unit}}
  %0 = weft.dispatch "d" (%a = %x : tensor<?x128xbf16>) attributes {result_layouts = [#tile.core_matrices], schedules = [#rows]} -> (tensor<?x128xbf16>) {
    %1 = weft.activation silu %a : tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  return %0 : tensor<?x128xbf16>
}

// -----

#rows = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 1024, unroll = 8, row_columns = 1024, row_unroll = 8, row_block = 1, column_block = 1024>

func.func @f(%x: tensor<?x64xbf16> {weft.name = "x", weft.symbols = ["tokens"]}) -> tensor<?x64xbf16> {
  // expected-error @below {{cannot store 'tensor<?x64xbf16>' as #tile.panels<columns = 128>, in 'result_layouts'}}
  %0 = weft.dispatch "d" (%a = %x : tensor<?x64xbf16>) attributes {result_layouts = [#tile.panels<columns = 128>], schedules = [#rows]} -> (tensor<?x64xbf16>) {
    %1 = weft.activation silu %a : tensor<?x64xbf16>
    weft.yield %1 : tensor<?x64xbf16>
  }
  return %0 : tensor<?x64xbf16>
}

// -----

#rows = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 1, columns = 1024, unroll = 8, row_columns = 1024, row_unroll = 8, row_block = 1, column_block = 1024>

func.func @f(%x: tensor<?x128xbf16> {weft.name = "x", weft.symbols = ["tokens"]}) -> tensor<?x128xbf16> {
  // expected-error @below {{reads input 0 in another layout than it is written in; see 'input_layouts' and 'result_layouts'}}
  %0 = weft.dispatch "d" (%a = %x : tensor<?x128xbf16>) attributes {input_layouts = [#tile.panels<columns = 128>], schedules = [#rows]} -> (tensor<?x128xbf16>) {
    %1 = weft.activation silu %a : tensor<?x128xbf16>
    weft.yield %1 : tensor<?x128xbf16>
  }
  return %0 : tensor<?x128xbf16>
}

// -----

#matrix = #tile.cuda_schedule<level = "sm_90a", threads = 64, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>

func.func @f(%x: tensor<?x128xbf16> {weft.name = "x", weft.symbols = ["tokens"]}, %w: tensor<8x4x1x32x8x8xbf16>, %e: tensor<?x2xi32> {weft.name = "e", weft.symbols = ["tokens"]}) -> tensor<?x2x64xbf16> {
  // expected-error @below {{multiplies by weights of experts in #weft.core_matrices; expected panels}}
  %0 = weft.dispatch "d" (%a = %x : tensor<?x128xbf16>, %b = %w : tensor<8x4x1x32x8x8xbf16>, %c = %e : tensor<?x2xi32>) attributes {schedules = [#matrix]} -> (tensor<?x2x64xbf16>) {
    %1 = weft.grouped_linear %a, %b, %c layout core_matrices : (tensor<?x128xbf16>, tensor<8x4x1x32x8x8xbf16>, tensor<?x2xi32>) -> tensor<?x2x64xbf16>
    weft.yield %1 : tensor<?x2x64xbf16>
  }
  return %0 : tensor<?x2x64xbf16>
}
