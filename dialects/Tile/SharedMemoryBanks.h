//===- SharedMemoryBanks.h - Conflicts of banks -----------------*- C++ -*-===//
//
// Shared memory has 32 banks; consecutive words of 4 bytes are in consecutive
// banks. An access of a warp moves at most 128 bytes at a time: all lanes with
// up to 4 bytes each, half the warp with 8, a quarter with 16, in the order of
// the lanes. What moves together moves in one wavefront unless a bank has to
// give several words; the same word goes to any number of lanes.
//
// ldmatrix and stmatrix read and write rows of 16 bytes, as lanes with 16 bytes
// each do.
//
// Sources: CUDA C++ Programming Guide, "Shared Memory" of compute capability 5
// and later; Zhou et al. (see Layout.h) on wavefronts.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_TILE_SHAREDMEMORYBANKS_H
#define WEFT_DIALECTS_TILE_SHAREDMEMORYBANKS_H

#include "dialects/Tile/Layout.h"

#include <span>

namespace weft::tile {

/// Wavefronts that an access takes at least: without conflicts.
unsigned getLeastWavefronts(unsigned lanes, unsigned bytes);

/// Wavefronts of an access in which lane l moves `bytes` bytes, a power of two
/// up to 16, at offset offsets[l], a multiple of `bytes`.
unsigned countWavefronts(std::span<const int64_t> offsets, unsigned bytes);

/// The same of a layout lane -> offset in bytes, by the ranks of matrices. What
/// else are inputs is 0.
unsigned countWavefronts(const Layout &access, unsigned bytes);

/// An access of a warp to elements of rows in memory: lane -> (row, column) of
/// the first of `count` consecutive elements that a lane moves at a time.
struct RowAccess {
  Layout place;
  unsigned count, elementBytes;

  unsigned getBytes() const { return count * elementBytes; }
};

/// Offsets in bytes, by lane, in rows that begin `pitch` elements apart.
std::vector<int64_t> getOffsets(const RowAccess &access, int64_t pitch);

/// Elements behind the columns of a row with which the access has the fewest
/// wavefronts: the least such multiple of `step` below `most`.
int64_t getLeastSpare(const RowAccess &access, int64_t columns, int64_t step,
                      int64_t most);

} // namespace weft::tile

#endif // WEFT_DIALECTS_TILE_SHAREDMEMORYBANKS_H
