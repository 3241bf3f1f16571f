//===- FlashMemory.cpp - Shared memory of attention kernels ---------------===//

#include "passes/Kernel/FlashMemory.h"

using namespace weft::tile;

/// 16-bit elements of a copy. Rows of an odd number of these begin in different
/// banks, so that the eight rows of an ldmatrix are read at once.
static constexpr int64_t chunkElements = 8;
/// f32 elements behind the values of a row of a state: the maximum and the sum,
/// and as many as put the four rows that half a warp writes at once, 8 elements
/// of each, in different banks.
static constexpr int64_t statePadding = 8;
/// Values of a row of which a warp can have two states in registers.
static constexpr int64_t mostRegisterColumns = 128;

void FlashMemory::addPart(LoadOp load, int64_t rows, int64_t columns) {
  int64_t chunks = llvm::divideCeil(columns, chunkElements);
  int64_t pitch = (chunks | 1) * chunkElements;
  parts.push_back({load, slotBytes, pitch});
  slotBytes += rows * pitch * 2;
}

void FlashMemory::place(int64_t keyWarps, int64_t stages, int64_t splits,
                        int64_t cluster) {
  statePitch = columns + statePadding;
  slotBytes = llvm::alignTo(slotBytes, 128);
  int64_t ringBytes = stages * slotBytes;
  states = cluster == 1 ? 1 : splits / cluster;
  mergesInMemory = cluster == 1 && splits > 1 && columns > mostRegisterColumns;
  int64_t stateBytes = keyWarps * states * getStateSize() * 4;
  stateOffset = keepsStates() ? ringBytes : 0;
  bytes = llvm::alignTo(std::max(ringBytes, stateOffset + stateBytes),
                        int64_t(128));
}

const RingPart *FlashMemory::find(LoadOp load) const {
  const auto *found = llvm::find_if(
      parts, [&](const RingPart &part) { return part.load == load; });
  return found == parts.end() ? nullptr : found;
}
