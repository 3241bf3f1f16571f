// RUN: weft-opt %s --weft-recompose-attention --split-input-file | FileCheck %s

// Key heads are repeated, the scale is on both sides of the product. // DOC

// CHECK-LABEL: func.func @grouped
//  CHECK-SAME:   (%[[Q:.*]]: tensor<1x3x32xf32> {{.*}}, %[[K:.*]]: tensor<1x3x16xf32> {{.*}}, %[[V:.*]]: tensor<1x3x16xf32>
//       CHECK:   %[[Y:.*]], %{{.*}}, %{{.*}}, %{{.*}} = onnx.Attention(%[[Q]], %[[K]], %[[V]], none, none, none, none)
//  CHECK-SAME:     is_causal = 0 : i64, kv_num_heads = 2 : i64
//  CHECK-SAME:     q_num_heads = 4 : i64
//  CHECK-SAME:     scale = 2.500000e-01 : f32
//       CHECK:   return %[[Y]]
func.func @grouped(%q: tensor<1x3x32xf32> {weft.name = "q"}, %k: tensor<1x3x16xf32> {weft.name = "k"},
    %v: tensor<1x3x16xf32> {weft.name = "v"}) -> (tensor<1x3x32xf32> {weft.name = "y"}) {
  %root = onnx.Constant dense<0.5> : tensor<f32>
  %two = onnx.Constant dense<2> : tensor<1xi64>
  %heads = onnx.Constant dense<[1, 3, 4, 8]> : tensor<4xi64>
  %key_heads = onnx.Constant dense<[1, 3, 2, 8]> : tensor<4xi64>
  %times = onnx.Constant dense<[1, 2, 2, 3, 8]> : tensor<5xi64>
  %all = onnx.Constant dense<[1, 4, 3, 8]> : tensor<4xi64>
  %flat = onnx.Constant dense<[1, 3, 32]> : tensor<3xi64>
  %0 = onnx.Reshape(%q, %heads) : (tensor<1x3x32xf32>, tensor<4xi64>) -> tensor<1x3x4x8xf32>
  %1 = onnx.Transpose(%0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x3x4x8xf32>) -> tensor<1x4x3x8xf32>
  %2 = onnx.Reshape(%k, %key_heads) : (tensor<1x3x16xf32>, tensor<4xi64>) -> tensor<1x3x2x8xf32>
  %3 = onnx.Transpose(%2) {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x3x2x8xf32>) -> tensor<1x2x3x8xf32>
  %4 = onnx.Unsqueeze(%3, %two) : (tensor<1x2x3x8xf32>, tensor<1xi64>) -> tensor<1x2x1x3x8xf32>
  %5 = onnx.Expand(%4, %times) : (tensor<1x2x1x3x8xf32>, tensor<5xi64>) -> tensor<1x2x2x3x8xf32>
  %6 = onnx.Reshape(%5, %all) : (tensor<1x2x2x3x8xf32>, tensor<4xi64>) -> tensor<1x4x3x8xf32>
  %7 = onnx.Reshape(%v, %key_heads) : (tensor<1x3x16xf32>, tensor<4xi64>) -> tensor<1x3x2x8xf32>
  %8 = onnx.Transpose(%7) {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x3x2x8xf32>) -> tensor<1x2x3x8xf32>
  %9 = onnx.Unsqueeze(%8, %two) : (tensor<1x2x3x8xf32>, tensor<1xi64>) -> tensor<1x2x1x3x8xf32>
  %10 = onnx.Expand(%9, %times) : (tensor<1x2x1x3x8xf32>, tensor<5xi64>) -> tensor<1x2x2x3x8xf32>
  %11 = onnx.Reshape(%10, %all) : (tensor<1x2x2x3x8xf32>, tensor<4xi64>) -> tensor<1x4x3x8xf32>
  %12 = onnx.Transpose(%6) {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x4x3x8xf32>) -> tensor<1x4x8x3xf32>
  %13 = onnx.Mul(%1, %root) : (tensor<1x4x3x8xf32>, tensor<f32>) -> tensor<1x4x3x8xf32>
  %14 = onnx.Mul(%12, %root) : (tensor<1x4x8x3xf32>, tensor<f32>) -> tensor<1x4x8x3xf32>
  %15 = onnx.MatMul(%13, %14) : (tensor<1x4x3x8xf32>, tensor<1x4x8x3xf32>) -> tensor<1x4x3x3xf32>
  %16 = onnx.Softmax(%15) : (tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %17 = onnx.MatMul(%16, %11) : (tensor<1x4x3x3xf32>, tensor<1x4x3x8xf32>) -> tensor<1x4x3x8xf32>
  %18 = onnx.Transpose(%17) {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x4x3x8xf32>) -> tensor<1x3x4x8xf32>
  %19 = onnx.Reshape(%18, %flat) : (tensor<1x3x4x8xf32>, tensor<3xi64>) -> tensor<1x3x32xf32>
  return %19 : tensor<1x3x32xf32>
}

// -----

// A triangle of -infinity above the diagonal is the causal mask; rows that are
// not numbers are 0.

// CHECK-LABEL: func.func @causal
//       CHECK:   onnx.Attention(%{{.*}}, %{{.*}}, %{{.*}}, none, none, none, none) {is_causal = 1 : i64
//   CHECK-NOT:   onnx.Softmax
func.func @causal(%q: tensor<1x2x?x8xf32, #onnx.dims<"n">> {weft.name = "q", weft.symbols = ["n"]},
    %k: tensor<1x2x?x8xf32, #onnx.dims<"n">> {weft.name = "k", weft.symbols = ["n"]},
    %v: tensor<1x2x?x8xf32, #onnx.dims<"n">> {weft.name = "v", weft.symbols = ["n"]})
    -> (tensor<1x2x?x8xf32, #onnx.dims<"n">> {weft.name = "y"}) {
  %root = onnx.Constant dense<2.82842708> : tensor<f32>
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %one = onnx.Constant dense<1> : tensor<i64>
  %n = onnx.Shape(%q) {start = 2 : i64, end = 3 : i64} : (tensor<1x2x?x8xf32, #onnx.dims<"n">>) -> tensor<1xi64>
  %nn = onnx.Concat(%n, %n) {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %low = onnx.ConstantOfShape(%nn) {value = dense<0xFF800000> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<?x?xf32, #onnx.dims<"n", "n">>
  %mask = onnx.Trilu(%low, %one) {upper = 1 : i64} : (tensor<?x?xf32, #onnx.dims<"n", "n">>, tensor<i64>) -> tensor<?x?xf32, #onnx.dims<"n", "n">>
  %0 = onnx.Transpose(%k) {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x2x?x8xf32, #onnx.dims<"n">>) -> tensor<1x2x8x?xf32, #onnx.dims<"n">>
  %1 = onnx.MatMul(%q, %0) : (tensor<1x2x?x8xf32, #onnx.dims<"n">>, tensor<1x2x8x?xf32, #onnx.dims<"n">>) -> tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>
  %2 = onnx.Div(%1, %root) : (tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>, tensor<f32>) -> tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>
  %3 = onnx.Add(%2, %mask) : (tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>, tensor<?x?xf32, #onnx.dims<"n", "n">>) -> tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>
  %4 = onnx.Softmax(%3) : (tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>) -> tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>
  %5 = onnx.IsNaN(%4) : (tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>) -> tensor<1x2x?x?xi1, #onnx.dims<"n", "n">>
  %6 = onnx.Where(%5, %zero, %4) : (tensor<1x2x?x?xi1, #onnx.dims<"n", "n">>, tensor<f32>, tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>) -> tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>
  %7 = onnx.MatMul(%6, %v) : (tensor<1x2x?x?xf32, #onnx.dims<"n", "n">>, tensor<1x2x?x8xf32, #onnx.dims<"n">>) -> tensor<1x2x?x8xf32, #onnx.dims<"n">>
  return %7 : tensor<1x2x?x8xf32, #onnx.dims<"n">>
}

// -----

// A mask that is data stays one; a soft cap; the keys of the past.

// CHECK-LABEL: func.func @past
//  CHECK-SAME:   %[[PK:[a-z0-9]*]]: tensor<1x2x5x8xf32> {weft.name = "pk"}, %[[PV:[a-z0-9]*]]: tensor<1x2x5x8xf32> {weft.name = "pv"}, %[[M:[a-z0-9]*]]: tensor<1x1x1x6xf32>
//       CHECK:   %[[Y:.*]], %[[K:.*]], %[[V:.*]], %{{.*}} = onnx.Attention(%{{.*}}, %{{.*}}, %{{.*}}, %[[M]], %[[PK]], %[[PV]], none)
//  CHECK-SAME:     softcap = 3.000000e+01 : f32
//       CHECK:   return %{{.*}}, %[[K]], %[[V]]
func.func @past(%q: tensor<1x2x1x8xf32> {weft.name = "q"}, %k: tensor<1x2x1x8xf32> {weft.name = "k"},
    %v: tensor<1x2x1x8xf32> {weft.name = "v"}, %pk: tensor<1x2x5x8xf32> {weft.name = "pk"},
    %pv: tensor<1x2x5x8xf32> {weft.name = "pv"}, %mask: tensor<1x1x1x6xf32> {weft.name = "mask"})
    -> (tensor<1x2x1x8xf32> {weft.name = "y"}, tensor<1x2x6x8xf32> {weft.name = "nk"}, tensor<1x2x6x8xf32> {weft.name = "nv"}) {
  %scale = onnx.Constant dense<0.5> : tensor<f32>
  %cap = onnx.Constant dense<30.0> : tensor<f32>
  %nk = onnx.Concat(%pk, %k) {axis = 2 : i64} : (tensor<1x2x5x8xf32>, tensor<1x2x1x8xf32>) -> tensor<1x2x6x8xf32>
  %nv = onnx.Concat(%pv, %v) {axis = -2 : i64} : (tensor<1x2x5x8xf32>, tensor<1x2x1x8xf32>) -> tensor<1x2x6x8xf32>
  %0 = onnx.Transpose(%nk) {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x2x6x8xf32>) -> tensor<1x2x8x6xf32>
  %1 = onnx.MatMul(%q, %0) : (tensor<1x2x1x8xf32>, tensor<1x2x8x6xf32>) -> tensor<1x2x1x6xf32>
  %2 = onnx.Mul(%1, %scale) : (tensor<1x2x1x6xf32>, tensor<f32>) -> tensor<1x2x1x6xf32>
  %3 = onnx.Div(%2, %cap) : (tensor<1x2x1x6xf32>, tensor<f32>) -> tensor<1x2x1x6xf32>
  %4 = onnx.Tanh(%3) : (tensor<1x2x1x6xf32>) -> tensor<1x2x1x6xf32>
  %5 = onnx.Mul(%4, %cap) : (tensor<1x2x1x6xf32>, tensor<f32>) -> tensor<1x2x1x6xf32>
  %6 = onnx.Add(%5, %mask) : (tensor<1x2x1x6xf32>, tensor<1x1x1x6xf32>) -> tensor<1x2x1x6xf32>
  %7 = onnx.Softmax(%6) : (tensor<1x2x1x6xf32>) -> tensor<1x2x1x6xf32>
  %8 = onnx.MatMul(%7, %nv) : (tensor<1x2x1x6xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x1x8xf32>
  return %8, %nk, %nv : tensor<1x2x1x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>
}

// -----

// A softmax over the queries; a mask whose number does not hide.

// CHECK-LABEL: func.func @others
//   CHECK-NOT:   onnx.Attention
func.func @others(%q: tensor<1x2x3x8xf32> {weft.name = "q"}, %k: tensor<1x2x8x3xf32> {weft.name = "k"},
    %v: tensor<1x2x3x8xf32> {weft.name = "v"}, %mask: tensor<1x1x3x3xi1> {weft.name = "mask"})
    -> (tensor<1x2x3x8xf32> {weft.name = "y"}, tensor<1x2x3x8xf32> {weft.name = "z"}) {
  %low = onnx.Constant dense<-1.0e+1> : tensor<f32>
  %0 = onnx.MatMul(%q, %k) : (tensor<1x2x3x8xf32>, tensor<1x2x8x3xf32>) -> tensor<1x2x3x3xf32>
  %1 = onnx.Softmax(%0) {axis = 2 : i64} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %2 = onnx.MatMul(%1, %v) : (tensor<1x2x3x3xf32>, tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32>
  %3 = onnx.Where(%mask, %0, %low) : (tensor<1x1x3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %4 = onnx.Softmax(%3) : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %5 = onnx.MatMul(%4, %v) : (tensor<1x2x3x3xf32>, tensor<1x2x3x8xf32>) -> tensor<1x2x3x8xf32>
  return %2, %5 : tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>
}
