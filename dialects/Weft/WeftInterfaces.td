//===- WeftInterfaces.td - Interfaces of model-level ops ---*- tablegen -*-===//

#ifndef WEFT_DIALECTS_WEFT_INTERFACES_TD
#define WEFT_DIALECTS_WEFT_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Weft_CostInterface : OpInterface<"CostInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    The work that an operation must do on any machine, as polynomials over the
    names of the dynamic dimensions (`tokens`, `logits`, ...). Sizes that are
    data (context lengths) enter as the symbol `context`.
  }];
  let methods = [
    InterfaceMethod<[{
        Floating-point operations; a multiply-add counts two. `dims` gives the
        size of a dimension of an operand or result.
      }],
      "::weft::Polynomial", "getFlops", (ins "::weft::DimFn":$dims)>,
    InterfaceMethod<[{
        Bytes that must be read and written at least once when nothing stays
        in a cache from before: operands and results, and of a table or a
        cache only the rows that are used.
      }],
      "::weft::Polynomial", "getBytes", (ins "::weft::DimFn":$dims)>
  ];
}

def Weft_DimSourceInterface : OpInterface<"DimSourceInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    Says which operand dimension a dynamic result dimension equals, so that
    every size can be traced back to a named symbol of the entry point.
  }];
  let methods = [
    InterfaceMethod<[{
        The value and its dimension that result `result`, dimension `dim`
        equals. Only asked for dynamic dimensions.
      }],
      "std::pair<::mlir::Value, int64_t>", "getDimSource",
      (ins "unsigned":$result, "unsigned":$dim)>
  ];
}

#endif // WEFT_DIALECTS_WEFT_INTERFACES_TD
