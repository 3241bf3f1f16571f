// Every message of the verifiers and parsers.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{'rows+' is not a polynomial}}
tile.program @p symbols ["rows"] grid [#tile.extent<"rows+", 1>] {
}

// -----

// expected-error @below {{blocks must be positive, found 0}}
tile.program @p symbols ["rows"] grid [#tile.extent<"rows", 0>] {
}

// -----

// expected-error @below {{holds kernels only, found arith.constant}}
tile.program @p symbols [] grid [] {
  %0 = arith.constant 0 : index
}

// -----

tile.program @p symbols [] grid [] {
  tile.kernel @a level "x86-64-v2" (%x: memref<4xf32>) symbols () item (%i) {
  }
  // expected-error @below {{has other arguments than its siblings}}
  tile.kernel @b level "x86-64-v3" (%x: memref<8xf32>) symbols () item (%i) {
  }
}

// -----

tile.program @p symbols ["rows"] grid [] {
  // expected-error @below {{needs an argument per symbol of the program and one for the work item or two for the range of items}}
  tile.kernel @a level "x86-64-v2" () symbols () item (%i) {
  }
}

// -----

tile.program @p symbols ["rows"] grid [] {
  // expected-error @below {{needs an argument per symbol of the program and one for the work item or two for the range of items}}
  tile.kernel @a level "x86-64-v2" () symbols (%rows) items (%i) {
  }
}

// -----

tile.program @p symbols [] grid [] {
  // expected-error @below {{buffer arguments must be memrefs, found 'tensor<4xf32>'}}
  tile.kernel @a level "x86-64-v2" (%x: tensor<4xf32>) symbols () item (%i) {
  }
}

// -----

tile.program @p symbols [] grid [] {
  // expected-error @below {{buffers must have static strides and offset 0, found 'memref<4x?xf32>'}}
  tile.kernel @a level "x86-64-v2" (%x: memref<4x?xf32>) symbols () item (%i) {
  }
}

// -----

tile.program @p symbols [] grid [] {
  // expected-error @below {{buffers must have static strides and offset 0, found 'memref<4xf32, strided<[1], offset: 4>>'}}
  tile.kernel @a level "x86-64-v2" (%x: memref<4xf32, strided<[1], offset: 4>>) symbols () item (%i) {
  }
}

// -----

tile.program @p symbols [] grid [] {
  // expected-error @below {{symbols and the work item are of index type}}
  "tile.kernel"() <{level = "x86-64-v2", sym_name = "a"}> ({
  ^bb0(%i: i32):
    "tile.return"() : () -> ()
  }) : () -> ()
}

// -----

func.func @f() {
  // expected-error @below {{refers to an unknown program 'p'}}
  tile.launch @p "x"() tied [] symbols [] sizes [] : () -> ()
  return
}

// -----

tile.program @p symbols ["rows"] grid [] {
}
func.func @f() {
  // expected-error @below {{needs 1 symbols, as its program has, found 0}}
  tile.launch @p "x"() tied [] symbols [] sizes [] : () -> ()
  return
}

// -----

tile.program @p symbols [] grid [] {
}
func.func @f() {
  // expected-error @below {{needs one entry of 'tied' and 'sizes' per result}}
  %0 = tile.launch @p "x"() tied [] symbols [] sizes [["4"]] : () -> tensor<4xf32>
  return
}

// -----

tile.program @p symbols [] grid [] {
}
func.func @f() {
  // expected-error @below {{needs one entry of 'tied' and 'sizes' per result}}
  %0 = tile.launch @p "x"() tied [-1] symbols [] sizes [] : () -> tensor<4xf32>
  return
}

// -----

tile.program @p symbols [] grid [] {
}
func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{result 0 is tied to an input of another type}}
  %0 = tile.launch @p "x"(%x) tied [0] symbols [] sizes [["4"]] : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

tile.program @p symbols [] grid [] {
}
func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{result 0 is tied to an input of another type}}
  %0 = tile.launch @p "x"(%x) tied [1] symbols [] sizes [["8"]] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

tile.program @p symbols [] grid [] {
  tile.kernel @a level "x86-64-v2" () symbols () item (%i) {
    // expected-error @below {{must be a static row-major view, found 'memref<?xf32>'}}
    %s = tile.scratch : memref<?xf32>
  }
}

// -----

func.func @f() {
  // expected-error @below {{must stand at the top level of a kernel}}
  %s = tile.scratch : memref<4xf32>
  return
}

// -----

func.func @f(%x: memref<4x8xf32>, %i: index) {
  // expected-error @below {{needs 2 indices, found 1}}
  %0 = tile.load %x[%i] : memref<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: memref<4x8xf32>, %i: index) {
  // expected-error @below {{view and tile have different element types}}
  %0 = tile.load %x[%i, %i] : memref<4x8xf32> -> tensor<4xbf16>
  return
}

