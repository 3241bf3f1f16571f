//===- ReadParamTest.cpp - Bytes of packed weights ------------------------===//
//
// Elements of a checkpoint are numbered, so that the bytes of a packed weight
// say where each element came from.
//
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ReadParam.h"

#include "mlir/IR/Builders.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace weft;

namespace {

/// Tensors of 16-bit elements in memory.
class NumberedSource : public WeightSource {
public:
  explicit NumberedSource(bool isMapped) : isMapped(isMapped) {}

  /// Elements are first, first + 1, ...
  void add(const std::string &name, ArrayRef<int64_t> shape, uint16_t first) {
    TensorInfo info;
    info.name = name;
    info.type = ElementType::BF16;
    info.shape.assign(shape.begin(), shape.end());
    info.byteSize = *computeByteSize(shape, info.type);
    std::vector<uint16_t> elements(info.byteSize / 2);
    for (uint16_t &element : elements)
      element = first++;
    tensors.push_back(info);
    values.push_back(elements);
  }

  ArrayRef<TensorInfo> getTensors() const override { return tensors; }

  std::optional<ArrayRef<uint8_t>>
  getMapped(const TensorInfo &tensor) const override {
    if (!isMapped)
      return std::nullopt;
    return ArrayRef(bytesOf(tensor), tensor.byteSize);
  }

protected:
  void readChecked(const TensorInfo &tensor, uint64_t offset,
                   MutableArrayRef<uint8_t> bytes) const override {
    std::memcpy(bytes.data(), bytesOf(tensor) + offset, bytes.size());
  }

private:
  const uint8_t *bytesOf(const TensorInfo &tensor) const {
    return reinterpret_cast<const uint8_t *>(
        values[&tensor - tensors.data()].data());
  }

  bool isMapped;
  std::vector<TensorInfo> tensors;
  std::vector<std::vector<uint16_t>> values;
};

class ReadParamTest : public ::testing::Test {
protected:
  ReadParamTest() { context.loadDialect<WeftDialect>(); }

  /// The elements of a weight of `shape`, whose sources are tensors "a", "b".
  std::vector<uint16_t> read(const WeightSource &source,
                             PackedLayoutInterface layout,
                             ArrayRef<int64_t> shape,
                             ArrayRef<StringRef> names) {
    SmallVector<Attribute> sources;
    for (StringRef name : names)
      sources.push_back(SourceAttr::get(&context, name));
    return readSources(source, layout, shape, sources);
  }

  std::vector<uint16_t> readSources(const WeightSource &source,
                                    PackedLayoutInterface layout,
                                    ArrayRef<int64_t> shape,
                                    ArrayRef<Attribute> sources) {
    OpBuilder builder(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
    auto type = RankedTensorType::get(layout.getPackedShape(shape),
                                      builder.getBF16Type());
    auto weight = WeightOp::create(builder, builder.getUnknownLoc(), type,
                                   builder.getArrayAttr(sources), layout,
                                   builder.getDenseI64ArrayAttr(shape));
    EXPECT_TRUE(succeeded(weight.verify()));
    std::vector<uint16_t> elements;
    llvm::Error error =
        readWeight(weight, source, [&](ArrayRef<uint8_t> bytes) {
          size_t count = elements.size();
          elements.resize(count + bytes.size() / 2);
          std::memcpy(elements.data() + count, bytes.data(), bytes.size());
          return llvm::Error::success();
        });
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    return elements;
  }

  MLIRContext context;
};

} // namespace

TEST_F(ReadParamTest, CoreMatricesOfTwoTensors) {
  // 16 rows of one tensor and 32 of another, with 256 columns.
  const int64_t rows = 48, columns = 256;
  auto layout = CoreMatrixLayoutAttr::get(&context);
  for (bool isMapped : {false, true}) {
    NumberedSource source(isMapped);
    source.add("a", {16, columns}, 0);
    source.add("b", {32, columns}, 16 * columns);
    std::vector<uint16_t> elements =
        read(source, layout, {rows, columns}, {"a", "b"});
    ASSERT_EQ(elements.size(), size_t(rows * columns));
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t k = 0; k < columns; ++k) {
        int64_t matrix = n % 16 / 8 * 16 + k % 128 / 8;
        int64_t block = n / 16 * (columns / 128) + k / 128;
        int64_t at = (block * 32 + matrix) * 64 + n % 8 * 8 + k % 8;
        EXPECT_EQ(elements[at], n * columns + k) << n << ", " << k;
      }
  }
}

TEST_F(ReadParamTest, CoreMatricesOfAStack) {
  const int64_t matrices = 3, rows = 16, columns = 128;
  NumberedSource source(false);
  source.add("a", {matrices, rows, columns}, 0);
  std::vector<uint16_t> elements =
      read(source, CoreMatrixLayoutAttr::get(&context),
           {matrices, rows, columns}, {"a"});
  ASSERT_EQ(elements.size(), size_t(matrices * rows * columns));
  for (int64_t m = 0; m < matrices; ++m) {
    EXPECT_EQ(elements[m * 2048], m * 2048);
    // The second matrix has columns 8 to 15, the seventeenth rows 8 to 15.
    EXPECT_EQ(elements[m * 2048 + 64], m * 2048 + 8);
    EXPECT_EQ(elements[m * 2048 + 1024], m * 2048 + 8 * columns);
    EXPECT_EQ(elements[m * 2048 + 2047], m * 2048 + 2047);
  }
}

TEST_F(ReadParamTest, PanelsOfPairs) {
  const int64_t rows = 10, columns = 6;
  NumberedSource source(false);
  source.add("a", {rows, columns}, 1);
  std::vector<uint16_t> elements = read(
      source, PanelLayoutAttr::get(&context, 4, 2), {rows, columns}, {"a"});
  ASSERT_EQ(elements.size(), size_t(12 * columns));
  for (int64_t n = 0; n < 12; ++n)
    for (int64_t k = 0; k < columns; ++k) {
      int64_t at = ((n / 4 * (columns / 2) + k / 2) * 4 + n % 4) * 2 + k % 2;
      EXPECT_EQ(elements[at], n < rows ? n * columns + k + 1 : 0);
    }
}

TEST_F(ReadParamTest, PairsOfRows) {
  // Two heads of 16 rows, 12 of which are rotated by halves: 0, 6, 1, 7, ...,
  // 5, 11, then 12 to 15.
  const int64_t columns = 128;
  auto layout = CoreMatrixLayoutAttr::get(&context);
  for (bool isMapped : {false, true}) {
    NumberedSource source(isMapped);
    source.add("a", {32, columns}, 0);
    auto pairs =
        SourceAttr::get(&context, "a", /*start=*/0, /*block=*/16,
                        /*stride=*/16, /*count=*/2,
                        /*transposed=*/false, /*pairs=*/6, QuantizationAttr());
    std::vector<uint16_t> elements =
        readSources(source, layout, {32, columns}, {pairs});
    ASSERT_EQ(elements.size(), size_t(32 * columns));
    for (int64_t n = 0; n < 32; ++n)
      for (int64_t k = 0; k < columns; ++k) {
        int64_t inHead = n % 16;
        int64_t row =
            n - inHead + (inHead < 12 ? inHead / 2 + inHead % 2 * 6 : inHead);
        int64_t matrix = n % 16 / 8 * 16 + k / 8;
        int64_t at = (n / 16 * 32 + matrix) * 64 + n % 8 * 8 + k % 8;
        EXPECT_EQ(elements[at], row * columns + k)
            << "row " << n << ", column " << k;
      }
  }
}
