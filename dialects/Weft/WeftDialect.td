//===- WeftDialect.td - The model-level dialect ------------*- tablegen -*-===//

#ifndef WEFT_DIALECTS_WEFT_DIALECT_TD
#define WEFT_DIALECTS_WEFT_DIALECT_TD

include "mlir/IR/OpBase.td"

def Weft_Dialect : Dialect {
  let name = "weft";
  let cppNamespace = "::weft";
  let summary = "transformer models on tensors";
  let description = [{
    Model-level operations on value-semantics tensors. All tokens of all
    sequences of a step are one ragged leading dimension, `tokens`; sequence
    lengths, positions and block tables are tensors. What an operation means
    is its decomposition into `linalg`, `tensor`, `arith` and `math`.

    An entry point is a `func.func` whose arguments carry

    * `weft.name`: the name the runtime knows the input by,
    * `weft.symbols`: one name per dynamic dimension, in order,
    * `weft.unsigned`: the integers of the tensor have no sign,
    * `weft.state`: instead of `weft.name`, for a tensor that lives as long as
      a session (a key or value cache); the function returns its new value as
      a result that carries the same `weft.state`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 0;
  let extraClassDeclaration = [{
    /// Names of the discardable attributes described above.
    static constexpr llvm::StringLiteral getNameAttrName() {
      return "weft.name";
    }
    static constexpr llvm::StringLiteral getSymbolsAttrName() {
      return "weft.symbols";
    }
    static constexpr llvm::StringLiteral getUnsignedAttrName() {
      return "weft.unsigned";
    }
    static constexpr llvm::StringLiteral getStateAttrName() {
      return "weft.state";
    }
    /// Module attribute: the META JSON text of the artifact.
    static constexpr llvm::StringLiteral getMetaAttrName() {
      return "weft.meta";
    }
  }];
}

#endif // WEFT_DIALECTS_WEFT_DIALECT_TD