// -----

func.func @f(%x: memref<4x8xf32>, %i: index) {
  // expected-error @below {{needs one view dimension per tile dimension}}
  %0 = tile.load %x[%i, %i] dims [0, 1] : memref<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: memref<4x8xf32>, %i: index) {
  // expected-error @below {{tile dimensions must walk increasing dimensions of the view}}
  %0 = tile.load %x[%i, %i] dims [1, 0] : memref<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: memref<4x8xf32>, %i: index) {
  // expected-error @below {{tile dimensions must walk increasing dimensions of the view}}
  %0 = tile.load %x[%i, %i] dims [2] : memref<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: memref<4x8xf32>, %i: index) {
  // expected-error @below {{tile has more dimensions than the view}}
  %0 = tile.load %x[%i, %i] : memref<4x8xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: memref<4x8xf32>, %t: tensor<1x4x8xf32>, %i: index) {
  // expected-error @below {{tile has more dimensions than the view}}
  tile.store %t, %x[%i, %i] : tensor<1x4x8xf32>, memref<4x8xf32>
  return
}

// -----

func.func @f(%x: memref<4x8xf32>, %t: tensor<8xf32>, %i: index) {
  // expected-error @below {{needs 2 indices, found 0}}
  tile.store %t, %x[] : tensor<8xf32>, memref<4x8xf32>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{expected add, max, softmax, add_max or argmax, found 'product'}}
  tile.fold %i = %n to %n step %n merge product init () {
  }
  return
}

// -----

func.func @f(%n: index, %t: tensor<8xf32>) {
  // expected-error @below {{body needs an index and one argument per state value}}
  %0 = "tile.fold"(%n, %n, %n, %t) <{merge = #tile<merge add>}> ({
  ^bb0(%i: index):
    "tile.yield"(%t) : (tensor<8xf32>) -> ()
  }) : (index, index, index, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%n: index, %t: tensor<8xf32>) {
  // expected-error @below {{body arguments must have the types of the state}}
  %0 = "tile.fold"(%n, %n, %n, %t) <{merge = #tile<merge add>}> ({
  ^bb0(%i: index, %s: tensor<4xf32>):
    "tile.yield"(%t) : (tensor<8xf32>) -> ()
  }) : (index, index, index, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%n: index, %t: tensor<8xf32>, %u: tensor<4xf32>) {
  // expected-error @below {{must yield values of the types of the state}}
  %0 = tile.fold %i = %n to %n step %n merge add init (%s = %t : tensor<8xf32>) {
    tile.yield %u : tensor<4xf32>
  }
  return
}

// -----

func.func @f(%n: index, %t: tensor<8xf32>) {
  // expected-error @below {{a softmax state needs a maximum and a sum}}
  %0 = tile.fold %i = %n to %n step %n merge softmax init (%s = %t : tensor<8xf32>) {
    tile.yield %s : tensor<8xf32>
  }
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %b: tensor<8x4xf32>, %c: tensor<1x4xf32>) {
  // expected-error @below {{multiplies [M, K] by [K, N] or [K/g, N, g]}}
  %0 = tile.mma fma %a, %b, %c : tensor<8xf32>, tensor<8x4xf32>, tensor<1x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8xf32>, %b: tensor<7x4xf32>, %c: tensor<1x4xf32>) {
  // expected-error @below {{inner sizes differ: 'tensor<1x8xf32>' and 'tensor<7x4xf32>'}}
  %0 = tile.mma fma %a, %b, %c : tensor<1x8xf32>, tensor<7x4xf32>, tensor<1x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8xf32>, %b: tensor<5x4x2xf32>, %c: tensor<1x4xf32>) {
  // expected-error @below {{inner sizes differ: 'tensor<1x8xf32>' and 'tensor<5x4x2xf32>'}}
  %0 = tile.mma fma %a, %b, %c : tensor<1x8xf32>, tensor<5x4x2xf32>, tensor<1x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>, %c: tensor<1x4xf32>) {
  // expected-error @below {{accumulator must be 2 x 4, found 'tensor<1x4xf32>'}}
  %0 = tile.mma fma %a, %b, %c : tensor<2x8xf32>, tensor<8x4xf32>, tensor<1x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8xf32>, %b: tensor<4x4x2xbf16>, %c: tensor<1x4xf32>) {
  // expected-error @below {{dot_bf16 needs bf16 operands, pairs and an even inner size}}
  %0 = tile.mma dot_bf16 %a, %b, %c : tensor<1x8xf32>, tensor<4x4x2xbf16>, tensor<1x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x7xbf16>, %b: tensor<4x4x2xbf16>, %c: tensor<1x4xf32>) {
  // expected-error @below {{dot_bf16 needs bf16 operands, pairs and an even inner size}}
  %0 = tile.mma dot_bf16 %a, %b, %c : tensor<1x7xbf16>, tensor<4x4x2xbf16>, tensor<1x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @below {{reduces [R, C] to [R, 1] of the same element type}}
  %0 = tile.reduce add %a : tensor<4x8xf32> -> tensor<1x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x1xf32>) {
  // expected-error @below {{keeps rank and element type}}
  %0 = tile.broadcast %a : tensor<4x1xf32> -> tensor<4x8xf16>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error @below {{cannot repeat 'tensor<4x2xf32>' to 'tensor<4x8xf32>'}}
  %0 = tile.broadcast %a : tensor<4x2xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: f32) {
  // expected-error @below {{element types differ}}
  %0 = tile.splat %a : f32 -> tensor<4xf16>
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @below {{has no dimension 2}}
  %0 = tile.iota %a dim 2 : tensor<4x8xi32>
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @below {{has no dimension -1}}
  %0 = tile.iota %a dim -1 : tensor<4x8xi32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @below {{takes columns of a tile [R, C]}}
  %0 = tile.slice %a at 0 : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @below {{reads columns up to 9 of 8}}
  %0 = tile.slice %a at 3 {stride = 2 : i64} : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @below {{joins [R, A] and [R, B] to [R, A + B]}}
  %0 = tile.join %a, %a : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<4x4xf32>) {
  // expected-error @below {{interleaves tiles of equal size}}
  %0 = tile.join %a, %b {interleaved} : tensor<4x8xf32>, tensor<4x4xf32> -> tensor<4x12xf32>
  return
}

