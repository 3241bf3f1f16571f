//===- OnnxFunctions.h - Functions of an ONNX model -------------*- C++ -*-===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_ONNXFUNCTIONS_H
#define WEFT_COMPILER_IMPORT_ONNX_ONNXFUNCTIONS_H

#include "compiler/Import/Onnx/OnnxModel.h"
#include "models/common/ImportReport.h"

#include "llvm/ADT/StringMap.h"

namespace weft {

/// The functions of a model by domain, name and overload. A node whose key is
/// that of a function calls it, whatever operators there are.
class OnnxFunctions {
public:
  /// Collects and checks the functions of `model`, which must outlive this
  /// object. Two with one key, a function that calls itself, directly or
  /// through others (also from the graphs of attributes), and calls that
  /// multiply to more than `maxNodes` nodes go to the report.
  static std::optional<OnnxFunctions>
  create(const OnnxModel &model, size_t maxNodes, ImportReport &report);

  /// The function that a node calls, or null.
  const OnnxFunction *find(const OnnxNode &node) const;

private:
  llvm::StringMap<const OnnxFunction *> functions;
};

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_ONNXFUNCTIONS_H
