// The shape of decompositions; what they compute is tested by running them
// (DecomposeTest.cpp).
// RUN: weft-opt %s --weft-decompose-model-ops --canonicalize --cse | FileCheck %s
// RUN: weft-opt %s --weft-reference-to-llvm | FileCheck %s --check-prefix=LLVM --implicit-check-not=unrealized_conversion_cast
// RUN: weft-opt %s --weft-decompose-model-ops --one-shot-bufferize=bufferize-function-boundaries | FileCheck %s --check-prefix=BUFFERS

// One reduction in f32, then one rounding together with the bias.
// CHECK-LABEL: func.func @linear
// LLVM-LABEL: llvm.func @linear
func.func @linear(%x: tensor<?x63xbf16>, %w: tensor<95x63xbf16>, %b: tensor<95xbf16>) -> tensor<?x95xbf16> {
  // CHECK: %[[ZERO:.*]] = linalg.fill {{.*}} -> tensor<?x95xf32>
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : tensor<?x63xbf16>, tensor<95x63xbf16>) outs(%[[ZERO]]
  // CHECK-COUNT-2: arith.extf {{.*}} : bf16 to f32
  // CHECK-NOT: arith.truncf
  // CHECK: linalg.generic {{.*}} ins(%[[SUM]], %{{.*}} : tensor<?x95xf32>, tensor<95xbf16>)
  // CHECK: arith.addf
  // CHECK: arith.truncf {{.*}} : f32 to bf16
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %y = weft.linear %x, %w bias %b : (tensor<?x63xbf16>, tensor<95x63xbf16>, tensor<95xbf16>) -> tensor<?x95xbf16>
  return %y : tensor<?x95xbf16>
}

// A packed weight is read at its place in the panels.
// CHECK-LABEL: func.func @packed_linear
func.func @packed_linear(%x: tensor<?x63xf32>, %w: tensor<12x32x8x2xf32>) -> tensor<?x95xf32> {
  // CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
  // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
  // CHECK: linalg.generic
  // CHECK: %[[N:.*]] = linalg.index 1
  // CHECK: %[[K:.*]] = linalg.index 2
  // CHECK-DAG: %[[PANEL:.*]] = arith.divui %[[N]], %[[C8]]
  // CHECK-DAG: %[[GROUP:.*]] = arith.divui %[[K]], %[[C2]]
  // CHECK-DAG: %[[COLUMN:.*]] = arith.remui %[[N]], %[[C8]]
  // CHECK-DAG: %[[ELEMENT:.*]] = arith.remui %[[K]], %[[C2]]
  // CHECK: tensor.extract %{{.*}}[%[[PANEL]], %[[GROUP]], %[[COLUMN]], %[[ELEMENT]]]
  %y = weft.linear %x, %w layout panels<columns = 8, group = 2> : (tensor<?x63xf32>, tensor<12x32x8x2xf32>) -> tensor<?x95xf32>
  return %y : tensor<?x95xf32>
}

// An append inserts into the cache it got, so that it bufferizes in place: no
// cache is allocated or copied.
// CHECK-LABEL: func.func @append
// LLVM-LABEL: llvm.func @append
// BUFFERS-LABEL: func.func @append
// BUFFERS-NOT: memref.alloc
// BUFFERS-NOT: memref.copy
// BUFFERS: return
func.func @append(%cache: tensor<?x4x64x64xf32>, %k: tensor<?x4x64xf32>, %slots: tensor<?xi32>) -> tensor<?x4x64x64xf32> {
  // CHECK-NOT: tensor.empty
  // CHECK-COUNT-3: scf.for
  // CHECK: tensor.insert
  %new = weft.cache_append key %cache, %k, %slots : tensor<?x4x64x64xf32>, tensor<?x4x64xf32>
  return %new : tensor<?x4x64x64xf32>
}

// Angles are products in f32, reduced in f64.
// CHECK-LABEL: func.func @rope_table
func.func @rope_table(%p: tensor<?xi32>, %f: tensor<1x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  // CHECK: %[[ANGLE:.*]] = arith.mulf {{.*}} : f32
  // CHECK: %[[WIDE:.*]] = arith.extf %[[ANGLE]] : f32 to f64
  // CHECK: math.cos %[[WIDE]] : f64
  // CHECK: arith.truncf {{.*}} : f64 to f32
  // CHECK: math.sin {{.*}} : f64
  %cos, %sin = weft.rope_table %p, %f {scale = array<f32: 1.0>} : (tensor<?xi32>, tensor<1x32xf32>) -> tensor<?x32xf32>
  return %cos, %sin : tensor<?x32xf32>, tensor<?x32xf32>
}

// The cap comes before the mask, the maximum before the exponential.
// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x8x64xf32>, %k: tensor<?x4x64x16xf32>, %v: tensor<?x4x16x64xf32>, %p: tensor<?xi32>,
    %ids: tensor<?xi32>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x8x64xf32> {
  // CHECK: math.tanh
  // CHECK: arith.select
  // CHECK: arith.maximumf
  // CHECK: arith.subf
  // CHECK: math.exp
  %o = weft.attention %q, %k, %v positions %p sequences %ids, %starts context %lengths, %table
      {scale = 0.125 : f32, causal, window = 512 : i64, softcap = 50.0 : f32}
      : (tensor<?x8x64xf32>, tensor<?x4x64x16xf32>, tensor<?x4x16x64xf32>) -> tensor<?x8x64xf32>
  return %o : tensor<?x8x64xf32>
}
