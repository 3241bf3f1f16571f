//===- DecoderFiles.h - Files beside the graph of a decoder -----*- C++ -*-===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_DECODERFILES_H
#define WEFT_COMPILER_IMPORT_ONNX_DECODERFILES_H

#include "compiler/Import/TokenizerFiles.h"

namespace weft {

/// What files beside an ONNX file say of generating text with it: JSON text
/// with keys of META (docs/generation.md). From genai_config.json
/// (onnxruntime-genai), or else from config.json and generation_config.json
/// (Hugging Face); `name` is that of the model. A file that is no JSON, or a
/// context length or id that is none, is an error in the report.
std::string readDecoderFacts(const Folder &folder, llvm::StringRef name,
                             ImportReport &report);

/// Whether readDecoderFacts may read a file of this name.
bool isDecoderFile(llvm::StringRef name);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_DECODERFILES_H
