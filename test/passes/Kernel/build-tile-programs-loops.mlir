// RUN: weft-opt %s --weft-choose-schedules=levels=x86-64-v3 --weft-build-tile-programs --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// A linalg.generic becomes loops over flat memory: one item for each 4096 elements
// of the last dimension. A reduction keeps its total in a register.

// CHECK-LABEL: tile.program @loops symbols ["n"] grid [#tile.extent<"n", 1>, #tile.extent<"8", 4096>]
//       CHECK:   tile.kernel @"x86-64-v3" level "x86-64-v3" (%[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>) symbols (%[[N:.*]]) item
//       CHECK:     scf.for %{{.*}} = %{{.*}} to %{{.*}} step
//       CHECK:       %[[SUM:.*]] = scf.for %{{.*}} to %[[N]] step %{{.*}} iter_args
//       CHECK:         memref.load %[[X]]
//       CHECK:         arith.addf
//       CHECK:       memref.store %[[SUM]], %[[Y]]
// CHECK-LABEL: func @sums
//       CHECK:   tile.launch @loops "sums"{{.*}} symbols ["n"] sizes {{\[}}["n", "8"]]
func.func @sums(%x: tensor<?x?x8xf32> {weft.name = "x", weft.symbols = ["n", "n"]}) -> tensor<?x8xf32> {
  %0 = weft.dispatch "sums" (%a = %x : tensor<?x?x8xf32>) -> (tensor<?x8xf32>) {
    %zero = arith.constant 0.0 : f32
    %n = weft.size "n"
    %empty = tensor.empty(%n) : tensor<?x8xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a : tensor<?x?x8xf32>) outs(%init : tensor<?x8xf32>) {
    ^bb0(%in: f32, %total: f32):
      %2 = arith.addf %total, %in : f32
      linalg.yield %2 : f32
    } -> tensor<?x8xf32>
    weft.yield %1 : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// -----

func.func @noInput(%x: tensor<4xf32> {weft.name = "x"}) -> tensor<4xf32> {
  %0 = weft.dispatch "d" (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %other = tensor.empty() : tensor<4xf32>
    // expected-error@+1 {{reads a tensor that is no input of its kernel}}
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%other : tensor<4xf32>) outs(%other : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4xf32>
    weft.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// A slice of rows that another kernel made for several readers is read in place.

// CHECK-LABEL: tile.program @loops
//       CHECK:   tile.kernel {{.*}} (%[[X:.*]]: memref<?xf32>, %{{.*}}: memref<?xf32>)
//   CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
//   CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : index
//       CHECK:       %[[ROW:.*]] = arith.divui %{{.*}} : index
//       CHECK:       %[[START:.*]] = arith.muli %[[ROW]], %[[C8]] : index
//       CHECK:       memref.load %[[X]]
func.func @slice(%x: tensor<?x8xf32> {weft.name = "x", weft.symbols = ["n"]}) -> tensor<?x3xf32> {
  %0 = weft.dispatch "slice" (%a = %x : tensor<?x8xf32>) -> (tensor<?x3xf32>) {
    %n = weft.size "n"
    %part = tensor.extract_slice %a[0, 3] [%n, 3] [1, 1] : tensor<?x8xf32> to tensor<?x3xf32>
    %empty = tensor.empty(%n) : tensor<?x3xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
        ins(%part : tensor<?x3xf32>) outs(%empty : tensor<?x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %2 = arith.negf %in : f32
      linalg.yield %2 : f32
    } -> tensor<?x3xf32>
    weft.yield %1 : tensor<?x3xf32>
  }
  return %0 : tensor<?x3xf32>
}

// -----

func.func @noValues(%x: tensor<4xf32> {weft.name = "x"}) -> tensor<f32> {
  %0 = weft.dispatch "d" (%a = %x : tensor<4xf32>) -> (tensor<f32>) {
    %empty = tensor.empty() : tensor<f32>
    // expected-error@+1 {{reduces into a tensor without values}}
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
        ins(%a : tensor<4xf32>) outs(%empty : tensor<f32>) {
    ^bb0(%in: f32, %total: f32):
      %2 = arith.addf %total, %in : f32
      linalg.yield %2 : f32
    } -> tensor<f32>
    weft.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @loop(%x: tensor<4xf32> {weft.name = "x"}) -> tensor<4xf32> {
  %0 = weft.dispatch "d" (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %empty = tensor.empty() : tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%a : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // expected-error@+1 {{cannot be part of a kernel of loops}}
      %2 = scf.for %i = %c0 to %c1 step %c1 iter_args(%y = %in) -> f32 {
        scf.yield %y : f32
      }
      linalg.yield %2 : f32
    } -> tensor<4xf32>
    weft.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
