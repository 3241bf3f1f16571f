// Tensors as plans store them.

#include "tools/weft-bisect/StoredTensors.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::bisect;
using rt::Expr;

namespace {

class StoredTensorsTest : public testing::Test {
protected:
  mlir::MLIRContext context;
  mlir::Builder builder{&context};
  Expr rows = Expr::symbol(0);

  mlir::RankedTensorType bf16(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, builder.getBF16Type());
  }
  static Expr number(int64_t value) { return Expr::constant(value); }
};

constexpr int64_t dynamic = mlir::ShapedType::kDynamic;

TEST_F(StoredTensorsTest, TellsPanelsFromRows) {
  mlir::RankedTensorType type = bf16({dynamic, 256});
  EXPECT_TRUE(isRowMajor(rt::DType::BF16, {rows, number(256)}, type));
  EXPECT_FALSE(isRowMajor(rt::DType::F16, {rows, number(256)}, type));
  EXPECT_FALSE(isRowMajor(rt::DType::BF16, {number(8), number(256)}, type));
  std::vector<Expr> stored = {number(2), rows, number(128)};
  EXPECT_FALSE(isRowMajor(rt::DType::BF16, stored, type));
  std::optional<Panels> panels = findPanels(rt::DType::BF16, stored, type);
  ASSERT_TRUE(panels);
  EXPECT_EQ(panels->count, 2);
  EXPECT_EQ(panels->columns, 128);
  // Heads are columns side by side.
  EXPECT_TRUE(findPanels(rt::DType::BF16, stored, bf16({dynamic, 4, 64})));
}

TEST_F(StoredTensorsTest, RefusesWhatPanelsCannotBe) {
  mlir::RankedTensorType type = bf16({dynamic, 256});
  auto isPanels = [&](std::vector<Expr> shape) {
    return findPanels(rt::DType::BF16, shape, type).has_value();
  };
  EXPECT_FALSE(isPanels({rows, number(256)}));
  EXPECT_FALSE(isPanels({number(3), rows, number(128)})); // 256 / 3
  EXPECT_FALSE(isPanels({number(2), rows, number(120)})); // Too narrow.
  EXPECT_FALSE(isPanels({number(2), number(7), number(128)}));
  EXPECT_FALSE(isPanels({rows, rows, number(128)}));
  EXPECT_FALSE(isPanels({number(0), rows, number(128)}));
  EXPECT_FALSE(
      findPanels(rt::DType::F16, {number(2), rows, number(128)}, type));
}

TEST_F(StoredTensorsTest, UnpacksRows) {
  // Two panels of 16 columns, memory for 16 rows of which 9 are there: groups
  // of 8 rows, matrices of 8 rows by 8 columns.
  std::vector<uint8_t> stored(2 * 16 * 16), expected;
  for (int64_t row = 0; row < 9; ++row)
    for (int64_t column = 0; column < 32; ++column) {
      stored[column / 16 * 256 + row / 8 * 128 + column % 16 / 8 * 64 +
             row % 8 * 8 + column % 8] = uint8_t(row * 16 + column);
      expected.push_back(uint8_t(row * 16 + column));
    }
  EXPECT_EQ(unpackPanels(stored, {2, 16}, 16, 9, 1), expected);
  EXPECT_EQ(countRows(16, bf16({dynamic, 32})), 9);
  EXPECT_EQ(countRows(16, bf16({12, 32})), 12);
}

} // namespace
