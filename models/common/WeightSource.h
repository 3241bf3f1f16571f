//===- WeightSource.h - Where a model's tensors come from -----------------===//
//
// Tensors by name, from a checkpoint folder or synthesized. A tensor's values
// are row-major and little-endian.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_MODELS_COMMON_WEIGHTSOURCE_H
#define WEFT_MODELS_COMMON_WEIGHTSOURCE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

/// Element types of stored tensors: those of the safetensors format whose
/// elements are whole bytes.
enum class ElementType : uint8_t {
  Bool,
  U8,
  I8,
  F8E4M3,
  F8E5M2,
  U16,
  I16,
  F16,
  BF16,
  U32,
  I32,
  F32,
  U64,
  I64,
  F64,
};

/// Bytes of one element.
unsigned getByteSize(ElementType type);
/// "f32", "bf16", ...
llvm::StringRef getName(ElementType type);

/// One stored tensor.
struct TensorInfo {
  std::string name;
  ElementType type = ElementType::F32;
  llvm::SmallVector<int64_t, 4> shape;
  uint64_t byteSize = 0; ///< Equals shape x type.
  std::string file;      ///< Relative to the checkpoint; empty: synthesized.
  uint64_t offset = 0;   ///< Of the first byte in `file`.
};

/// "[320, 64]"
std::string printShape(llvm::ArrayRef<int64_t> shape);

/// shape x type in bytes; nothing for a negative dimension or on overflow.
std::optional<uint64_t> computeByteSize(llvm::ArrayRef<int64_t> shape,
                                        ElementType type);

/// Read access to tensors. All const members may be called from several
/// threads at once.
class WeightSource {
public:
  virtual ~WeightSource();

  /// All tensors, sorted by name, names unique. Valid as long as the source.
  virtual llvm::ArrayRef<TensorInfo> getTensors() const = 0;

  /// The tensor with this name, or null.
  const TensorInfo *find(llvm::StringRef name) const;

  /// The bytes of a tensor of this source without a copy, not necessarily
  /// aligned to its element type; nothing if they exist only through read().
  virtual std::optional<llvm::ArrayRef<uint8_t>>
  getMapped(const TensorInfo &tensor) const = 0;

  /// Writes bytes [offset, offset + bytes.size()) of a tensor of this source
  /// into `bytes`. Offset and size must be multiples of the element size and
  /// inside the tensor; otherwise an error is returned and nothing written.
  llvm::Error read(const TensorInfo &tensor, uint64_t offset,
                   llvm::MutableArrayRef<uint8_t> bytes) const;

protected:
  /// read() after its checks.
  virtual void readChecked(const TensorInfo &tensor, uint64_t offset,
                           llvm::MutableArrayRef<uint8_t> bytes) const = 0;
};

} // namespace weft

#endif // WEFT_MODELS_COMMON_WEIGHTSOURCE_H
