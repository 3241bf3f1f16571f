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

/// An attention of a decoder, which sees all tokens up to its own.
struct DecoderAttention {
  mlir::Operation *op = nullptr;
  mlir::Value query, key, value; ///< Key null: the query holds all three.
  int64_t heads = 0, keyHeads = 0, size = 0;
  CausalMask mask;
  double scale = 1, softcap = 0;
  // What GroupQueryAttention does before: norms of heads and their rotation.
  mlir::Value queryNorm, keyNorm; ///< Null: none.
  double epsilon = 0;
  mlir::Value cosine, sine; ///< Tables; null: heads are not rotated.
  bool isInterleaved = false;
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
  llvm::SmallVector<DecoderAttention> attentions; ///< In order.
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
  bool describe(onnx::AttentionOp op);
  bool describe(onnx::MicrosoftGroupQueryAttentionOp op);
  bool isWholePast(mlir::Value lasts) const;
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
