//===- MemoryLayoutTest.cpp - Where elements of packed views lie ----------===//
//
// Every element of a few shapes, against the formulas of the layouts.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"

#include "gtest/gtest.h"

#include <set>

using namespace mlir;
using namespace weft::tile;

namespace {

/// The distance of an element from the view's start.
int64_t getAddress(MemoryLayoutInterface layout, ArrayRef<int64_t> shape,
                   ArrayRef<int64_t> indices) {
  int64_t address = 0;
  for (auto [index, digits] :
       llvm::zip_equal(indices, layout.getAddress(shape)))
    for (const AddressDigit &digit : digits) {
      int64_t value = index / digit.divisor;
      if (digit.count)
        value %= digit.count;
      address += value * digit.stride * (digit.isPerRow ? shape[0] : 1);
    }
  return address;
}

/// The same by the layout's map and the sizes of the dimensions in memory.
int64_t getAddress(AffineMap map, ArrayRef<int64_t> sizes,
                   ArrayRef<int64_t> indices) {
  MLIRContext *context = map.getContext();
  SmallVector<Attribute> operands, results;
  for (int64_t index : indices)
    operands.push_back(IntegerAttr::get(IndexType::get(context), index));
  EXPECT_TRUE(succeeded(map.constantFold(operands, results)));
  int64_t address = 0;
  for (auto [size, result] : llvm::zip_equal(sizes, results))
    address = address * size + cast<IntegerAttr>(result).getInt();
  return address;
}

class MemoryLayoutTest : public ::testing::Test {
protected:
  MemoryLayoutTest() { context.loadDialect<TileDialect>(); }

  MLIRContext context;
};

} // namespace

TEST_F(MemoryLayoutTest, CoreMatrices) {
  auto layout = CoreMatricesAttr::get(&context);
  const int64_t rows = 48, columns = 256;
  std::set<int64_t> addresses;
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t k = 0; k < columns; ++k) {
      int64_t matrix = n % 16 / 8 * 16 + k % 128 / 8;
      int64_t block = n / 16 * (columns / 128) + k / 128;
      int64_t expected = (block * 32 + matrix) * 64 + n % 8 * 8 + k % 8;
      EXPECT_EQ(getAddress(layout, {rows, columns}, {n, k}), expected);
      EXPECT_EQ(getAddress(layout.getAffineMap(),
                           {rows / 16, columns / 128, 2, 16, 8, 8}, {n, k}),
                expected);
      addresses.insert(expected);
    }
  EXPECT_EQ(addresses.size(), size_t(rows * columns));
  EXPECT_EQ(*addresses.rbegin(), rows * columns - 1);
}

TEST_F(MemoryLayoutTest, Panels) {
  auto layout = PanelsAttr::get(&context, 128);
  const int64_t rows = 16, columns = 384;
  std::set<int64_t> addresses;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < columns; ++k) {
      // Panels, groups of rows, matrices of 8 rows by 8 columns.
      int64_t expected = k / 128 * rows * 128 + r / 8 * 1024 +
                         k % 128 / 8 * 64 + r % 8 * 8 + k % 8;
      EXPECT_EQ(getAddress(layout, {rows, columns}, {r, k}), expected);
      EXPECT_EQ(getAddress(layout.getAffineMap(),
                           {columns / 128, rows / 8, 16, 8, 8}, {r, k}),
                expected);
      addresses.insert(expected);
    }
  EXPECT_EQ(addresses.size(), size_t(rows * columns));
  EXPECT_EQ(*addresses.rbegin(), rows * columns - 1);
  // Whole groups of rows.
  EXPECT_EQ(layout.getPhysicalShape({5, 3, 128}),
            (SmallVector<int64_t>{3, 8, 128}));
  EXPECT_EQ(layout.getPhysicalShape({ShapedType::kDynamic, 3, 128}),
            (SmallVector<int64_t>{3, ShapedType::kDynamic, 128}));
}

TEST_F(MemoryLayoutTest, TilesAsLinearLayouts) {
  // The first elements of a view, by what the layouts say of its indices.
  auto expectTile = [](MemoryLayoutInterface layout, ArrayRef<int64_t> shape,
                       unsigned rowBits, unsigned columnBits) {
    std::optional<Layout> tile =
        getTileLayout(layout.getAddress(shape), rowBits, columnBits);
    ASSERT_TRUE(tile);
    EXPECT_TRUE(tile->isInjective());
    for (uint64_t n = 0; n < 1u << rowBits; ++n)
      for (uint64_t k = 0; k < 1u << columnBits; ++k)
        EXPECT_EQ(tile->at({{Axis::Row, n}, {Axis::Column, k}}, Axis::Offset),
                  static_cast<uint64_t>(getAddress(
                      layout, shape,
                      {static_cast<int64_t>(n), static_cast<int64_t>(k)})));
  };
  expectTile(CoreMatricesAttr::get(&context), {64, 256}, 6, 8);
  expectTile(CoreMatricesAttr::get(&context), {48, 384}, 4, 7);
  expectTile(PanelsAttr::get(&context, 128), {16, 384}, 4, 7);
  expectTile(PanelsAttr::get(&context, 32), {16, 96}, 4, 5);
  // From panel to panel the rows count, and 384 columns are no power of two.
  auto panels = PanelsAttr::get(&context, 128).getAddress({16, 384});
  EXPECT_FALSE(getTileLayout(panels, 3, 8));
  auto matrices = CoreMatricesAttr::get(&context).getAddress({48, 384});
  EXPECT_FALSE(getTileLayout(matrices, 5, 7));
}
