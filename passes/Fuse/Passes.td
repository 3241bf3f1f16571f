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

    Conditions:

    * the weights are plain checkpoint weights, not packed, of one element type,
      and so are the biases;
    * all have a bias or none has;
    * the layers stand in one block;
    * a pair that feeds a gated activation is left alone, since it becomes one
      kernel with two accumulators.

    Remarks:

    * `merge-parallel-linears`, passed: how many layers became one;
    * `merge-parallel-linears`, missed: a layer shares its input with others but
      differs in bias or element type.
  }];
  let dependentDialects = ["::weft::WeftDialect", "::mlir::tensor::TensorDialect"];
}

def PackWeights : Pass<"weft-pack-weights"> {
  let summary = "chooses the storage layout of weight matrices";
  let description = [{
    Weights of linear layers are stored as column panels, as the kernels'
    register tiles read them; bf16 weights in pairs along the inner dimension,
    as dot-product instructions want them. With `core-matrices`, for GPUs, weights
    [N, K] that tensor cores multiply are stored as 8x8 matrices instead: those of 16 bits with N % 16 = 0 and K % 128 = 0 that
    only linear layers of inputs of the same type and embeddings read. A table that is both an embedding
    and an output head is stored once, packed. Stands after merging, which
    changes the matrices, and before dispatches are formed, so that a kernel
    sees the layout it reads.

    Conditions:

    * a linear layer or a grouped linear layer multiplies by the weight;
    * every other user is one too, or an embedding that looks rows up in it;
    * the weight is not packed yet.

    Remarks: none. A linear layer whose weight stays as it is has no kernel:
    `weft-build-tile-programs` reports it as an error.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
  let options = [
    Option<"columns", "columns", "int64_t", "64", "Outputs per panel">,
    Option<"coreMatrices", "core-matrices", "bool", "false",
           "Store what tensor cores multiply as 8x8 matrices">
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

    Reshapes and slices move into the dispatches that read them. What it has put
    into a dispatch, later passes see as one kernel.

    Conditions of joining a group:

    * no value is computed twice: an elementwise operation joins the matrix
      operation whose result only it reads;
    * everything that the group reads is computed before it, and nothing
      between its first and its last operation reads its results;
    * a gate: both linear layers read one input, only the activation reads them,
      and neither has joined another group;
    * rows: the result has the type of the producer's, and the operation does not
      pick rows of it (an embedding).

    Remarks:

    * `fused`, passed: an operation joins the kernel of its producer;
    * `not-fused`, missed: why an operation that follows a kernel did not.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
  let options = [
    Option<"fuse", "fuse", "bool", "true", "Put several operations into a dispatch">
  ];
}

def FuseNorms : Pass<"weft-fuse-norms"> {
  let summary = "moves norms into the linear layers that read them";
  let description = [{
    A root-mean-square normalisation of rows is no kernel of its own: each of
    the linear layers that read it computes it, `y = W (x * w) / rms(x)`. The
    squares are summed while the input passes by anyway. Stands behind the
    forming of dispatches, whose kernels it changes. Part of the fuse phase for
    GPUs that stream weights past a few rows (decision 0012); elsewhere a linear
    layer reads its input often and one kernel in front is better.

    Conditions:

    * the norm is one of rows in bf16: `x * w` is rounded before it is divided,
      which needs the range of f32;
    * only linear layers whose weights are stored in core matrices read it;
    * its input and its weight are known outside its kernel.

    Remarks:

    * `norm-fused`, passed: a norm is computed by the layers that read it;
    * `norm-not-fused`, missed: why not.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
}

def InterleaveRope : Pass<"weft-interleave-rope", "::mlir::ModuleOp"> {
  let summary = "puts the two halves of rotated heads side by side";
  let description = [{
    Rotary embedding by halves pairs elements i and i + R/2 of a head. If the
    rows of the query's and the key's weights are read pair by pair, the elements
    of a pair lie side by side in a tile of the layer's output, which can then be
    rotated by the kernel that computes it (`weft-fuse-rope`). Scores are the
    same: they are sums over a head's elements, whose order changes for queries
    and keys alike. Also in the cache, which only attention reads.

    Part of the fuse phase for GPUs that stream weights.

    Conditions:

    * query and keys come from linear layers directly, with plain weights;
    * the keys are written to a state, and all that reads or writes the state in
      any entry point is of this kind.

    Remarks:

    * `rope-interleaved`, passed: heads are rotated pair by pair;
    * `rope-not-interleaved`, missed: attention takes something else.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
}

def FuseRope : Pass<"weft-fuse-rope"> {
  let summary = "moves rotations and cache appends into the linear layer before them";
  let description = [{
    The query/key/value layer rotates what it computes and writes keys and values
    to the cache: one kernel less in a layer, and its values stay in registers.
    Stands behind the forming of dispatches and `weft-fuse-norms`. Part of the
    fuse phase for GPUs that stream weights.

    Conditions:

    * the heads are those of one linear layer with a weight in core matrices, which
      nothing else reads;
    * they are rotated pair by pair (`weft-interleave-rope`), by the same angles,
      and stand before those that are not;
    * only the first ones are returned, the others are written to caches.

    Remarks:

    * `rope-fused`, passed: the rotation is computed by the layer;
    * `rope-not-fused`, missed: why not.
  }];
  let dependentDialects = ["::weft::WeftDialect"];
}

#endif // WEFT_PASSES_FUSE_PASSES_TD
