//===- ImportOnnx.h - An ONNX file as a whole -------------------*- C++ -*-===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_IMPORTONNX_H
#define WEFT_COMPILER_IMPORT_ONNX_IMPORTONNX_H

#include "compiler/Import/Onnx/OnnxModel.h"
#include "compiler/Import/TokenizerFiles.h"
#include "models/common/ImportReport.h"
#include "models/common/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <vector>

namespace weft {

/// Values for an input that then is no input of the plan.
struct OnnxConstantInput {
  OnnxType type = OnnxType::Undefined;
  llvm::SmallVector<int64_t, 4> shape;
  std::vector<uint8_t> bytes; ///< Little-endian, row-major.
};

struct OnnxImportOptions {
  bool followLinks = false; ///< Open external data through links.
  llvm::StringMap<OnnxConstantInput> constants; ///< By the name of the input.
};

/// A model in the dialect `onnx` and its weights.
struct ImportedOnnx {
  /// One entry point, `main`, and what files beside the model say of a decoder
  /// (passes/Graph/DecoderFacts.h).
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<WeightSource> weights;
  TokenizerFiles tokenizerFiles; ///< Those beside the model.
};

/// The name of the entry point.
inline constexpr llvm::StringLiteral onnxEntryName = "main";

/// The operators that files may have, sorted: "Add", "com.microsoft.Gelu". The
/// context must have the dialect `onnx`.
std::vector<std::string> listOnnxOperators(mlir::MLIRContext &context);

/// Imports the file at `path`, which maps it and the files of its external
/// data; the context must have the dialects `onnx`, `weft` and `func`. All
/// operators that are not covered go to the report together; nothing is
/// returned if there is an error.
std::optional<ImportedOnnx> importOnnx(llvm::StringRef path,
                                       const OnnxImportOptions &options,
                                       mlir::MLIRContext &context,
                                       ImportReport &report);

/// The paths of the files beside the one at `path` that importOnnx may read,
/// those of its external data among them; none for a file that is no ONNX.
std::vector<std::string> listOnnxFiles(llvm::StringRef path);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_IMPORTONNX_H
