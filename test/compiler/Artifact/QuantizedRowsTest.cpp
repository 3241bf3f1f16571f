//===- QuantizedRowsTest.cpp - Weights of few bits ------------------------===//

#include "compiler/Artifact/ReadParam.h"

#include "mlir/IR/Builders.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace weft;

namespace {

/// Tensors of any type in memory.
class MemorySource : public WeightSource {
public:
  explicit MemorySource(bool isMapped) : isMapped(isMapped) {}

  /// Names in order.
  template <typename T>
  void add(const std::string &name, ElementType type, ArrayRef<int64_t> shape,
           ArrayRef<T> values) {
    TensorInfo info;
    info.name = name;
    info.type = type;
    info.shape.assign(shape.begin(), shape.end());
    info.byteSize = values.size() * sizeof(T);
    EXPECT_EQ(info.byteSize, *computeByteSize(shape, type));
    auto *begin = reinterpret_cast<const uint8_t *>(values.data());
    tensors.push_back(info);
    bytes.emplace_back(begin, begin + info.byteSize);
  }

  ArrayRef<TensorInfo> getTensors() const override { return tensors; }

  std::optional<ArrayRef<uint8_t>>
  getMapped(const TensorInfo &tensor) const override {
    if (!isMapped)
      return std::nullopt;
    return ArrayRef(bytes[&tensor - tensors.data()]);
  }

protected:
  void readChecked(const TensorInfo &tensor, uint64_t offset,
                   MutableArrayRef<uint8_t> target) const override {
    std::memcpy(target.data(), bytes[&tensor - tensors.data()].data() + offset,
                target.size());
  }

private:
  bool isMapped;
  std::vector<TensorInfo> tensors;
  std::vector<std::vector<uint8_t>> bytes;
};

class QuantizedRowsTest : public ::testing::Test {
protected:
  QuantizedRowsTest() { context.loadDialect<WeftDialect>(); }

  /// f32 elements of rows of "q" with scales "s"; `start` and `count` 0: all.
  llvm::Expected<std::vector<float>> read(const WeightSource &source,
                                          ArrayRef<int64_t> shape, int64_t bits,
                                          int64_t block, bool hasZeroPoints,
                                          int64_t start = 0,
                                          int64_t count = 0) {
    OpBuilder builder(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
    auto quantization = QuantizationAttr::get(
        &context, "s",
        hasZeroPoints ? builder.getStringAttr("z") : StringAttr(), bits, block,
        shape[1]);
    auto attr =
        SourceAttr::get(&context, "q", start, count, 0, count ? 1 : 0,
                        /*transposed=*/false, /*pairs=*/0, quantization);
    auto weight =
        WeightOp::create(builder, builder.getUnknownLoc(),
                         RankedTensorType::get(shape, builder.getF32Type()),
                         builder.getArrayAttr(attr), PackedLayoutInterface(),
                         DenseI64ArrayAttr());
    std::vector<float> elements;
    llvm::Error error =
        readWeight(weight, source, [&](ArrayRef<uint8_t> bytes) {
          size_t before = elements.size();
          elements.resize(before + bytes.size() / 4);
          std::memcpy(elements.data() + before, bytes.data(), bytes.size());
          return llvm::Error::success();
        });
    if (error)
      return std::move(error);
    return elements;
  }

  std::vector<float> expect(const WeightSource &source, ArrayRef<int64_t> shape,
                            int64_t bits, int64_t block, bool hasZeroPoints,
                            int64_t start = 0, int64_t count = 0) {
    auto elements =
        read(source, shape, bits, block, hasZeroPoints, start, count);
    EXPECT_TRUE(bool(elements)) << llvm::toString(elements.takeError());
    return elements ? *elements : std::vector<float>();
  }

  MLIRContext context;
};

} // namespace

TEST_F(QuantizedRowsTest, MiddleOfTheRange) {
  // Rows of 3 elements in blocks of 2: 1 2 | 15, then 8 0 | 7.
  const uint8_t bytes[] = {0x21, 0x0f, 0x08, 0x07};
  const float scales[] = {0.5, 2, 1, 4};
  for (bool isMapped : {false, true}) {
    MemorySource source(isMapped);
    source.add<uint8_t>("q", ElementType::U8, {2, 2, 1}, bytes);
    source.add<float>("s", ElementType::F32, {4}, scales);
    EXPECT_EQ(expect(source, {2, 3}, 4, 2, false),
              (std::vector<float>{-3.5, -3, 14, 0, -8, -4}));
    EXPECT_EQ(expect(source, {1, 3}, 4, 2, false, /*start=*/1, /*count=*/1),
              (std::vector<float>{0, -8, -4}));
  }
}

TEST_F(QuantizedRowsTest, PackedZeroPoints) {
  // Four blocks of one element of 2 bits: 3 2 1 0; zero points 0 1 2 3.
  const uint8_t bytes[] = {0b00011011}, zeros[] = {0b11100100};
  const uint16_t scales[] = {0x3f80, 0x4000, 0x4080, 0x4100}; // 1, 2, 4, 8
  MemorySource source(true);
  source.add<uint8_t>("q", ElementType::U8, {1, 1}, bytes);
  source.add<uint16_t>("s", ElementType::BF16, {1, 4}, scales);
  source.add<uint8_t>("z", ElementType::U8, {1, 1}, zeros);
  EXPECT_EQ(expect(source, {1, 4}, 2, 1, true),
            (std::vector<float>{3, 2, -4, -24}));
}

TEST_F(QuantizedRowsTest, ZeroPointsAreNumbers) {
  const uint8_t bytes[] = {200, 10};
  const float scales[] = {0.25, 0.5}, zeros[] = {99.5, 10.25};
  MemorySource source(true);
  source.add<uint8_t>("q", ElementType::U8, {2, 1}, bytes);
  source.add<float>("s", ElementType::F32, {2, 1}, scales);
  source.add<float>("z", ElementType::F32, {2, 1}, zeros);
  EXPECT_EQ(expect(source, {2, 1}, 8, 32, true),
            (std::vector<float>{25.125, -0.125}));
}

TEST_F(QuantizedRowsTest, Errors) {
  auto message = [](llvm::Expected<std::vector<float>> result) {
    return result ? "" : llvm::toString(result.takeError());
  };
  const uint8_t bytes[] = {1, 2};
  const float scales[] = {1, 2};
  MemorySource source(true);
  source.add<uint8_t>("q", ElementType::U8, {2, 1}, bytes);
  source.add<float>("s", ElementType::F32, {2, 1}, scales);
  EXPECT_EQ(message(read(source, {2, 2}, 4, 2, true)),
            "tensor 'q' has scales or zero points that are not in the "
            "checkpoint");
  EXPECT_EQ(message(read(source, {2, 3}, 4, 4, false)),
            "tensor 'q' has other sizes or types than 3 columns of 4 bits with "
            "their scales and zero points");
  EXPECT_EQ(message(read(source, {2, 2}, 4, 1, false)),
            "tensor 'q' has other sizes or types than 2 columns of 4 bits with "
            "their scales and zero points");
}
