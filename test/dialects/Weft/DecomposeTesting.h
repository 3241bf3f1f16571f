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

/// The packing of a matrix [N, K] in blocks of 16 x 128 of 8x8 matrices.
inline Tensor packCoreMatrices(const Tensor &matrix, const std::string &type) {
  int64_t n = matrix.getShape()[0], k = matrix.getShape()[1];
  Tensor packed(type, {n / 16, k / 128, 32, 8, 8});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j)
      packed.at(i / 16, j / 128, i % 16 / 8 * 16 + j % 128 / 8, i % 8, j % 8) =
          matrix.at(i, j);
  return packed;
}

} // namespace weft::test

#endif // WEFT_TEST_DIALECTS_WEFT_DECOMPOSETESTING_H
