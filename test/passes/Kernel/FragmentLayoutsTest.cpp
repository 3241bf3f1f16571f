//===- FragmentLayoutsTest.cpp - What lanes hold, by the PTX ISA's names --===//
//
// group = lane / 4 and inGroup = lane % 4, as in "Matrix Fragments for
// mma.m16n8k16".
//
//===----------------------------------------------------------------------===//

#include "passes/Kernel/FragmentLayouts.h"

#include "dialects/Tile/LayoutConversion.h"

#include "gtest/gtest.h"

using namespace weft::tile;

namespace {

std::pair<uint64_t, uint64_t> placeOf(const Layout &layout, uint64_t reg,
                                      uint64_t lane) {
  return {layout.at({{Axis::Register, reg}, {Axis::Lane, lane}}, Axis::Row),
          layout.at({{Axis::Register, reg}, {Axis::Lane, lane}}, Axis::Column)};
}

} // namespace

TEST(FragmentLayoutsTest, InputsAreRightHandOperandsOfTwoSteps) {
  Layout layout = getInputFragment();
  for (uint64_t lane = 0; lane < 32; ++lane)
    for (uint64_t i = 0; i < 8; ++i)
      EXPECT_EQ(placeOf(layout, i, lane),
                std::pair(lane / 4, i / 2 * 8 + lane % 4 * 2 + i % 2));
  std::optional<Layout> steps = layout.divide(getMmaRhs().transposed());
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->at({{Axis::Register, 1}}, Axis::Column), 1u);
}

TEST(FragmentLayoutsTest, InputsOfTwoTimes8RowsAreLeftHandOperands) {
  auto conversion = getConversion(
      getInputFragment() * Layout::identity(Axis::Register, Axis::Row, 1),
      getMmaLhs() * Layout::identity(Axis::Register, Axis::Column, 1));
  ASSERT_TRUE(conversion);
  EXPECT_EQ(conversion->kind, ConversionKind::Registers);
}

TEST(FragmentLayoutsTest, Sums) {
  for (uint64_t columns : {8, 16, 80, 96, 128})
    for (uint64_t rows : {8, 16}) {
      Layout layout = getSumFragment(rows, columns);
      uint64_t halves = rows / 8;
      for (uint64_t lane = 0; lane < 32; ++lane)
        for (uint64_t i = 0; i < columns / 8 * 2 * halves; ++i)
          EXPECT_EQ(placeOf(layout, i, lane),
                    std::pair(lane / 4 + i / 2 % halves * 8,
                              i / (2 * halves) * 8 + lane % 4 * 2 + i % 2));
    }
  for (uint64_t lane = 0; lane < 32; ++lane)
    for (uint64_t half = 0; half < 2; ++half)
      EXPECT_EQ(placeOf(getSumFragment(16, 1), half, lane),
                std::pair(lane / 4 + half * 8, uint64_t(0)));
}

TEST(FragmentLayoutsTest, AddressesOfMatrixLoads) {
  // Lane l addresses row l % 8 of matrix l / 8. The matrices of an input are
  // along k; those of a left-hand operand first 8 rows down, then along k;
  // those of right-hand operands first along k, of which memory has a row each.
  EXPECT_FALSE(getInputAccess().isTransposed);
  EXPECT_FALSE(getLeftAccess().isTransposed);
  EXPECT_TRUE(getRightAccess().isTransposed);
  for (uint64_t lane = 0; lane < 32; ++lane) {
    uint64_t row = lane % 8, matrix = lane / 8;
    EXPECT_EQ(placeOf(getInputAccess().rows, 0, lane),
              std::pair(row, matrix * 8));
    EXPECT_EQ(placeOf(getLeftAccess().rows, 0, lane),
              std::pair(matrix % 2 * 8 + row, matrix / 2 * 8));
    EXPECT_EQ(placeOf(getRightAccess().rows, 0, lane),
              std::pair(matrix % 2 * 8 + row, matrix / 2 * 8));
  }
}

TEST(FragmentLayoutsTest, Neighbours) {
  EXPECT_EQ(getRowMasks(getMmaAccumulator()), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(getRowMasks(getMmaAccumulator().transposed()),
            (std::vector<int64_t>{4, 8, 16}));
  // The other column of a pair: in the next register, or in the next lane.
  PairPlace inThread = getPairPlace(getMmaAccumulator());
  EXPECT_EQ(inThread.registers, 1u);
  EXPECT_EQ(inThread.lanes, 0u);
  PairPlace inWarp =
      getPairPlace(Layout::identity(Axis::Lane, Axis::Column, 5));
  EXPECT_EQ(inWarp.registers, 0u);
  EXPECT_EQ(inWarp.lanes, 1u);
}
