//===- CompareTest.cpp - How far two tensors are apart --------------------===//

#include "tools/weft-bisect/Compare.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

using namespace weft;
using namespace weft::bisect;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

class CompareTest : public testing::Test {
protected:
  template <typename T>
  ReferenceTensor make(mlir::Type type, llvm::ArrayRef<int64_t> shape,
                       std::vector<T> values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return ReferenceTensor::own(type, shape, std::move(bytes));
  }
  ReferenceTensor floats(std::vector<float> values) {
    auto count = static_cast<int64_t>(values.size());
    return make(builder.getF32Type(), {count}, std::move(values));
  }

  mlir::MLIRContext context;
  mlir::Builder builder{&context};
};

TEST_F(CompareTest, EqualTensorsDoNotDiffer) {
  Difference d =
      compare(floats({1, nan, infinity}), floats({1, nan, infinity}), 0, "x");
  EXPECT_FALSE(d.isBad());
  EXPECT_EQ(d.relative, 0);
  EXPECT_EQ(d.elements, 3u);
}

TEST_F(CompareTest, ErrorIsRelativeToTheLargestElement) {
  // 0.002 of the small element's own size, 1e-5 of the largest.
  Difference d =
      compare(floats({-200, 1, 0}), floats({-200, 1.002f, 0}), 1e-4, "x");
  EXPECT_FALSE(d.isBad());
  EXPECT_NEAR(d.absolute, 0.002, 1e-6);
  EXPECT_NEAR(d.relative, 1e-5, 1e-8);
  EXPECT_TRUE(
      compare(floats({-200, 1, 0}), floats({-200, 1.002f, 0}), 1e-6, "x")
          .isBad());
}

TEST_F(CompareTest, NamesThePlaceOfTheLargestError) {
  ReferenceTensor expected =
      make<float>(builder.getF32Type(), {2, 3}, {1, 2, 3, 4, 5, 6});
  ReferenceTensor found =
      make<float>(builder.getF32Type(), {2, 3}, {1, 2.5f, 3, 4, 5, -6});
  Difference d = compare(expected, found, 0.1, "layers.0.output");
  EXPECT_EQ(d.badElements, 1u);
  EXPECT_THAT(d.at, ElementsAre(1, 2));
  EXPECT_EQ(d.expected, 6);
  EXPECT_EQ(d.found, -6);
  EXPECT_EQ(d.relative, 2);
  EXPECT_EQ(d.describe("plan", "reference"),
            "layers.0.output: 1 of 6 elements differ by more than 0.1 of the "
            "largest one; most at [1, 2], plan -6, reference 6");
}

TEST_F(CompareTest, NanAndInfinityAreDifferences) {
  for (float wrong : {nan, infinity, -infinity}) {
    EXPECT_EQ(compare(floats({1, 2}), floats({1, wrong}), 0.5, "x").badElements,
              1u);
    EXPECT_EQ(compare(floats({1, wrong}), floats({1, 2}), 0.5, "x").badElements,
              1u);
  }
  EXPECT_TRUE(
      compare(floats({infinity}), floats({-infinity}), 0.5, "x").isBad());
  // Something where there should be nothing.
  EXPECT_TRUE(compare(floats({0, 0}), floats({0, 1e-30f}), 0.5, "x").isBad());
}

TEST_F(CompareTest, SignsOfZeroAreEqual) {
  EXPECT_FALSE(compare(floats({0, 1}), floats({-0.0f, 1}), 0, "x").isBad());
}

TEST_F(CompareTest, IntegersMustBeEqual) {
  mlir::Type type = builder.getI32Type();
  Difference d = compare(make<int32_t>(type, {2}, {1000000, 7}),
                         make<int32_t>(type, {2}, {1000000, 8}), 0.1, "x");
  EXPECT_EQ(d.badElements, 1u);
}

TEST_F(CompareTest, ReadsHalfPrecision) {
  // 1.0 and 1.5 in both formats.
  mlir::Type bf16 = builder.getBF16Type(), f16 = builder.getF16Type();
  EXPECT_EQ(compare(make<uint16_t>(bf16, {1}, {0x3f80}),
                    make<uint16_t>(bf16, {1}, {0x3fc0}), 1, "x")
                .absolute,
            0.5);
  EXPECT_EQ(compare(make<uint16_t>(f16, {1}, {0x3c00}),
                    make<uint16_t>(f16, {1}, {0x3e00}), 1, "x")
                .absolute,
            0.5);
}

TEST_F(CompareTest, TheWorstTensorIsKept) {
  // A difference beyond the tolerance is worse than a larger one within it.
  mlir::Type i32 = builder.getI32Type();
  std::vector<NamedTensor> expected = {{"a", floats({1})},
                                       {"b", make<int32_t>(i32, {1}, {1000})},
                                       {"c", floats({1})}};
  std::vector<NamedTensor> found = {{"a", floats({1.01f})},
                                    {"b", make<int32_t>(i32, {1}, {1001})},
                                    {"c", floats({1.05f})}};
  EXPECT_EQ(compareAll(expected, found, 0.1).name, "b");
}

TEST_F(CompareTest, FileNamesHaveNoFolders) {
  EXPECT_EQ(makeFileName("layers.0/../x y#1"), "layers.0_.._x_y#1");
}

} // namespace
