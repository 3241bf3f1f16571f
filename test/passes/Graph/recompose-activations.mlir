// RUN: weft-opt %s --weft-recompose-activations --split-input-file | FileCheck %s

// x * sigmoid(x). // DOC

// CHECK-LABEL: func.func @swish
//  CHECK-NEXT:   onnx.Swish(%{{.*}}) {alpha = 1.000000e+00 : f32}
//  CHECK-NEXT:   return
func.func @swish(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2x4xf32> {weft.name = "y"}) {
  %0 = onnx.Sigmoid(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = onnx.Mul(%x, %0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// x * sigmoid(1.702 x), x / (1 + exp(-x)).

// CHECK-LABEL: func.func @quick
//       CHECK:   onnx.Swish(%{{.*}}) {alpha = 1.702{{0*}}{{.*}} : f32}
//       CHECK:   onnx.Swish(%{{.*}}) {alpha = 1.000000e+00 : f32}
func.func @quick(%x: tensor<2x4xf32> {weft.name = "x"})
    -> (tensor<2x4xf32> {weft.name = "y"}, tensor<2x4xf32> {weft.name = "z"}) {
  %factor = onnx.Constant dense<1.702> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %0 = onnx.Mul(%x, %factor) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = onnx.Sigmoid(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = onnx.Mul(%1, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = onnx.Neg(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = onnx.Exp(%3) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = onnx.Add(%4, %one) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %6 = onnx.Div(%x, %5) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2, %6 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// The exact Gelu, 0.5 last, as torch exports it; and 0.5 first.

// CHECK-LABEL: func.func @gelu
//       CHECK:   %[[A:.*]] = onnx.Gelu(%{{.*}}) {approximate = "none"}
//       CHECK:   %[[B:.*]] = onnx.Gelu(%{{.*}}) {approximate = "none"}
//       CHECK:   return %[[A]], %[[B]]
func.func @gelu(%x: tensor<2x4xf32> {weft.name = "x"})
    -> (tensor<2x4xf32> {weft.name = "y"}, tensor<2x4xf32> {weft.name = "z"}) {
  %root = onnx.Constant dense<1.41421354> : tensor<f32>
  %inverse = onnx.Constant dense<0.707106769> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.Div(%x, %root) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = onnx.Erf(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = onnx.Add(%1, %one) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = onnx.Mul(%x, %2) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = onnx.Mul(%3, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %5 = onnx.Mul(%x, %inverse) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %6 = onnx.Erf(%5) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = onnx.Add(%6, %one) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %8 = onnx.Mul(%x, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %9 = onnx.Mul(%8, %7) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %4, %9 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// The Gelu with tanh, x^3 by Pow.

// CHECK-LABEL: func.func @gelu_tanh
//       CHECK:   onnx.Gelu(%{{.*}}) {approximate = "tanh"}
//   CHECK-NOT:   onnx.Tanh
func.func @gelu_tanh(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2x4xf32> {weft.name = "y"}) {
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %cube = onnx.Constant dense<0.044715> : tensor<f32>
  %root = onnx.Constant dense<0.797884583> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.Pow(%x, %three) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = onnx.Mul(%0, %cube) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = onnx.Add(%x, %1) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = onnx.Mul(%2, %root) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %4 = onnx.Tanh(%3) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = onnx.Add(%4, %one) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %6 = onnx.Mul(%x, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %7 = onnx.Mul(%6, %5) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %7 : tensor<2x4xf32>
}

// -----

// A factor of another formula; a sigmoid of something else.

// CHECK-LABEL: func.func @others
//   CHECK-NOT:   onnx.Gelu
//   CHECK-NOT:   onnx.Swish
func.func @others(%x: tensor<2x4xf32> {weft.name = "x"}, %z: tensor<2x4xf32> {weft.name = "z"})
    -> (tensor<2x4xf32> {weft.name = "y"}) {
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %0 = onnx.Erf(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = onnx.Add(%0, %one) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = onnx.Mul(%x, %1) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = onnx.Mul(%2, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %4 = onnx.Sigmoid(%z) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = onnx.Mul(%3, %4) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %5 : tensor<2x4xf32>
}

// -----

// A result in between is an output: it stays.

// CHECK-LABEL: func.func @read_twice
//       CHECK:   %[[S:.*]] = onnx.Sigmoid
//       CHECK:   %[[Y:.*]] = onnx.Swish
//       CHECK:   return %[[Y]], %[[S]]
func.func @read_twice(%x: tensor<2x4xf32> {weft.name = "x"})
    -> (tensor<2x4xf32> {weft.name = "y"}, tensor<2x4xf32> {weft.name = "s"}) {
  %0 = onnx.Sigmoid(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = onnx.Mul(%x, %0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1, %0 : tensor<2x4xf32>, tensor<2x4xf32>
}
