// Every phase is a pipeline of weft-opt, and so are all of them in a row.

// RUN: weft-opt %s --pass-pipeline='builtin.module(weft-phase-input,weft-phase-graph,weft-phase-shard,weft-phase-fuse{fuse=false})' | FileCheck %s --check-prefix=FUSE
// RUN: weft-opt %s --pass-pipeline='builtin.module(weft-phases{levels=x86-64-v3})' | FileCheck %s --check-prefix=PLAN

// FUSE-LABEL: func @step
// FUSE-COUNT-2: weft.dispatch
//  FUSE-NOT:   weft.dispatch

//       PLAN: tile.program
//       PLAN:   tile.kernel @"x86-64-v3"
//       PLAN: plan.entry @step
//  PLAN-SAME:   workspace
//       PLAN:   plan.launch
//   PLAN-NOT:   plan.launch
func.func @step(%x: tensor<?x64xf32> {weft.name = "x", weft.symbols = ["tokens"]}) -> (tensor<?x64xf32> {weft.name = "y"}) {
  %w = weft.weight [#weft.source<"w">] : tensor<64x64xf32>
  %0 = weft.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = arith.addf %x, %0 : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}
