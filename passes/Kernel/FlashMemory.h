//===- FlashMemory.h - Shared memory of attention kernels -------*- C++ -*-===//
//
// Where a block of threads keeps what a softmax fold on tensor cores needs: a
// ring of slots for the tiles of its steps, and the states that its warps have
// at the end, f32 [rows, columns + padding] with a row's maximum and sum behind
// its values. States that are written once all steps are done take the place
// of the ring. A single block merges its splits as it goes on, in registers or,
// where a row has too many values, in memory.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_FLASHMEMORY_H
#define WEFT_PASSES_KERNEL_FLASHMEMORY_H

#include "dialects/Tile/SharedMemoryBanks.h"
#include "dialects/Tile/TileDialect.h"

namespace weft::tile {

/// What a warp reads at once of a tile in the ring, by ldmatrix, and what it
/// writes at once of a state: in rows of either.
RowAccess getRingLoad();
RowAccess getStateStore();

/// A tile of 16-bit elements in each slot.
struct RingPart {
  LoadOp load;    ///< That it comes from; null where only sizes matter.
  int64_t offset; ///< Bytes, in the first slot.
  int64_t pitch;  ///< Elements between rows.
};

struct FlashMemory {
  llvm::SmallVector<RingPart, 2> parts;
  int64_t slotBytes = 0;
  int64_t rows = 0, columns = 0; ///< Of a state.
  int64_t statePitch = 0;        ///< f32 elements between the rows of a state.
  int64_t states = 1;            ///< Of each warp.
  bool mergesInMemory = false;   ///< A single block, its splits' values.
  int64_t stateOffset = 0;       ///< State s of warp w is number s * warps + w.
  int64_t bytes = 0;             ///< In all.

  void addPart(LoadOp load, int64_t rows, int64_t columns);
  /// Places everything once the parts and the size of a state are known.
  void place(int64_t keyWarps, int64_t stages, int64_t splits, int64_t cluster);
  /// The part of a load, or null.
  const RingPart *find(LoadOp load) const;
  /// Whether states are written while the ring is in use.
  bool keepsStates() const { return states > 1 || mergesInMemory; }
  /// f32 elements of a state.
  int64_t getStateSize() const { return rows * statePitch; }
};

} // namespace weft::tile

#endif // WEFT_PASSES_KERNEL_FLASHMEMORY_H
