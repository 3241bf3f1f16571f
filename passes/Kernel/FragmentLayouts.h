//===- FragmentLayouts.h - What lanes hold in tensor core kernels -*- C++ -*-=//
//
// The fragments of mma.sync and wgmma (TensorCoreLayouts.h) as kernels put them
// together, and how they get them from memory. All are (register, lane) ->
// (row, column).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_FRAGMENTLAYOUTS_H
#define WEFT_PASSES_KERNEL_FRAGMENTLAYOUTS_H

#include "dialects/Tile/TensorCoreLayouts.h"

namespace weft::tile {

/// 8 rows by 32 values of k of an input of 16-bit elements: two right-hand
/// operands of mma.sync, transposed.
Layout getInputFragment();

/// Sums of 8 or 16 rows of a warp, at least `columns` columns: accumulators of
/// mma.sync side by side. Where the warp has 8 rows the registers of the others
/// are not there. A single column is in all four lanes of its row.
Layout getSumFragment(int64_t rows, int64_t columns);

/// How ldmatrix brings an input fragment, a left-hand operand of mma.sync and
/// two right-hand operands side by side, of which columns are consecutive in
/// memory.
MatrixAccess getInputAccess();
MatrixAccess getLeftAccess();
MatrixAccess getRightAccess();

/// The register, and the lane's place in its warp, both by exclusive or, of the
/// element in the other column of a pair: columns 2i and 2i + 1. The layout is
/// of the first elements of a tile.
struct PairPlace {
  uint64_t registers, lanes;
};
PairPlace getPairPlace(const Layout &layout);

/// Masks by which a lane's number differs from those of the other lanes that
/// have elements of its rows: one for each bit of their number.
std::vector<int64_t> getRowMasks(const Layout &layout);

} // namespace weft::tile

#endif // WEFT_PASSES_KERNEL_FRAGMENTLAYOUTS_H
