// Messages of the verifiers about sources and layouts of weights.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{a source needs a tensor name}}
func.func @f() attributes {a = #weft.source<"">} {
  return
}

// -----

// expected-error @below {{source 'w': start and count must not be negative}}
func.func @f() attributes {a = #weft.source<"w", start = -1>} {
  return
}

// -----

// expected-error @below {{source 'w': blocks of 4 rows every 2 rows are empty or overlap}}
func.func @f() attributes {a = #weft.source<"w", block = 4, stride = 2, count = 2>} {
  return
}

// -----

// expected-error @below {{source 'w': 3 pairs do not fit into blocks of 4 rows}}
func.func @f() attributes {a = #weft.source<"w", block = 4, stride = 4, count = 2, pairs = 3>} {
  return
}

// -----

func.func @f() {
  // expected-error @below {{needs at least one source}}
  %w = weft.weight [] : tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{has a layout exactly when it has a logical shape}}
  %w = "weft.weight"() <{sources = [#weft.source<"w">], logical_shape = array<i64: 4, 4>}> : () -> tensor<4x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{a packed weight is a matrix or a stack of matrices}}
  %w = weft.weight [#weft.source<"w">] layout panels<columns = 8, group = 2> of [4] : tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{packs to shape [2, 2, 8, 2], found 'tensor<9x3xf32>'}}
  %w = weft.weight [#weft.source<"w">] layout panels<columns = 8, group = 2> of [9, 3] : tensor<9x3xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<6x4xf32>) {
  // expected-error @below {{weight must have rank 4, found 'tensor<6x4xf32>'}}
  %y = weft.linear %x, %w layout panels<columns = 4, group = 1> : (tensor<?x4xf32>, tensor<6x4xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<2x4x8x1xf32>) {
  // expected-error @below {{weight of 6 x 4 packs to [2, 4, 4, 1], found 'tensor<2x4x8x1xf32>'}}
  %y = weft.linear %x, %w layout panels<columns = 4, group = 1> : (tensor<?x4xf32>, tensor<2x4x8x1xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%ids: tensor<?xi32>, %t: tensor<2x4x8x1xf32>) {
  // expected-error @below {{table with rows of 5 packs to [2, 5, 8, 1], found 'tensor<2x4x8x1xf32>'}}
  %x = weft.embed %ids, %t layout panels<columns = 8, group = 1> : (tensor<?xi32>, tensor<2x4x8x1xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{core matrices have elements of f16 or bf16, found 'f32'}}
  %w = weft.weight [#weft.source<"w">] layout core_matrices of [16, 128] : tensor<1x1x32x8x8xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{core matrices need multiples of 16 outputs and 128 inputs, found a matrix of 24 x 128}}
  %w = weft.weight [#weft.source<"w">] layout core_matrices of [24, 128] : tensor<2x1x32x8x8xbf16>
  return
}

// -----

func.func @f() {
  // expected-error @below {{packs to shape [2, 1, 32, 8, 8], found 'tensor<1x2x32x8x8xbf16>'}}
  %w = weft.weight [#weft.source<"w">] layout core_matrices of [32, 128] : tensor<1x2x32x8x8xbf16>
  return
}

// -----

func.func @f(%x: tensor<?x192xbf16>, %w: tensor<1x2x32x8x8xbf16>) {
  // expected-error @below {{core matrices need multiples of 16 outputs and 128 inputs, found a matrix of 16 x 192}}
  %y = weft.linear %x, %w layout core_matrices : (tensor<?x192xbf16>, tensor<1x2x32x8x8xbf16>) -> tensor<?x16xbf16>
  return
}

// -----

func.func @f(%ids: tensor<?xi32>, %t: tensor<2x1x32x8x8xbf16>) {
  // expected-error @below {{core matrices need multiples of 16 outputs and 128 inputs, found a matrix of 32 x 8}}
  %x = weft.embed %ids, %t layout core_matrices : (tensor<?xi32>, tensor<2x1x32x8x8xbf16>) -> tensor<?x8xbf16>
  return
}

// -----

func.func @f(%ids: tensor<?xi32>, %t: tensor<2x1x32x8x8xbf16>) {
  // expected-error @below {{table with rows of 256 packs to [2, 2, 32, 8, 8], found 'tensor<2x1x32x8x8xbf16>'}}
  %x = weft.embed %ids, %t layout core_matrices : (tensor<?xi32>, tensor<2x1x32x8x8xbf16>) -> tensor<?x256xbf16>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected panels or core_matrices, found 'rows'}}
  %w = weft.weight [#weft.source<"w">] layout rows of [16, 16] : tensor<16x16xbf16>
  return
}

// -----

// expected-error @below {{quantized rows need the tensor name of scales}}
func.func @f() attributes {a = #weft.quantization<scales = "", bits = 4, block = 32, columns = 64>} {
  return
}

// -----

// expected-error @below {{found elements of 3 bits, expected 2, 4 or 8}}
func.func @f() attributes {a = #weft.quantization<scales = "s", bits = 3, block = 32, columns = 64>} {
  return
}

// -----

// expected-error @below {{found 64 columns in blocks of 0, expected positive numbers}}
func.func @f() attributes {a = #weft.quantization<scales = "s", bits = 4, block = 0, columns = 64>} {
  return
}

// -----

// expected-error @below {{source 'w': quantized rows are not read transposed}}
func.func @f() attributes {a = #weft.source<"w", transposed = true, quantization = <scales = "s", bits = 4, block = 32, columns = 64>>} {
  return
}
