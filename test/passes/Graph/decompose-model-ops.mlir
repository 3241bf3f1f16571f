// RUN: weft-opt %s --weft-decompose-model-ops --split-input-file | FileCheck %s

// An operation becomes the arithmetic that defines it.

// CHECK-LABEL: func.func @softcap
//       CHECK:   linalg.generic
//       CHECK:     %[[CAP:.*]] = arith.constant 3.000000e+01 : f32
//       CHECK:     %[[X:.*]] = arith.divf %{{.*}}, %[[CAP]] : f32
//       CHECK:     math.tanh %[[X]] : f32
//   CHECK-NOT:   weft.
func.func @softcap(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = weft.softcap %x {cap = 30.0 : f32} : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// The bodies of dispatches too; the dispatch itself stays, and so do weights,
// which are data and not computed.

// CHECK-LABEL: func.func @dispatch
//       CHECK:   %[[W:.*]] = weft.weight
//       CHECK:   weft.dispatch "head" ({{.*}} = %[[W]] : tensor<96x64xf32>
//   CHECK-NOT:     weft.linear
//       CHECK:     linalg.
//       CHECK:     weft.yield
func.func @dispatch(%x: tensor<?x64xf32>) -> tensor<?x96xf32> {
  %w = weft.weight [#weft.source<"w">] : tensor<96x64xf32>
  %0 = weft.dispatch "head" (%b = %w : tensor<96x64xf32>, %a = %x : tensor<?x64xf32>) -> (tensor<?x96xf32>) {
    %1 = weft.linear %a, %b : (tensor<?x64xf32>, tensor<96x64xf32>) -> tensor<?x96xf32>
    weft.yield %1 : tensor<?x96xf32>
  }
  return %0 : tensor<?x96xf32>
}

// -----

// Numbers of 16 bits are computed with in f32 and rounded once.

// CHECK-LABEL: func.func @bf16
//       CHECK:   arith.extf %{{.*}} : bf16 to f32
//       CHECK:   arith.truncf %{{.*}} : f32 to bf16
//   CHECK-NOT:   weft.
func.func @bf16(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %0 = weft.activation gelu %x : tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}
