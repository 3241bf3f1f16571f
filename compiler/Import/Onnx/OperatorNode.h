//===- OperatorNode.h - A node on its way into the IR -----------*- C++ -*-===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_OPERATORNODE_H
#define WEFT_COMPILER_IMPORT_ONNX_OPERATORNODE_H

#include "compiler/Import/Onnx/OnnxModel.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "llvm/Support/Error.h"

#include <functional>

namespace weft {

/// A node with values for its inputs and attributes of the IR, so that it can
/// be rewritten before an operation is made of it.
struct OperatorNode {
  std::string name;    ///< Operation name without the dialect: "MatMul".
  int64_t version = 0; ///< Of the operator set that the node is written for.
  llvm::SmallVector<mlir::Value> inputs; ///< Null: not there.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  unsigned outputs = 1; ///< Those that the node names.

  mlir::Attribute find(llvm::StringRef attribute) const;
  /// Removes an attribute and returns it; null if it is not there.
  mlir::Attribute take(llvm::StringRef attribute);
  void set(llvm::StringRef attribute, mlir::Attribute value);
  /// Input `index`, null if it is not there.
  mlir::Value getInput(unsigned index) const;
  void setInput(unsigned index, mlir::Value value);
};

/// Makes operations for a node that is being rewritten.
struct OperatorBuilder {
  mlir::MLIRContext *context;
  /// A constant list or scalar.
  std::function<mlir::Value(mlir::DenseElementsAttr)> makeConstant;
  /// The first result of another operator; null after an error.
  std::function<mlir::Value(OperatorNode)> makeOperator;
};

/// Rewrites a node of an older operator set into one of the newest meaning,
/// with more operations around it where needed. Returns what takes the place of
/// its first output, or null if `node` is now to be made itself. An error is a
/// clause that says what cannot be converted.
llvm::Expected<mlir::Value> upgradeOperator(OperatorNode &node,
                                            const OperatorBuilder &builder);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_OPERATORNODE_H
