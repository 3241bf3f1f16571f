//===- Safetensors.h - Reading the safetensors format ---------------------===//
//
// A file is: the length of the header as a little-endian 64-bit number, the
// header as JSON, the data. The header maps tensor names to
// {"dtype", "shape", "data_offsets": [begin, end)}, offsets counted from the
// start of the data, and may map "__metadata__" to an object of strings.
// The tensors must cover the data without holes and without overlap.
// Source: the format section of the safetensors README (huggingface).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILER_IMPORT_SAFETENSORS_H
#define WEFT_COMPILER_IMPORT_SAFETENSORS_H

#include "models/common/ImportReport.h"
#include "models/common/WeightSource.h"

#include <vector>

namespace weft {

/// Reads the header of a safetensors file that is given as its bytes, and adds
/// its tensors to `tensors`, in the order of their data, with `fileName` as
/// their file. Nothing of the data is read. Every statement of the header is
/// checked against the size of the file; on any error the report says so,
/// false is returned and nothing is added.
bool readSafetensors(llvm::ArrayRef<uint8_t> file, llvm::StringRef fileName,
                     std::vector<TensorInfo> &tensors, ImportReport &report);

/// The safetensors name of a type ("F32", "BF16", "F8_E4M3", ...).
std::optional<ElementType> parseSafetensorsType(llvm::StringRef name);

} // namespace weft

#endif // WEFT_COMPILER_IMPORT_SAFETENSORS_H
