//===- StreamMemory.cpp - Shared memory of streaming kernels --------------===//

#include "passes/Kernel/StreamMemory.h"
#include "dialects/Tile/TensorCoreLayouts.h"

using namespace mlir;
using namespace weft::tile;

/// What areas for all step warps may take of the memory that pieces arrive in.
static constexpr int64_t mostAreaBytes = 16 * 1024;

RowAccess weft::tile::getSumStore(bool warpgroups) {
  // Elements that a lane has of accumulators: pairs of neighbours, or one by
  // one where the columns of the tile are rows of the accumulator.
  Layout accumulator =
      warpgroups ? getMmaAccumulator() : getMmaAccumulator().transposed();
  return {accumulator.withInputs({Axis::Lane}), warpgroups ? 2u : 1u,
          /*elementBytes=*/4};
}

/// Elements behind the columns of a row. They are read four at a time.
static int64_t getSpare(ArrayRef<std::array<int64_t, 2>> sums,
                        bool warpgroups) {
  constexpr int64_t bankWords = 32, vector = 4;
  int64_t columns = 1;
  for (auto [rows, ofSum] : sums)
    columns = std::max(columns, ofSum);
  return getLeastSpare(getSumStore(warpgroups), columns, vector, bankWords);
}

SmallVector<SumMemory>
weft::tile::getSumMemory(ArrayRef<std::array<int64_t, 2>> sums,
                         const SumParts &parts) {
  if (parts.areKept())
    return {};
  int64_t spare = getSpare(sums, parts.warpgroups);
  auto place = [&](int64_t areas) {
    SmallVector<SumMemory> places;
    for (auto [rows, columns] : sums)
      places.push_back({rows, columns, areas, spare});
    return places;
  };
  SmallVector<SumMemory> places = place(parts.stepWarps);
  int64_t bytes = 0;
  for (const SumMemory &sum : places)
    bytes += sum.getBytes();
  // The blocks of a cluster read sums that are complete.
  return parts.cluster == 1 && bytes <= mostAreaBytes ? places : place(1);
}
