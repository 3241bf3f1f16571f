// RUN: weft-opt %s --weft-build-plan | FileCheck %s

// Arguments become inputs and states, returned values outputs, weights params.
// A state is updated in its own buffer.

tile.program @norm symbols ["rows"] grid [#tile.extent<"rows", 1>] {
}
tile.program @append symbols ["rows"] grid [#tile.extent<"rows", 1>] {
}

//   CHECK-DAG: plan.state @cache : tensor<?x64xf32> symbols ["blocks"]
//   CHECK-DAG: plan.param @w : tensor<64xf32> {sources = [#weft.source<"w">]}
// CHECK-LABEL: plan.entry @step symbols ["tokens", "blocks"]
//       CHECK:   %[[X:.*]] = plan.buffer input "x" : tensor<?x64xf32> sizes ["tokens", "64"]
//       CHECK:   %[[S:.*]] = plan.buffer state "cache" of @cache
//       CHECK:   %[[Y:.*]] = plan.buffer output "y"
//       CHECK:   %[[W:.*]] = plan.buffer param "w" of @w
//       CHECK:   %[[T:.*]] = plan.buffer temp "first"
//       CHECK:   plan.launch @norm "first"(%[[X]], %[[W]], %[[T]]) inputs 2 symbols ["tokens"]
//       CHECK:   plan.launch @norm "second"(%[[T]], %[[W]], %[[Y]]) inputs 2
//       CHECK:   plan.launch @append "append"(%[[S]], %[[T]]) inputs 2
func.func @step(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]},
                %s: tensor<?x64xf32> {weft.state = "cache", weft.symbols = ["blocks"]})
    -> (tensor<?x64xf32> {weft.name = "y"}, tensor<?x64xf32> {weft.state = "cache"}) {
  %w = weft.weight [#weft.source<"w">] : tensor<64xf32>
  %0 = tile.launch @norm "first"(%x, %w) tied [-1] symbols ["tokens"] sizes [["tokens", "64"]] : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %1 = tile.launch @norm "second"(%0, %w) tied [-1] symbols ["tokens"] sizes [["tokens", "64"]] : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %2 = tile.launch @append "append"(%s, %0) tied [0] symbols ["tokens"] sizes [["blocks", "64"]] : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  return %1, %2 : tensor<?x64xf32>, tensor<?x64xf32>
}

// An output that a launch changes in place is the buffer that it was made in.

// CHECK-LABEL: plan.entry @changed
//       CHECK:   %[[Y:.*]] = plan.buffer output "y"
//       CHECK:   plan.launch @norm "made"(%{{.*}}, %[[Y]]) inputs 1
//       CHECK:   plan.launch @append "changed"(%[[Y]]) inputs 1
func.func @changed(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]}) -> (tensor<?x64xf32> {weft.name = "y"}) {
  %0 = tile.launch @norm "made"(%x) tied [-1] symbols ["tokens"] sizes [["tokens", "64"]] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = tile.launch @append "changed"(%0) tied [0] symbols ["tokens"] sizes [["tokens", "64"]] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}
