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
