//===- SynthesizeTest.cpp - Random weights --------------------------------===//

#include "compiler/Import/Synthesize.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>

using namespace weft;
using testing::HasSubstr;

static std::unique_ptr<SynthesizedWeights> make(ElementType type,
                                                uint64_t seed = 7) {
  auto weights = SynthesizedWeights::create(
      {{"w", {1000, 1001}}, {"norm", {3}, 1.0, 0.0}, {"v", {1000, 1001}}}, type,
      seed);
  EXPECT_TRUE(bool(weights));
  return std::move(*weights);
}

template <typename T>
static std::vector<T> readAll(const WeightSource &source,
                              llvm::StringRef name) {
  const TensorInfo *tensor = source.find(name);
  std::vector<T> values(tensor->byteSize / sizeof(T));
  EXPECT_FALSE(bool(source.read(
      *tensor, 0,
      {reinterpret_cast<uint8_t *>(values.data()), tensor->byteSize})));
  return values;
}

TEST(Synthesize, HasTheWantedDistribution) {
  auto weights = make(ElementType::F32);
  std::vector<float> values = readAll<float>(*weights, "w");
  double sum = 0, squares = 0, within = 0;
  for (float value : values) {
    sum += value;
    squares += double(value) * value;
    within += std::abs(value) < 0.02;
  }
  double count = values.size();
  EXPECT_NEAR(sum / count, 0, 1e-4);
  EXPECT_NEAR(std::sqrt(squares / count), 0.02, 1e-4);
  // 68.27 % of a normal distribution lie within one deviation.
  EXPECT_NEAR(within / count, 0.6827, 2e-3);
  // Neighbours are independent: their correlation is about 1 / sqrt(count).
  double product = 0;
  for (size_t i = 1; i < values.size(); ++i)
    product += double(values[i]) * values[i - 1];
  EXPECT_NEAR(product / squares, 0, 5e-3);
  EXPECT_EQ(readAll<float>(*weights, "norm"), (std::vector<float>{1, 1, 1}));
}

TEST(Synthesize, DependsOnSeedAndNameOnly) {
  auto w = readAll<uint32_t>(*make(ElementType::F32), "w");
  EXPECT_EQ(readAll<uint32_t>(*make(ElementType::F32), "w"), w);
  EXPECT_NE(readAll<uint32_t>(*make(ElementType::F32), "v"), w);
  EXPECT_NE(readAll<uint32_t>(*make(ElementType::F32, 8), "w"), w);
}

TEST(Synthesize, PartsEqualTheWhole) {
  auto weights = make(ElementType::BF16);
  auto whole = readAll<uint16_t>(*weights, "w");
  for (auto [begin, count] : {std::pair<size_t, size_t>{0, 1},
                              {1, 2},
                              {3, 9},
                              {4, 8},
                              {1000999, 1},
                              {77, 5001}}) {
    std::vector<uint16_t> part(count);
    ASSERT_FALSE(bool(
        weights->read(*weights->find("w"), begin * 2,
                      {reinterpret_cast<uint8_t *>(part.data()), count * 2})));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + begin));
  }
}

TEST(Synthesize, RoundsToTheType) {
  auto exact = readAll<float>(*make(ElementType::F32), "w");
  auto rounded = readAll<uint16_t>(*make(ElementType::BF16), "w");
  auto half = readAll<uint16_t>(*make(ElementType::F16), "norm");
  EXPECT_EQ(half[0], 0x3c00);
  for (size_t i = 0; i < 1000; ++i) {
    uint32_t bits = uint32_t(rounded[i]) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    EXPECT_NEAR(value, exact[i], std::abs(exact[i]) / 256 + 1e-12);
  }
}

TEST(Synthesize, RefusesWhatItCannotMake) {
  EXPECT_THAT(llvm::toString(
                  SynthesizedWeights::create({{"w", {1}}}, ElementType::I8, 0)
                      .takeError()),
              HasSubstr("f32, f16 or bf16"));
  EXPECT_THAT(
      llvm::toString(SynthesizedWeights::create({{"w", {int64_t(1) << 62, 8}}},
                                                ElementType::F32, 0)
                         .takeError()),
      HasSubstr("too large"));
  EXPECT_THAT(llvm::toString(SynthesizedWeights::create(
                                 {{"w", {1}}, {"w", {1}}}, ElementType::F32, 0)
                                 .takeError()),
              HasSubstr("stands twice"));
}

TEST(Synthesize, IsFast) {
  auto weights =
      SynthesizedWeights::create({{"w", {1 << 26}}}, ElementType::BF16, 1);
  ASSERT_TRUE(bool(weights));
  std::vector<uint8_t> buffer(64 << 20);
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    auto start = std::chrono::steady_clock::now();
    ASSERT_FALSE(bool((*weights)->read(*(*weights)->find("w"), 0, buffer)));
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  double rate = buffer.size() / best / 1e9;
  RecordProperty("gigabytes_per_second", std::to_string(rate));
  std::cout << "synthesized " << rate << " GB/s of bf16\n";
}
