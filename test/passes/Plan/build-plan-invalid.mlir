// RUN: weft-opt %s --weft-build-plan --split-input-file --verify-diagnostics

// expected-error @+1 {{argument 0 needs either weft.name or weft.state}}
func.func @unnamed(%x: tensor<?x64xf32> {weft.symbols = ["tokens"]}) {
  return
}

// -----

// expected-error @+1 {{output "y" must be a result of a launch that is returned once}}
func.func @returns_its_input(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]}) -> (tensor<?x64xf32> {weft.name = "y"}) {
  return %x : tensor<?x64xf32>
}

// -----

func.func @not_a_launch(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]}) {
  // expected-error @+1 {{cannot be in an entry point when the plan is built; only launches, weights and constants}}
  %0 = weft.activation silu %x : tensor<?x64xf32>
  return
}

// -----

tile.program @append symbols ["rows"] grid [#tile.extent<"rows", 1>] {
}
func.func @first(%s: tensor<?x64xf32> {weft.state = "cache", weft.symbols = ["blocks"]}) {
  return
}
// expected-error @+1 {{state "cache" has different types in different entries: 'tensor<?x64xf32>' and 'tensor<?x32xf32>'}}
func.func @second(%s: tensor<?x32xf32> {weft.state = "cache", weft.symbols = ["blocks"]}) {
  return
}

// -----

// A returned state is the argument of that name, updated in place.

tile.program @append symbols ["rows"] grid [#tile.extent<"rows", 1>] {
}
func.func @swapped(%a: tensor<?x64xf32> {weft.state = "a", weft.symbols = ["blocks"]},
                   %b: tensor<?x64xf32> {weft.state = "b", weft.symbols = ["blocks"]})
    -> (tensor<?x64xf32> {weft.state = "b"}) {
  // expected-error @+1 {{returns state "b" that lies in another buffer}}
  %0 = tile.launch @append "append"(%a) tied [0] symbols ["1"] sizes [["blocks", "64"]] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// An input of the caller is not changed.

tile.program @append symbols ["rows"] grid [#tile.extent<"rows", 1>] {
}
// expected-error @+1 {{output "y" must be a result of a launch that is returned once}}
func.func @changes_its_input(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]}) -> (tensor<?x64xf32> {weft.name = "y"}) {
  %0 = tile.launch @append "append"(%x) tied [0] symbols ["1"] sizes [["tokens", "64"]] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

tile.program @append symbols ["rows"] grid [#tile.extent<"rows", 1>] {
}
func.func @read_later(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]}) -> (tensor<?x64xf32> {weft.name = "y"}) {
  %0 = tile.launch @append "made"(%x) tied [-1] symbols ["1"] sizes [["tokens", "64"]] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  // expected-error @+1 {{changes in place what a later operation reads}}
  %1 = tile.launch @append "changed"(%0) tied [0] symbols ["1"] sizes [["tokens", "64"]] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = tile.launch @append "reader"(%0) tied [-1] symbols ["1"] sizes [["tokens", "64"]] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}
