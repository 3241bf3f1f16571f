//===- FlashMemory.h - Shared memory of attention kernels -------*- C++ -*-===//
//
// Where a block of threads keeps what a softmax fold on tensor cores needs: a
// ring of slots for the tiles of its steps, then the block's state, f32
// [rows, columns + padding] with a row's maximum and sum behind its values,
// then what the values of each warp are multiplied by when they are merged.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PASSES_KERNEL_FLASHMEMORY_H
#define WEFT_PASSES_KERNEL_FLASHMEMORY_H

#include "dialects/Tile/TileDialect.h"

namespace weft::tile {

/// A tile of 16-bit elements in each slot.
struct RingPart {
  LoadOp load;    ///< That it comes from; null where only sizes matter.
  int64_t offset; ///< Bytes, in the first slot.
  int64_t pitch;  ///< Elements between rows.
};

struct FlashMemory {
  llvm::SmallVector<RingPart, 2> parts;
  int64_t slotBytes = 0;
  int64_t rows = 0, columns = 0; ///< Of the state.
  int64_t statePitch = 0;        ///< f32 elements.
  int64_t stateOffset = 0;
  int64_t factorPitch = 0; ///< f32 elements: one for each warp, two for merges.
  int64_t factorOffset = 0;
  int64_t bytes = 0; ///< In all.

  void addPart(LoadOp load, int64_t rows, int64_t columns);
  /// Places everything once the parts and the size of the state are known.
  void place(int64_t keyWarps, int64_t stages);
  /// The part of a load, or null.
  const RingPart *find(LoadOp load) const;
};

} // namespace weft::tile

#endif // WEFT_PASSES_KERNEL_FLASHMEMORY_H
