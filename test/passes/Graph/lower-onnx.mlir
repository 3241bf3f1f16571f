// RUN: weft-opt %s --weft-lower-onnx=loops-only --split-input-file --verify-diagnostics | FileCheck %s

// An operator becomes loops over elements; the names of sizes leave the types. // DOC

// CHECK-LABEL: func.func @relu
//  CHECK-SAME:   (%[[X:.*]]: tensor<?x4xf32> {weft.name = "x", weft.symbols = ["n"]}) -> (tensor<?x4xf32> {weft.name = "y"})
//       CHECK:   %[[N:.*]] = weft.size "n"
//       CHECK:   %[[EMPTY:.*]] = tensor.empty(%[[N]]) : tensor<?x4xf32>
//       CHECK:   linalg.generic {{.*}} ins(%[[X]] : tensor<?x4xf32>) outs(%[[EMPTY]] : tensor<?x4xf32>)
//       CHECK:     arith.maximumf
func.func @relu(%x: tensor<?x4xf32, #onnx.dims<"n">> {weft.name = "x", weft.symbols = ["n"]})
    -> (tensor<?x4xf32, #onnx.dims<"n">> {weft.name = "y"}) {
  %0 = onnx.Relu(%x) : (tensor<?x4xf32, #onnx.dims<"n">>) -> tensor<?x4xf32, #onnx.dims<"n">>
  return %0 : tensor<?x4xf32, #onnx.dims<"n">>
}

// -----

// Shape arithmetic is gone; a reshape is one.

// CHECK-LABEL: func.func @reshape
//   CHECK-NOT:   onnx.
//       CHECK:   %[[FLAT:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<?x8xf32> into tensor<?xf32>
//       CHECK:   tensor.expand_shape %[[FLAT]] {{\[}}[0, 1, 2]] output_shape [%{{.*}}, 4, 2] : tensor<?xf32> into tensor<?x4x2xf32>
func.func @reshape(%x: tensor<?x8xf32, #onnx.dims<"n">> {weft.name = "x", weft.symbols = ["n"]})
    -> (tensor<?x4x2xf32, #onnx.dims<"n">> {weft.name = "y"}) {
  %0 = onnx.Shape(%x) {end = 1 : i64} : (tensor<?x8xf32, #onnx.dims<"n">>) -> tensor<1xi64>
  %1 = onnx.Constant dense<[4, 2]> : tensor<2xi64>
  %2 = onnx.Concat(%0, %1) {axis = 0 : i64} : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
  %3 = onnx.Reshape(%x, %2) : (tensor<?x8xf32, #onnx.dims<"n">>, tensor<3xi64>) -> tensor<?x4x2xf32, #onnx.dims<"n">>
  return %3 : tensor<?x4x2xf32, #onnx.dims<"n">>
}

// -----

// Integers without a sign are marked at the border; a known tensor that is read as
// data is made of sizes.

// CHECK-LABEL: func.func @integers
//  CHECK-SAME:   tensor<2xi8> {weft.name = "x", weft.unsigned}
//       CHECK:   arith.minui %{{.*}}, %{{.*}} : i8
//       CHECK:   weft.size "n"
func.func @integers(%x: tensor<2xui8> {weft.name = "x"}, %y: tensor<?xf32, #onnx.dims<"n">> {weft.name = "y", weft.symbols = ["n"]})
    -> (tensor<2xui8> {weft.name = "a"}, tensor<1xi64> {weft.name = "b"}) {
  %0 = onnx.Min(%x, %x) : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  %1 = onnx.Shape(%y) : (tensor<?xf32, #onnx.dims<"n">>) -> tensor<1xi64>
  return %0, %1 : tensor<2xui8>, tensor<1xi64>
}

// -----

// CHECK-LABEL: func.func @weights
//       CHECK:   weft.weight [#weft.source<"w">] : tensor<4x4xf32>
func.func @weights(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2x4xf32> {weft.name = "y"}) {
  %0 = onnx.Initializer "w" : tensor<4x4xf32>
  %1 = onnx.MatMul(%x, %0) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

func.func @form(%x: tensor<1x4xf32> {weft.name = "x"}) -> (tensor<1x4xf32> {weft.name = "y"}) {
  %0 = onnx.Constant dense<true> : tensor<i1>
  // expected-error@+1 {{cannot be computed in this form yet}}
  %1:2 = onnx.Dropout(%x, none, %0) : (tensor<1x4xf32>, none, tensor<i1>) -> (tensor<1x4xf32>, tensor<1x4xi1>)
  return %1#0 : tensor<1x4xf32>
}
