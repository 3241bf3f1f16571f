//===- Einsum.h - Equations of Einsum ---------------------------*- C++ -*-===//

#ifndef WEFT_DIALECTS_ONNX_EINSUM_H
#define WEFT_DIALECTS_ONNX_EINSUM_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::onnx {

/// The labels of the dimensions of inputs and of the output. A dimension that
/// an ellipsis stands for has the label ".1" (the last), ".2", ....
struct EinsumEquation {
  std::vector<llvm::SmallVector<std::string>> inputs;
  llvm::SmallVector<std::string> output;

  /// Parses "bij,bjk->bik" or "bij,bjk" for inputs of these ranks; nothing if
  /// it is malformed or does not fit them. Source: numpy.einsum.
  static std::optional<EinsumEquation> parse(llvm::StringRef text,
                                             llvm::ArrayRef<size_t> ranks);
};

} // namespace weft::onnx

#endif // WEFT_DIALECTS_ONNX_EINSUM_H
