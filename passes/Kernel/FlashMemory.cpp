//===- FlashMemory.cpp - Shared memory of attention kernels ---------------===//

#include "passes/Kernel/FlashMemory.h"

using namespace weft::tile;

/// 16-bit elements of a copy. Rows of an odd number of these begin in different
/// banks, so that the eight rows of an ldmatrix are read at once.
static constexpr int64_t chunkElements = 8;
/// f32 elements behind the values of a row of a state: the maximum and the sum,
/// and as many as put the rows that a warp writes at once in different banks.
static constexpr int64_t statePadding = 4;

void FlashMemory::addPart(LoadOp load, int64_t rows, int64_t columns) {
  int64_t chunks = llvm::divideCeil(columns, chunkElements);
  int64_t pitch = (chunks | 1) * chunkElements;
  parts.push_back({load, slotBytes, pitch});
  slotBytes += rows * pitch * 2;
}

void FlashMemory::place(int64_t keyWarps, int64_t stages) {
  statePitch = columns + statePadding;
  factorPitch = llvm::alignTo(keyWarps + 2, 4);
  int64_t stateBytes = rows * statePitch * 4;
  // At the end of a split the warps' states take the place of a step's tiles.
  slotBytes = llvm::alignTo(std::max(slotBytes, keyWarps * stateBytes), 128);
  stateOffset = stages * slotBytes;
  factorOffset = stateOffset + llvm::alignTo(stateBytes, 16);
  bytes = llvm::alignTo(factorOffset + rows * factorPitch * 4, 128);
}

const RingPart *FlashMemory::find(LoadOp load) const {
  const auto *found = llvm::find_if(
      parts, [&](const RingPart &part) { return part.load == load; });
  return found == parts.end() ? nullptr : found;
}
