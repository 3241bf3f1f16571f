//===- Polynomial.cpp - Sizes and costs over named symbols ----------------===//

#include "dialects/Weft/Polynomial.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace weft;

Polynomial::Polynomial(int64_t constant) {
  if (constant != 0)
    terms[{}] = constant;
}

Polynomial Polynomial::symbol(llvm::StringRef name) {
  Polynomial result;
  result.terms[{name.str()}] = 1;
  return result;
}

void Polynomial::overflow() {
  terms.clear();
  isOverflown = true;
}

void Polynomial::add(const Monomial &monomial, int64_t coefficient) {
  if (isOverflown)
    return;
  auto [term, isNew] = terms.try_emplace(monomial, 0);
  if (llvm::AddOverflow(term->second, coefficient, term->second) ||
      terms.size() > maxTerms || monomial.size() > maxFactors)
    return overflow();
  if (term->second == 0)
    terms.erase(term);
}

Polynomial &Polynomial::operator+=(const Polynomial &other) {
  if (other.isOverflown)
    overflow();
  // A copy, since `other` may be this one.
  for (const auto &[monomial, coefficient] : std::map(other.terms))
    add(monomial, coefficient);
  return *this;
}

Polynomial weft::operator*(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  if (a.isOverflown || b.isOverflown)
    result.overflow();
  for (const auto &[ma, ca] : a.terms)
    for (const auto &[mb, cb] : b.terms) {
      Polynomial::Monomial monomial(ma);
      monomial.insert(monomial.end(), mb.begin(), mb.end());
      llvm::sort(monomial);
      int64_t product;
      if (llvm::MulOverflow(ca, cb, product))
        result.overflow();
      result.add(monomial, product);
      if (result.isOverflown)
        return result;
    }
  return result;
}

bool Polynomial::isConstant() const { return getConstant().has_value(); }

std::optional<int64_t> Polynomial::getConstant() const {
  if (isOverflown)
    return std::nullopt;
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

std::optional<int64_t>
Polynomial::evaluate(const llvm::StringMap<int64_t> &values) const {
  if (isOverflown)
    return std::nullopt;
  int64_t sum = 0;
  for (const auto &[monomial, coefficient] : terms) {
    int64_t product = coefficient;
    for (const std::string &name : monomial) {
      auto it = values.find(name);
      if (it == values.end())
        return std::nullopt;
      product *= it->second;
    }
    sum += product;
  }
  return sum;
}

std::string Polynomial::str() const {
  if (isOverflown)
    return "more than 64 bits";
  if (terms.empty())
    return "0";
  std::vector<std::string> parts;
  for (const auto &[monomial, coefficient] : terms) {
    std::vector<std::string> factors;
    if (coefficient != 1 || monomial.empty())
      factors.push_back(std::to_string(coefficient));
    factors.insert(factors.end(), monomial.begin(), monomial.end());
    parts.push_back(llvm::join(factors, "*"));
  }
  return llvm::join(parts, " + ");
}

std::optional<Polynomial> Polynomial::parse(llvm::StringRef text) {
  Polynomial result;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, '+');
  for (llvm::StringRef part : parts) {
    Polynomial term(1);
    llvm::SmallVector<llvm::StringRef> factors;
    part.split(factors, '*');
    for (llvm::StringRef factor : factors) {
      factor = factor.trim();
      int64_t number;
      if (factor.empty())
        return std::nullopt;
      if (!factor.getAsInteger(10, number))
        term = term * Polynomial(number);
      else if (llvm::isAlpha(factor.front()) &&
               llvm::all_of(factor, [](char c) {
                 return llvm::isAlnum(c) || c == '_' || c == '.';
               }))
        term = term * Polynomial::symbol(factor);
      else
        return std::nullopt;
    }
    result += term;
  }
  if (result.isOverflown)
    return std::nullopt;
  return result;
}
