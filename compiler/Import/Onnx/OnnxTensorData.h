//===- OnnxTensorData.h - The values of tensors of ONNX files ---*- C++ -*-===//
//
// A tensor's values lie in the file itself, as raw bytes or in one of the typed
// fields, or in another file beside it ("external data": at most `length` bytes
// from `offset` of the file `location`).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_ONNX_ONNXTENSORDATA_H
#define WEFT_COMPILER_IMPORT_ONNX_ONNXTENSORDATA_H

#include "compiler/Import/Folder.h"
#include "compiler/Import/Onnx/OnnxModel.h"
#include "models/common/ImportReport.h"

#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <vector>

namespace weft {

/// The files that hold external data, below the folder of the model. Each is
/// mapped when it is first asked for and stays as long as this object. A path
/// that leaves the folder and, unless the folder follows links, symbolic links
/// and files with several names (hard links) are refused. Not thread-safe.
class OnnxDataFiles {
public:
  /// `folder` must outlive this object.
  explicit OnnxDataFiles(const Folder &folder) : folder(folder) {}

  llvm::Expected<llvm::ArrayRef<uint8_t>> map(llvm::StringRef location);

private:
  const Folder &folder;
  llvm::StringMap<std::unique_ptr<MappedFile>> files;
};

/// Where the stored values of a tensor are: little-endian, row-major. Elements
/// of 4 (2) bits lie two (four) to a byte, the first in the lowest bits; the
/// last byte is padded.
struct OnnxTensorData {
  llvm::ArrayRef<uint8_t> bytes;
  std::string file;           ///< Of external data: its name; else empty.
  std::vector<uint8_t> owned; ///< Holds `bytes` if they had to be converted.
};

/// Number of elements of a shape; nothing if it is negative somewhere or if
/// there are 2^60 or more.
std::optional<uint64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// Bytes that so many elements take, elements of less than 8 bits packed.
uint64_t getByteSize(OnnxType type, uint64_t elements);

/// Finds and checks the values of a tensor. They are copied only out of typed
/// fields. `files` may be null: then external data is refused, since the model
/// has no folder. Problems go to the report, with `where` as the place, and
/// nothing is returned.
std::optional<OnnxTensorData> readTensorData(const OnnxTensor &tensor,
                                             OnnxDataFiles *files,
                                             const llvm::Twine &where,
                                             ImportReport &report);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_ONNX_ONNXTENSORDATA_H
