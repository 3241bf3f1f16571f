//===- MemoryLayout.h - Where an element of a view lies ---------*- C++ -*-===//
//
// An element's distance from the view's start is a sum over its indices, each
// cut into digits of a mixed radix. Divisors and counts are powers of two, so
// that a digit is a shift and a mask.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_TILE_MEMORYLAYOUT_H
#define WEFT_DIALECTS_TILE_MEMORYLAYOUT_H

#include "dialects/Tile/Layout.h"

#include "mlir/Support/LLVM.h"

namespace weft::tile {

/// Adds `index / divisor % count * stride` elements; a count of 0 has no
/// remainder.
struct AddressDigit {
  int64_t divisor, count;
  int64_t stride;
  /// The stride counts rows of the view: it is multiplied by their number.
  bool isPerRow = false;

  /// Values of the digit of numbers below `size`.
  int64_t getSize(int64_t size) const {
    int64_t blocks = (size + divisor - 1) / divisor;
    return count && count < blocks ? count : blocks;
  }
};

/// The digits of one index.
using DimAddress = llvm::SmallVector<AddressDigit, 4>;

/// (row, column) -> offset of the first 2^rowBits rows and 2^columnBits columns
/// of a view of two dimensions. None if bits of the indices add up to other
/// than bits of the offset.
std::optional<Layout> getTileLayout(llvm::ArrayRef<DimAddress> address,
                                    unsigned rowBits, unsigned columnBits);

} // namespace weft::tile

#endif // WEFT_DIALECTS_TILE_MEMORYLAYOUT_H
