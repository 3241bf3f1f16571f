// Every operation of the dialect, printed and parsed back.
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s

// CHECK: plan.param @norm : tensor<64xf32> {sources = [#weft.source<"norm.weight">]}
plan.param @norm : tensor<64xf32> {sources = [#weft.source<"norm.weight">]}
// CHECK: plan.param @head : tensor<1x32x64x2xbf16> {layout = #weft.panels<columns = 64, group = 2>, logical_shape = array<i64: 64, 64>, sources = [#weft.source<"head">]}
plan.param @head : tensor<1x32x64x2xbf16> {layout = #weft.panels<columns = 64, group = 2>, logical_shape = array<i64: 64, 64>, sources = [#weft.source<"head">]}
// CHECK: plan.param @two : tensor<2xf32> {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}
plan.param @two : tensor<2xf32> {value = dense<[1.0, 2.0]> : tensor<2xf32>}
// CHECK: plan.state @cache.0.key : tensor<?x4x16x64xf32> symbols ["cache_blocks"]
plan.state @"cache.0.key" : tensor<?x4x16x64xf32> symbols ["cache_blocks"]
// CHECK: plan.state @counter : tensor<1xi32> symbols []
plan.state @counter : tensor<1xi32> symbols []

tile.program @copy symbols ["rows"] grid [#tile.extent<"rows", 1>] {
}

// Before memory is planned.
// CHECK: plan.entry @step symbols ["tokens", "cache_blocks"] {
plan.entry @step symbols ["tokens", "cache_blocks"] {
  // CHECK: plan.buffer input "x" : tensor<?x64xf32> sizes ["tokens", "64"]
  %x = plan.buffer input "x" : tensor<?x64xf32> sizes ["tokens", "64"]
  // CHECK: plan.buffer state "cache.0.key" of @cache.0.key : tensor<?x4x16x64xf32> sizes ["cache_blocks", "4", "16", "64"]
  %s = plan.buffer state "cache.0.key" of @"cache.0.key" : tensor<?x4x16x64xf32> sizes ["cache_blocks", "4", "16", "64"]
  // CHECK: plan.buffer param "norm" of @norm : tensor<64xf32> sizes ["64"]
  %w = plan.buffer param "norm" of @norm : tensor<64xf32> sizes ["64"]
  // CHECK: plan.buffer temp "t" : tensor<?x64xf32> sizes ["tokens", "64"]
  %t = plan.buffer temp "t" : tensor<?x64xf32> sizes ["tokens", "64"]
  // CHECK: plan.buffer output "y" : tensor<?x64xf32> sizes ["tokens", "64"]
  %y = plan.buffer output "y" : tensor<?x64xf32> sizes ["tokens", "64"]
  // CHECK: plan.launch @copy "layers.0"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) inputs 3 symbols ["tokens"] {bytes = "256 + 512*tokens", flops = "256*tokens"}
  plan.launch @copy "layers.0"(%x, %w, %s, %t) inputs 3 symbols ["tokens"] {bytes = "256 + 512*tokens", flops = "256*tokens"}
  // CHECK: plan.launch @copy "copy"(%{{.*}}, %{{.*}}) inputs 1 symbols ["2*tokens"]
  plan.launch @copy "copy"(%t, %y) inputs 1 symbols ["2*tokens"]
}

// And after.
// CHECK: plan.entry @encode symbols ["tokens"] workspace "64 + 256*tokens" lower_bound ["64", "256*tokens"] attributes {note = "planned"} {
plan.entry @encode symbols ["tokens"] workspace "64 + 256*tokens" lower_bound ["64", "256*tokens"] attributes {note = "planned"} {
  // CHECK: plan.buffer temp "a" at "0" : tensor<?x64xf32> sizes ["tokens", "64"]
  %a = plan.buffer temp "a" at "0" : tensor<?x64xf32> sizes ["tokens", "64"]
  // CHECK: plan.buffer temp "b" at "256*tokens" : tensor<16xf32> sizes ["16"]
  %b = plan.buffer temp "b" at "256*tokens" : tensor<16xf32> sizes ["16"]
}
