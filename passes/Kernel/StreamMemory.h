//===- StreamMemory.h - Shared memory of streaming kernels ------*- C++ -*-===//

#ifndef WEFT_PASSES_KERNEL_STREAMMEMORY_H
#define WEFT_PASSES_KERNEL_STREAMMEMORY_H

#include "dialects/Tile/SharedMemoryBanks.h"
#include "dialects/Tile/TileDialect.h"

namespace weft::tile {

/// Where the warps of a block add up a sum of a `tile.share`: f32
/// [areas, rows, pitch].
struct SumMemory {
  int64_t rows, columns;
  /// One for each step warp, or one that they add to in turn.
  int64_t areas;
  /// Elements behind the columns of a row, which put what a warp writes at once
  /// in different banks.
  int64_t spare;

  /// Elements between rows.
  int64_t getPitch() const { return columns + spare; }
  int64_t getAreaElements() const { return rows * getPitch(); }
  int64_t getBytes() const {
    return llvm::alignTo(4 * areas * getAreaElements(), 128);
  }
};

/// What a warp writes of a sum at once, in rows of the tile.
RowAccess getSumStore(bool warpgroups);

/// Who has parts of the sums of a `tile.share`.
struct SumParts {
  int64_t stepWarps, cluster;
  bool warpgroups;

  /// Whether every sum is complete in one thread, which goes on with it.
  bool areKept() const { return warpgroups && stepWarps == 1 && cluster == 1; }
};

/// Memory for the sums of a share, [rows, columns] each; none if they are kept.
llvm::SmallVector<SumMemory>
getSumMemory(llvm::ArrayRef<std::array<int64_t, 2>> sums,
             const SumParts &parts);

} // namespace weft::tile

#endif // WEFT_PASSES_KERNEL_STREAMMEMORY_H
