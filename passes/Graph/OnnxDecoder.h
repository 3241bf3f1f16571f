//===- OnnxDecoder.h - What the parts of a decoder's graph are --*- C++ -*-===//

#ifndef WEFT_PASSES_GRAPH_ONNXDECODER_H
#define WEFT_PASSES_GRAPH_ONNXDECODER_H

#include "dialects/Weft/WeftDialect.h"
#include "passes/Graph/OnnxElements.h"
#include "passes/Graph/OnnxPatterns.h"

namespace weft::graph {

/// cos(position * frequency) * scale for each frequency, or sin.
struct AngleTable {
  mlir::DenseElementsAttr frequencies;
  double scale = 1;
};

/// Finds out what the parts of a graph are. All that fails says why.
class OnnxDecoder {
public:
  explicit OnnxDecoder(mlir::func::FuncOp function) : function(function) {}

  bool analyse();
  llvm::StringRef getMissed() const { return missed; }

  bool isPosition(mlir::Value value) const;
  std::optional<AngleTable> matchTable(mlir::Value value, bool isCosine) const;

  mlir::func::FuncOp function;
  mlir::BlockArgument tokens;
  mlir::Value logits;
  Polynomial batch, length, past;
  /// In order, with their masks.
  llvm::SmallVector<std::pair<onnx::AttentionOp, CausalMask>> attentions;
  /// What the logits are computed of, in order.
  llvm::SmallVector<mlir::Operation *> needed;
  /// The operation that begins what is computed of rows whose logits are wanted
  /// only, and its input; null: nothing but the logits is.
  mlir::Operation *head = nullptr;

private:
  bool fail(const llvm::Twine &reason) {
    missed = reason.str();
    return false;
  }
  bool findOutputs();
  bool findInputs();
  bool findAttentions();
  void collect();
  void findHead();
  llvm::StringRef getName(mlir::BlockArgument argument) {
    auto name = function.getArgAttrOfType<mlir::StringAttr>(
        argument.getArgNumber(), WeftDialect::getNameAttrName());
    return name ? name.getValue() : llvm::StringRef();
  }
  mlir::DenseElementsAttr matchFrequencies(mlir::Value value,
                                           int64_t count) const;

  OnnxElements elements;
  std::string missed;
};

} // namespace weft::graph

#endif // WEFT_PASSES_GRAPH_ONNXDECODER_H
