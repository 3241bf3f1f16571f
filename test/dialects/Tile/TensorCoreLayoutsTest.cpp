//===- TensorCoreLayoutsTest.cpp - Against the formulas of the PTX ISA ----===//

#include "dialects/Tile/TensorCoreLayouts.h"

#include "gtest/gtest.h"

#include "test/dialects/Tile/RandomLayouts.h"

#include <array>

using namespace weft::tile;

namespace {

/// Row and column of register `i` of a thread by a layout.
std::pair<uint64_t, uint64_t> placeOf(const Layout &layout, uint64_t i,
                                      uint64_t thread) {
  auto along = [&](Axis axis) {
    return thread < 32
               ? layout.at({{Axis::Register, i}, {Axis::Lane, thread}}, axis)
               : layout.at({{Axis::Register, i},
                            {Axis::Lane, thread % 32},
                            {Axis::Warp, thread / 32}},
                           axis);
  };
  return {along(Axis::Row), along(Axis::Column)};
}

} // namespace

// "Matrix Fragments for mma.m16n8k16 with floating point type": .f16 and .bf16.

TEST(TensorCoreLayoutsTest, MmaLhs) {
  Layout layout = getMmaLhs();
  for (uint64_t lane = 0; lane < 32; ++lane)
    for (uint64_t i = 0; i < 8; ++i) {
      uint64_t group = lane >> 2, inGroup = lane % 4;
      uint64_t row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
      uint64_t column =
          i < 4 ? inGroup * 2 + (i & 1) : inGroup * 2 + (i & 1) + 8;
      EXPECT_EQ(placeOf(layout, i, lane), std::pair(row, column));
    }
}

TEST(TensorCoreLayoutsTest, MmaRhs) {
  Layout layout = getMmaRhs();
  for (uint64_t lane = 0; lane < 32; ++lane)
    for (uint64_t i = 0; i < 4; ++i) {
      uint64_t group = lane >> 2, inGroup = lane % 4;
      uint64_t row = i < 2 ? inGroup * 2 + (i & 1) : inGroup * 2 + (i & 1) + 8;
      EXPECT_EQ(placeOf(layout, i, lane), std::pair(row, group));
    }
}

TEST(TensorCoreLayoutsTest, MmaAccumulator) {
  Layout layout = getMmaAccumulator();
  for (uint64_t lane = 0; lane < 32; ++lane)
    for (uint64_t i = 0; i < 4; ++i) {
      uint64_t group = lane >> 2, inGroup = lane % 4;
      uint64_t row = i < 2 ? group : group + 8;
      EXPECT_EQ(placeOf(layout, i, lane),
                std::pair(row, inGroup * 2 + (i & 1)));
    }
}

// "Register Fragments for wgmma.mma_async.m64nNk16".

TEST(TensorCoreLayoutsTest, WarpgroupLhs) {
  Layout layout = getWarpgroupLhs();
  for (uint64_t thread = 0; thread < 128; ++thread)
    for (uint64_t i = 0; i < 8; ++i) {
      uint64_t row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
      uint64_t column = thread % 4 * 2 + i % 2 + i / 4 * 8;
      EXPECT_EQ(placeOf(layout, i, thread), std::pair(row, column));
    }
}

TEST(TensorCoreLayoutsTest, WarpgroupAccumulator) {
  for (unsigned bits = 3; bits <= 8; ++bits) {
    Layout layout = getWarpgroupAccumulator(bits);
    EXPECT_TRUE(layout.inverse());
    for (uint64_t thread = 0; thread < 128; ++thread)
      for (uint64_t i = 0; i < (1u << bits) / 2; ++i) {
        uint64_t row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
        uint64_t column = thread % 4 * 2 + i % 2 + i / 4 * 8;
        EXPECT_EQ(placeOf(layout, i, thread), std::pair(row, column));
      }
  }
}

TEST(TensorCoreLayoutsTest, Text) {
  EXPECT_EQ(getMmaAccumulator().toString(),
            "register [column 1, row 8], lane [column 2, column 4, row 1, row "
            "2, row 4] -> column 8, row 16");
}

// "Swizzling Modes": which of the eight chunks of 16 bytes of a line of 128
// stands where, line by line.

