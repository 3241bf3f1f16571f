// RUN: weft-opt %s --weft-recompose-norms --split-input-file | FileCheck %s

// weight * x / sqrt(mean(x^2) + epsilon). // DOC

// CHECK-LABEL: func.func @rms
//  CHECK-SAME:   (%[[X:.*]]: tensor<2x4xf32>
//       CHECK:   %[[W:.*]] = onnx.Initializer "w"
//       CHECK:   onnx.RMSNormalization(%[[X]], %[[W]]) {axis = -1 : i64, epsilon = 9.99999974E-6 : f32, stash_type = 1 : i64}
//  CHECK-NEXT:   return
func.func @rms(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2x4xf32> {weft.name = "y"}) {
  %w = onnx.Initializer "w" : tensor<4xf32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %last = onnx.Constant dense<-1> : tensor<1xi64>
  %epsilon = onnx.Constant dense<1.0e-5> : tensor<f32>
  %0 = onnx.Pow(%x, %two) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = onnx.ReduceMean(%0, %last) : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  %2 = onnx.Add(%1, %epsilon) : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = onnx.Sqrt(%2) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = onnx.Reciprocal(%3) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %5 = onnx.Mul(%x, %4) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %6 = onnx.Mul(%w, %5) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}

// -----

// Between conversions, the square by Mul, the root by Div: the norm of what came.

// CHECK-LABEL: func.func @rms_f16
//  CHECK-SAME:   (%[[X:.*]]: tensor<2x4xf16>
//       CHECK:   onnx.RMSNormalization(%[[X]], %{{.*}}) {{.*}} : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
//   CHECK-NOT:   onnx.Cast
func.func @rms_f16(%x: tensor<2x4xf16> {weft.name = "x"}) -> (tensor<2x4xf16> {weft.name = "y"}) {
  %w = onnx.Initializer "w" : tensor<4xf16>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %last = onnx.Constant dense<1> : tensor<1xi64>
  %epsilon = onnx.Constant dense<1.0e-5> : tensor<f32>
  %c = onnx.Cast(%x) {to = f32} : (tensor<2x4xf16>) -> tensor<2x4xf32>
  %0 = onnx.Mul(%c, %c) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = onnx.ReduceMean(%0, %last) : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  %2 = onnx.Add(%epsilon, %1) : (tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %3 = onnx.Sqrt(%2) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = onnx.Div(%one, %3) : (tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %5 = onnx.Mul(%4, %c) : (tensor<2x1xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = onnx.Cast(%5) {to = f16} : (tensor<2x4xf32>) -> tensor<2x4xf16>
  %7 = onnx.Mul(%6, %w) : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  return %7 : tensor<2x4xf16>
}

// -----

// CHECK-LABEL: func.func @layer
//  CHECK-SAME:   (%[[X:.*]]: tensor<2x4xf32>
//   CHECK-DAG:   %[[W:.*]] = onnx.Initializer "w"
//   CHECK-DAG:   %[[B:.*]] = onnx.Initializer "b"
//       CHECK:   %[[Y:.*]], %{{.*}}, %{{.*}} = onnx.LayerNormalization(%[[X]], %[[W]], %[[B]])
//  CHECK-NEXT:   return %[[Y]]
func.func @layer(%x: tensor<2x4xf32> {weft.name = "x"}) -> (tensor<2x4xf32> {weft.name = "y"}) {
  %w = onnx.Initializer "w" : tensor<4xf32>
  %b = onnx.Initializer "b" : tensor<4xf32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %last = onnx.Constant dense<-1> : tensor<1xi64>
  %epsilon = onnx.Constant dense<1.0e-5> : tensor<f32>
  %mean = onnx.ReduceMean(%x, %last) : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  %d = onnx.Sub(%x, %mean) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %0 = onnx.Pow(%d, %two) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = onnx.ReduceMean(%0, %last) : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  %2 = onnx.Add(%1, %epsilon) : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = onnx.Sqrt(%2) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = onnx.Div(%d, %3) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %5 = onnx.Mul(%4, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %6 = onnx.Add(%5, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}

// -----

// The mean is over the rows; the square is one of something else.

// CHECK-LABEL: func.func @others
//   CHECK-NOT:   Normalization
func.func @others(%x: tensor<4x4xf32> {weft.name = "x"}, %z: tensor<4x4xf32> {weft.name = "z"})
    -> (tensor<4x4xf32> {weft.name = "y"}, tensor<4x4xf32> {weft.name = "v"}) {
  %w = onnx.Initializer "w" : tensor<4xf32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %first = onnx.Constant dense<0> : tensor<1xi64>
  %last = onnx.Constant dense<-1> : tensor<1xi64>
  %epsilon = onnx.Constant dense<1.0e-5> : tensor<f32>
  %0 = onnx.Pow(%x, %two) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %1 = onnx.ReduceMean(%0, %first) : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
  %2 = onnx.Add(%1, %epsilon) : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %3 = onnx.Sqrt(%2) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %4 = onnx.Div(%x, %3) : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  %5 = onnx.Mul(%4, %w) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %6 = onnx.ReduceMean(%0, %last) : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %7 = onnx.Add(%6, %epsilon) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %8 = onnx.Sqrt(%7) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %9 = onnx.Div(%z, %8) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %10 = onnx.Mul(%9, %w) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return %5, %10 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A sum and a norm in one operator; the sum has other readers, too.

// CHECK-LABEL: func.func @skip
//       CHECK:   %[[A:.*]] = onnx.Add(%{{.*}}, %{{.*}})
//       CHECK:   %[[SUM:.*]] = onnx.Add(%[[A]], %{{.*}})
//       CHECK:   %[[NORM:.*]] = onnx.RMSNormalization(%[[SUM]], %{{.*}})
//       CHECK:   %[[B:.*]] = onnx.Add(%[[NORM]], %[[SUM]])
//       CHECK:   onnx.LayerNormalization(%[[B]], %{{.*}}, none)
func.func @skip(%x: tensor<2x4xf32> {weft.name = "x"}, %r: tensor<2x4xf32> {weft.name = "r"})
    -> (tensor<2x4xf32> {weft.name = "y"}) {
  %w = onnx.Initializer "w" : tensor<4xf32>
  %b = onnx.Initializer "b" : tensor<4xf32>
  %0:4 = onnx.microsoft.SkipSimplifiedLayerNormalization(%x, %r, %w, %b) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x4xf32>)
  %1:4 = onnx.microsoft.SkipLayerNormalization(%0#0, %0#3, %w, none, none) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, none, none) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x4xf32>)
  return %1#0 : tensor<2x4xf32>
}
