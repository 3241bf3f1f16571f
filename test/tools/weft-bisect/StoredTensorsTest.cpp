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
  std::vector<Expr> stored = {number(2), rows, number(136)};
  EXPECT_FALSE(isRowMajor(rt::DType::BF16, stored, type));
  std::optional<Panels> panels = findPanels(rt::DType::BF16, stored, type);
  ASSERT_TRUE(panels);
  EXPECT_EQ(panels->count, 2);
  EXPECT_EQ(panels->columns, 128);
  EXPECT_EQ(panels->stride, 136);
  // Heads are columns side by side.
  EXPECT_TRUE(findPanels(rt::DType::BF16, stored, bf16({dynamic, 4, 64})));
}

TEST_F(StoredTensorsTest, RefusesWhatPanelsCannotBe) {
  mlir::RankedTensorType type = bf16({dynamic, 256});
  auto isPanels = [&](std::vector<Expr> shape) {
    return findPanels(rt::DType::BF16, shape, type).has_value();
  };
  EXPECT_FALSE(isPanels({rows, number(256)}));
  EXPECT_FALSE(isPanels({number(3), rows, number(136)})); // 256 / 3
  EXPECT_FALSE(isPanels({number(2), rows, number(120)})); // Too narrow.
  EXPECT_FALSE(isPanels({number(2), number(7), number(136)}));
  EXPECT_FALSE(isPanels({rows, rows, number(136)}));
  EXPECT_FALSE(isPanels({number(0), rows, number(136)}));
  EXPECT_FALSE(
      findPanels(rt::DType::F16, {number(2), rows, number(136)}, type));
}

TEST_F(StoredTensorsTest, UnpacksRows) {
  // Two panels of two columns and a stride of three; three rows.
  std::vector<uint8_t> stored = {11, 12, 0, 21, 22, 0, 31, 32, 0,
                                 13, 14, 0, 23, 24, 0, 33, 34, 0};
  EXPECT_EQ(
      unpackPanels(stored, {2, 2, 3}, 3, 1),
      (std::vector<uint8_t>{11, 12, 13, 14, 21, 22, 23, 24, 31, 32, 33, 34}));
  // The same bytes as elements of two bytes: one panel more narrow than that.
  std::vector<uint8_t> wide = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(unpackPanels(wide, {2, 1, 2}, 1, 2),
            (std::vector<uint8_t>{1, 2, 5, 6}));
}

} // namespace
