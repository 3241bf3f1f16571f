//===- SharedMemoryAccessTest.cpp - Conflicts of banks in kernels ---------===//
//
// Of the accesses to shared memory that stand in the innermost loops of kernels
// and behind them: by where the elements of a lane lie, how many wavefronts an
// access takes, and how many it would take without conflicts.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/SharedMemoryBanks.h"
#include "passes/Kernel/FlashMemory.h"
#include "passes/Kernel/FragmentLayouts.h"
#include "passes/Kernel/StreamMemory.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace weft::tile;

namespace {

constexpr unsigned halfBytes = 2, matrixRowBytes = 16;

unsigned countMatrixLoads(const Layout &rows, const Layout &memory) {
  Layout places = rows.then(memory);
  std::vector<int64_t> offsets;
  for (uint64_t lane = 0; lane < 32; ++lane)
    offsets.push_back(static_cast<int64_t>(
        places.at({{Axis::Lane, lane}}, Axis::Offset) * halfBytes));
  return countWavefronts(offsets, matrixRowBytes);
}

unsigned countRows(const RowAccess &access, int64_t pitch) {
  return countWavefronts(getOffsets(access, pitch), access.getBytes());
}

class SharedMemoryAccessTest : public ::testing::Test {
protected:
  SharedMemoryAccessTest() { context.loadDialect<TileDialect>(); }

  MLIRContext context;
};

} // namespace

TEST_F(SharedMemoryAccessTest, WeightsInCoreMatrices) {
  // The left-hand operands of mma.sync in a tile of 128 columns by 256 of k.
  auto address = CoreMatricesAttr::get(&context).getAddress({128, 256});
  Layout memory = getTileLayout(address, 4, 4).value();
  EXPECT_EQ(countMatrixLoads(getLeftAccess().rows, memory), 4u);
  // Row by row the eight rows of a matrix would be in the same banks.
  Layout rowMajor({{Axis::Row, 4}, {Axis::Column, 4}}, {{Axis::Offset, 12}},
                  BitMatrix(12, {256, 512, 1024, 2048, 1, 2, 4, 8}));
  EXPECT_EQ(countMatrixLoads(getLeftAccess().rows, rowMajor), 32u);
}

TEST_F(SharedMemoryAccessTest, InputsInPanels) {
  auto address = PanelsAttr::get(&context, 128).getAddress({64, 512});
  Layout memory = getTileLayout(address, 3, 5).value();
  EXPECT_EQ(countMatrixLoads(getInputAccess().rows, memory), 4u);
}

TEST_F(SharedMemoryAccessTest, MatricesOfPanelsAreStoredWhole) {
  // What the lanes have of 8 rows and columns of a sum is 128 consecutive bytes
  // in panels, 4 of each lane in their order.
  auto address = PanelsAttr::get(&context, 128).getAddress({64, 512});
  Layout stored =
      getMatrixFragment().then(getTileLayout(address, 3, 3).value());
  EXPECT_EQ(stored, Layout::identity(Axis::Register, Axis::Offset, 1) *
                        Layout::identity(Axis::Lane, Axis::Offset, 5));
}

TEST_F(SharedMemoryAccessTest, SumsOfStreamedLayers) {
  for (bool warpgroups : {false, true}) {
    RowAccess store = getSumStore(warpgroups);
    unsigned least = getLeastWavefronts(32, store.getBytes());
    EXPECT_GT(countRows(store, 128), least);
    // Beside a sum of rows, as the kernels have them.
    for (int64_t columns = 16; columns <= 512; columns += 16)
      for (const SumMemory &memory :
           getSumMemory({{64, columns}, {64, 1}}, {2, 2, warpgroups}))
        if (memory.columns > 1) {
          EXPECT_EQ(countRows(store, memory.getPitch()), least)
              << columns << " columns";
          // Four elements are read as one vector.
          EXPECT_EQ(memory.getPitch() % 4, 0);
        }
  }
}

TEST_F(SharedMemoryAccessTest, TilesAndStatesOfAttention) {
  for (int64_t headSize : {16, 32, 48, 64, 80, 96, 112, 128, 192, 256}) {
    SCOPED_TRACE("heads of " + std::to_string(headSize));
    // Keys are stored transposed, rows of 64 of them; values are rows.
    FlashMemory memory;
    memory.rows = 16;
    memory.columns = headSize;
    memory.addPart(LoadOp(), headSize, 64);
    memory.addPart(LoadOp(), 64, headSize);
    memory.place(/*keyWarps=*/4, /*stages=*/3, /*splits=*/8, /*cluster=*/1);
    for (const RingPart &part : memory.parts) {
      EXPECT_EQ(countRows(getRingLoad(), part.pitch), 4u);
      EXPECT_EQ(part.pitch * halfBytes % matrixRowBytes, 0);
    }
    EXPECT_EQ(countRows(getStateStore(), memory.statePitch),
              getLeastWavefronts(32, 8));
    // A maximum and a sum of each of the four lanes of a row.
    EXPECT_GE(memory.statePitch, headSize + 8);
  }
  EXPECT_GT(countRows(getRingLoad(), 64), 4u);
  EXPECT_GT(countRows(getStateStore(), 64), getLeastWavefronts(32, 8));
}
