//===- OnnxBase.td - Classes of operators by the rule of shapes -*- tablegen -*-//

#ifndef WEFT_DIALECTS_ONNX_BASE_TD
#define WEFT_DIALECTS_ONNX_BASE_TD

include "dialects/Onnx/OnnxDialect.td"
include "dialects/Onnx/OnnxInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

defvar Onnx_T = AnyRankedTensor;
defvar Onnx_Maybe = Optional<AnyRankedTensor>;
defvar Onnx_Many = Variadic<AnyRankedTensor>;

/// With a sign, unlike what the accessor of I64Attr gives.
def Onnx_I64 : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer">;
class Onnx_Int<string default> : DefaultValuedAttr<Onnx_I64, default>;
class Onnx_Float<string default> : DefaultValuedAttr<F32Attr, default>;
class Onnx_String<string default> : DefaultValuedStrAttr<StrAttr, default>;
defvar Onnx_Ints = DenseI64ArrayAttr;

/// One letter for each argument of a list of operands or results.
class Onnx_Kinds<dag operands> {
  string text = !foldl("", !range(!size(operands)), before, i,
    before # !cond(!isa<Variadic>(!getdagarg<TypeConstraint>(operands, i)): "*",
                   !isa<Optional>(!getdagarg<TypeConstraint>(operands, i)): "?",
                   true: "r"));
}

/// An operator. `rule` is the C++ function of InferTypes.h that finds the types
/// of its results, `example` what it looks like behind the name.
class Onnx_Op<string operator, string rule, dag inputs, dag attributes,
              dag outputs, string example, list<Trait> traits = []>
    : Op<Onnx_Dialect, operator, !listconcat(
        [Pure, DeclareOpInterfaceMethods<Onnx_OperatorInterface>], traits)> {
  let summary = "the operator " # operator;
  defvar kinds = Onnx_Kinds<outputs>.text;
  defvar count = !cond(!eq(kinds, "r"): "", !eq(kinds, "*"): ":2",
                       true: ":" # !size(outputs));
  let description = "\n```mlir\n%y" # count # " = onnx." # operator # example # "\n```\n";
  let arguments = !con(inputs, attributes);
  let results = outputs;
  let hasCustomAssemblyFormat = 1;
  let extraClassDefinition = [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &result) {
      return parseOperator(parser, result, getInputKinds());
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) {
      printOperator(printer, *this, getOperandSizes(*this));
    }
    ::llvm::StringRef $cppClass::getInputKinds() { return "}]
      # Onnx_Kinds<inputs>.text # [{"; }
    ::llvm::StringRef $cppClass::getOutputKinds() { return "}]
      # kinds # [{"; }
    ::llvm::LogicalResult $cppClass::inferTypes(TypeInference &inference) {
      // A rule of several results may add those that have no type, too.
      return ::llvm::success(
          ::llvm::succeeded(checkOperands(*this, inference)) &&
          ::llvm::succeeded(}] # rule # [{(*this, inference)) &&
          inference.getTypes().size() == (*this)->getNumResults());
    }
  }];
}

defvar Onnx_OneTensor = "(%x) : (tensor<2x?xf32, #onnx.dims<\"n\">>) -> tensor<2x?xf32, #onnx.dims<\"n\">>";

/// The result has the type of the input.
class Onnx_Unary<string operator, dag attributes = (ins)>
    : Onnx_Op<operator, "inferSame", (ins Onnx_T:$input), attributes,
              (outs Onnx_T:$result), Onnx_OneTensor>;

/// The result has the broadcast shape of all inputs and the type of the first.
class Onnx_Binary<string operator, dag attributes = (ins)>
    : Onnx_Op<operator, "inferBroadcast", (ins Onnx_T:$lhs, Onnx_T:$rhs),
              attributes, (outs Onnx_T:$result),
              "(%x, %b) : (tensor<2x?xf32, #onnx.dims<\"n\">>, tensor<1xf32>) -> tensor<2x?xf32, #onnx.dims<\"n\">>">;

class Onnx_BinaryOfInts<string operator, dag attributes = (ins)>
    : Onnx_Op<operator, "inferBroadcast", (ins Onnx_T:$lhs, Onnx_T:$rhs),
              attributes, (outs Onnx_T:$result),
              "(%x, %b) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>">;

/// The same with a result of truth values.
class Onnx_Comparison<string operator>
    : Onnx_Op<operator, "inferComparison", (ins Onnx_T:$lhs, Onnx_T:$rhs), (ins),
              (outs Onnx_T:$result),
              "(%x, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>">;

class Onnx_Nary<string operator>
    : Onnx_Op<operator, "inferBroadcast", (ins Onnx_Many:$inputs), (ins),
              (outs Onnx_T:$result),
              "(%x, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>">;

/// Reduction of `axes`; all of them where there are none.
class Onnx_Reduction<string operator>
    : Onnx_Op<operator, "inferReduction", (ins Onnx_T:$data, Onnx_Maybe:$axes),
              (ins Onnx_Int<"1">:$keepdims, Onnx_Int<"0">:$noop_with_empty_axes),
              (outs Onnx_T:$result),
              "(%x, %axes) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x1xf32>">;

class Onnx_ArgReduction<string operator>
    : Onnx_Op<operator, "inferArgReduction", (ins Onnx_T:$data),
              (ins Onnx_Int<"0">:$axis, Onnx_Int<"1">:$keepdims,
                   Onnx_Int<"0">:$select_last_index),
              (outs Onnx_T:$result),
              "(%x) {keepdims = 0 : i64} : (tensor<2x3xf32>) -> tensor<3xi64>">;

#endif // WEFT_DIALECTS_ONNX_BASE_TD
