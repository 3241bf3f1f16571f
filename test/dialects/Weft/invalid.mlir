// Messages of the verifiers; those about sources and layouts of weights are in
// invalid-weights.mlir.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{panels need positive columns and group, found 0 and 2}}
func.func @f() attributes {a = #weft.panels<columns = 0, group = 2>} {
  return
}

// -----

func.func @f(%i: tensor<?xi32>, %t: tensor<8xf32>) {
  // expected-error @below {{table must have rank 2, found 'tensor<8xf32>'}}
  %y = weft.embed %i, %t : (tensor<?xi32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%i: tensor<?xi32>, %t: tensor<8x4xf32>) {
  // expected-error @below {{result must have rank 2, found 'tensor<?x8x4xf32>'}}
  %y = weft.embed %i, %t : (tensor<?xi32>, tensor<8x4xf32>) -> tensor<?x8x4xf32>
  return
}

// -----

func.func @f(%i: tensor<3xi32>, %t: tensor<8x4xf32>) {
  // expected-error @below {{number of result rows is 2, expected 3}}
  %y = weft.embed %i, %t : (tensor<3xi32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%i: tensor<?xi32>, %t: tensor<8x4xf32>) {
  // expected-error @below {{row size is 5, expected 4}}
  %y = weft.embed %i, %t : (tensor<?xi32>, tensor<8x4xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>, %w: tensor<4xf32>) {
  // expected-error @below {{input must have at least one dimension, found 'tensor<f32>'}}
  %y = weft.rms_norm %x, %w {epsilon = 1.0e-5 : f32} : tensor<f32>, tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{epsilon must be positive, found 0}}
  %y = weft.rms_norm %x, %w {epsilon = 0.0 : f32} : tensor<?x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<1x4xf32>) {
  // expected-error @below {{weight must have rank 1, found 'tensor<1x4xf32>'}}
  %y = weft.rms_norm %x, %w {epsilon = 1.0e-5 : f32} : tensor<?x4xf32>, tensor<1x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<5xf32>) {
  // expected-error @below {{weight size is 5, expected 4}}
  %y = weft.rms_norm %x, %w {epsilon = 1.0e-5 : f32} : tensor<?x4xf32>, tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>, %w: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{input must have at least one dimension, found 'tensor<f32>'}}
  %y = weft.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f32} : tensor<f32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{epsilon must be positive, found -1}}
  %y = weft.layer_norm %x, %w, %b {epsilon = -1.0 : f32} : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<3xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{weight size is 3, expected 4}}
  %y = weft.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f32} : tensor<?x4xf32>, tensor<3xf32>, tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %b: tensor<f32>) {
  // expected-error @below {{bias must have rank 1, found 'tensor<f32>'}}
  %y = weft.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f32} : tensor<?x4xf32>, tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{bias size is 5, expected 4}}
  %y = weft.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f32} : tensor<?x4xf32>, tensor<4xf32>, tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>, %w: tensor<4x4xf32>) {
  // expected-error @below {{input must have at least one dimension, found 'tensor<f32>'}}
  %y = weft.linear %x, %w : (tensor<f32>, tensor<4x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<4x4xf32>) {
  // expected-error @below {{input and result must have the same rank}}
  %y = weft.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %w: tensor<4x4xf32>) {
  // expected-error @below {{result dimension 0 is 2, expected 3}}
  %y = weft.linear %x, %w : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{weight must have rank 2, found 'tensor<4xf32>'}}
  %y = weft.linear %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x?xf32>, %w: tensor<4x4xf32>) {
  // expected-error @below {{input and output sizes must be static}}
  %y = weft.linear %x, %w : (tensor<?x?xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<5x4xf32>) {
  // expected-error @below {{weight's output size is 5, expected 6}}
  %y = weft.linear %x, %w : (tensor<?x4xf32>, tensor<5x4xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<6x5xf32>) {
  // expected-error @below {{weight's input size is 5, expected 4}}
  %y = weft.linear %x, %w : (tensor<?x4xf32>, tensor<6x5xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<6x4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{bias size is 4, expected 6}}
  %y = weft.linear %x, %w bias %b : (tensor<?x4xf32>, tensor<6x4xf32>, tensor<4xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%p: tensor<?xi32>, %f: tensor<1x4xf32>) {
  // expected-error @below {{number of scales is 2, expected 1}}
  %c, %s = weft.rope_table %p, %f {scale = array<f32: 1.0, 2.0>} : (tensor<?xi32>, tensor<1x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%p: tensor<?xi32>, %f: tensor<2x4xf32>) {
  // expected-error @below {{with several tables needs a choice}}
  %c, %s = weft.rope_table %p, %f {scale = array<f32: 1.0, 2.0>} : (tensor<?xi32>, tensor<2x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%p: tensor<3xi32>, %f: tensor<2x4xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{number of choices is 2, expected 3}}
  %c, %s = weft.rope_table %p, %f choice %i {scale = array<f32: 1.0, 2.0>} : (tensor<3xi32>, tensor<2x4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%p: tensor<3xi32>, %f: tensor<1x4xf32>) {
  // expected-error @below {{number of result rows is 2, expected 3}}
  %c, %s = weft.rope_table %p, %f {scale = array<f32: 1.0>} : (tensor<3xi32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%p: tensor<?xi32>, %f: tensor<1x4xf32>) {
  // expected-error @below {{number of frequencies is 5, expected 4}}
  %c, %s = weft.rope_table %p, %f {scale = array<f32: 1.0>} : (tensor<?xi32>, tensor<1x4xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @f(%x: tensor<?x2x8xf32>, %c: tensor<?x?xf32>) {
  // expected-error @below {{number of pairs must be static}}
  %y = weft.rope %x, %c, %c : tensor<?x2x8xf32>, tensor<?x?xf32>
  return
}

// -----

func.func @f(%x: tensor<?x2x?xf32>, %c: tensor<?x4xf32>) {
  // expected-error @below {{head size must be static}}
  %y = weft.rope %x, %c, %c : tensor<?x2x?xf32>, tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2x8xf32>, %c: tensor<2x4xf32>) {
  // expected-error @below {{number of table rows is 2, expected 3}}
  %y = weft.rope %x, %c, %c : tensor<3x2x8xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x2x8xf32>, %c: tensor<?x5xf32>) {
  // expected-error @below {{rotates 10 elements of heads of 8}}
  %y = weft.rope %x, %c, %c : tensor<?x2x8xf32>, tensor<?x5xf32>
  return
}

// -----

func.func @f(%c: tensor<?x2x8x4xf32>, %x: tensor<3x2x8xf32>, %s: tensor<2xi32>) {
  // expected-error @below {{number of slots is 2, expected 3}}
  %y = weft.cache_append key %c, %x, %s : tensor<?x2x8x4xf32>, tensor<3x2x8xf32>, tensor<2xi32>
  return
}

// -----

func.func @f(%c: tensor<?x2x8x4xf32>, %x: tensor<?x3x8xf32>, %s: tensor<?xi32>) {
  // expected-error @below {{number of heads is 3, expected 2}}
  %y = weft.cache_append key %c, %x, %s : tensor<?x2x8x4xf32>, tensor<?x3x8xf32>
  return
}

// -----

func.func @f(%c: tensor<?x2x8x4xf32>, %x: tensor<?x2x4xf32>, %s: tensor<?xi32>) {
  // expected-error @below {{head size is 4, expected 8}}
  %y = weft.cache_append key %c, %x, %s : tensor<?x2x8x4xf32>, tensor<?x2x4xf32>
  return
}

// -----

func.func @f(%c: tensor<?x2x8x4xf32>, %x: tensor<?x2x8xf32>, %s: tensor<?xi32>) {
  // expected-error @below {{head size is 8, expected 4}}
  %y = weft.cache_append value %c, %x, %s : tensor<?x2x8x4xf32>, tensor<?x2x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %p: tensor<?xi32>) {
  // expected-error @below {{needs context lengths exactly when there is a block table}}
  %y = "weft.attention"(%q, %q, %q, %p, %p, %p, %p) <{scale = 1.0 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}>
      : (tensor<?x4x8xf32>, tensor<?x4x8xf32>, tensor<?x4x8xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8x4xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{key must have rank 3, found 'tensor<?x2x8x4xf32>'}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8x4xf32>, tensor<?x2x8xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8x4xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>, %c: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error @below {{value must have rank 4, found 'tensor<?x2x8xf32>'}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s context %c, %t {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8x4xf32>, tensor<?x2x8xf32>) -> tensor<?x4x8xf32> indices(tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>)
  return
}

// -----

func.func @f(%q: tensor<?x?x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{number of query heads must be static}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<?x?x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>) -> tensor<?x?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x?x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{number of key heads must be static}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x?x8xf32>, tensor<?x2x8xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x?xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{head size must be static}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<?x4x?xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>) -> tensor<?x4x?xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x3x8xf32>, %v: tensor<?x3x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{query heads (4) must be a multiple of key heads (3)}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x3x8xf32>, tensor<?x3x8xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x4x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{number of value heads is 4, expected 2}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{key head size is 16, expected 8}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x16xf32>, tensor<?x2x8xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x16xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{value head size is 16, expected 8}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x16xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<2xi32>, %i: tensor<3xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{number of positions is 2, expected 3}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<3x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>) -> tensor<3x4x8xf32> indices(tensor<2xi32>, tensor<3xi32>, tensor<?xi32>)
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<3xi32>, %i: tensor<2xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{number of sequence ids is 2, expected 3}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<3x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>) -> tensor<3x4x8xf32> indices(tensor<3xi32>, tensor<2xi32>, tensor<?xi32>)
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<3x2x8xf32>, %v: tensor<2x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{number of value rows is 2, expected 3}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<3x2x8xf32>, tensor<2x2x8xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8x4xf32>, %v: tensor<?x2x4x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<2xi32>, %c: tensor<2xi32>, %t: tensor<?x?xi32>) {
  // expected-error @below {{number of sequence starts is 2, expected 3}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s context %c, %t {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8x4xf32>, tensor<?x2x4x8xf32>) -> tensor<?x4x8xf32> indices(tensor<?xi32>, tensor<?xi32>, tensor<2xi32>, tensor<2xi32>, tensor<?x?xi32>)
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8x4xf32>, %v: tensor<?x2x4x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<3xi32>, %c: tensor<2xi32>, %t: tensor<3x?xi32>) {
  // expected-error @below {{number of block table rows is 3, expected 2}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s context %c, %t {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8x4xf32>, tensor<?x2x4x8xf32>) -> tensor<?x4x8xf32> indices(tensor<?xi32>, tensor<?xi32>, tensor<3xi32>, tensor<2xi32>, tensor<3x?xi32>)
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8x?xf32>, %v: tensor<?x2x4x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>, %c: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error @below {{block size must be static}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s context %c, %t {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8x?xf32>, tensor<?x2x4x8xf32>) -> tensor<?x4x8xf32> indices(tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>)
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8x4xf32>, %v: tensor<?x2x8x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>, %c: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error @below {{value block size is 8, expected 4}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s context %c, %t {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8x4xf32>, tensor<?x2x8x8xf32>) -> tensor<?x4x8xf32> indices(tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>)
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{window must be positive, found 0}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32, window = 0 : i64} : (tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{softcap must be positive, found 0}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32, softcap = 0.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>) {
  // expected-error @below {{result must have the type of the query}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>) -> tensor<?x4x8xbf16>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>, %b: tensor<?x3x?xf32>) {
  // expected-error @below {{has a bias of 3 heads, expected 1 or 4}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s bias %b {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x3x?xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<?xi32>, %b: tensor<2x1x?xf32>) {
  // expected-error @below {{number of rows of the bias is 2, expected 3}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s bias %b {scale = 1.0 : f32} : (tensor<3x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<2x1x?xf32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<3xi32>, %ks: tensor<2xi32>) {
  // expected-error @below {{number of key starts is 2, expected 3}}
  %y = weft.attention %q, %k, %v positions %p sequences %i, %s keys %ks {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>) -> tensor<?x4x8xf32> indices(tensor<?xi32>, tensor<?xi32>, tensor<3xi32>, tensor<2xi32>)
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8x4xf32>, %v: tensor<?x2x4x8xf32>, %p: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error @below {{has key starts beside a block table, which says where keys are}}
  %y = weft.attention %q, %k, %v positions %p sequences %p, %p context %p, %t keys %p {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8x4xf32>, tensor<?x2x4x8xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8x4xf32>, %v: tensor<?x2x4x8xf32>, %p: tensor<?xi32>, %t: tensor<?x?xi32>, %b: tensor<?x1x?xf32>) {
  // expected-error @below {{has a bias beside a block table, expected ragged keys}}
  %y = weft.attention %q, %k, %v positions %p sequences %p, %p context %p, %t bias %b {scale = 1.0 : f32} : (tensor<?x4x8xf32>, tensor<?x2x8x4xf32>, tensor<?x2x4x8xf32>, tensor<?x1x?xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @below {{cap must be positive, found -1}}
  %y = weft.softcap %x {cap = -1.0 : f32} : tensor<?xf32>
  return
}

// -----

func.func @f(%x: tensor<?x?xf32>) {
  // expected-error @below {{number of experts must be static}}
  %e, %w = weft.route %x {top_k = 2 : i64} : tensor<?x?xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>) {
  // expected-error @below {{chooses 9 of 8 experts}}
  %e, %w = weft.route %x {top_k = 9 : i64} : tensor<?x8xf32> -> tensor<?x9xi32>, tensor<?x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>) {
  // expected-error @below {{number of rows of experts is 2, expected 3}}
  %e, %w = weft.route %x {top_k = 2 : i64} : tensor<3x8xf32> -> tensor<2x2xi32>, tensor<3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>) {
  // expected-error @below {{number of rows of weights is 2, expected 3}}
  %e, %w = weft.route %x {top_k = 2 : i64} : tensor<3x8xf32> -> tensor<3x2xi32>, tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>) {
  // expected-error @below {{columns of experts is 3, expected 2}}
  %e, %w = weft.route %x {top_k = 2 : i64} : tensor<?x8xf32> -> tensor<?x3xi32>, tensor<?x2xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>) {
  // expected-error @below {{columns of weights is 3, expected 2}}
  %e, %w = weft.route %x {top_k = 2 : i64} : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<8x6x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error @below {{input must have rank 2 or 3, found 'tensor<4xf32>'}}
  %y = weft.grouped_linear %x, %w, %e : (tensor<4xf32>, tensor<8x6x4xf32>, tensor<?x2xi32>) -> tensor<?x2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %w: tensor<8x6x4xf32>, %e: tensor<2x2xi32>) {
  // expected-error @below {{number of rows of experts is 2, expected 3}}
  %y = weft.grouped_linear %x, %w, %e : (tensor<3x4xf32>, tensor<8x6x4xf32>, tensor<2x2xi32>) -> tensor<?x2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %w: tensor<8x6x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error @below {{number of result rows is 2, expected 3}}
  %y = weft.grouped_linear %x, %w, %e : (tensor<3x4xf32>, tensor<8x6x4xf32>, tensor<?x2xi32>) -> tensor<2x2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3x4xf32>, %w: tensor<8x6x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error @below {{second dimension of the input is 3, expected 2}}
  %y = weft.grouped_linear %x, %w, %e : (tensor<?x3x4xf32>, tensor<8x6x4xf32>, tensor<?x2xi32>) -> tensor<?x2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<8x6x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error @below {{second dimension of the result is 3, expected 2}}
  %y = weft.grouped_linear %x, %w, %e : (tensor<?x4xf32>, tensor<8x6x4xf32>, tensor<?x2xi32>) -> tensor<?x3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<6x4xf32>, %e: tensor<?x2xi32>) {
  // expected-error @below {{weight must have rank 3, found 'tensor<6x4xf32>'}}
  %y = weft.grouped_linear %x, %w, %e : (tensor<?x4xf32>, tensor<6x4xf32>, tensor<?x2xi32>) -> tensor<?x2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2x4xf32>, %w: tensor<2x2xf32>) {
  // expected-error @below {{number of rows of weights is 2, expected 3}}
  %y = weft.combine %x, %w : (tensor<3x2x4xf32>, tensor<2x2xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2x4xf32>, %w: tensor<?x2xf32>) {
  // expected-error @below {{number of result rows is 2, expected 3}}
  %y = weft.combine %x, %w : (tensor<3x2x4xf32>, tensor<?x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x2x4xf32>, %w: tensor<?x3xf32>) {
  // expected-error @below {{columns of weights is 3, expected 2}}
  %y = weft.combine %x, %w : (tensor<?x2x4xf32>, tensor<?x3xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x2x4xf32>, %w: tensor<?x2xf32>) {
  // expected-error @below {{result's row size is 5, expected 4}}
  %y = weft.combine %x, %w : (tensor<?x2x4xf32>, tensor<?x2xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x?xf32>, %p: tensor<?x2xi32>, %v: tensor<?x2xf32>) {
  // expected-error @below {{number of ids must be static}}
  %y = weft.adjust_logits %x, %p, %v : tensor<2x?xf32>, tensor<?x2xi32>, tensor<?x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %p: tensor<3x2xi32>, %v: tensor<4x2xf32>) {
  // expected-error @below {{number of values is 4, expected 3}}
  %y = weft.adjust_logits %x, %p, %v : tensor<2x8xf32>, tensor<3x2xi32>, tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %p: tensor<?x3xi32>, %v: tensor<?x2xf32>) {
  // expected-error @below {{columns of places is 3, expected 2}}
  %y = weft.adjust_logits %x, %p, %v : tensor<2x8xf32>, tensor<?x3xi32>, tensor<?x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %p: tensor<?x2xi32>, %v: tensor<?x1xf32>) {
  // expected-error @below {{columns of values is 1, expected 2}}
  %y = weft.adjust_logits %x, %p, %v : tensor<2x8xf32>, tensor<?x2xi32>, tensor<?x1xf32>
  return
}

// -----

func.func @f(%x: tensor<2x?xf32>, %c: tensor<2x2xi32>, %o: tensor<2x4xf32>) {
  // expected-error @below {{number of ids must be static}}
  %y = weft.sample %x, %c, %o : tensor<2x?xf32>, tensor<2x2xi32>, tensor<2x4xf32> -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %c: tensor<3x2xi32>, %o: tensor<2x4xf32>) {
  // expected-error @below {{number of rows of counts is 3, expected 2}}
  %y = weft.sample %x, %c, %o : tensor<2x8xf32>, tensor<3x2xi32>, tensor<2x4xf32> -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %c: tensor<2x2xi32>, %o: tensor<3x4xf32>) {
  // expected-error @below {{number of rows of options is 3, expected 2}}
  %y = weft.sample %x, %c, %o : tensor<2x8xf32>, tensor<2x2xi32>, tensor<3x4xf32> -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %c: tensor<2x2xi32>, %o: tensor<2x4xf32>) {
  // expected-error @below {{number of result rows is 3, expected 2}}
  %y = weft.sample %x, %c, %o : tensor<2x8xf32>, tensor<2x2xi32>, tensor<2x4xf32> -> tensor<3xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %c: tensor<2x1xi32>, %o: tensor<2x4xf32>) {
  // expected-error @below {{columns of counts is 1, expected 2}}
  %y = weft.sample %x, %c, %o : tensor<2x8xf32>, tensor<2x1xi32>, tensor<2x4xf32> -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %c: tensor<2x2xi32>, %o: tensor<2x5xf32>) {
  // expected-error @below {{columns of options is 5, expected 4}}
  %y = weft.sample %x, %c, %o : tensor<2x8xf32>, tensor<2x2xi32>, tensor<2x5xf32> -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{block arguments must have the operands' types}}
  "weft.dispatch"(%x) <{label = "d"}> ({
  ^bb0(%a: tensor<5xf32>):
    "weft.yield"() : () -> ()
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{must yield values of its result types}}
  %y = weft.dispatch "d" (%a = %x : tensor<4xf32>) -> (tensor<5xf32>) {
    weft.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @size() {
  // expected-error@+1 {{needs a sum of products of symbols, found 'n-1'}}
  %n = weft.size "n-1"
  return
}
