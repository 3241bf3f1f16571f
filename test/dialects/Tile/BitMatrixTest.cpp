//===- BitMatrixTest.cpp - Laws of linear algebra over two elements -------===//

#include "dialects/Tile/BitMatrix.h"

#include "gtest/gtest.h"

#include "test/dialects/Tile/RandomLayouts.h"

#include <set>

using namespace weft::tile;

TEST(BitMatrixTest, IsLinearAndComposes) {
  forSeeds([](RandomLayouts &random) {
    BitMatrix a = random.matrix(random.number(0, 8), random.number(0, 8));
    BitMatrix c = random.matrix(a.columns(), random.number(0, 8));
    BitMatrix product = a * c;
    for (uint64_t x = 0; x < 1u << c.columns(); ++x) {
      EXPECT_EQ(product.apply(x), a.apply(c.apply(x)));
      uint64_t y = random.word(c.columns());
      EXPECT_EQ(c.apply(x ^ y), c.apply(x) ^ c.apply(y));
    }
    EXPECT_EQ(BitMatrix::identity(a.rows()) * a, a);
    EXPECT_EQ(a * BitMatrix::identity(a.columns()), a);
  });
}

TEST(BitMatrixTest, RankAndKernelCountImages) {
  forSeeds([](RandomLayouts &random) {
    BitMatrix a = random.matrix(random.number(0, 10), random.number(0, 10));
    std::set<uint64_t> images;
    uint64_t zeros = 0;
    for (uint64_t x = 0; x < 1u << a.columns(); ++x) {
      images.insert(a.apply(x));
      zeros += a.apply(x) == 0;
    }
    EXPECT_EQ(images.size(), 1u << a.rank());
    std::vector<uint64_t> kernel = a.kernel();
    EXPECT_EQ(zeros, 1u << kernel.size());
    EXPECT_EQ(BitMatrix(a.columns(), kernel).rank(), kernel.size());
    for (uint64_t vector : kernel)
      EXPECT_EQ(a.apply(vector), 0u);
  });
}

TEST(BitMatrixTest, PseudoInverse) {
  forSeeds([](RandomLayouts &random) {
    BitMatrix a = random.matrix(random.number(0, 9), random.number(0, 9));
    BitMatrix g = a.pseudoInverse();
    EXPECT_EQ(a * g * a, a);
    EXPECT_EQ(g * a * g, g);
    std::set<uint64_t> images;
    for (uint64_t x = 0; x < 1u << a.columns(); ++x)
      images.insert(a.apply(x));
    for (uint64_t y = 0; y < 1u << a.rows(); ++y) {
      std::optional<uint64_t> solution = a.solve(y);
      EXPECT_EQ(solution.has_value(), images.contains(y));
      if (solution)
        EXPECT_EQ(a.apply(*solution), y);
    }
    BitMatrix square = random.invertible(random.number(1, 9));
    EXPECT_EQ(square * square.pseudoInverse(),
              BitMatrix::identity(square.rows()));
  });
}

TEST(BitMatrixTest, SolvesByTheColumnsOfLowestNumbers) {
  // Column 2 is the sum of the others, and column 3 a copy of column 0.
  BitMatrix a(2, {1, 2, 3, 1});
  EXPECT_EQ(a.solve(3), 3u);
  EXPECT_EQ(a.solve(1), 1u);
}

TEST(BitMatrixTest, HasUpTo64Bits) {
  RandomLayouts random(0);
  BitMatrix a = random.invertible(64);
  EXPECT_EQ(a * a.pseudoInverse(), BitMatrix::identity(64));
  EXPECT_EQ(a.slice(60, 4).rank(), 4u);
}
