//===- StreamMemory.cpp - Shared memory of streaming kernels --------------===//

#include "passes/Kernel/StreamMemory.h"

using namespace mlir;
using namespace weft::tile;

/// What areas for all step warps may take of the memory that pieces arrive in.
static constexpr int64_t mostAreaBytes = 16 * 1024;

SmallVector<SumMemory>
weft::tile::getSumMemory(ArrayRef<std::array<int64_t, 2>> sums,
                         const SumParts &parts) {
  if (parts.areKept())
    return {};
  auto place = [&](int64_t areas) {
    SmallVector<SumMemory> places;
    for (auto [rows, columns] : sums)
      places.push_back(
          {rows, columns, areas, /*spare=*/parts.warpgroups ? 8 : 4});
    return places;
  };
  SmallVector<SumMemory> places = place(parts.stepWarps);
  int64_t bytes = 0;
  for (const SumMemory &sum : places)
    bytes += sum.getBytes();
  // The blocks of a cluster read sums that are complete.
  return parts.cluster == 1 && bytes <= mostAreaBytes ? places : place(1);
}
