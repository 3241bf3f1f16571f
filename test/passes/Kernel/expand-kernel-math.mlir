// RUN: weft-opt %s --weft-expand-kernel-math --split-input-file | FileCheck %s --implicit-check-not=math.{{exp,rsqrt,tanh}}

// A reciprocal square root is a division, not an estimate.

// CHECK-LABEL: func.func @norm
//       CHECK:   %[[ROOT:.*]] = math.sqrt %{{.*}} : vector<8xf32>
//       CHECK:   arith.divf %{{.*}}, %[[ROOT]] : vector<8xf32>
module @"norm.x86-64-v3" attributes {tile.function = "norm", tile.level = "x86-64-v3", tile.program = "norm"} {
  func.func @norm(%x: vector<8xf32>) -> vector<8xf32> {
    %0 = math.rsqrt %x : vector<8xf32>
    return %0 : vector<8xf32>
  }
}

// -----

// The exponential is a polynomial of fused multiplications and additions.

// CHECK-LABEL: func.func @softmax
// CHECK-COUNT-5: math.fma
module @"softmax.x86-64-v3" attributes {tile.function = "softmax", tile.level = "x86-64-v3", tile.program = "softmax"} {
  func.func @softmax(%x: vector<8xf32>) -> vector<8xf32> {
    %0 = math.exp %x : vector<8xf32>
    return %0 : vector<8xf32>
  }
}

// -----

// A level without FMA multiplies, then adds; also what the polynomials use.

// CHECK-LABEL: func.func @baseline
//   CHECK-NOT:   math.fma
//       CHECK:   %[[P:.*]] = arith.mulf %arg0, %arg1 : vector<4xf32>
//       CHECK:   arith.addf %[[P]], %arg2 : vector<4xf32>
//   CHECK-NOT:   math.fma
//       CHECK:   return
module @"baseline.x86-64-v2" attributes {tile.function = "baseline", tile.level = "x86-64-v2", tile.program = "baseline"} {
  func.func @baseline(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>) {
    %0 = math.fma %a, %b, %c : vector<4xf32>
    %1 = math.tanh %0 : vector<4xf32>
    return %0, %1 : vector<4xf32>, vector<4xf32>
  }
}

// -----

// Modules that are not kernels are left alone.

// CHECK-LABEL: func.func @other
//       CHECK:   math.sqrt
//   CHECK-NOT:   arith.divf
module @model {
  func.func @other(%x: vector<8xf32>) -> vector<8xf32> {
    %0 = math.sqrt %x : vector<8xf32>
    return %0 : vector<8xf32>
  }
}

// -----

// CUDA has an exponential; sine and cosine would need memory of each thread.

// CHECK-LABEL: module @table.sm_90a
//   CHECK-NOT:   math.sin
//       CHECK:   math.exp %
module @table.sm_90a attributes {tile.level = "sm_90a", tile.program = "table"} {
  func.func @table(%x: f32) -> (f32, f32) {
    %0 = math.sin %x : f32
    %1 = math.exp %x : f32
    return %0, %1 : f32, f32
  }
}
