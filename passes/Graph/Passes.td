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

def LowerOnnx : Pass<"weft-lower-onnx", "::mlir::ModuleOp"> {
  let summary = "turns operators of ONNX into loops over elements";
  let description = [{
    Every operation of the dialect `onnx` becomes a few `linalg.generic` that
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
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::weft::WeftDialect"
  ];
}

#endif // WEFT_PASSES_GRAPH_PASSES_TD
