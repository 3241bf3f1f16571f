//===- FlashMemory.cpp - Shared memory of attention kernels ---------------===//

#include "passes/Kernel/FlashMemory.h"
#include "passes/Kernel/FragmentLayouts.h"

using namespace weft::tile;

/// 16-bit elements of a copy.
static constexpr int64_t chunkElements = 8;
/// f32 elements behind the values of a row of a state: a maximum and a sum for
/// each of the four lanes that have the row.
static constexpr int64_t stateElements = 8;
/// Words of four bytes of all banks.
static constexpr int64_t bankWords = 32;
/// Values of a row of which a warp can have two states in registers.
static constexpr int64_t mostRegisterColumns = 128;

RowAccess weft::tile::getRingLoad() {
  return {getRightAccess().rows.withInputs({Axis::Lane}), chunkElements,
          /*elementBytes=*/2};
}

RowAccess weft::tile::getStateStore() {
  return {getMmaAccumulator().withInputs({Axis::Lane}), /*count=*/2,
          /*elementBytes=*/4};
}

void FlashMemory::addPart(LoadOp load, int64_t rows, int64_t columns) {
  int64_t pitch = llvm::alignTo(columns, chunkElements);
  pitch += getLeastSpare(getRingLoad(), pitch, chunkElements, 2 * bankWords);
  parts.push_back({load, slotBytes, pitch});
  slotBytes += rows * pitch * 2;
}

void FlashMemory::place(int64_t keyWarps, int64_t stages, int64_t splits,
                        int64_t cluster) {
  statePitch = columns + stateElements;
  statePitch += getLeastSpare(getStateStore(), statePitch, 4, bankWords);
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
