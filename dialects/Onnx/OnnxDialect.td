//===- OnnxDialect.td - What came in from ONNX files -------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_ONNX_DIALECT_TD
#define WEFT_DIALECTS_ONNX_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/OpBase.td"

def Onnx_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::weft::onnx";
  let summary = "operators of ONNX files";
  let description = [{
    The operators of the ONNX standard and of com.microsoft that transformer
    files use, one operation each, in their newest meaning; the importer
    converts older versions. Names are those of ONNX; operators of com.microsoft
    have `microsoft.` before theirs. Attributes have the names, defaults and
    meaning that the standard says. An optional input that is not there is
    written `none`; outputs that a node leaves out are results without uses.

    Tensors have ranked types whose sizes are numbers or known by name:
    `tensor<?x4x?xf32, #onnx.dims<"batch", "past + sequence">>` says what the
    dynamic sizes are, in order, as sums of products of symbols. Integers with a
    sign are signless types, those without are `ui8`, ....

    An entry point is a `func.func` whose arguments and results carry
    `weft.name` and `weft.symbols`, as in the dialect `weft`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerOperations();";
}

def Onnx_DimsAttr : AttrDef<Onnx_Dialect, "Dims", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "dims";
  let summary = "what the dynamic sizes of a tensor are";
  let description = [{
    One polynomial over symbols, in the form that `Polynomial::str` prints, for
    each dynamic size, in order.

    ```mlir
    %y = onnx.Relu(%x) : (tensor<?x?xf32, #onnx.dims<"batch", "2*n">>)
        -> tensor<?x?xf32, #onnx.dims<"batch", "2*n">>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$sizes);
  let assemblyFormat = "`<` $sizes `>`";
}

#endif // WEFT_DIALECTS_ONNX_DIALECT_TD
