//===- RopeTest.cpp - RoPE frequencies against numbers made elsewhere -----===//
//
// Expected numbers were computed from the papers' formulas in another
// language, or follow from a closed form given beside them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/HuggingFace/Rope.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace weft;

static void expectNear(double value, double expected) {
  EXPECT_NEAR(value, expected, std::abs(expected) * 1e-12);
}

TEST(Rope, DefaultIsAGeometricSeries) {
  RopeTable table = computeRopeTable({.theta = 10000, .rotarySize = 8});
  ASSERT_EQ(table.inverseFrequencies.size(), 4u);
  expectNear(table.inverseFrequencies[0], 1);
  expectNear(table.inverseFrequencies[1], 0.1);
  expectNear(table.inverseFrequencies[2], 0.01);
  expectNear(table.inverseFrequencies[3], 0.001);
  EXPECT_EQ(table.scale, 1);
  EXPECT_FALSE(table.hasLongTable());
}

TEST(Rope, LinearDividesPositions) {
  RopeTable table = computeRopeTable(
      {.type = RopeType::Linear, .rotarySize = 8, .factor = 4});
  expectNear(table.inverseFrequencies[0], 0.25);
  expectNear(table.inverseFrequencies[3], 0.00025);
}

TEST(Rope, DynamicGrowsTheBaseBeyondTheLimit) {
  RopeParameters p{.type = RopeType::Dynamic,
                   .rotarySize = 16,
                   .maxPositions = 256,
                   .contextLength = 1024,
                   .factor = 4};
  // Base 10000 * (4 * 1024 / 256 - 3)^(16 / 14) = 187533.1795.
  RopeTable longer = computeRopeTable(p);
  expectNear(longer.inverseFrequencies[1], 0.2192124598204314);
  expectNear(longer.inverseFrequencies[7], 2.4325212770526002e-05);
  // Within the limit nothing changes.
  for (int64_t length : {1, 255, 256}) {
    p.contextLength = length;
    expectNear(computeRopeTable(p).inverseFrequencies[1],
               std::pow(10000, -2.0 / 16));
  }
}

TEST(Rope, YarnMixesByWavelength) {
  RopeTable small = computeRopeTable({.type = RopeType::Yarn,
                                      .rotarySize = 16,
                                      .factor = 4,
                                      .originalMaxPositions = 32});
  expectNear(small.inverseFrequencies[0], 1);
  expectNear(small.inverseFrequencies[1], 0.19764235376052372);
  expectNear(small.inverseFrequencies[2], 0.025);
  expectNear(small.inverseFrequencies[7], 7.905694150420948e-05);
  // Qwen 2.5's published parameters.
  RopeTable qwen = computeRopeTable({.type = RopeType::Yarn,
                                     .theta = 1e6,
                                     .rotarySize = 128,
                                     .factor = 4,
                                     .originalMaxPositions = 32768});
  expectNear(qwen.inverseFrequencies[23], 0.006978305848598663);
  expectNear(qwen.inverseFrequencies[30], 0.001064360981247002);
  expectNear(qwen.inverseFrequencies[40], 4.445698525097307e-05);
  expectNear(qwen.inverseFrequencies[63], 3.102344401879299e-07);
}

TEST(Rope, A16ExplicitAttentionFactorWins) {
  RopeParameters p{.type = RopeType::Yarn,
                   .rotarySize = 16,
                   .factor = 4,
                   .originalMaxPositions = 32};
  EXPECT_NEAR(computeRopeTable(p).scale, 1.13863, 5e-6);
  p.attentionFactor = 1.0;
  RopeTable table = computeRopeTable(p);
  for (double frequency : table.inverseFrequencies) {
    double cosine = std::cos(17 * frequency) * table.scale;
    double sine = std::sin(17 * frequency) * table.scale;
    expectNear(cosine * cosine + sine * sine, 1);
  }
}

TEST(Rope, YarnMagnitudesOfBothKinds) {
  // (0.1 * 0.707 * ln 40 + 1) / (0.1 * ln 40 + 1)
  RopeTable table = computeRopeTable({.type = RopeType::Yarn,
                                      .rotarySize = 16,
                                      .factor = 40,
                                      .originalMaxPositions = 4096,
                                      .mscale = 0.707,
                                      .mscaleAllDim = 1.0});
  expectNear(table.scale, 0.9210423553163399);
}

TEST(Rope, Llama3StretchesLongWaves) {
  // Llama 3.2 1B's published parameters.
  RopeTable table = computeRopeTable({.type = RopeType::Llama3,
                                      .theta = 5e5,
                                      .rotarySize = 64,
                                      .factor = 32,
                                      .originalMaxPositions = 8192,
                                      .lowFrequencyFactor = 1,
                                      .highFrequencyFactor = 4});
  expectNear(table.inverseFrequencies[0], 1);
  expectNear(table.inverseFrequencies[14], 0.003211445994752591);
  expectNear(table.inverseFrequencies[15], 0.001290547928209264);
  expectNear(table.inverseFrequencies[16], 0.00042955679655936815);
  expectNear(table.inverseFrequencies[17], 9.70828780262767e-05);
  expectNear(table.inverseFrequencies[31], 9.41830672543491e-08);
  EXPECT_EQ(table.scale, 1);
}

TEST(Rope, A17LongropeHasTwoTables) {
  RopeTable table = computeRopeTable({.type = RopeType::Longrope,
                                      .rotarySize = 4,
                                      .factor = 32,
                                      .originalMaxPositions = 4096,
                                      .shortFactors = {1, 2},
                                      .longFactors = {4, 8}});
  expectNear(table.inverseFrequencies[0], 1);
  expectNear(table.inverseFrequencies[1], 0.005);
  ASSERT_TRUE(table.hasLongTable());
  expectNear(table.longInverseFrequencies[0], 0.25);
  expectNear(table.longInverseFrequencies[1], 0.00125);
  EXPECT_EQ(table.switchLength, 4096);
  // sqrt(1 + ln 32 / ln 4096), the figure published for Phi-3 128k.
  expectNear(table.scale, 1.1902380714238083);
}
