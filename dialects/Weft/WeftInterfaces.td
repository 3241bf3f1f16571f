//===- WeftInterfaces.td - Interfaces of model-level ops ---*- tablegen -*-===//

#ifndef WEFT_DIALECTS_WEFT_INTERFACES_TD
#define WEFT_DIALECTS_WEFT_INTERFACES_TD

include "mlir/IR/Interfaces.td"
include "mlir/IR/OpBase.td"

def Weft_CostInterface : OpInterface<"CostInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    The work that an operation must do on any machine, as polynomials over the
    names of the dynamic dimensions (`tokens`, `logits`, ...). How many keys
    attention sees is data; it enters as a symbol of its own (KeyCount.h):
    `seen_keys` is the sum over the tokens of the keys that each sees,
    `read_keys` the sum over the sequences of those that any token sees. A suffix
    tells other masks than the causal one: `.both_sides`, `.window_512`.
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

def Weft_PackedLayoutInterface : AttrInterface<"PackedLayoutInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    The order of a weight matrix `[N, K]` in memory. The packed tensor has the
    dimensions that `getDims` says, behind those of a stack of matrices.
  }];
  let methods = [
    InterfaceMethod<"Dimensions of a packed matrix, outermost first.",
                    "::llvm::SmallVector<::weft::PackedDim>", "getDims">,
    InterfaceMethod<"What a plan's list of parameters says.",
                    "std::string", "getText">,
    InterfaceMethod<[{
        Diagnoses a matrix `[outputs, inputs]` that cannot be stored so.
      }],
      "::llvm::LogicalResult", "verifyMatrix",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "int64_t":$outputs, "int64_t":$inputs, "::mlir::Type":$element),
      [{}], [{ return ::mlir::success(); }]>
  ];
  let extraClassDeclaration = [{
    /// Shape after packing a `[.., N, K]` matrix.
    llvm::SmallVector<int64_t> getPackedShape(llvm::ArrayRef<int64_t> shape) const;
    /// Outputs that one index of the outermost dimension stands for.
    int64_t getOutputBlock() const;
  }];
}

#endif // WEFT_DIALECTS_WEFT_INTERFACES_TD
