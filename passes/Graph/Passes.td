//===- Passes.td - Passes of the graph phase ---------------*- tablegen -*-===//

#ifndef WEFT_PASSES_GRAPH_PASSES_TD
#define WEFT_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeModelOps : Pass<"weft-decompose-model-ops"> {
  let summary = "replaces every model operation by its decomposition";
  let description = [{
    Every `weft` model operation is replaced by upstream operations (`linalg`,
    `tensor`, `arith`, `math`, `scf`) that compute it, also inside the bodies
    of `weft.dispatch`. The decomposition is the definition of the operation:
    this pass makes the reference that kernels are compared with, and it is the
    lowering of an operation for which there is no kernel.

    Stands outside the phases: a compilation keeps model operations until they
    become kernels. `weft-reference-to-llvm` begins with it.

    Conditions: none; every model operation has a decomposition. Weights and
    dispatches stay.

    Remarks: none.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def DecomposeOnnx : Pass<"weft-decompose-onnx", "::mlir::ModuleOp"> {
  let summary = "turns operators of com.microsoft into those of the standard";
  let description = [{
    GroupQueryAttention, MultiHeadAttention, Attention and
    PackedMultiHeadAttention become the Attention of the standard with the masks,
    rotations and cache updates around it that they stand for;
    EmbedLayerNormalization, DynamicQuantizeMatMul and MatMulIntegerToFloat
    become gathers, products and norms.

    Stands in the graph phase, behind the passes that recognise model operations
    in these operators and before `weft-lower-onnx`, which so has one attention
    to know.

    Conditions: an operator in a form that is not covered (a quantized cache,
    scores as an output) stays, and `weft-lower-onnx` reports it.

    Remarks: none.
  }];
  let dependentDialects = ["::weft::onnx::OnnxDialect"];
}

def SimplifyOnnx : Pass<"weft-simplify-onnx", "::mlir::ModuleOp"> {
  let summary = "removes operators of ONNX that change nothing";
  let description = [{
    `Identity`, a `Cast` to the type that its input has, an `Expand` or `Reshape`
    to its own shape and a `Dropout` outside of training are their input; a
    `Transpose` of a `Transpose` is one.

    Stands before the passes that recognise operations: exporters leave such
    operators between others.

    Conditions: none.

    Remarks: none.
  }];
  let dependentDialects = ["::weft::onnx::OnnxDialect"];
}

def RecomposeActivations : Pass<"weft-recompose-activations", "::mlir::ModuleOp"> {
  let summary = "recognises activation functions in operators of ONNX";
  let description = [{
    `x * sigmoid(a x)` and `x / (1 + exp(-x))` become `Swish`,
    `x / 2 (1 + erf(x / sqrt(2)))` and the form with tanh become `Gelu`, in
    whatever order their factors are multiplied.

    Stands before `weft-lower-onnx`, which makes an activation or a gated one of
    them.

    Conditions: constants have the values of the formula, up to what 16 bits can
    say. Operators in between that something else reads, too, stay for that
    reader.

    Remarks: what was recognised.
  }];
  let dependentDialects = ["::weft::onnx::OnnxDialect"];
}

def RecomposeNorms : Pass<"weft-recompose-norms", "::mlir::ModuleOp"> {
  let summary = "recognises norms in operators of ONNX";
  let description = [{
    `weight * x / sqrt(mean(x^2) + epsilon)` becomes `RMSNormalization`, and
    `weight * (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) + bias` becomes
    `LayerNormalization`: squares as `Pow` or `Mul`, the root as `Sqrt`,
    `Reciprocal` and `Div` or as `Pow`, between conversions to f32 and back.
    Norms of com.microsoft with a sum in front become a sum and such a norm.

    Stands before `weft-lower-onnx`, which makes `weft.rms_norm` and
    `weft.layer_norm` of them.

    Conditions: the mean is over the last dimension, the weight is a vector of its
    size, epsilon is a positive number, and the arithmetic is in f32. Operators
    in between that something else reads, too, stay for that reader.

    Remarks: what was recognised; a norm that is computed in another type.
  }];
  let dependentDialects = ["::weft::onnx::OnnxDialect"];
}

def RecomposeRope : Pass<"weft-recompose-rope", "::mlir::ModuleOp"> {
  let summary = "recognises rotary embeddings in operators of ONNX";
  let description = [{
    `x * cos + concat(-second half of x, first half of x) * sin` becomes
    `RotaryEmbedding`, with one half of the tables, also where only the first
    part of each head is rotated and the rest put behind it again. Heads are
    those of `[batch, length, heads * size]`: the transpose that was before the
    rotation comes behind it.

    Stands before `weft-recompose-attention`, which takes the transpose away, and
    `weft-lower-onnx`, which makes `weft.rope` of it.

    Conditions: the tables are `[batch, length, size]` with a dimension for heads,
    and computed on single elements from something that is there twice
    (`Concat(f, f)`), so that their halves are the same.

    Remarks: what was recognised; a rotation whose tables are of another form.
  }];
  let dependentDialects = ["::weft::onnx::OnnxDialect"];
}

def RecomposeAttention : Pass<"weft-recompose-attention", "::mlir::ModuleOp"> {
  let summary = "recognises attention in operators of ONNX";
  let description = [{
    `MatMul(Softmax(MatMul(query, key) * scale + mask), value)` becomes
    `Attention`: scales before, behind or on both sides of the product, a soft
    cap, masks that are added or chosen by `Where`, a 0 in the place of what is
    not a number. Key heads that are repeated for their query heads
    (`Expand`, `Tile`) are not any more, keys and values behind those of the past
    (`Concat`) become inputs of the operator, and heads are those of
    `[batch, length, heads * size]`, so that the transposes around go.

    Stands before `weft-lower-onnx`, which makes `weft.attention` of it: nothing
    materialises the scores.

    Conditions: products have four dimensions, heads and their sizes are numbers.
    A mask keeps its numbers. Where it is -infinity for a whole row, the result is
    0, as the operator says, and not NaN.

    Remarks: for each product of a softmax, that it became one, or why not.
  }];
  let dependentDialects = ["::weft::onnx::OnnxDialect"];
}

def RecomposeDecoder : Pass<"weft-recompose-decoder", "::mlir::ModuleOp"> {
  let summary = "makes the step of a decoder from its graph of ONNX";
  let description = [{
    A graph that computes logits of `[batch, length]` tokens, behind keys and values
    of a past or without one, gets the entry `step` of a decoder: tokens of any
    sequences as rows, `weft.cache_append` into the runtime's cache in the place
    of past and present tensors, `weft.attention` that reads it, and logits of the
    rows that are asked for. Positions are those of the step, an attention mask
    hides nothing, since a step has no padding; tables of angles are a
    `weft.rope_table` again where their frequencies are a constant.

    Stands behind the passes that recognise operations, and before
    `weft-lower-onnx`, which lowers the graph itself.

    Conditions: the module has the attribute `weft.decoder` of an importer. Inputs
    are token ids, `attention_mask`, `position_ids` and keys and values of the past;
    outputs are logits and the keys and values of attentions. All attentions,
    `Attention` of the standard or `GroupQueryAttention` of com.microsoft, are
    causal, also behind their past, and everything else is computed for each token
    alone by model operations. The context is no longer than tables of positions.

    Remarks: that there is a step, or why not.
  }];
  let options = [
    Option<"samples", "samples", "bool", "false", "The step chooses ids">,
    Option<"stepOnly", "step-only", "bool", "false",
           "A graph that became a step is not lowered itself">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::weft::WeftDialect"
  ];
}

def LowerOnnx : Pass<"weft-lower-onnx", "::mlir::ModuleOp"> {
  let summary = "turns operators of ONNX into model operations and loops";
  let description = [{
    An operator that a model operation computes becomes that one: a product with a
    matrix of the file is `weft.linear` (transposes of the matrix and a bias are
    part of it), a `Gather` of rows of a table `weft.embed`, norms and activations
    those of the dialect `weft`, sums of their results `arith.addf`. They work on
    rows, all leading dimensions joined; the shape that the graph gives a value is
    made only where loops read it.

    Every other operation of the dialect `onnx` becomes a few `linalg.generic` that
    compute what the standard says it means; integer tensors whose elements are
    known as polynomials over the symbols (shape arithmetic) become numbers, and
    what only they needed is gone. Names of sizes leave the types: a size that no
    operand has is a `weft.size`. Integers become signless; inputs and outputs
    without a sign are marked `weft.unsigned`.

    Stands in the graph phase, behind the passes that recognise model operations:
    it is what becomes of everything else.

    Conditions: types are those that the importer finds. An operation in a form
    that has no loops yet is an error.

    Remarks: none.
  }];
  let options = [
    Option<"loopsOnly", "loops-only", "bool", "false",
           "Loops for everything: the reference that model operations are "
           "compared with">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::weft::WeftDialect"
  ];
}

#endif // WEFT_PASSES_GRAPH_PASSES_TD
