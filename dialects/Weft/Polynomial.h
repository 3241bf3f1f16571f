//===- Polynomial.h - Sizes and costs over named symbols --------*- C++ -*-===//
//
// A sum of integer coefficients times products of symbols: element counts,
// bytes and FLOPs of operations with dynamic dimensions. Two polynomials are
// equal exactly when their normal forms are, which a test can compare as text.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_DIALECTS_WEFT_POLYNOMIAL_H
#define WEFT_DIALECTS_WEFT_POLYNOMIAL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace mlir {
class Value;
} // namespace mlir

namespace weft {

/// What is too large to be held, a coefficient beyond 64 bits, a sum of more
/// than maxTerms terms or a product of more than maxFactors symbols, makes a
/// polynomial overflow: it has no terms, and so do all that are computed of it.
class Polynomial {
public:
  /// Sorted symbol names of a product; empty for the constant term.
  using Monomial = std::vector<std::string>;
  static constexpr size_t maxTerms = 256, maxFactors = 32;

  Polynomial() = default;
  Polynomial(int64_t constant);
  static Polynomial symbol(llvm::StringRef name);
  bool hasOverflown() const { return isOverflown; }

  Polynomial &operator+=(const Polynomial &other);
  friend Polynomial operator+(Polynomial a, const Polynomial &b) {
    a += b;
    return a;
  }
  friend Polynomial operator*(const Polynomial &a, const Polynomial &b);
  bool operator==(const Polynomial &) const = default;
  bool operator<(const Polynomial &other) const {
    return std::tie(isOverflown, terms) <
           std::tie(other.isOverflown, other.terms);
  }

  const std::map<Monomial, int64_t> &getTerms() const { return terms; }
  bool isConstant() const;
  std::optional<int64_t> getConstant() const;

  /// The value for the given symbol values; nullopt if one is missing or the
  /// polynomial has overflown.
  std::optional<int64_t> evaluate(const llvm::StringMap<int64_t> &values) const;

  /// Normal form, for example "64 + 2048*tokens"; "more than 64 bits" of what
  /// has overflown.
  std::string str() const;
  /// Parses what str() prints; nullopt if it is malformed or overflows.
  static std::optional<Polynomial> parse(llvm::StringRef text);

private:
  /// Adds to one coefficient.
  void add(const Monomial &monomial, int64_t coefficient);
  void overflow();

  std::map<Monomial, int64_t> terms; // No zero coefficients.
  bool isOverflown = false;
};

/// Size of dimension `dim` of a value, as a polynomial.
using DimFn = std::function<Polynomial(mlir::Value value, int64_t dim)>;

} // namespace weft

#endif // WEFT_DIALECTS_WEFT_POLYNOMIAL_H
