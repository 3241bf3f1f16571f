//===- Expr.h - Integer expressions over a plan's symbols -----------------===//
//
// Sizes, offsets and grid extents that depend on symbols (number of tokens,
// cache blocks, ...) are stored as postfix programs. They are evaluated with
// overflow checks by the runtime and made from affine expressions by the
// compiler.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_EXPR_H
#define WEFT_RUNTIME_FORMAT_EXPR_H

#include "runtime/Format/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::rt {

struct ExprOp {
  enum class Kind : uint8_t {
    Constant = 1, ///< Push `value`.
    Symbol = 2,   ///< Push the symbol with index `value`.
    Add = 3,
    Mul = 4,
    CeilDiv = 5,  ///< Second operand must be positive.
    FloorDiv = 6, ///< Second operand must be positive.
    Mod = 7,      ///< Second operand must be positive.
    Min = 8,
    Max = 9,
  };
  Kind kind = Kind::Constant;
  int64_t value = 0;

  bool operator==(const ExprOp &) const = default;
};

/// A postfix integer expression. The empty expression is the constant 0.
class Expr {
public:
  Expr() = default;
  explicit Expr(std::vector<ExprOp> ops) : ops(std::move(ops)) {}

  static Expr constant(int64_t value);
  static Expr symbol(uint32_t index);
  friend Expr operator+(const Expr &a, const Expr &b);
  friend Expr operator*(const Expr &a, const Expr &b);
  static Expr ceilDiv(const Expr &a, const Expr &b);
  static Expr max(const Expr &a, const Expr &b);

  const std::vector<ExprOp> &getOps() const { return ops; }

  /// Checks that the program is well formed, with at most 64 operations, and
  /// that every symbol index is below `symbolCount`.
  Status verify(uint32_t symbolCount) const;

  /// Value for the given symbol values. Fails on overflow, on a negative
  /// result and on division by a number that is not positive; the expression
  /// must have been verified.
  Result<int64_t> evaluate(std::span<const int64_t> symbols) const;

  /// The value if the expression uses no symbol.
  bool isConstant() const;

  /// Infix text with the given symbol names: "ceildiv(tokens, 6) * 12".
  std::string print(std::span<const std::string> names) const;

  bool operator==(const Expr &) const = default;

private:
  std::vector<ExprOp> ops;
};

Expr operator+(const Expr &a, const Expr &b);
Expr operator*(const Expr &a, const Expr &b);

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_EXPR_H
