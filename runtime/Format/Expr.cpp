//===- Expr.cpp - Integer expressions over a plan's symbols ---------------===//

#include "runtime/Format/Expr.h"

#include <algorithm>
#include <array>

using namespace weft::rt;

namespace {

using Kind = ExprOp::Kind;

constexpr size_t maxOps = 64;

int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }

/// Applies a binary operation; false on overflow or a divisor below 1.
bool apply(Kind kind, int64_t a, int64_t b, int64_t &result) {
  switch (kind) {
  case Kind::Add:
    return !__builtin_add_overflow(a, b, &result);
  case Kind::Mul:
    return !__builtin_mul_overflow(a, b, &result);
  case Kind::CeilDiv:
    if (b <= 0)
      return false;
    result = a / b + (a % b != 0 && a > 0);
    return true;
  case Kind::FloorDiv:
    if (b <= 0)
      return false;
    result = floorDiv(a, b);
    return true;
  case Kind::Mod:
    if (b <= 0)
      return false;
    result = a % b < 0 ? a % b + b : a % b;
    return true;
  case Kind::Min:
    result = std::min(a, b);
    return true;
  case Kind::Max:
    result = std::max(a, b);
    return true;
  case Kind::Constant:
  case Kind::Symbol:
    break;
  }
  return false;
}

void append(std::vector<ExprOp> &ops, const Expr &expr) {
  if (expr.getOps().empty())
    ops.push_back({Kind::Constant, 0});
  else
    ops.insert(ops.end(), expr.getOps().begin(), expr.getOps().end());
}

/// The value of an expression that is one constant.
std::optional<int64_t> getLiteral(const Expr &expr) {
  const std::vector<ExprOp> &ops = expr.getOps();
  if (ops.empty())
    return 0;
  if (ops.size() == 1 && ops[0].kind == Kind::Constant)
    return ops[0].value;
  return std::nullopt;
}

Expr combine(Kind kind, const Expr &a, const Expr &b) {
  std::optional<int64_t> left = getLiteral(a), right = getLiteral(b);
  int64_t folded = 0;
  if (left && right && apply(kind, *left, *right, folded))
    return Expr::constant(folded);
  std::vector<ExprOp> ops;
  ops.reserve(a.getOps().size() + b.getOps().size() + 1);
  append(ops, a);
  append(ops, b);
  ops.push_back({kind, 0});
  return Expr(std::move(ops));
}

const char *getOpName(Kind kind) {
  switch (kind) {
  case Kind::Constant:
    return "constant";
  case Kind::Symbol:
    return "symbol";
  case Kind::Add:
    return "+";
  case Kind::Mul:
    return "*";
  case Kind::CeilDiv:
    return "ceildiv";
  case Kind::FloorDiv:
    return "floordiv";
  case Kind::Mod:
    return "mod";
  case Kind::Min:
    return "min";
  case Kind::Max:
    return "max";
  }
  return "?";
}

} // namespace

Expr Expr::constant(int64_t value) {
  return value ? Expr({{Kind::Constant, value}}) : Expr();
}

Expr Expr::symbol(uint32_t index) { return Expr({{Kind::Symbol, index}}); }

Expr weft::rt::operator+(const Expr &a, const Expr &b) {
  if (getLiteral(a) == 0)
    return b;
  if (getLiteral(b) == 0)
    return a;
  return combine(Kind::Add, a, b);
}

Expr weft::rt::operator*(const Expr &a, const Expr &b) {
  if (getLiteral(a) == 1)
    return b;
  if (getLiteral(b) == 1)
    return a;
  return combine(Kind::Mul, a, b);
}

Expr Expr::ceilDiv(const Expr &a, const Expr &b) {
  return getLiteral(b) == 1 ? a : combine(Kind::CeilDiv, a, b);
}

Expr Expr::max(const Expr &a, const Expr &b) {
  return a == b ? a : combine(Kind::Max, a, b);
}

