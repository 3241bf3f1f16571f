// What the contracts of the phases report, and what code generation and the
// artifact cannot take.
// RUN: split-file %s %t
// RUN: not weft-compile %t/model.mlir --compile-from=input --compile-to=graph -o %t/out 2>&1 | FileCheck %s --check-prefix=MODEL
// RUN: not weft-compile %t/plan.mlir --compile-from=plan --compile-to=plan -o %t/out 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not weft-compile %t/elements.mlir --compile-from=plan --weights %weft_source/models/stories260k -o %t/out 2>&1 | FileCheck %s --check-prefix=ELEMENTS
// RUN: not weft-compile %t/calls.mlir --compile-from=plan --weights %weft_source/models/stories260k -o %t/out 2>&1 | FileCheck %s --check-prefix=CALLS
// RUN: not weft-compile %t/mixed.mlir --compile-from=fuse --compile-to=plan -o %t/out 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: not ls %t/out

//--- model.mlir
// MODEL-DAG: error: argument 0 is not a ranked tensor
// MODEL-DAG: error: dimension 1 of argument 2 is dynamic but has no name in weft.symbols
func.func @step(%number: f32, %named: tensor<?xf32> {weft.name = "x", weft.symbols = ["tokens"]},
                %unnamed: tensor<4x?xf32> {weft.name = "y"}) {
  return
}

//--- plan.mlir
// PLAN: error: 'plan.entry' op has no planned workspace
// PLAN: error: 'plan.buffer' op has no place in the workspace
plan.entry @step symbols ["tokens"] {
  %0 = plan.buffer temp "t" : tensor<?xf32> sizes ["tokens"]
}

//--- elements.mlir
// ELEMENTS: error: 'plan.param' op has elements of type 'i7', which an artifact cannot hold
plan.param @w : tensor<4xi7> {sources = [#weft.source<"w">]}

//--- calls.mlir
// CALLS: error: kernel 'remainder' at level 'x86-64-v2' calls 'fmodf', which the runtime does not provide; an operation of the kernel has no lowering at this level
tile.program @remainder symbols [] grid [#tile.extent<"1", 1>] {
  tile.kernel @v2 level "x86-64-v2" (%x: memref<4xf32>, %y: memref<4xf32>) symbols () item (%i) {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%zero] : memref<4xf32> -> tensor<4xf32>
    %b = arith.remf %a, %a : tensor<4xf32>
    tile.store %b, %y[%zero] : tensor<4xf32>, memref<4xf32>
  }
}
plan.entry @step symbols [] workspace "0" {
}

//--- mixed.mlir
// Of no phase. A message without a place in a file names the module of the model.
// MIXED: weft-compile: error: layers.0.norm: 'weft.activation' op may not be left in an entry point after the fuse phase
func.func @step(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]}) -> tensor<?x64xf32> {
  %0 = weft.activation silu %x : tensor<?x64xf32> loc("layers.0.norm")
  %1 = weft.dispatch "d" (%a = %0 : tensor<?x64xf32>) -> (tensor<?x64xf32>) {
    %2 = weft.activation silu %a : tensor<?x64xf32>
    weft.yield %2 : tensor<?x64xf32>
  }
  return %1 : tensor<?x64xf32>
}
