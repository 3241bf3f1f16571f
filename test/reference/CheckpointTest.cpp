#include "test/reference/MalformedCheckpoint.h"
#include "test/reference/RandomCheckpoint.h"
#include "test/reference/Scratch.h"
#include "test/reference/Transformer.h"

#include <bit>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::reference;

namespace {

TEST(HalfTypes, EveryHalfAndBfloatSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float half = halfToFloat(uint16_t(bits));
    float bfloat = bfloatToFloat(uint16_t(bits));
    if (std::isnan(half))
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(half))));
    else
      EXPECT_EQ(floatToHalf(half), bits);
    if (std::isnan(bfloat))
      EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(bfloat))));
    else
      EXPECT_EQ(floatToBfloat(bfloat), bits);
  }
}

// The nearest value of the table of all values; on a tie the even one.
TEST(HalfTypes, RoundingIsToNearestEven) {
  std::mt19937 random(7);
  SCOPED_TRACE("seed 7");
  for (int i = 0; i < 200000; ++i) {
    float value = std::bit_cast<float>(uint32_t(random()));
    if (std::isnan(value) || std::fabs(value) > 60000.0f)
      continue;
    uint16_t half = floatToHalf(value);
    double error = std::fabs(double(halfToFloat(half)) - value);
    for (int step : {-1, 1}) {
      double other =
          std::fabs(double(halfToFloat(uint16_t(half + step))) - double(value));
      if (std::isnan(other))
        continue;
      ASSERT_LE(error, other) << value;
      if (error == other)
        ASSERT_EQ(half & 1, 0) << value;
    }
  }
  EXPECT_EQ(floatToHalf(1.0f + 0x1p-11f), 0x3c00);     // Tie to even: down.
  EXPECT_EQ(floatToHalf(1.0f + 3 * 0x1p-11f), 0x3c02); // Tie to even: up.
  EXPECT_EQ(floatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(floatToBfloat(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(floatToBfloat(1.0f + 3 * 0x1p-8f), 0x3f82);
}

TEST(Checkpoint, ReadsBackWhatWasWrittenInEveryTypeAndSharding) {
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16})
    for (int64_t shards : {1, 3}) {
      Scratch scratch("checkpoint");
      RandomOptions options;
      options.elementType = type;
      options.shards = shards;
      writeRandomCheckpoint(scratch.path, options);
      Checkpoint checkpoint = Checkpoint::open(scratch.path);
      std::vector<NamedTensor> tensors = makeTensors(options);
      ASSERT_EQ(checkpoint.names().size(), tensors.size());
      for (const NamedTensor &tensor : tensors) {
        Tensor read = checkpoint.read(tensor.name, tensor.shape);
        ASSERT_EQ(read.values.size(), tensor.values.size());
        ASSERT_EQ(checkpoint.elementType(tensor.name), spelling(type));
        for (size_t i = 0; i < read.values.size(); ++i) {
          float expected = tensor.values[i];
          if (type == ElementType::F16)
            expected = halfToFloat(floatToHalf(expected));
          if (type == ElementType::BF16)
            expected = bfloatToFloat(floatToBfloat(expected));
          ASSERT_EQ(read.values[i], expected) << tensor.name;
        }
      }
    }
}

class Malformed : public testing::TestWithParam<size_t> {};

// A7 and A22: each folder is refused, and the message says where to look.
TEST_P(Malformed, A7_A22_IsRefusedWithAMessage) {
  const Malformation &malformation = malformations()[GetParam()];
  Scratch scratch(malformation.name);
  malformation.write(scratch.path);
  try {
    Transformer::load(scratch.path);
    ADD_FAILURE() << malformation.cause << " was accepted";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(malformation.culprit));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Malformed,
                         testing::Range(size_t(0), malformations().size()),
                         [](auto &info) {
                           return malformations()[info.param].name;
                         });

TEST(Checkpoint, A22_AHeaderThatPromisesMuchAllocatesNothing) {
  // t: F32 [1000, 1000] with offsets [0, 4] and 4 bytes of data.
  std::string header =
      R"({"t":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})";
  uint64_t length = header.size();
  std::string bytes(reinterpret_cast<char *>(&length), 8);
  bytes += header + "abcd";
  EXPECT_THROW(parseSafetensorsHeader(bytes, bytes.size()), Error);
}

} // namespace
