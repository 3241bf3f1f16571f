//===- ReadOnnx.h - From the bytes of an ONNX file to its model -*- C++ -*-===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_READONNX_H
#define WEFT_COMPILER_IMPORT_ONNX_READONNX_H

#include "compiler/Import/Onnx/OnnxModel.h"
#include "models/common/ImportReport.h"

namespace weft {

/// What a file may hold at most, so that a small hostile file cannot fill
/// memory: what is read takes a few hundred bytes for each part.
struct OnnxLimits {
  size_t parts = 400'000;     ///< Nodes, tensors, attributes, types, ...
  size_t numbers = 4'000'000; ///< Values of attributes, sizes, names.
  unsigned depth = 48;        ///< Graphs inside of attributes of graphs.
  size_t rank = 32;           ///< Dimensions of a tensor.
};

/// Reads a file that is given as its bytes, which must outlive the model; the
/// values of tensors are not touched. Checked are the encoding and the limits,
/// not what the model says. Nothing is returned if there was an error, which
/// goes to the report with the place (byte) in the file called `fileName`.
std::optional<OnnxModel> readOnnx(llvm::ArrayRef<uint8_t> file,
                                  llvm::StringRef fileName,
                                  ImportReport &report,
                                  const OnnxLimits &limits = {});

/// Reads one tensor, the format of .pb files beside the models of the ONNX
/// project; otherwise like readOnnx.
std::optional<OnnxTensor> readOnnxTensor(llvm::ArrayRef<uint8_t> file,
                                         llvm::StringRef fileName,
                                         ImportReport &report);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_READONNX_H
