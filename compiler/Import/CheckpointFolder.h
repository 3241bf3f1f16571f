//===- CheckpointFolder.h - The tensors of a Hugging Face checkpoint ------===//
//
// A checkpoint folder holds `model.safetensors`, or several such files and
// `model.safetensors.index.json`, which says in its `weight_map` which file
// has which tensor.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_CHECKPOINTFOLDER_H
#define WEFT_COMPILER_IMPORT_CHECKPOINTFOLDER_H

#include "compiler/Import/Folder.h"
#include "models/common/ImportReport.h"
#include "models/common/WeightSource.h"

#include "llvm/ADT/StringMap.h"

#include <memory>

namespace weft {

/// The tensors of a folder's safetensors files, mapped read-only.
class CheckpointFolder : public WeightSource {
public:
  /// Maps and validates all files; all problems go to the report. Null if
  /// there was an error. `folder` must outlive the call only.
  static std::unique_ptr<CheckpointFolder> open(const Folder &folder,
                                                ImportReport &report);

  llvm::ArrayRef<TensorInfo> getTensors() const override { return tensors; }
  std::optional<llvm::ArrayRef<uint8_t>>
  getMapped(const TensorInfo &tensor) const override;

protected:
  void readChecked(const TensorInfo &tensor, uint64_t offset,
                   llvm::MutableArrayRef<uint8_t> bytes) const override;

private:
  CheckpointFolder() = default;

  void addFile(const Folder &folder, llvm::StringRef name,
               ImportReport &report);
  void addIndexed(const Folder &folder, ImportReport &report);
  void sortTensors(ImportReport &report);

  llvm::StringMap<std::unique_ptr<MappedFile>> files;
  std::vector<TensorInfo> tensors;
};

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_CHECKPOINTFOLDER_H