Status Expr::verify(uint32_t symbolCount) const {
  if (ops.size() > maxOps)
    return Status::corrupt("an expression has " + std::to_string(ops.size()) +
                           " operations, at most " + std::to_string(maxOps) +
                           " are allowed");
  size_t depth = 0;
  for (const ExprOp &op : ops) {
    switch (op.kind) {
    case Kind::Symbol:
      if (op.value < 0 || op.value >= symbolCount)
        return Status::corrupt(
            "an expression uses symbol " + std::to_string(op.value) +
            ", the plan has only " + std::to_string(symbolCount));
      [[fallthrough]];
    case Kind::Constant:
      ++depth;
      break;
    case Kind::Add:
    case Kind::Mul:
    case Kind::CeilDiv:
    case Kind::FloorDiv:
    case Kind::Mod:
    case Kind::Min:
    case Kind::Max:
      if (depth < 2)
        return Status::corrupt(std::string("an expression lacks an operand "
                                           "of '") +
                               getOpName(op.kind) + "'");
      --depth;
      break;
    default:
      return Status::corrupt("an expression has an unknown operation " +
                             std::to_string(static_cast<int>(op.kind)));
    }
  }
  if (!ops.empty() && depth != 1)
    return Status::corrupt("an expression leaves " + std::to_string(depth) +
                           " values, expected one");
  return Status::ok();
}

Result<int64_t> Expr::evaluate(std::span<const int64_t> symbols) const {
  std::array<int64_t, maxOps> stack;
  size_t depth = 0;
  for (const ExprOp &op : ops) {
    if (op.kind == Kind::Constant) {
      stack[depth++] = op.value;
      continue;
    }
    if (op.kind == Kind::Symbol) {
      assert(static_cast<size_t>(op.value) < symbols.size() &&
             "evaluate needs a value for each symbol");
      stack[depth++] = symbols[op.value];
      continue;
    }
    assert(depth >= 2 && "the expression was not verified");
    const int64_t a = stack[depth - 2], b = stack[depth - 1];
    --depth;
    if (!apply(op.kind, a, b, stack[depth - 1]))
      return Status::limit("the size " + std::to_string(a) + " " +
                           getOpName(op.kind) + " " + std::to_string(b) +
                           " cannot be computed in 64 bits");
  }
  if (!depth)
    return int64_t{0};
  if (stack[0] < 0)
    return Status::limit("a size is negative: " + std::to_string(stack[0]));
  return stack[0];
}

bool Expr::isConstant() const {
  return std::ranges::none_of(
      ops, [](const ExprOp &op) { return op.kind == Kind::Symbol; });
}

std::string Expr::print(std::span<const std::string> names) const {
  struct Text {
    std::string text;
    bool isSum = false;
  };
  std::vector<Text> stack;
  auto factor = [](const Text &part) {
    return part.isSum ? "(" + part.text + ")" : part.text;
  };
  for (const ExprOp &op : ops) {
    if (op.kind == Kind::Constant) {
      stack.push_back({std::to_string(op.value), op.value < 0});
      continue;
    }
    if (op.kind == Kind::Symbol) {
      const size_t index = op.value;
      stack.push_back({index < names.size() ? names[index]
                                            : "s" + std::to_string(op.value)});
      continue;
    }
    if (stack.size() < 2)
      return "<malformed>";
    Text b = std::move(stack.back());
    stack.pop_back();
    Text &a = stack.back();
    if (op.kind == Kind::Add)
      a = {a.text + " + " + b.text, true};
    else if (op.kind == Kind::Mul)
      a = {factor(a) + " * " + factor(b)};
    else
      a = {std::string(getOpName(op.kind)) + "(" + a.text + ", " + b.text +
           ")"};
  }
  if (stack.empty())
    return "0";
  return stack.size() == 1 ? stack[0].text : "<malformed>";
}
