// Invalid types, attributes and assembly of the dialect.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{found 1 names of sizes, expected one for each of 2 dynamic sizes}}
func.func private @names(tensor<?x?xf32, #onnx.dims<"n">>)

// -----

// expected-error@+1 {{found the size "n-1", expected a sum of products of symbols}}
func.func private @size(tensor<?xf32, #onnx.dims<"n-1">>)

// -----

func.func @few(%x: tensor<3xf32>) {
  // expected-error@+1 {{found 1 operands, expected 3, absent ones written 'none'}}
  %0 = onnx.Clip(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @types(%x: tensor<3xf32>) {
  // expected-error@+1 {{found less types than operands}}
  %0 = onnx.Add(%x, %x) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @moreTypes(%x: tensor<3xf32>) {
  // expected-error@+1 {{found more types than operands}}
  %0 = onnx.Relu(%x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @missing(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires attribute 'axis'}}
  %0 = onnx.Concat(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}