TEST(TensorCoreLayoutsTest, TensorCopySwizzles) {
  using Lines = std::vector<std::array<uint64_t, 8>>;
  const std::pair<unsigned, Lines> modes[] = {
      {32, {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}}},
      {64,
       {{0, 1, 2, 3, 4, 5, 6, 7},
        {1, 0, 3, 2, 5, 4, 7, 6},
        {2, 3, 0, 1, 6, 7, 4, 5},
        {3, 2, 1, 0, 7, 6, 5, 4}}},
      {128,
       {{0, 1, 2, 3, 4, 5, 6, 7},
        {1, 0, 3, 2, 5, 4, 7, 6},
        {2, 3, 0, 1, 6, 7, 4, 5},
        {3, 2, 1, 0, 7, 6, 5, 4},
        {4, 5, 6, 7, 0, 1, 2, 3},
        {5, 4, 7, 6, 1, 0, 3, 2},
        {6, 7, 4, 5, 2, 3, 0, 1},
        {7, 6, 5, 4, 3, 2, 1, 0}}}};
  for (const auto &[width, lines] : modes) {
    SCOPED_TRACE("mode of " + std::to_string(width) + " bytes");
    Layout swizzle = getTensorCopySwizzle(width, 11);
    for (uint64_t offset = 0; offset < 2048; ++offset) {
      uint64_t line = offset / 128, chunk = offset % 128 / 16;
      uint64_t expected =
          line * 128 + lines[line % lines.size()][chunk] * 16 + offset % 16;
      EXPECT_EQ(swizzle.at({{Axis::Offset, offset}}, Axis::Offset), expected);
    }
  }
}

// "ldmatrix": thread l gets elements 2 * (l % 4) and 2 * (l % 4) + 1 of row l /
// 4 of each matrix, and threads 8 j .. 8 j + 7 give the addresses of the rows
// of matrix j.

namespace {

/// What the lanes get by the accesses, against the layout that they are for.
void expectLoads(const Layout &held, Axis contiguous, unsigned matricesBits,
                 bool isTransposed) {
  std::optional<MatrixAccess> access =
      getMatrixAccess(held, contiguous, matricesBits);
  ASSERT_TRUE(access);
  EXPECT_EQ(access->isTransposed, isTransposed);
  uint64_t matrices = 1u << matricesBits;
  uint64_t instructions = 1u << access->rows.inputBits(Axis::Register);
  for (uint64_t n = 0; n < instructions; ++n)
    for (uint64_t lane = 0; lane < 32; ++lane)
      for (uint64_t matrix = 0; matrix < matrices; ++matrix)
        for (uint64_t element = 0; element < 2; ++element) {
          uint64_t row = lane / 4, inRow = lane % 4 * 2 + element;
          if (isTransposed)
            std::swap(row, inRow);
          uint64_t reg = (n * matrices + matrix) * 2 + element;
          for (Axis axis : {Axis::Row, Axis::Column}) {
            uint64_t first = access->rows.at(
                {{Axis::Register, n}, {Axis::Lane, matrix * 8 + row}}, axis);
            EXPECT_EQ(
                first + (axis == contiguous ? inRow : 0),
                held.at({{Axis::Register, reg}, {Axis::Lane, lane}}, axis));
          }
        }
}

} // namespace

TEST(TensorCoreLayoutsTest, OperandsByMatrixLoads) {
  // Rows of values of k, as wgmma and mma.sync want both sides, or columns.
  expectLoads(getMmaLhs(), Axis::Column, 2, false);
  expectLoads(getMmaLhs(), Axis::Row, 2, true);
  expectLoads(getMmaRhs(), Axis::Row, 1, false);
  expectLoads(getMmaRhs(), Axis::Column, 1, true);
  // Two right-hand sides, side by side.
  Layout two = getMmaRhs() * Layout::identity(Axis::Register, Axis::Column, 1);
  expectLoads(two, Axis::Column, 2, true);
  expectLoads(two, Axis::Column, 1, true);
  expectLoads(two, Axis::Row, 0, false);
}

TEST(TensorCoreLayoutsTest, OtherLayoutsNeedOtherLoads) {
  // A lane with four neighbours, and a fragment of fewer matrices.
  Layout vectors = Layout::identity(Axis::Register, Axis::Column, 2) *
                   Layout::identity(Axis::Lane, Axis::Column, 2) *
                   Layout::identity(Axis::Lane, Axis::Row, 3);
  EXPECT_FALSE(getMatrixAccess(vectors, Axis::Column, 1));
  EXPECT_FALSE(getMatrixAccess(getMmaRhs(), Axis::Row, 2));
  EXPECT_FALSE(getMatrixAccess(
      getMatrixFragment().renamed(Axis::Lane, Axis::Warp), Axis::Column, 0));
}

TEST(TensorCoreLayoutsTest, FoundLoadsAreRight) {
  unsigned found = 0;
  forSeeds([&](RandomLayouts &random) {
    // Fragments whose matrices stand anywhere.
    unsigned registers = random.number(0, 3);
    Layout held =
        getMatrixFragment() *
        random.layout({{Axis::Register, registers}},
                      {{Axis::Row, 2}, {Axis::Column, random.number(0, 2)}});
    bool isTransposed = random.number(0, 1);
    if (isTransposed)
      held = held.transposed();
    for (unsigned bits = 0; bits <= std::min(registers, 2u); ++bits) {
      expectLoads(held, Axis::Column, bits, isTransposed);
      ++found;
    }
  });
  EXPECT_GT(found, seedCount);
}
