//===- SharedMemoryBanksTest.cpp - Conflicts of banks ---------------------===//

#include "dialects/Tile/SharedMemoryBanks.h"
#include "dialects/Tile/TensorCoreLayouts.h"

#include "gtest/gtest.h"

#include "test/dialects/Tile/RandomLayouts.h"

using namespace weft::tile;

namespace {

/// Wavefronts of a warp whose lane l is at offset l * stride.
unsigned countStrided(int64_t stride, unsigned bytes) {
  std::vector<int64_t> offsets;
  for (int64_t lane = 0; lane < 32; ++lane)
    offsets.push_back(lane * stride);
  return countWavefronts(offsets, bytes);
}

} // namespace

TEST(SharedMemoryBanksTest, StridesOfWords) {
  // CUDA C++ Programming Guide: a stride of one word or of three has no
  // conflicts, one of two words has two-way conflicts; the same word is
  // broadcast.
  EXPECT_EQ(countStrided(4, 4), 1u);
  EXPECT_EQ(countStrided(8, 4), 2u);
  EXPECT_EQ(countStrided(12, 4), 1u);
  EXPECT_EQ(countStrided(0, 4), 1u);
  EXPECT_EQ(countStrided(128, 4), 32u);
  EXPECT_EQ(countStrided(2, 2), 1u);
}

TEST(SharedMemoryBanksTest, VectorsMoveInParts) {
  EXPECT_EQ(getLeastWavefronts(32, 4), 1u);
  EXPECT_EQ(getLeastWavefronts(32, 8), 2u);
  EXPECT_EQ(getLeastWavefronts(32, 16), 4u);
  EXPECT_EQ(countStrided(8, 8), 2u);
  EXPECT_EQ(countStrided(16, 16), 4u);
  EXPECT_EQ(countStrided(128, 16), 32u);
  // Rows of an odd number of 16 bytes begin in different banks.
  for (int64_t chunks = 1; chunks < 40; ++chunks)
    EXPECT_EQ(countStrided(16 * chunks, 16) == 4, chunks % 2 == 1) << chunks;
}

TEST(SharedMemoryBanksTest, RanksCountWavefronts) {
  forSeeds([](RandomLayouts &random) {
    unsigned bytesBits = random.number(0, 4), lanes = random.number(0, 5);
    unsigned bits = random.number(8, 14);
    std::vector<uint64_t> columns;
    for (unsigned i = 0; i < lanes; ++i)
      columns.push_back(random.word(bits) >> bytesBits << bytesBits);
    Layout access({{Axis::Lane, lanes}}, {{Axis::Offset, bits}},
                  BitMatrix(bits, columns));
    std::vector<int64_t> offsets;
    for (uint64_t lane = 0; lane < 1u << lanes; ++lane)
      offsets.push_back(
          static_cast<int64_t>(access.at({{Axis::Lane, lane}}, Axis::Offset)));
    unsigned bytes = 1u << bytesBits;
    EXPECT_EQ(countWavefronts(access, bytes), countWavefronts(offsets, bytes));
  });
}

TEST(SharedMemoryBanksTest, SwizzlesSpreadTheRowsOfMatrices) {
  // ldmatrix of 8 rows of `width` bytes each, one after the other: without a
  // swizzle they are in the same banks, with it in all of them.
  for (unsigned width : {32u, 64u, 128u}) {
    unsigned widthBits = width == 32 ? 5 : width == 64 ? 6 : 7;
    std::vector<uint64_t> rows;
    for (unsigned i = 0; i < 3; ++i)
      rows.push_back(uint64_t(1) << (widthBits + i));
    Layout plain({{Axis::Lane, 3}}, {{Axis::Offset, 10}}, BitMatrix(10, rows));
    EXPECT_EQ(countWavefronts(plain, 16), width / 16);
    EXPECT_EQ(countWavefronts(plain.then(getTensorCopySwizzle(width, 10)), 16),
              1u);
  }
}

TEST(SharedMemoryBanksTest, LeastSpare) {
  // A column of a matrix of 32 words: one word more.
  RowAccess column = {Layout::identity(Axis::Lane, Axis::Row, 5), 1, 4};
  EXPECT_EQ(getLeastSpare(column, 32, 1, 8), 1);
  EXPECT_EQ(getLeastSpare(column, 33, 1, 8), 0);
  // Only even distances: the fewest conflicts.
  EXPECT_EQ(getLeastSpare(column, 32, 2, 8), 2);
  EXPECT_EQ(countWavefronts(getOffsets(column, 34), 4), 2u);
}
