//===- OnnxInterfaces.td - What all operators can do -------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_ONNX_INTERFACES_TD
#define WEFT_DIALECTS_ONNX_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Onnx_OperatorInterface : OpInterface<"OperatorInterface"> {
  let cppNamespace = "::weft::onnx";
  let description = "An operator of an ONNX file.";
  let methods = [
    StaticInterfaceMethod<[{
        One letter for each input that the operator has: `r` required, `?`
        optional, `*` any number.
      }],
      "::llvm::StringRef", "getInputKinds">,
    StaticInterfaceMethod<[{
        The same for results: `r` one, `*` any number.
      }],
      "::llvm::StringRef", "getOutputKinds">,
    InterfaceMethod<[{
        Finds the types of the results from operands, attributes and what is
        known of the values of operands. Reports to `inference` why not.
      }],
      "::llvm::LogicalResult", "inferTypes", (ins "::weft::onnx::TypeInference &":$inference)>
  ];
}

#endif // WEFT_DIALECTS_ONNX_INTERFACES_TD
