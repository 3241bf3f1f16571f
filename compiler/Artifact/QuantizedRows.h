//===- QuantizedRows.h - Numbers that elements of few bits mean -*- C++ -*-===//

#ifndef WEFT_COMPILER_ARTIFACT_QUANTIZEDROWS_H
#define WEFT_COMPILER_ARTIFACT_QUANTIZEDROWS_H

#include "dialects/Weft/WeftDialect.h"
#include "models/common/WeightSource.h"

#include "llvm/Support/Error.h"

#include <vector>

namespace weft {

/// Bytes of a stored tensor: where they lie, or a copy.
class StoredBytes {
public:
  static llvm::Expected<StoredBytes> read(const WeightSource &source,
                                          const TensorInfo &tensor);

  const uint8_t *data() const {
    return copy.empty() ? mapped.data() : copy.data();
  }

private:
  llvm::ArrayRef<uint8_t> mapped;
  std::vector<uint8_t> copy;
};

/// A tensor as QuantizationAttr says. Valid as long as its source.
class QuantizedRows {
public:
  /// Fails if tensors are missing or have other sizes or types.
  static llvm::Expected<QuantizedRows>
  read(const WeightSource &source, SourceAttr attr, const TensorInfo &tensor);

  int64_t getColumns() const { return columns; }

  /// The element as (element - zero point) * scale, in f32.
  float get(int64_t row, int64_t column) const;

private:
  int64_t bits, block, columns, rowBytes, rowBlocks;
  ElementType scaleType;
  /// Numbers like scales, or packed like elements; nothing: no zero points.
  std::optional<ElementType> zeroType;
  StoredBytes bytes, scales, zeroPoints;
};

} // namespace weft

#endif // WEFT_COMPILER_ARTIFACT_QUANTIZEDROWS_H
