//===- Passes.td - Passes of the fuse phase ----------------*- tablegen -*-===//

#ifndef WEFT_PASSES_FUSE_PASSES_TD
#define WEFT_PASSES_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def MergeParallelLinears : Pass<"weft-merge-parallel-linears"> {
  let summary = "multiplies by several weights of one input at once";
  let description = [{
    Linear layers that read the same input (query, key and value projections)
    become one linear layer whose weight has the rows of all, followed by
    slices. One large multiplication keeps all cores busy and reads the input
    once. Stands first in the phase, because packing and forming dispatches
    must see the merged weight.

    Conditions: the weights are plain checkpoint weights of one element type;
    all have a bias or none has; a pair that feeds a gated activation is left
    alone, since it becomes one kernel with two accumulators.

    Remarks: `merged` names the merged layers; missed when layers share an
    input but differ in bias or element type.
  }];
  let dependentDialects = ["::weft::WeftDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"numMerged", "merged", "Linear layers merged into others">];
}

def PackWeights : Pass<"weft-pack-weights"> {
  let summary = "chooses the storage layout of weight matrices";
  let description = [{
    Weights of linear layers are stored as column panels, as the kernels'
    register tiles read them; bf16 weights in pairs along the inner dimension,
    as dot-product instructions want them. A table that is both an embedding
    and an output head is stored once, packed. Stands after merging, which
    changes the matrices, and before dispatches are formed, so that a kernel
    sees the layout it reads.

    Conditions: every user of the weight is a linear layer, a grouped linear
    layer or an embedding.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
  let options = [
    Option<"columns", "columns", "int64_t", "64", "Outputs per panel">
  ];
}

def FormDispatches : Pass<"weft-form-dispatches"> {
  let summary = "groups model operations into kernels to be";
  let description = [{
    Every model operation goes into a `weft.dispatch`; what can share a kernel
    shares one:

    * a linear layer with what follows elementwise (activation, residual,
      soft cap), and the two linear layers of a gated activation with it;
    * normalisations of heads, rotary embedding and cache appends of one
      attention layer;
    * chains of row operations (embedding, normalisation, residual).

    Reshapes and slices move into the dispatches that read them. An operation
    joins a group only if no value has to be computed twice and the order of
    dispatches stays an order.

    Remarks: `fused` says what joined; `not-fused` why an elementwise operation
    did not.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
  let options = [
    Option<"fuse", "fuse", "bool", "true", "Put several operations into a dispatch">
  ];
  let statistics = [Statistic<"numDispatches", "dispatches", "Dispatches formed">];
}

#endif // WEFT_PASSES_FUSE_PASSES_TD
