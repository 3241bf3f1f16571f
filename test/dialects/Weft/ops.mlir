// RUN: weft-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @embed
func.func @embed(%ids: tensor<?xi32>, %table: tensor<512x64xf32>) -> tensor<?x64xf32> {
  // CHECK: weft.embed %{{.*}}, %{{.*}} {scale = 8.000000e+00 : f32} : (tensor<?xi32>, tensor<512x64xf32>) -> tensor<?x64xf32>
  %x = weft.embed %ids, %table {scale = 8.0 : f32} : (tensor<?xi32>, tensor<512x64xf32>) -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}
