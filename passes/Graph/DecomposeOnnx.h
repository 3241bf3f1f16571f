//===- DecomposeOnnx.h - Operators as simpler operators ---------*- C++ -*-===//
//
// Internal to the pass weft-decompose-onnx.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_GRAPH_DECOMPOSEONNX_H
#define WEFT_PASSES_GRAPH_DECOMPOSEONNX_H

#include "dialects/Onnx/OnnxDialect.h"

#include "mlir/IR/Builders.h"

namespace weft::graph {

/// Makes operators of the standard, whose types inference finds. After a
/// failure nothing more is made and all values are null.
class OnnxEmitter {
public:
  using Attributes =
      llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Attribute>>;

  OnnxEmitter(mlir::OpBuilder &builder, mlir::Location loc,
              onnx::SymbolicValues &symbolic)
      : builder(builder), loc(loc), symbolic(symbolic) {}

  mlir::OpBuilder &builder;

  /// The results of an operator; a null input is not there.
  llvm::SmallVector<mlir::Value> makeAll(llvm::StringRef name,
                                         llvm::ArrayRef<mlir::Value> inputs,
                                         Attributes attributes,
                                         unsigned results);
  /// The first one.
  mlir::Value make(llvm::StringRef name, llvm::ArrayRef<mlir::Value> inputs,
                   Attributes attributes = {});

  /// Why something could not be made; empty if everything could.
  llvm::StringRef getMessage() const { return message; }

  // Constants.
  mlir::Value list(llvm::ArrayRef<int64_t> numbers);
  mlir::Value integer(int64_t number);
  mlir::Value number(mlir::Type element, double value);
  mlir::Attribute attribute(int64_t value) {
    return builder.getI64IntegerAttr(value);
  }

  // Common operators.
  mlir::Value cast(mlir::Value value, mlir::Type element);
  /// A size as a list of one number.
  mlir::Value sizeOf(mlir::Value value, int64_t dim);
  /// As ONNX says shapes: 0 copies a size, -1 is what is left.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> perm);
  mlir::Value unsqueeze(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  /// The element `index` of an axis, which is gone then.
  mlir::Value pick(mlir::Value value, int64_t index, int64_t axis);
  /// 0, 1, ... below a size that is a list of one number.
  mlir::Value countTo(mlir::Value size);
  llvm::SmallVector<mlir::Value>
  split(mlir::Value value, llvm::ArrayRef<int64_t> sizes, int64_t axis);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> values, int64_t axis);

private:
  mlir::Location loc;
  onnx::SymbolicValues &symbolic;
  std::string message;
};

/// What takes the place of the results of an operator (null: of one without
/// uses); empty if it is of another family or in a form that is not covered.
using OnnxResults = llvm::SmallVector<mlir::Value>;
OnnxResults decomposeAttention(OnnxEmitter &emitter, mlir::Operation *op);
OnnxResults decomposeEmbedding(OnnxEmitter &emitter, mlir::Operation *op);
OnnxResults decomposeQuantizedProduct(OnnxEmitter &emitter,
                                      mlir::Operation *op);

} // namespace weft::graph

#endif // WEFT_PASSES_GRAPH_DECOMPOSEONNX_H
