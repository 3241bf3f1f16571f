// RUN: weft-opt %s --weft-simplify-onnx --split-input-file | FileCheck %s

// Operators that change nothing are gone. // DOC

// CHECK-LABEL: func.func @nothing
//  CHECK-SAME:   (%[[X:.*]]: tensor<2x3xf32>
//  CHECK-NEXT:   %[[Y:.*]] = onnx.Relu(%[[X]])
//  CHECK-NEXT:   return %[[Y]]
func.func @nothing(%x: tensor<2x3xf32> {weft.name = "x"}) -> (tensor<2x3xf32> {weft.name = "y"}) {
  %shape = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %0 = onnx.Identity(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = onnx.Cast(%0) {to = f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = onnx.Expand(%1, %shape) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %3 = onnx.Transpose(%2) {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %4 = onnx.Transpose(%3) {perm = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %5:2 = onnx.Dropout(%4, none, none) : (tensor<2x3xf32>, none, none) -> (tensor<2x3xf32>, tensor<2x3xi1>)
  %6 = onnx.Relu(%5#0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %6 : tensor<2x3xf32>
}

// -----

// A shape that comes back; one that does not.

// CHECK-LABEL: func.func @reshapes
//  CHECK-SAME:   (%[[X:.*]]: tensor<2x6xf32>
//       CHECK:   %[[Z:.*]] = onnx.Reshape(%[[X]], %{{.*}}) {{.*}} -> tensor<3x4xf32>
//       CHECK:   return %[[X]], %[[Z]]
func.func @reshapes(%x: tensor<2x6xf32> {weft.name = "x"})
    -> (tensor<2x6xf32> {weft.name = "y"}, tensor<3x4xf32> {weft.name = "z"}) {
  %shape = onnx.Constant dense<[2, 6]> : tensor<2xi64>
  %other = onnx.Constant dense<[3, 4]> : tensor<2xi64>
  %0 = onnx.Reshape(%x, %other) : (tensor<2x6xf32>, tensor<2xi64>) -> tensor<3x4xf32>
  %1 = onnx.Reshape(%0, %shape) : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x6xf32>
  return %1, %0 : tensor<2x6xf32>, tensor<3x4xf32>
}

// -----

// The mask of a Dropout is read, a Cast rounds.

// CHECK-LABEL: func.func @kept
//       CHECK:   onnx.Dropout
//       CHECK:   onnx.Cast
func.func @kept(%x: tensor<3xf32> {weft.name = "x"})
    -> (tensor<3xf16> {weft.name = "y"}, tensor<3xi1> {weft.name = "m"}) {
  %0:2 = onnx.Dropout(%x, none, none) : (tensor<3xf32>, none, none) -> (tensor<3xf32>, tensor<3xi1>)
  %1 = onnx.Cast(%0#0) {to = f16} : (tensor<3xf32>) -> tensor<3xf16>
  return %1, %0#1 : tensor<3xf16>, tensor<3xi1>
}
