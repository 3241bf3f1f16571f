//===- OnnxStructureOps.td - Constants, weights, branches --*- tablegen -*-===//

#ifndef WEFT_DIALECTS_ONNX_STRUCTURE_OPS_TD
#define WEFT_DIALECTS_ONNX_STRUCTURE_OPS_TD

include "dialects/Onnx/OnnxBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Onnx_ConstantOp : Op<Onnx_Dialect, "Constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a small tensor of known values";
  let description = [{
    Constants of more than a few elements are an `onnx.Initializer`.

    ```mlir
    %axes = onnx.Constant dense<[0, 1]> : tensor<2xi64>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Onnx_InitializerOp : Op<Onnx_Dialect, "Initializer", [Pure]> {
  let summary = "a tensor of the model's file or of one beside it";
  let description = [{
    Only the name is kept in the IR; the bytes are read when the artifact is
    written.

    ```mlir
    %w = onnx.Initializer "encoder.weight" : tensor<64x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Onnx_IfOp : Op<Onnx_Dialect, "If", [RecursiveMemoryEffects, RecursivelySpeculatable,
    SingleBlockImplicitTerminator<"::weft::onnx::YieldOp">, NoRegionArguments]> {
  let summary = "one of two graphs";
  let description = [{
    The condition is a tensor of one element. Branches read values from outside.

    ```mlir
    %y = onnx.If %c : (tensor<1xi1>) -> tensor<3xf32> {
      onnx.Yield %a : tensor<3xf32>
    } else {
      onnx.Yield %b : tensor<3xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$condition);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$then_branch, SizedRegion<1>:$else_branch);
  let assemblyFormat = [{
    $condition attr-dict `:` functional-type($condition, $outputs) $then_branch `else` $else_branch
  }];
}

def Onnx_YieldOp : Op<Onnx_Dialect, "Yield", [Pure, Terminator, ReturnLike,
                                              HasParent<"::weft::onnx::IfOp">]> {
  let summary = "ends a branch";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange());
  }]>];
}

#endif // WEFT_DIALECTS_ONNX_STRUCTURE_OPS_TD
