//===- ExprTest.cpp - Expressions are folded, checked and evaluated -------===//

#include "runtime/Format/Expr.h"

#include <gmock/gmock.h>

using namespace weft::rt;
using testing::HasSubstr;
using Kind = ExprOp::Kind;

namespace {

int64_t evaluate(const Expr &expr, std::vector<int64_t> symbols = {}) {
  EXPECT_TRUE(expr.verify(symbols.size()));
  Result<int64_t> value = expr.evaluate(symbols);
  EXPECT_TRUE(value) << value.getStatus().getMessage();
  return value ? *value : -1;
}

Expr makeBinary(Kind kind, int64_t a, int64_t b) {
  return Expr({{Kind::Constant, a}, {Kind::Constant, b}, {kind, 0}});
}

TEST(Expr, EmptyIsZero) {
  EXPECT_EQ(evaluate(Expr()), 0);
  EXPECT_EQ(Expr::constant(0), Expr());
  EXPECT_TRUE(Expr().isConstant());
  EXPECT_EQ(Expr().print({}), "0");
}

TEST(Expr, BuildersComputeWhatTheySay) {
  const Expr x = Expr::symbol(0), y = Expr::symbol(1);
  for (int64_t a : {0, 1, 5, 64, 1000})
    for (int64_t b : {1, 2, 7, 64}) {
      EXPECT_EQ(evaluate(x + y, {a, b}), a + b);
      EXPECT_EQ(evaluate(x * y, {a, b}), a * b);
      EXPECT_EQ(evaluate(Expr::ceilDiv(x, y), {a, b}), (a + b - 1) / b);
      EXPECT_EQ(evaluate(Expr::max(x, y), {a, b}), std::max(a, b));
      EXPECT_EQ(evaluate((x + Expr::constant(3)) * y, {a, b}), (a + 3) * b);
    }
}

TEST(Expr, ConstantsFold) {
  EXPECT_EQ(Expr::constant(6) * Expr::constant(7), Expr::constant(42));
  EXPECT_EQ(Expr::ceilDiv(Expr::constant(7), Expr::constant(2)),
            Expr::constant(4));
  const Expr x = Expr::symbol(3);
  EXPECT_EQ(x + Expr(), x);
  EXPECT_EQ(Expr() + x, x);
  EXPECT_EQ(x * Expr::constant(1), x);
  EXPECT_EQ(Expr::max(x, x), x);
  EXPECT_FALSE(x.isConstant());
  // An overflow is kept and reported when the value is wanted.
  const Expr big = Expr::constant(INT64_MAX) + Expr::constant(1);
  EXPECT_FALSE(big.evaluate({}));
}

TEST(Expr, DivisionRoundsTowardsItsName) {
  // For a in [-7, 7] and b in [1, 3] against the definition by search: the
  // least q with q * b >= a, the greatest q with q * b <= a.
  const Expr offset = Expr::constant(100);
  for (int64_t a = -7; a <= 7; ++a)
    for (int64_t b = 1; b <= 3; ++b) {
      int64_t ceil = -10, floor = 10;
      while (ceil * b < a)
        ++ceil;
      while (floor * b > a)
        --floor;
      EXPECT_EQ(evaluate(offset + makeBinary(Kind::CeilDiv, a, b)), 100 + ceil);
      EXPECT_EQ(evaluate(offset + makeBinary(Kind::FloorDiv, a, b)),
                100 + floor);
      EXPECT_EQ(evaluate(makeBinary(Kind::Mod, a, b)), a - floor * b);
      EXPECT_EQ(evaluate(offset + makeBinary(Kind::Min, a, b)),
                100 + std::min(a, b));
    }
}

TEST(Expr, WhatCannotBeComputedIsAnError) {
  EXPECT_FALSE(makeBinary(Kind::Add, INT64_MAX, 1).evaluate({}));
  EXPECT_FALSE(makeBinary(Kind::Mul, INT64_MAX, 2).evaluate({}));
  EXPECT_FALSE(makeBinary(Kind::CeilDiv, 1, 0).evaluate({}));
  EXPECT_FALSE(makeBinary(Kind::FloorDiv, INT64_MIN, -1).evaluate({}));
  EXPECT_FALSE(makeBinary(Kind::Mod, 1, -2).evaluate({}));
  EXPECT_FALSE(makeBinary(Kind::Add, -3, 1).evaluate({}));
  EXPECT_EQ(makeBinary(Kind::Add, -3, 1).evaluate({}).getStatus().getCode(),
            StatusCode::LimitExceeded);
  EXPECT_EQ(evaluate(makeBinary(Kind::Max, INT64_MIN, INT64_MAX)), INT64_MAX);
}

TEST(Expr, VerifyRefusesMalformedPrograms) {
  EXPECT_TRUE(Expr::symbol(2).verify(3));
  EXPECT_FALSE(Expr::symbol(3).verify(3));
  EXPECT_FALSE(Expr({{Kind::Symbol, -1}}).verify(3));
  EXPECT_FALSE(Expr({{Kind::Add, 0}}).verify(0));
  EXPECT_FALSE(Expr({{Kind::Constant, 1}, {Kind::Add, 0}}).verify(0));
  EXPECT_FALSE(Expr({{Kind::Constant, 1}, {Kind::Constant, 1}}).verify(0));
  EXPECT_FALSE(Expr({{static_cast<Kind>(77), 1}}).verify(0));
  EXPECT_FALSE(Expr({{static_cast<Kind>(0), 1}}).verify(0));
  std::vector<ExprOp> ops = {{Kind::Constant, 1}};
  while (ops.size() + 2 <= 64) {
    ops.push_back({Kind::Constant, 1});
    ops.push_back({Kind::Add, 0});
  }
  EXPECT_EQ(evaluate(Expr(ops)), 32);
  ops.push_back({Kind::Constant, 1});
  ops.push_back({Kind::Add, 0});
  EXPECT_THAT(Expr(ops).verify(0).getMessage(), HasSubstr("65 operations"));
}

TEST(Expr, PrintsInfix) {
  const std::string names[] = {"tokens", "blocks"};
  const Expr t = Expr::symbol(0), b = Expr::symbol(1);
  EXPECT_EQ(
      (Expr::ceilDiv(t, Expr::constant(6)) * Expr::constant(12)).print(names),
      "ceildiv(tokens, 6) * 12");
  EXPECT_EQ(((t + b) * Expr::constant(4)).print(names),
            "(tokens + blocks) * 4");
  EXPECT_EQ(Expr::max(t * b, Expr::symbol(7)).print(names),
            "max(tokens * blocks, s7)");
}

} // namespace
