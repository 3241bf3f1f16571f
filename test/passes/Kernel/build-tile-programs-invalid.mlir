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

#schedule = #tile.cpu_schedule<level = "x86-64-v4", rows = 6, columns = 64, unroll = 8, row_columns = 64, row_panels = 1, row_unroll = 8, row_block = 48, column_block = 64, mma = fma>
func.func @norm_of_heads(%x: tensor<?x4x16xf32>, %n: tensor<16xf32>) -> tensor<?x4x16xf32> {
  %0 = weft.dispatch "norm" (%a = %x : tensor<?x4x16xf32>, %b = %n : tensor<16xf32>) attributes {schedules = [#schedule]} -> (tensor<?x4x16xf32>) {
    // expected-error @+1 {{of rows must have a matrix, not}}
    %1 = weft.layer_norm %a, %b {epsilon = 1.0e-5 : f32} : tensor<?x4x16xf32>, tensor<16xf32>
    weft.yield %1 : tensor<?x4x16xf32>
  }
  return %0 : tensor<?x4x16xf32>
}
