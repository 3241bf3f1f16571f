// Every message of the verifiers.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{has either sources or a value}}
plan.param @w : tensor<64xf32>

// -----

// expected-error @below {{has either sources or a value}}
plan.param @w : tensor<1xf32> {sources = [#weft.source<"w">], value = dense<0.0> : tensor<1xf32>}

// -----

// expected-error @below {{needs a static shape, found 'tensor<?xf32>'}}
plan.param @w : tensor<?xf32> {sources = [#weft.source<"w">]}

// -----

// expected-error @below {{needs a ranked tensor of numbers, found 'f32'}}
plan.param @w : f32 {sources = [#weft.source<"w">]}

// -----

// expected-error @below {{needs a ranked tensor of numbers, found 'tensor<*xf32>'}}
plan.state @s : tensor<*xf32> symbols []

// -----

// expected-error @below {{needs a symbol for each of 2 dynamic dimensions, found 1}}
plan.state @s : tensor<?x4x?xf32> symbols ["blocks"]

// -----

// expected-error @below {{holds buffers and launches only, found arith.constant}}
plan.entry @step symbols [] {
  %0 = arith.constant 0 : index
}

// -----

// expected-error @below {{workspace "tokens+" is not a polynomial}}
plan.entry @step symbols ["tokens"] workspace "tokens+" {
}

// -----

// expected-error @below {{lower bound "max(a, b)" is not a polynomial}}
plan.entry @step symbols ["a", "b"] workspace "0" lower_bound ["a", "max(a, b)"] {
}

// -----

plan.entry @step symbols ["tokens"] {
  // expected-error @below {{needs a ranked tensor of numbers, found 'tensor<?x!plan.buffer>'}}
  %x = plan.buffer input "x" : tensor<?x!plan.buffer> sizes ["tokens"]
}

// -----

plan.entry @step symbols ["tokens"] {
  // expected-error @below {{needs a size for each of 2 dimensions, found 1}}
  %x = plan.buffer input "x" : tensor<?x64xf32> sizes ["tokens"]
}

// -----

plan.entry @step symbols ["tokens"] {
  // expected-error @below {{size "tokens/2" is not a polynomial}}
  %x = plan.buffer input "x" : tensor<?x64xf32> sizes ["tokens/2", "64"]
}

// -----

plan.entry @step symbols ["tokens"] {
  // expected-error @below {{refers to a symbol exactly when it is a state or a param}}
  %x = plan.buffer param "w" : tensor<64xf32> sizes ["64"]
}

// -----

plan.param @w : tensor<64xf32> {sources = [#weft.source<"w">]}
plan.entry @step symbols ["tokens"] {
  // expected-error @below {{refers to a symbol exactly when it is a state or a param}}
  %x = plan.buffer input "x" of @w : tensor<64xf32> sizes ["64"]
}

// -----

plan.entry @step symbols ["tokens"] {
  // expected-error @below {{only temporaries have an offset}}
  %x = plan.buffer input "x" at "0" : tensor<64xf32> sizes ["64"]
}

// -----

plan.entry @step symbols ["tokens"] {
  // expected-error @below {{offset "behind x" is not a polynomial}}
  %x = plan.buffer temp "x" at "behind x" : tensor<64xf32> sizes ["64"]
}

// -----

plan.entry @step symbols ["tokens"] {
  // expected-error @below {{refers to an unknown param 'w'}}
  %w = plan.buffer param "w" of @w : tensor<64xf32> sizes ["64"]
}

// -----

plan.param @w : tensor<64xf32> {sources = [#weft.source<"w">]}
plan.entry @step symbols ["tokens"] {
  // expected-error @below {{refers to an unknown state 'w'}}
  %w = plan.buffer state "w" of @w : tensor<64xf32> sizes ["64"]
}

// -----

plan.state @s : tensor<?xf32> symbols ["blocks"]
plan.entry @step symbols ["blocks"] {
  // expected-error @below {{has type 'tensor<?x1xf32>', but 's' has type 'tensor<?xf32>'}}
  %s = plan.buffer state "s" of @s : tensor<?x1xf32> sizes ["blocks", "1"]
}

// -----

plan.entry @step symbols ["tokens"] {
  // expected-error @below {{refers to an unknown program 'norm'}}
  plan.launch @norm "norm"() inputs 0 symbols ["tokens"]
}

// -----

tile.program @norm symbols ["rows"] grid [#tile.extent<"rows", 1>] {
}
plan.entry @step symbols ["tokens"] {
  // expected-error @below {{needs 1 symbols, as its program has, found 2}}
  plan.launch @norm "norm"() inputs 0 symbols ["tokens", "tokens"]
}

// -----

tile.program @norm symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @v2 level "x86-64-v2" (%x: memref<?x64xf32>, %y: memref<?x64xf32>) symbols () item (%i) {
  }
}
plan.entry @step symbols ["tokens"] {
  %x = plan.buffer input "x" : tensor<?x64xf32> sizes ["tokens", "64"]
  // expected-error @below {{needs 2 buffers, as its program has, found 1}}
  plan.launch @norm "norm"(%x) inputs 1 symbols []
}

// -----

tile.program @norm symbols [] grid [#tile.extent<"1", 1>] {
}
plan.entry @step symbols ["tokens"] {
  %x = plan.buffer input "x" : tensor<?x64xf32> sizes ["tokens", "64"]
  // expected-error @below {{reads 2 of 1 buffers}}
  plan.launch @norm "norm"(%x) inputs 2 symbols []
}

// -----

tile.program @norm symbols [] grid [#tile.extent<"1", 1>] {
}
plan.entry @step symbols ["tokens"] {
  %x = plan.buffer input "x" : tensor<?x64xf32> sizes ["tokens", "64"]
  // expected-error @below {{reads -1 of 1 buffers}}
  plan.launch @norm "norm"(%x) inputs -1 symbols []
}

// -----

tile.program @norm symbols ["rows"] grid [#tile.extent<"rows", 1>] {
}
plan.entry @step symbols ["tokens"] {
  // expected-error @below {{symbol "-" is not a polynomial}}
  plan.launch @norm "norm"() inputs 0 symbols ["-"]
}

// -----

tile.program @norm symbols [] grid [#tile.extent<"1", 1>] {
}
plan.entry @step symbols ["tokens"] {
  // expected-error @below {{flops "many" * 2" is not a polynomial}}
  plan.launch @norm "norm"() inputs 0 symbols [] {flops = "many\" * 2"}
}

// -----

tile.program @norm symbols [] grid [#tile.extent<"1", 1>] {
}
plan.entry @step symbols ["tokens"] {
  // expected-error @below {{bytes "2 *" is not a polynomial}}
  plan.launch @norm "norm"() inputs 0 symbols [] {bytes = "2 *"}
}

// -----

tile.program @norm symbols [] grid [#tile.extent<"1", 1>] {
}
plan.entry @step symbols ["tokens"] {
  // expected-error @below {{has a variant that is not a #tile.variant, but 8 : i64}}
  plan.launch @norm "norm"() inputs 0 symbols [] {variants = [8]}
}
