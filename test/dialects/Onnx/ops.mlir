// The assembly of operators: absent operands, names of sizes, lists. The examples
// in the descriptions of the operations (docs/reference/dialect-onnx.md) are
// parsed by scripts/check-examples.
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @operators
// CHECK-SAME: tensor<?x4x?xf32, #onnx.dims<"batch", "past + sequence">>
func.func @operators(%x: tensor<?x4x?xf32, #onnx.dims<"batch", "past + sequence">>, %s: tensor<f32>, %i: tensor<1xi64>,
                     %q: tensor<4x2xi4>, %scale: tensor<4xf16>) -> tensor<4x2xf16> {
  // CHECK: onnx.Relu(%{{.*}}) : (tensor<?x4x?xf32, #onnx.dims<"batch", "past + sequence">>) -> tensor<?x4x?xf32, #onnx.dims<"batch", "past + sequence">>
  %0 = onnx.Relu(%x) : (tensor<?x4x?xf32, #onnx.dims<"batch", "past + sequence">>) -> tensor<?x4x?xf32, #onnx.dims<"batch", "past + sequence">>
  // CHECK: onnx.Clip(%{{.*}}, none, %{{.*}}) : (tensor<?x4x?xf32, #onnx.dims<"batch", "past + sequence">>, none, tensor<f32>) ->
  %1 = onnx.Clip(%0, none, %s) : (tensor<?x4x?xf32, #onnx.dims<"batch", "past + sequence">>, none, tensor<f32>)
      -> tensor<?x4x?xf32, #onnx.dims<"batch", "past + sequence">>
  // CHECK: onnx.Slice(%{{.*}}, %{{.*}}, %{{.*}}, none, none) : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<1xi64>
  %2 = onnx.Slice(%i, %i, %i, none, none) : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<1xi64>
  // CHECK: onnx.Concat(%{{.*}}, %{{.*}}, %{{.*}}) {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %3 = onnx.Concat(%2, %2, %i) {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  // CHECK: onnx.Split(%{{.*}}, none) {{{.*}}num_outputs = 2 : i64} : (tensor<4xf16>, none) -> (tensor<2xf16>, tensor<2xf16>)
  %4:2 = onnx.Split(%scale, none) {num_outputs = 2 : i64} : (tensor<4xf16>, none) -> (tensor<2xf16>, tensor<2xf16>)
  // CHECK: onnx.DequantizeLinear(%{{.*}}, %{{.*}}, none) {axis = 0 : i64{{.*}}} : (tensor<4x2xi4>, tensor<4xf16>, none) -> tensor<4x2xf16>
  %5 = onnx.DequantizeLinear(%q, %scale, none) {axis = 0 : i64} : (tensor<4x2xi4>, tensor<4xf16>, none) -> tensor<4x2xf16>
  return %5 : tensor<4x2xf16>
}
