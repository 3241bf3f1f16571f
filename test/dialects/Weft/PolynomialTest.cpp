//===- PolynomialTest.cpp - Sizes over named symbols ----------------------===//

#include "dialects/Weft/Polynomial.h"

#include <gtest/gtest.h>
#include <limits>

using namespace weft;

static const Polynomial n = Polynomial::symbol("n"),
                        m = Polynomial::symbol("m");
static constexpr int64_t most = std::numeric_limits<int64_t>::max();

TEST(Polynomial, SumsAndProductsHaveOneForm) {
  EXPECT_EQ((n + 1) * (n + 1), n * n + n * 2 + 1);
  EXPECT_EQ((n * m * 2 + m * n * -2), Polynomial(0));
  Polynomial twice = n + 3;
  twice += twice;
  EXPECT_EQ(twice, n * 2 + 6);
  EXPECT_EQ((n * 2 + 6).str(), "6 + 2*n");
  EXPECT_EQ(Polynomial::parse("6 + 2*n"), n * 2 + 6);
}

TEST(Polynomial, OverflowStays) {
  const Polynomial sum = Polynomial(most) + 1, product = n * most * 2;
  for (const Polynomial &large :
       {sum, product, sum + -1, product * 0, n + sum, sum * product}) {
    EXPECT_TRUE(large.hasOverflown());
    EXPECT_FALSE(large.getConstant());
    EXPECT_FALSE(large.evaluate({{"n", 1}}));
    EXPECT_NE(large, Polynomial(0));
    EXPECT_EQ(large.str(), "more than 64 bits");
  }
  EXPECT_FALSE((n * most + most).hasOverflown());
  EXPECT_FALSE(Polynomial::parse("9223372036854775807*2"));
}

TEST(Polynomial, TermsAndFactorsAreFew) {
  // 2^k terms of k factors.
  Polynomial product(1), power = n;
  for (int k = 0; k < 30; ++k)
    product = product * (Polynomial::symbol("n" + std::to_string(k)) + 1);
  EXPECT_TRUE(product.hasOverflown());
  for (int k = 0; k < 100; ++k)
    power = power * power;
  EXPECT_TRUE(power.hasOverflown());
  EXPECT_FALSE((n * n * n * n * m).hasOverflown());
}
