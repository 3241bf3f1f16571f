//===- DecomposeTesting.h - What tests of decompositions share --*- C++ -*-===//

#ifndef WEFT_TEST_DIALECTS_WEFT_DECOMPOSETESTING_H
#define WEFT_TEST_DIALECTS_WEFT_DECOMPOSETESTING_H

#include "test/dialects/Weft/Jit.h"

#include "gtest/gtest.h"

#include <cmath>
#include <iostream>
#include <random>

namespace weft::test {

/// Random tensors from a printed seed.
class DecomposeTest : public ::testing::Test {
protected:
  DecomposeTest() { std::cout << "[   SEED   ] " << seed << "\n"; }

  Tensor random(const std::string &type, std::vector<int64_t> shape,
                double low = -2.0, double high = 2.0) {
    Tensor tensor(type, std::move(shape));
    std::uniform_real_distribution<double> uniform(low, high);
    for (double &value : tensor.values)
      value = roundTo(uniform(generator), tensor.getElementType());
    return tensor;
  }

  /// Half a unit in the last place, relative.
  static double getEpsilon(const std::string &elementType) {
    return elementType == "bf16"  ? 0x1p-8
           : elementType == "f16" ? 0x1p-11
                                  : 0x1p-24;
  }

  /// Compares with exact values: one rounding of the element type, plus the
  /// error of an f32 computation.
  static void expectNear(const Tensor &actual,
                         const std::vector<double> &expected,
                         double f32Error = 2e-6) {
    ASSERT_EQ(actual.values.size(), expected.size());
    double epsilon = getEpsilon(actual.getElementType());
    for (size_t i = 0; i < expected.size(); ++i) {
      double scale = std::abs(expected[i]);
      ASSERT_NEAR(actual.values[i], expected[i],
                  scale * epsilon + f32Error * std::max(1.0, scale))
          << "element " << i;
    }
  }

  const uint64_t seed = 20261130;
  std::mt19937_64 generator{seed};
};

/// A panel layout's packing of a matrix [N, K], by its definition.
inline Tensor packPanels(const Tensor &matrix, int64_t columns, int64_t group,
                         const std::string &type) {
  int64_t n = matrix.getShape()[0], k = matrix.getShape()[1];
  int64_t panels = (n + columns - 1) / columns,
          groups = (k + group - 1) / group;
  Tensor packed(type, {panels, groups, columns, group});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j)
      packed.at(i / columns, j / group, i % columns, j % group) =
          matrix.at(i, j);
  return packed;
}

/// The packing of a matrix [N, K] in fragments, by the list of a lane's eight
/// elements of a block of 16 x 16 (PTX ISA, operand A of mma.m16n8k16).
inline Tensor packFragments(const Tensor &matrix, const std::string &type) {
  int64_t n = matrix.getShape()[0] / 16, k = matrix.getShape()[1] / 16;
  Tensor packed(type, {n, k, 32, 8});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j)
      for (int64_t lane = 0; lane < 32; ++lane) {
        int64_t g = lane / 4, t = lane % 4;
        const int64_t elements[8][2] = {{g, 2 * t},         {g, 2 * t + 1},
                                        {g + 8, 2 * t},     {g + 8, 2 * t + 1},
                                        {g, 2 * t + 8},     {g, 2 * t + 9},
                                        {g + 8, 2 * t + 8}, {g + 8, 2 * t + 9}};
        for (int64_t e = 0; e < 8; ++e)
          packed.at(i, j, lane, e) =
              matrix.at(16 * i + elements[e][0], 16 * j + elements[e][1]);
      }
  return packed;
}

} // namespace weft::test

#endif // WEFT_TEST_DIALECTS_WEFT_DECOMPOSETESTING_H
