//===- OnnxWeights.h - Tensors of an ONNX file as weights -------*- C++ -*-===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_ONNXWEIGHTS_H
#define WEFT_COMPILER_IMPORT_ONNX_ONNXWEIGHTS_H

#include "compiler/Import/Onnx/OnnxTensorData.h"
#include "models/common/WeightSource.h"

#include <deque>

namespace weft {

/// The tensors of a model and of the files beside it; nothing is copied but
/// what had to be converted. Filled while the graph is imported, then read.
class OnnxWeights : public WeightSource {
public:
  /// Takes over the folder and the mapped model file.
  OnnxWeights(Folder folder, std::unique_ptr<MappedFile> file);

  llvm::ArrayRef<uint8_t> getFile() const { return file->getBytes(); }
  OnnxDataFiles &getDataFiles() { return dataFiles; }

  /// Adds a tensor of a type that weights can have and returns the name that it
  /// got: `name`, or one like it if there is one already.
  std::string add(llvm::StringRef name, ElementType type,
                  llvm::ArrayRef<int64_t> shape, OnnxTensorData data);
  /// Forgets what was added.
  void clear();
  /// Ends filling: sorts the tensors by name.
  void finish();

  llvm::ArrayRef<TensorInfo> getTensors() const override { return tensors; }
  std::optional<llvm::ArrayRef<uint8_t>>
  getMapped(const TensorInfo &tensor) const override;

protected:
  void readChecked(const TensorInfo &tensor, uint64_t offset,
                   llvm::MutableArrayRef<uint8_t> bytes) const override;

private:
  Folder folder;
  std::unique_ptr<MappedFile> file;
  OnnxDataFiles dataFiles;
  std::vector<TensorInfo> tensors;
  llvm::StringMap<llvm::ArrayRef<uint8_t>> bytes;
  std::deque<std::vector<uint8_t>> owned;
};

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_ONNXWEIGHTS_H