// -----

// expected-error @below {{a block has 32, 64, ... or 1024 threads, found 96}}
module attributes {tile.schedule = #tile.cuda_schedule<level = "sm_90a", threads = 96, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>} {}

// -----

// expected-error @below {{sizes of a schedule must be positive, found 0}}
module attributes {tile.schedule = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 8, columns = 0, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64>} {}

// -----

// expected-error @below {{a work item has a cluster of 1 to 8 blocks, found 16}}
module attributes {tile.schedule = #tile.cuda_schedule<level = "sm_90a", threads = 128, rows = 8, columns = 64, unroll = 8, row_columns = 64, row_unroll = 8, row_block = 16, column_block = 64, cluster = 16>} {}

// -----

// expected-error @below {{panels have a power of two of columns, at least 8, found 96}}
func.func private @f(memref<?x96xbf16, #tile.panels<columns = 96>>)

// -----

// expected-error @below {{a view of panels has rows of a multiple of 128 columns, found ? x 192}}
func.func private @f(memref<?x192xbf16, #tile.panels<columns = 128>>)

// -----

// expected-error @below {{a view of core matrices has two static sizes that are multiples of 16 and 128, found 24 x 128}}
func.func private @f(memref<24x128xbf16, #tile.core_matrices>)

// -----

tile.program @p symbols [] grid [] {
  // expected-error @below {{has a buffer of 'memref<?x128xbf16, #tile.panels<columns = 128>>', whose rows the program needs a symbol for}}
  tile.kernel @a level "sm_90a" (%x: memref<?x128xbf16, #tile.panels<columns = 128>>) symbols () item (%i) {
  }
}

// -----

func.func @f(%x: memref<16x128xbf16, #tile.core_matrices>, %i: index) {
  // expected-error @below {{tile dimensions must walk different dimensions of the view}}
  %0 = tile.load %x[%i, %i] dims [1, 1] : memref<16x128xbf16, #tile.core_matrices> -> tensor<4x4xbf16>
  return
}

// -----

func.func @f(%a: tensor<1x2xf32>) {
  // expected-error @below {{takes the number of a tile with one element of its type, found 'tensor<1x2xf32>' and 'f32'}}
  %0 = tile.extract %a : tensor<1x2xf32> -> f32
  return
}

// -----

func.func @f(%a: tensor<1x1xi32>) {
  // expected-error @below {{takes the number of a tile with one element of its type, found 'tensor<1x1xi32>' and 'f32'}}
  %0 = tile.extract %a : tensor<1x1xi32> -> f32
  return
}

// -----

func.func @f(%n: index, %t: tensor<8xf32>) {
  // expected-error @below {{an add_max state has as many sums as maxima}}
  %0 = tile.fold %i = %n to %n step %n merge add_max init (%s = %t : tensor<8xf32>) {
    tile.yield %s : tensor<8xf32>
  }
  return
}

// -----

func.func @f(%n: index, %t: tensor<8xf32>) {
  // expected-error @below {{an argmax state is a value and a number}}
  %0 = tile.fold %i = %n to %n step %n merge argmax init (%s = %t : tensor<8xf32>) {
    tile.yield %s : tensor<8xf32>
  }
  return
}
