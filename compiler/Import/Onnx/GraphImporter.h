//===- GraphImporter.h - From an ONNX graph to operations -------*- C++ -*-===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_GRAPHIMPORTER_H
#define WEFT_COMPILER_IMPORT_ONNX_GRAPHIMPORTER_H

#include "compiler/Import/Onnx/ImportOnnx.h"
#include "compiler/Import/Onnx/OnnxFunctions.h"
#include "compiler/Import/Onnx/OnnxWeights.h"
#include "compiler/Import/Onnx/OperatorNode.h"
#include "dialects/Onnx/OnnxDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

#include <map>

namespace weft {

/// Symbols and what they were found to be equal to.
using SymbolEqualities = std::map<std::string, Polynomial>;

/// Builds the entry point of a model. One object makes one attempt: if symbols
/// turn out to be equal, the model is imported again with what is known then.
class GraphImporter {
public:
  GraphImporter(const OnnxModel &model, const OnnxFunctions &functions,
                OnnxWeights &weights, const OnnxImportOptions &options,
                const SymbolEqualities &known, mlir::ModuleOp module,
                ImportReport &report);

  /// False if there was an error, which the report has, or a new equality.
  bool run();

  /// What was found of symbols in this attempt.
  const SymbolEqualities &getEqualities() const { return equalities; }

private:
  /// Nodes that copies of bodies may have together.
  static constexpr size_t maxCopiedNodes = 1 << 16;

  /// Names of values where a node stands, and what belongs to a function.
  struct Scope {
    const Scope *parent = nullptr; ///< Of the graph around; null in a function.
    llvm::StringMap<mlir::Value> values;
    /// Initializers that nothing has read yet.
    llvm::StringMap<const OnnxTensor *> initializers;
    /// Attributes of the call, for those that refer to them.
    const llvm::StringMap<const OnnxAttribute *> *attributes = nullptr;
    const llvm::StringMap<int64_t> *opsets = nullptr;
  };

  // Structure.
  bool checkOperators();
  using CalledFunctions = llvm::SetVector<const OnnxFunction *>;
  /// Reports operators that are not covered, also in graphs of attributes, and
  /// adds the functions that are called.
  void collectUncovered(llvm::ArrayRef<OnnxNode> nodes,
                        llvm::ArrayRef<OnnxOpset> opsets,
                        CalledFunctions &called);
  bool importEntry();
  bool addInput(const OnnxValueInfo &input, Scope &scope,
                mlir::func::FuncOp function,
                llvm::SmallVectorImpl<mlir::DictionaryAttr> &attributes);
  bool importNodes(llvm::ArrayRef<OnnxNode> nodes, Scope &scope);
  bool importNode(const OnnxNode &node, Scope &scope);
  bool importCall(const OnnxNode &node, const OnnxFunction &function,
                  Scope &scope);
  bool importIf(const OnnxNode &node, Scope &scope);
  bool importLoop(const OnnxNode &node, Scope &scope);
  bool importScan(const OnnxNode &node, Scope &scope);
  bool importCausalConv(const OnnxNode &node, Scope &scope);
  bool importLinearAttention(const OnnxNode &node, Scope &scope);
  class Composer;
  struct ScanOrder;
  /// The final values of `states` and the lists that a Scan over `lists` makes.
  std::optional<llvm::SmallVector<mlir::Value>>
  scan(const OnnxNode &node, llvm::ArrayRef<mlir::Value> states,
       llvm::ArrayRef<mlir::Value> lists, const ScanOrder &order, Scope &scope);
  /// The same of Scan before version 9: for each element of the first dimension
  /// of `inputs`, of which the first `states` are states.
  std::optional<llvm::SmallVector<mlir::Value>>
  scanBatch(const OnnxNode &node, llvm::ArrayRef<mlir::Value> inputs,
            size_t states, Scope &scope);
  std::optional<llvm::SmallVector<mlir::Value>>
  importBranch(const OnnxNode &node, llvm::StringRef name, Scope &scope);
  /// The outputs of a graph of `node` whose inputs have the values `arguments`.
  std::optional<llvm::SmallVector<mlir::Value>>
  importBody(const OnnxNode &node, const OnnxGraph &graph,
             llvm::ArrayRef<mlir::Value> arguments, Scope &scope);
  /// Whether a graph of a node has enough of them; else an error.
  bool hasOutputs(const OnnxNode &node, size_t count);
  /// The graph `body` of a node, of which one more copy is to be made; null
  /// after an error.
  const OnnxGraph *takeBody(const OnnxNode &node);
  /// Counts an iteration or a node of a copy, also one in a branch or function
  /// that the body uses; false after an error, if there are too many.
  bool countCopy();
  /// A copy of the body, which takeBody gave.
  std::optional<llvm::SmallVector<mlir::Value>>
  importCopy(const OnnxNode &node, const OnnxGraph &body,
             llvm::ArrayRef<mlir::Value> arguments, Scope &scope);
  /// The element `index` of a dimension, and all of them joined to one.
  mlir::Value takeElement(mlir::Value list, int64_t index, int64_t axis);
  mlir::Value joinElements(llvm::ArrayRef<mlir::Value> elements, int64_t axis);
  mlir::Value makeNumbers(llvm::ArrayRef<int64_t> numbers, bool isScalar);
  void addInitializers(const OnnxGraph &graph, Scope &scope);
  mlir::Value lookup(llvm::StringRef name, const Scope &scope);
  /// The inputs of a node that may have up to `count`, null where it has none;
  /// nothing after an error.
  std::optional<llvm::SmallVector<mlir::Value>>
  getInputs(const OnnxNode &node, size_t count, Scope &scope);
  bool bind(const OnnxNode &node, llvm::ArrayRef<mlir::Value> results,
            Scope &scope);

  // Values.
  mlir::Value makeConstant(mlir::DenseElementsAttr value);
  mlir::Value importTensor(const OnnxTensor &tensor, llvm::StringRef name);
  mlir::Value importConstant(const OnnxNode &node, const Scope &scope);
  Polynomial toSize(const OnnxDim &dim, const llvm::Twine &fallback);
  Polynomial substitute(const Polynomial &size) const;

  // Operators.
  bool importOperator(const OnnxNode &node, Scope &scope);
  std::optional<std::string> findOperator(const OnnxNode &node) const;
  const OnnxAttribute *resolve(const OnnxAttribute &attribute,
                               const Scope &scope);
  mlir::Attribute toAttribute(const OnnxAttribute &attribute,
                              llvm::StringRef name);
  /// The results; empty after an error.
  llvm::SmallVector<mlir::Value> makeOperator(OperatorNode node);
  void reportInference(const onnx::TypeInference &inference);
  /// Says to give the inputs that values depend on; empty if there are none.
  std::string adviseConstants(llvm::ArrayRef<mlir::Value> values);
  void fail(const llvm::Twine &found, const llvm::Twine &expected,
            const llvm::Twine &advice = "");

  const OnnxModel &model;
  const OnnxFunctions &functions;
  OnnxWeights &weights;
  const OnnxImportOptions &options;
  const SymbolEqualities &known;
  mlir::ModuleOp module;
  ImportReport &report;
  mlir::OpBuilder builder;
  onnx::SymbolicValues symbolic;
  SymbolEqualities equalities;
  std::string where;      ///< The node that is being imported.
  size_t copiedNodes = 0; ///< Of bodies of loops.
  bool isCopying = false; ///< A body of a loop.
  mlir::Block *entry = nullptr;
  llvm::SmallVector<std::string> inputNames;
};

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_GRAPHIMPORTER_H
