//===- TensorCoreLayouts.h - What tensor cores take and give ----*- C++ -*-===//
//
// Rows and columns are those of the matrix that is meant: of a left-hand side
// columns are values of k, of a right-hand side rows are. Registers count
// elements, also where two of 16 bits share one of the machine's.
//
// Source: PTX ISA, "Matrix Fragments for mma.m16n8k16", "Register Fragments for
// wgmma.mma_async.m64nNk16", "ldmatrix", "stmatrix", "Strides" and "Swizzling
// Modes" of tensors in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_TILE_TENSORCORELAYOUTS_H
#define WEFT_DIALECTS_TILE_TENSORCORELAYOUTS_H

#include "dialects/Tile/Layout.h"

namespace weft::tile {

/// (register, lane) -> (row, column) of the 8x8 matrix of 16-bit elements that
/// a warp loads with ldmatrix: a pair in each lane, four lanes for a row.
Layout getMatrixFragment();

/// The fragments of mma.sync.m16n8k16 with 16-bit operands and f32 sums:
/// (register, lane) -> (row, column).
Layout getMmaLhs();         ///< 16 rows, 16 values of k.
Layout getMmaRhs();         ///< 16 values of k, 8 columns.
Layout getMmaAccumulator(); ///< 16 rows, 8 columns.

/// The same of wgmma.m64nNk16, (register, lane, warp) -> (row, column), for a
/// power of two of columns.
Layout getWarpgroupLhs();                             ///< 64 rows, 16 of k.
Layout getWarpgroupAccumulator(unsigned columnsBits); ///< 64 rows.

/// Offset, in bytes of 2^bits, where a bulk copy of a tensor puts what has that
/// offset without swizzle; `width` is that of the mode, 32, 64 or 128 bytes.
/// It is its own inverse.
Layout getTensorCopySwizzle(unsigned width, unsigned bits);

/// How ldmatrix loads, or stmatrix stores, what lanes hold.
struct MatrixAccess {
  /// The instruction transposes each 8x8 matrix.
  bool isTransposed;
  /// (register, lane) -> what the layout that was asked about gives: lane
  /// l gives the address of row l % 8 of matrix l / 8. Registers are those bits
  /// of the layout's registers that further instructions are for.
  Layout rows;
};

/// Whether lanes that hold 16-bit elements as `held` says, (register, lane) ->
/// any coordinates, get them by ldmatrix: 2^matricesBits matrices, 1, 2 or 4,
/// by each instruction. Elements with coordinates c and c + 1 along
/// `contiguous` lie side by side in memory, and those from a multiple of 8 on
/// in 16 aligned bytes. None if they do not.
std::optional<MatrixAccess> getMatrixAccess(const Layout &held, Axis contiguous,
                                            unsigned matricesBits);

} // namespace weft::tile

#endif // WEFT_DIALECTS_TILE_TENSORCORELAYOUTS_H
