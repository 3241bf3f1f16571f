// RUN: weft-opt %s --weft-recompose-rope --split-input-file | FileCheck %s

// Heads come as [batch, heads, length, size]; the tables are there twice. // DOC

// CHECK-LABEL: func.func @rope
//  CHECK-SAME:   (%[[X:.*]]: tensor<1x3x2x8xf32>
//  CHECK-SAME:    %[[F:.*]]: tensor<1x3x4xf32>
//   CHECK-DAG:   %[[COS:.*]] = onnx.Cos(%[[F]]) : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
//   CHECK-DAG:   %[[SIN:.*]] = onnx.Sin(%[[F]]) : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
//       CHECK:   %[[FLAT:.*]] = onnx.Reshape(%[[X]], %{{.*}}) {{.*}} -> tensor<1x3x16xf32>
//       CHECK:   %[[Y:.*]] = onnx.RotaryEmbedding(%[[FLAT]], %[[COS]], %[[SIN]], none) {interleaved = 0 : i64, num_heads = 2 : i64, rotary_embedding_dim = 0 : i64}
//       CHECK:   %[[HEADS:.*]] = onnx.Reshape(%[[Y]], %{{.*}}) {{.*}} -> tensor<1x3x2x8xf32>
//       CHECK:   onnx.Transpose(%[[HEADS]]) {perm = array<i64: 0, 2, 1, 3>}
//   CHECK-NOT:   onnx.Neg
func.func @rope(%x: tensor<1x3x2x8xf32> {weft.name = "x"}, %f: tensor<1x3x4xf32> {weft.name = "f"})
    -> (tensor<1x2x3x8xf32> {weft.name = "y"}) {
  %zero = onnx.Constant dense<0> : tensor<1xi64>
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %three = onnx.Constant dense<3> : tensor<1xi64>
  %half = onnx.Constant dense<4> : tensor<1xi64>
  %end = onnx.Constant dense<9223372036854775807> : tensor<1xi64>
  %h = onnx.Transpose(%x) {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x3x2x8xf32>) -> tensor<1x2x3x8xf32>
  %ff = onnx.Concat(%f, %f) {axis = -1 : i64} : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x8xf32>
  %c = onnx.Cos(%ff) : (tensor<1x3x8xf32>) -> tensor<1x3x8xf32>
  %s = onnx.Sin(%ff) : (tensor<1x3x8xf32>) -> tensor<1x3x8xf32>
  %cos = onnx.Unsqueeze(%c, %one) : (tensor<1x3x8xf32>, tensor<1xi64>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Unsqueeze(%s, %one) : (tensor<1x3x8xf32>, tensor<1xi64>) -> tensor<1x1x3x8xf32>
  %0 = onnx.Mul(%h, %cos) : (tensor<1x2x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<1x2x3x8xf32>
  %1 = onnx.Slice(%h, %zero, %half, %three, %one) : (tensor<1x2x3x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x3x4xf32>
  %2 = onnx.Slice(%h, %half, %end, %three, %one) : (tensor<1x2x3x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x3x4xf32>
  %3 = onnx.Neg(%2) : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %4 = onnx.Concat(%3, %1) {axis = -1 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x8xf32>
  %5 = onnx.Mul(%4, %sin) : (tensor<1x2x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<1x2x3x8xf32>
  %6 = onnx.Add(%0, %5) : (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32>
  return %6 : tensor<1x2x3x8xf32>
}

// -----

// The first four of eight elements rotate, by a Split; the tables are scaled.

// CHECK-LABEL: func.func @part
//       CHECK:   onnx.RotaryEmbedding(%{{.*}}) {interleaved = 0 : i64, num_heads = 2 : i64, rotary_embedding_dim = 4 : i64} : (tensor<1x3x16xf32>, tensor<1x3x2xf32>, tensor<1x3x2xf32>, none)
func.func @part(%x: tensor<1x3x2x8xf32> {weft.name = "x"}, %f: tensor<1x3x2xf32> {weft.name = "f"})
    -> (tensor<1x2x3x8xf32> {weft.name = "y"}) {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %scale = onnx.Constant dense<1.25> : tensor<f32>
  %h = onnx.Transpose(%x) {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x3x2x8xf32>) -> tensor<1x2x3x8xf32>
  %ff = onnx.Concat(%f, %f) {axis = 2 : i64} : (tensor<1x3x2xf32>, tensor<1x3x2xf32>) -> tensor<1x3x4xf32>
  %c = onnx.Cos(%ff) : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  %s = onnx.Sin(%ff) : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  %cc = onnx.Mul(%c, %scale) : (tensor<1x3x4xf32>, tensor<f32>) -> tensor<1x3x4xf32>
  %ss = onnx.Mul(%s, %scale) : (tensor<1x3x4xf32>, tensor<f32>) -> tensor<1x3x4xf32>
  %cos = onnx.Unsqueeze(%cc, %one) : (tensor<1x3x4xf32>, tensor<1xi64>) -> tensor<1x1x3x4xf32>
  %sin = onnx.Unsqueeze(%ss, %one) : (tensor<1x3x4xf32>, tensor<1xi64>) -> tensor<1x1x3x4xf32>
  %parts:2 = onnx.Split(%h, none) {axis = 3 : i64, num_outputs = 2 : i64} : (tensor<1x2x3x8xf32>, none) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
  %halves:2 = onnx.Split(%parts#0, none) {axis = -1 : i64, num_outputs = 2 : i64} : (tensor<1x2x3x4xf32>, none) -> (tensor<1x2x3x2xf32>, tensor<1x2x3x2xf32>)
  %0 = onnx.Mul(%parts#0, %cos) : (tensor<1x2x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<1x2x3x4xf32>
  %1 = onnx.Neg(%halves#1) : (tensor<1x2x3x2xf32>) -> tensor<1x2x3x2xf32>
  %2 = onnx.Concat(%1, %halves#0) {axis = -1 : i64} : (tensor<1x2x3x2xf32>, tensor<1x2x3x2xf32>) -> tensor<1x2x3x4xf32>
  %3 = onnx.Mul(%sin, %2) : (tensor<1x1x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %4 = onnx.Add(%3, %0) : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %5 = onnx.Concat(%4, %parts#1) {axis = -1 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x8xf32>
  return %5 : tensor<1x2x3x8xf32>
}

// -----

// Nothing shows that the halves of the tables are the same.

// CHECK-LABEL: func.func @other_tables
//   CHECK-NOT:   onnx.RotaryEmbedding
func.func @other_tables(%h: tensor<1x2x3x8xf32> {weft.name = "x"}, %c: tensor<1x3x8xf32> {weft.name = "c"},
    %s: tensor<1x3x8xf32> {weft.name = "s"}) -> (tensor<1x2x3x8xf32> {weft.name = "y"}) {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %cos = onnx.Unsqueeze(%c, %one) : (tensor<1x3x8xf32>, tensor<1xi64>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Unsqueeze(%s, %one) : (tensor<1x3x8xf32>, tensor<1xi64>) -> tensor<1x1x3x8xf32>
  %halves:2 = onnx.Split(%h, none) {axis = -1 : i64, num_outputs = 2 : i64} : (tensor<1x2x3x8xf32>, none) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
  %0 = onnx.Mul(%h, %cos) : (tensor<1x2x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<1x2x3x8xf32>
  %1 = onnx.Neg(%halves#1) : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %2 = onnx.Concat(%1, %halves#0) {axis = -1 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x8xf32>
  %3 = onnx.Mul(%2, %sin) : (tensor<1x2x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<1x2x3x8xf32>
  %4 = onnx.Add(%0, %3) : (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32>
  return %4 : tensor<1x2x3x8xf32>
}
